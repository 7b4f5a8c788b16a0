"""The dimensions of a model that its kernels see, averaged over layers where layers differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from models_db import LayerKind, Model

if TYPE_CHECKING:
    from planner.cost.kernels.recurrence import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Shares of the layers of a kind that have each part.

    Attributes:
        mixer: Layers that mix tokens at all.
        attention, recurrence: Those that do it by attention, by a recurrence; a layer may do both.
        feed_forward: Layers with an MLP or experts.
    """

    mixer: float
    attention: float
    recurrence: float
    feed_forward: float

    @property
    def blocks(self) -> float:
        """Blocks around a residual per layer, of the two that a transformer's layer has."""
        return self.mixer + self.feed_forward


WHOLE = Parts(mixer=1.0, attention=1.0, recurrence=0.0, feed_forward=1.0)


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
        query_copies: 2 where a gate as wide as the queries is projected with them.
        expert_io: Width that routed experts read and give.
        expert_biases: Whether what routed experts give has a bias.
        parts: Of a dense layer and of one with experts; None: every layer has attention and a
            feed-forward.
        scan: The recurrence of layers that have one.
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
    tp_exchanges: float
    kept_inputs: float
    sinks: bool
    context: float
    vocab: int
    matmul_parameters: float
    dense_parameters: float
    moe_parameters: float
    blocks: float = 1.0
    query_copies: int = 1
    expert_io: int = 0
    expert_biases: bool = False
    parts: tuple[Parts, Parts] | None = None
    scan: Scan | None = None

    def parts_of(self, *, moe: bool) -> Parts:
        """What the layers of a kind are made of, on average."""
        return self.parts[moe] if self.parts else WHOLE

    def inputs_read(self, *, moe: bool) -> float:
        """Inputs of hidden width that the matrix products of a layer of a kind read."""
        return self.parts[moe].blocks if self.parts else self.tp_exchanges / 2

    @property
    def latent(self) -> bool:
        """Whether attention is multi-head latent attention (MLA)."""
        return self.kv_rank > 0

    @property
    def up_share(self) -> float:
        """Share of a layer's matrices that are up projections of latent attention."""
        keys_values = self.kv_rank * (self.head_dim - self.rope_dim + self.value_dim)
        up = self.heads * (keys_values + self.query_rank * self.head_dim)
        if not self.latent:
            return 0.0
        share = up / (self.moe_parameters or self.dense_parameters)
        return share * self.parts_of(moe=self.moe_parameters > 0).attention

    @property
    def last_share(self) -> float:
        """Share of a dense layer's matrices that is its last, the MLP's down projection.

        0 where backward may read what it gives: layers with experts, layers that differ, and those
        with a norm behind each block beside that before it.
        """
        if self.parts or self.moe_parameters or not self.dense_parameters or self.kept_inputs > 4:
            return 0.0
        return self.hidden * self.dense_width / self.dense_parameters

    @property
    def second_share(self) -> float:
        """Share of a dense layer's matrices that is every second, in the order in which they run.

        Of queries, keys, values, output, gate, up and down these are keys, output and up; without
        a gate the last is down, which `last_share` may leave out. A half where layers are others.
        """
        if self.parts or self.moe_parameters or not self.dense_parameters or self.latent:
            return 0.5
        out = self.kv_heads * self.head_dim + self.heads * self.value_dim
        return self.hidden * (out + self.dense_width) / self.dense_parameters

    @property
    def active_width(self) -> int:
        """MLP width that one token crosses on a mixture-of-experts layer."""
        return self.experts_per_token * self.expert_width + self.shared_width

    @property
    def moe_tp_exchanges(self) -> float:
        """`tp_exchanges` of a layer with experts.

        Those of attention alone, since routed tokens travel with the expert exchange. Shared
        experts are divided by tp like an MLP and exchange like one (Megatron-LM 0065cf8a8f,
        core/transformer/moe/shared_experts.py, `pre_forward_comm` and `post_forward_comm`).
        """
        if self.parts:
            return 2.0 * self.parts[1].mixer + (2.0 if self.shared_width else 0.0)
        return self.tp_exchanges if self.shared_width else min(self.tp_exchanges, 2)


def left_out(shapes: Shapes, *, stops_early: bool) -> float:
    """Share of a layer's matrices that full recomputation does not multiply again."""
    return shapes.last_share if stops_early else 0.0


def selected(shapes: Shapes, selective: str, left: float) -> float:
    """Share of a layer's matrices that selective recomputation multiplies again.

    Args:
        shapes: The layer.
        selective: What it drops, as `FrameworkProfile` has it.
        left: What `left_out` has, which no selection of products brings back.
    """
    second = shapes.second_share - (0.0 if shapes.gated else left)
    shares = {
        "half-matmuls": 0.5,
        "second-matmuls": second,
        "up-projections": shapes.up_share,
    }
    return shares[selective]


def mean_context(model: Model, seq_len: float) -> float:
    """Keys per token, averaged over layers with attention, before causality halves them.

    A global layer sees `seq_len`. A sliding window of w tokens sees on average w - w^2 / (2 s) keys
    of s; a chunk of w tokens w / 2 (what is left after whole chunks: half of itself). Twice that is
    returned, since the causal half is taken later.
    """
    chunked = model.window is not None and model.window.kind == "chunked"
    total, attending = 0.0, 0
    for window, mixer in zip(model.attention_windows, model.mixers, strict=True):
        if mixer not in ("attention", "both"):
            continue
        attending += 1
        if window is None or window >= seq_len:
            total += seq_len
        elif chunked:
            rest = seq_len % window
            total += ((seq_len - rest) * window + rest * rest) / seq_len
        else:
            total += min(seq_len, 2.0 * window - window * window / seq_len)
    return total / attending if attending else 0.0


def shapes_of(model: Model, seq_len: float, lengths: Sequence[tuple[float, float]] = ()) -> Shapes:
    """The shapes of `model` at a sequence length.

    Args:
        model: The model.
        seq_len: Tokens of a sequence.
        lengths: What attention spans inside of it: `Job.lengths`.
    """
    moe = model.moe
    spans = lengths or ((seq_len, 1.0),)
    made = None if model.order is None else (_parts(model, "dense"), _parts(model, "moe"))
    return Shapes(
        hidden=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        value_dim=model.attention.v_head_dim,
        query_rank=model.attention.q_lora_rank or 0,
        kv_rank=model.attention.kv_lora_rank or 0,
        rope_dim=model.attention.qk_rope_head_dim or 0,
        dense_width=(model.mlp.hidden or 0) if "dense" in model.feed_forwards else 0,
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
        tp_exchanges=_exchanges(model, made),
        kept_inputs=_kept_inputs(model),
        context=sum(share * mean_context(model, tokens) for tokens, share in spans),
        vocab=model.vocab_size,
        matmul_parameters=_matmul_parameters(model),
        dense_parameters=_active_parameters(model, "dense"),
        moe_parameters=_active_parameters(model, "moe"),
        query_copies=2 if model.attention.output_gate else 1,
        expert_io=(moe.latent or model.hidden) if moe else 0,
        expert_biases=moe is not None and model.mlp.bias,
        parts=made,
        scan=_scan(model),
    )


def _parts(model: Model, kind: LayerKind) -> Parts:
    """What the layers of a kind are made of; nothing where there are none."""
    made = [
        (mixer, feed_forward)
        for mixer, feed_forward, one in zip(
            model.mixers, model.feed_forwards, model.layer_kinds, strict=True
        )
        if one == kind
    ]
    count = max(len(made), 1)
    mixers = [mixer for mixer, _ in made]
    return Parts(
        mixer=sum(mixer != "none" for mixer in mixers) / count,
        attention=sum(mixer in ("attention", "both") for mixer in mixers) / count,
        recurrence=sum(mixer in ("recurrence", "both") for mixer in mixers) / count,
        feed_forward=sum(feed_forward != "none" for _, feed_forward in made) / count,
    )


def _exchanges(model: Model, made: tuple[Parts, Parts] | None) -> float:
    """`Shapes.tp_exchanges`: two around a mixer, two around a feed-forward."""
    if made:
        return 2.0 * made[0].blocks
    return 2 if model.parallel_block else 4


def _kept_inputs(model: Model) -> float:
    """`Shapes.kept_inputs`: inputs of norms and of blocks, the latter averaged over layers."""
    if model.order is None:
        return model.norm.per_layer + (1 if model.parallel_block else 2)
    blocks = [part != "none" for part in (*model.mixers, *model.feed_forwards)]
    return model.norm.per_layer + sum(blocks) / model.layers


def _scan(model: Model) -> Scan | None:
    """The recurrence of a model that has one."""
    if model.recurrence is None:
        return None
    from planner.cost.kernels.recurrence import scan_of  # noqa: PLC0415  (few models have one)

    return scan_of(model.recurrence, model.hidden)


def _matmul_parameters(model: Model) -> float:
    embedding = 0 if model.tied_embeddings else model.embedding_parameters
    return float(model.active_parameters - embedding - model.position_parameters)


def _active_parameters(model: Model, kind: LayerKind) -> float:
    """Parameters of a layer of a kind that multiply a token, averaged over such layers."""
    made = [
        model.layer_parameters(feed_forward, mixer)
        for feed_forward, mixer, one in zip(
            model.feed_forwards, model.mixers, model.layer_kinds, strict=True
        )
        if one == kind
    ]
    if not made:
        return 0.0
    parameters = float(made[0]) if model.order is None else sum(made) / len(made)
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
