"""`Model`: the facts of one model, and its parameter counts in exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, assert_never

from frozen_records import dataclass
from models_db.blocks import Attention, Mlp, Moe, Norm, Positions, Published, Window
from models_db.errors import ModelError
from models_db.provenance import Quantity, Source

LayerKind = Literal["dense", "moe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder-only transformer as it was trained.

    Counts are exact Python integers and cover every trained parameter: matrices, biases, norms,
    position tables, attention sinks and router biases. Multi-token-prediction modules stand apart
    in `mtp_parameters`; vision encoders are not part of a record.

    Attributes:
        name: stable id, lower case.
        title: the name that people use.
        family: id of the series it belongs to.
        aliases: other names under which `load_model` finds it.
        note: what a reader should know, or "".
        layers: transformer layers.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key-value heads (equal to `heads` for "mha" and, during training, "mla").
        head_dim: width of one query-key head, which need not be hidden / heads.
        vocab_size: rows of the embedding table of the published checkpoint, in tokens.
        seq_len: sequence length of pre-training, in tokens.
        tied_embeddings: whether the output head is the embedding table.
        parallel_block: whether attention and MLP of a layer run side by side on the same input.
        attention: the attention block.
        window: local layers, or None when all layers attend to everything before.
        mlp: the feed-forward block.
        norm: the norms.
        positions: the position encoding.
        moe: mixture of experts, or None.
        mtp_modules: multi-token-prediction modules (DeepSeek-V3, arXiv:2412.19437, section 2.2).
        published: the publisher's own parameter counts.
        quantities: dotted path in the file -> number with provenance, for every number.
        sources: source key -> document.
    """

    name: str
    title: str
    family: str
    aliases: tuple[str, ...] = ()
    note: str = ""
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    seq_len: int
    tied_embeddings: bool
    parallel_block: bool
    attention: Attention
    window: Window | None
    mlp: Mlp
    norm: Norm
    positions: Positions
    moe: Moe | None
    mtp_modules: int
    published: Published
    quantities: Mapping[str, Quantity] = field(repr=False, compare=False)
    sources: Mapping[str, Source] = field(repr=False, compare=False)

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token embedding table: vocabulary times hidden width."""
        return self.vocab_size * self.hidden

    @property
    def head_parameters(self) -> int:
        """Parameters of the output head; 0 when it is the embedding table."""
        return 0 if self.tied_embeddings else self.vocab_size * self.hidden

    @property
    def position_parameters(self) -> int:
        """Parameters of the learned position table; 0 for rotary, ALiBi or no positions."""
        return (self.positions.max_positions or 0) * self.hidden

    @property
    def attention_parameters(self) -> int:
        """Parameters of attention in one layer, with biases, query-key norms and sinks."""
        if self.attention.kind == "mla":
            return self._latent_attention_parameters()
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        width = {"query": query, "key": key, "value": key, "output": self.hidden}
        matrices = self.hidden * (2 * query + 2 * key)
        norms = {"per-head": 2 * self.head_dim, "full-width": query + key}
        return (
            matrices
            + sum(width[projection] for projection in self.attention.bias)
            + norms.get(self.attention.qk_norm, 0) * self._norm_vectors
            + (self.heads if self.attention.sinks else 0)
        )

    def _latent_attention_parameters(self) -> int:
        """Multi-head latent attention, DeepSeek-V2 (arXiv:2405.04434), section 2.1.

        The two latents carry a norm each, as the published checkpoints do.
        """
        attention = self.attention
        kv_rank, rope = attention.kv_lora_rank or 0, attention.qk_rope_head_dim or 0
        nope, q_rank = attention.qk_nope_head_dim or 0, attention.q_lora_rank
        query = self.heads * self.head_dim
        q_parameters = self.hidden * query
        if q_rank is not None:
            q_parameters = self.hidden * q_rank + q_rank * self._norm_vectors + q_rank * query
        kv_parameters = (
            self.hidden * (kv_rank + rope)
            + kv_rank * self._norm_vectors
            + kv_rank * self.heads * (nope + attention.v_head_dim)
        )
        return q_parameters + kv_parameters + self.heads * attention.v_head_dim * self.hidden

    @property
    def _norm_vectors(self) -> int:
        """Vectors per norm: the weight, and the bias where norms have one."""
        return 2 if self.norm.bias else 1

    def _feed_forward_parameters(self, inner: int) -> int:
        """Parameters of one feed-forward network of a given inner width."""
        up = 2 if self.mlp.gated else 1
        bias = up * inner + self.hidden if self.mlp.bias else 0
        return (up + 1) * self.hidden * inner + bias

    @property
    def expert_parameters(self) -> int:
        """Parameters of one routed expert; 0 without experts."""
        return self._feed_forward_parameters(self.moe.expert_hidden) if self.moe else 0

    @property
    def router_parameters(self) -> int:
        """Parameters of the router of one layer, with its bias; 0 without experts."""
        if self.moe is None:
            return 0
        return self.moe.experts * (self.hidden + (1 if self.moe.router_bias else 0))

    @property
    def shared_expert_parameters(self) -> int:
        """Parameters of all shared experts of one layer, with their gate; 0 without any."""
        if self.moe is None or self.moe.shared_experts == 0:
            return 0
        gate = self.hidden if self.moe.shared_expert_gate else 0
        one = self._feed_forward_parameters(self.moe.shared_expert_hidden)
        return self.moe.shared_experts * one + gate

    def mlp_parameters(self, kind: LayerKind = "dense") -> int:
        """Parameters of the feed-forward part of one layer.

        Args:
            kind: "dense" (one MLP) or "moe" (all routed experts, shared experts and router).

        Raises:
            ModelError: the model has no layer of this kind.
        """
        if kind == "dense":
            if self.mlp.hidden is None:
                raise ModelError(f"{self.name}: every layer has experts; there is no dense layer")
            return self._feed_forward_parameters(self.mlp.hidden)
        if kind == "moe":
            if self.moe is None:
                raise ModelError(f"{self.name}: a dense model; no layer has experts")
            routed = self.moe.experts * self.expert_parameters
            return routed + self.shared_expert_parameters + self.router_parameters
        assert_never(kind)

    @property
    def norm_parameters(self) -> int:
        """Parameters of the hidden-width norms of one layer."""
        return self.norm.per_layer * self.hidden * self._norm_vectors

    @property
    def final_norm_parameters(self) -> int:
        """Parameters of the norm after the last layer; 0 without one."""
        return self.hidden * self._norm_vectors if self.norm.final else 0

    @property
    def embedding_norm_parameters(self) -> int:
        """Parameters of the norm after the embedding; 0 without one."""
        return self.hidden * self._norm_vectors if self.norm.embedding else 0

    def layer_parameters(self, kind: LayerKind = "dense") -> int:
        """Parameters of one layer: attention, feed-forward and norms.

        Args:
            kind: "dense" or "moe" (with all experts).

        Raises:
            ModelError: the model has no layer of this kind.
        """
        return self.attention_parameters + self.mlp_parameters(kind) + self.norm_parameters

    @property
    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """Kind of each layer in order; length `layers`."""
        moe = self.moe
        if moe is None:
            dense: list[LayerKind] = ["dense"] * self.layers
            return tuple(dense)
        last = moe.layer_period - 1
        after = (i - moe.first_dense_layers for i in range(self.layers))
        kinds: list[LayerKind] = [
            "moe" if i >= 0 and i % moe.layer_period == last else "dense" for i in after
        ]
        return tuple(kinds)

    @property
    def attention_windows(self) -> tuple[int | None, ...]:
        """Window of each layer in tokens, None = global; length `layers`."""
        window = self.window
        if window is None:
            return (None,) * self.layers
        local: list[int | None] = [window.tokens] * window.local_layers
        wide: list[int | None] = [None] * window.global_layers
        cycle = local + wide if window.first == "local" else wide + local
        return tuple(cycle[i % len(cycle)] for i in range(self.layers))

    @property
    def total_parameters(self) -> int:
        """All parameters of the decoder, without multi-token-prediction modules."""
        kinds = self.layer_kinds
        layers = sum(kinds.count(kind) * self.layer_parameters(kind) for kind in set(kinds))
        ends = self.embedding_parameters + self.position_parameters + self.head_parameters
        return layers + ends + self.final_norm_parameters + self.embedding_norm_parameters

    @property
    def active_parameters(self) -> int:
        """Parameters used per token: all of them except the routed experts not visited.

        The input embedding table counts in full, as in most publishers' figures; a count without
        it is this minus `embedding_parameters`. Equal to `total_parameters` for dense models.
        """
        if self.moe is None:
            return self.total_parameters
        idle = (self.moe.experts - self.moe.experts_per_token) * self.expert_parameters
        return self.total_parameters - self.layer_kinds.count("moe") * idle

    @property
    def mtp_parameters(self) -> int:
        """Parameters of the multi-token-prediction modules beyond what they share.

        DeepSeek-V3 (arXiv:2412.19437), section 2.2: each module has one layer of the last kind,
        a projection of two hidden widths to one, and three norms; embedding and head are shared.
        """
        if self.mtp_modules == 0:
            return 0
        projection = 2 * self.hidden * self.hidden
        norms = 3 * self.hidden * self._norm_vectors
        return self.mtp_modules * (self.layer_parameters(self.layer_kinds[-1]) + projection + norms)
