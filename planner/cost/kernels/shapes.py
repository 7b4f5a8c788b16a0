"""The dimensions of a model that its kernels see, averaged over layers where layers differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frozen_records import dataclass
from models_db import LayerKind, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Numbers that the layer formulas use; see `shapes_of`.

    Attributes:
        hidden: Width of the residual stream.
        heads, kv_heads, head_dim: Of the queries and keys; value_dim of the values.
        query_rank, kv_rank, rope_dim: Ranks of latent attention (0 without).
        dense_width: MLP width of a dense layer (0 without).
        expert_width, experts, experts_per_token: Routed experts (0 without).
        shared_width: Total width of the shared experts.
        expert_groups, groups_per_token: Groups of experts; those of one token are in so many.
        biased_router: Whether biases of the router balance the experts.
        gated: 1 when the MLP has a gate, else 0.
        keeps_gate: 1 when backward keeps the gate's output, else 0.
        tp_exchanges: All-gather or reduce-scatter operations per layer and pass on a dense layer
            (4; 2 when attention and MLP run in parallel).
        kept_inputs: Tensors of hidden width that backward needs of a layer: the input of every
            norm and of attention and MLP (4 with two norms). A parallel block reads one input:
            it and each norm's output (2 with one norm).
        sinks: Whether every head has a learned sink.
        context: Mean number of keys that a token may see, before causality halves it.
        vocab: Unpadded vocabulary.
        matmul_parameters: Parameters that multiply each token: active ones without the input
            embedding.
        dense_parameters, moe_parameters: Those of one layer of each kind (0 without).
        blocks: MLPs that stand for one layer; 1 but for `mlp_blocks`.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    query_rank: int
    kv_rank: int
    rope_dim: int
    dense_width: int
    expert_width: int
    experts: int
    experts_per_token: int
    shared_width: int
    expert_groups: int
    groups_per_token: int
    biased_router: bool
    gated: int
    keeps_gate: int
    tp_exchanges: int
    kept_inputs: int
    sinks: bool
    context: float
    vocab: int
    matmul_parameters: float
    dense_parameters: float
    moe_parameters: float
    blocks: float = 1.0

    @property
    def latent(self) -> bool:
        """Whether attention is multi-head latent attention (MLA)."""
        return self.kv_rank > 0

    @property
    def up_share(self) -> float:
        """Share of a layer's matrices that are up projections of latent attention."""
        keys_values = self.kv_rank * (self.head_dim - self.rope_dim + self.value_dim)
        up = self.heads * (keys_values + self.query_rank * self.head_dim)
        return up / (self.moe_parameters or self.dense_parameters) if self.latent else 0.0

    @property
    def active_width(self) -> int:
        """MLP width that one token crosses on a mixture-of-experts layer."""
        return self.experts_per_token * self.expert_width + self.shared_width

    @property
    def moe_tp_exchanges(self) -> int:
        """`tp_exchanges` of a layer with experts.

        Those of attention alone, since routed tokens travel with the expert exchange. Shared
        experts are divided by tp like an MLP and exchange like one (Megatron-LM 0065cf8a8f,
        core/transformer/moe/shared_experts.py, `pre_forward_comm` and `post_forward_comm`).
        """
        return self.tp_exchanges if self.shared_width else min(self.tp_exchanges, 2)


def mean_context(model: Model, seq_len: float) -> float:
    """Keys per token, averaged over layers, before causality halves them.

    A global layer sees `seq_len`. A sliding window of w tokens sees on average w - w^2 / (2 s) keys
    of s; a chunk of w tokens w / 2 (what is left after whole chunks: half of itself). Twice that is
    returned, since the causal half is taken later.
    """
    chunked = model.window is not None and model.window.kind == "chunked"
    total = 0.0
    for window in model.attention_windows:
        if window is None or window >= seq_len:
            total += seq_len
        elif chunked:
            rest = seq_len % window
            total += ((seq_len - rest) * window + rest * rest) / seq_len
        else:
            total += min(seq_len, 2.0 * window - window * window / seq_len)
    return total / model.layers


def shapes_of(model: Model, seq_len: float, lengths: Sequence[tuple[float, float]] = ()) -> Shapes:
    """The shapes of `model` at a sequence length.

    Args:
        model: The model.
        seq_len: Tokens of a sequence.
        lengths: What attention spans inside of it: `Job.lengths`.
    """
    moe = model.moe
    spans = lengths or ((seq_len, 1.0),)
    return Shapes(
        hidden=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        value_dim=model.attention.v_head_dim,
        query_rank=model.attention.q_lora_rank or 0,
        kv_rank=model.attention.kv_lora_rank or 0,
        rope_dim=model.attention.qk_rope_head_dim or 0,
        dense_width=(model.mlp.hidden or 0) if "dense" in model.layer_kinds else 0,
        expert_width=moe.expert_hidden if moe else 0,
        experts=moe.experts if moe else 0,
        experts_per_token=moe.experts_per_token if moe else 0,
        shared_width=moe.shared_experts * moe.shared_expert_hidden if moe else 0,
        expert_groups=moe.groups if moe else 1,
        groups_per_token=moe.groups_per_token if moe else 1,
        biased_router=moe.router_bias if moe else False,
        gated=int(model.mlp.gated),
        keeps_gate=int(model.mlp.gated),
        sinks=model.attention.sinks,
        tp_exchanges=2 if model.parallel_block else 4,
        kept_inputs=model.norm.per_layer + (1 if model.parallel_block else 2),
        context=sum(share * mean_context(model, tokens) for tokens, share in spans),
        vocab=model.vocab_size,
        matmul_parameters=_matmul_parameters(model),
        dense_parameters=_active_parameters(model, "dense"),
        moe_parameters=_active_parameters(model, "moe"),
    )


def _matmul_parameters(model: Model) -> float:
    embedding = 0 if model.tied_embeddings else model.embedding_parameters
    return float(model.active_parameters - embedding - model.position_parameters)


def _active_parameters(model: Model, kind: LayerKind) -> float:
    if kind not in model.layer_kinds:
        return 0.0
    parameters = model.layer_parameters(kind)
    if kind == "moe" and model.moe is not None:
        parameters -= (model.moe.experts - model.moe.experts_per_token) * model.expert_parameters
    return float(parameters)


def mlp_blocks(model: Model) -> Shapes:
    """A model without experts as a stack of MLPs of two matrices that hold all its parameters.

    A layer is P / (L 2 D F) such MLPs: each takes 4 D F FLOP per token forward, all of them 2 P;
    each exchanges its input and its output over tp. What backward keeps is that of the model:
    the output of every large matrix of the MLP.

    Source: How to Scale Your Model, part 5 (a transformer as a stack of MLP blocks).
    """
    width = model.mlp.hidden or 0
    parameters = float(model.total_parameters)
    return replace(
        shapes_of(model, 1),
        heads=0,
        kv_heads=0,
        head_dim=0,
        value_dim=0,
        query_rank=0,
        kv_rank=0,
        rope_dim=0,
        gated=0,
        tp_exchanges=2,
        kept_inputs=1,
        context=0.0,
        vocab=0,
        matmul_parameters=parameters,
        dense_parameters=parameters / model.layers,
        blocks=parameters / (model.layers * 2.0 * model.hidden * width),
    )
