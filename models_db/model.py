"""`Model`: the facts of one model, and its parameter counts in exact integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, assert_never

from frozen_records import dataclass
from models_db.blocks import Attention, Mlp, Moe, Norm, Order, Positions, Published, Window
from models_db.errors import ModelError
from models_db.provenance import Quantity, Source
from models_db.recurrence import Recurrence
from models_db.towers import Vision

LayerKind = Literal["dense", "moe"]
FeedForward = Literal["dense", "moe", "none"]
Mixer = Literal["attention", "recurrence", "both", "none"]
_MIXERS: dict[str, Mixer] = {"*": "attention", "M": "recurrence", "+": "both", ".": "none"}
_FEED_FORWARDS: dict[str, FeedForward] = {"-": "dense", "E": "moe", ".": "none"}

UNKNOWN_KEYS = "not read, and the count is wrong if a shape depends on them:"
"""What the note of a model says before the keys of its config.json that nobody here knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder as it was trained: a transformer, or one in which other mixers replace attention.

    Counts are exact Python integers and cover every trained parameter: matrices, biases, norms,
    position tables, attention sinks and router biases. Multi-token-prediction modules stand apart
    in `mtp_parameters`, a vision tower in `vision_parameters`.

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
        order: what each layer is made of; None: attention and a feed-forward.
        recurrence: the mixer that replaces attention where `order` says so, or None.
        mtp_modules: multi-token-prediction modules (DeepSeek-V3, arXiv:2412.19437, section 2.2).
        vision: the tower whose outputs enter the decoder, or None.
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
    order: Order | None = None
    recurrence: Recurrence | None = None
    mtp_modules: int
    vision: Vision | None = None
    published: Published
    quantities: Mapping[str, Quantity] = field(repr=False, compare=False)
    sources: Mapping[str, Source] = field(repr=False, compare=False)

    @property
    def unknown_keys(self) -> str:
        """What its note says of keys of its config.json that nobody here knows, or ""."""
        _, said, keys = self.note.partition(UNKNOWN_KEYS)
        return f"{said}{keys}".rstrip(".")

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
        gate = self.hidden * query + (query if "query" in self.attention.bias else 0)
        return (
            matrices
            + (gate if self.attention.output_gate else 0)
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
    def recurrence_parameters(self) -> int:
        """Parameters of the mixer that replaces attention, in one layer; 0 without one."""
        return self.recurrence.parameters(self.hidden) if self.recurrence else 0

    def mixer_parameters(self, mixer: Mixer) -> int:
        """Parameters of what mixes tokens in one layer: attention, recurrence, both or nothing."""
        attention = self.attention_parameters if mixer in ("attention", "both") else 0
        return attention + (self.recurrence_parameters if mixer in ("recurrence", "both") else 0)

    @property
    def _norm_vectors(self) -> int:
        """Vectors per norm: the weight, and the bias where norms have one."""
        return 2 if self.norm.bias else 1

    def _feed_forward_parameters(self, inner: int, width: int = 0) -> int:
        """Parameters of one feed-forward network of a given inner width.

        Args:
            inner: the inner width.
            width: of what it reads and gives; 0: the hidden width.
        """
        width = width or self.hidden
        up = 2 if self.mlp.gated else 1
        bias = up * inner + width if self.mlp.bias else 0
        return (up + 1) * width * inner + bias

    @property
    def expert_parameters(self) -> int:
        """Parameters of one routed expert; 0 without experts."""
        if self.moe is None:
            return 0
        return self._feed_forward_parameters(self.moe.expert_hidden, self.moe.latent)

    @property
    def router_parameters(self) -> int:
        """Parameters of the router of one layer, with its bias and the projections to experts.

        0 without experts.
        """
        if self.moe is None:
            return 0
        around = 2 * self.moe.latent * self.hidden
        if self.mlp.bias and self.moe.latent:
            around += self.moe.latent + self.hidden
        return self.moe.experts * (self.hidden + (1 if self.moe.router_bias else 0)) + around

    @property
    def shared_expert_parameters(self) -> int:
        """Parameters of all shared experts of one layer, with their gate; 0 without any."""
        if self.moe is None or self.moe.shared_experts == 0:
            return 0
        gate = self.hidden if self.moe.shared_expert_gate else 0
        one = self._feed_forward_parameters(self.moe.shared_expert_hidden)
        return self.moe.shared_experts * one + gate

    def mlp_parameters(self, kind: FeedForward = "dense") -> int:
        """Parameters of the feed-forward part of one layer.

        Args:
            kind: "dense" (one MLP), "moe" (all routed experts, shared experts and router) or
                "none".

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
        if kind == "none":
            return 0
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

    def layer_parameters(self, kind: FeedForward = "dense", mixer: Mixer = "attention") -> int:
        """Parameters of one layer: mixer, feed-forward and norms.

        Args:
            kind: of its feed-forward: "dense", "moe" (with all experts) or "none".
            mixer: what mixes tokens: "attention", "recurrence", "both" or "none".

        Raises:
            ModelError: the model has no layer of this kind.
        """
        return self.mixer_parameters(mixer) + self.mlp_parameters(kind) + self.norm_parameters

    @property
    def mixers(self) -> tuple[Mixer, ...]:
        """What mixes the tokens of each layer, in order; length `layers`."""
        letters = self.order.mixers if self.order else "*"
        return tuple(_MIXERS[letters[i % len(letters)]] for i in range(self.layers))

    @property
    def feed_forwards(self) -> tuple[FeedForward, ...]:
        """What follows the mixer of each layer, in order; length `layers`."""
        letters = self.order.feed_forwards if self.order else ""
        if letters:
            return tuple(_FEED_FORWARDS[letters[i % len(letters)]] for i in range(self.layers))
        moe = self.moe
        if moe is None:
            dense: list[FeedForward] = ["dense"] * self.layers
            return tuple(dense)
        last = moe.layer_period - 1
        after = (i - moe.first_dense_layers for i in range(self.layers))
        kinds: list[FeedForward] = [
            "moe" if i >= 0 and i % moe.layer_period == last else "dense" for i in after
        ]
        return tuple(kinds)

    @property
    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """Whether each layer has experts ("moe") or not ("dense"), in order; length `layers`."""
        kinds: list[LayerKind] = [
            "moe" if kind == "moe" else "dense" for kind in self.feed_forwards
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
        made = Counter(zip(self.feed_forwards, self.mixers, strict=True))
        layers = sum(count * self.layer_parameters(*parts) for parts, count in made.items())
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
    def vision_parameters(self) -> int:
        """Parameters of the vision tower and its projector, beside the decoder; 0 without one."""
        return self.vision.parameters(self.hidden) if self.vision else 0

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
        layer = self.layer_parameters(self.feed_forwards[-1], self.mixers[-1])
        return self.mtp_modules * (layer + projection + norms)
