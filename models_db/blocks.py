"""The parts of a model: attention, window, order, MLP, norms, experts, positions, counts."""

from __future__ import annotations

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How attention is built; head counts stand in the model itself.

    Attributes:
        kind: "mha", "gqa", "mqa" or "mla" (multi-head latent attention, DeepSeek-V2,
            arXiv:2405.04434, section 2.1).
        v_head_dim: width of one value head; equals the model's `head_dim` unless `kind` is "mla".
        q_lora_rank: rank of the query's down-projection; None when the query is projected directly.
        kv_lora_rank: rank of the joint key-value compression ("mla" only).
        qk_nope_head_dim: width of a query-key head without position ("mla" only).
        qk_rope_head_dim: width of the rotary part, whose key is shared by all heads ("mla" only).
        bias: which projections have a bias: some of "query", "key", "value", "output".
        qk_norm: "none"; "per-head" (one weight vector of `head_dim` each for q and k);
            "full-width" (weights over all heads); "unweighted" (a norm with no parameter).
        sinks: whether each head has one learned sink logit.
        output_gate: whether a gate as wide as the queries, projected with them, scales what
            attention gives (not of kind "mla").
    """

    kind: str
    v_head_dim: int
    q_lora_rank: int | None
    kv_lora_rank: int | None
    qk_nope_head_dim: int | None
    qk_rope_head_dim: int | None
    bias: tuple[str, ...]
    qk_norm: str
    sinks: bool
    output_gate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What each layer is made of, where layers are not all attention and feed-forward.

    One letter per layer; a shorter text is repeated. "M" and "*", "-" and "E" are those of
    Megatron-LM's `--hybrid-layer-pattern`, in which each layer is one of the four.

    Attributes:
        mixers: "*" attention, "M" recurrence, "+" both side by side, "." neither.
        feed_forwards: "-" an MLP, "E" experts, "." neither; "": after every mixer, with experts
            as `Moe` says.
    """

    mixers: str
    feed_forwards: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Layers that attend to nearby tokens only.

    The layers repeat a cycle of `local_layers` and `global_layers`.

    Attributes:
        kind: "sliding" (each token sees the last `tokens` tokens) or "chunked" (each token sees
            the earlier tokens of its own chunk of `tokens` tokens).
        tokens: window or chunk, in tokens.
        local_layers: local layers in one cycle.
        global_layers: global layers in one cycle; 0 when all layers are local.
        first: which of the two opens the cycle: "local" or "global".
    """

    kind: str
    tokens: int
    local_layers: int
    global_layers: int
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp:
    """The feed-forward part; experts share `gated` and `bias`.

    Attributes:
        hidden: inner width of the dense layers; None when no layer is dense.
        gated: three matrices (SwiGLU, GeGLU) instead of two.
        bias: whether its matrices have biases.
    """

    hidden: int | None
    gated: bool
    bias: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Norm:
    """Normalization over the hidden width.

    Attributes:
        kind: "layernorm" or "rmsnorm".
        bias: whether each norm has a bias beside its weight.
        per_layer: norms of the hidden width in one layer (not those of queries, keys or latents).
        final: whether a norm follows the last layer.
        embedding: whether a norm follows the embedding.
    """

    kind: str
    bias: bool
    per_layer: int
    final: bool
    embedding: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moe:
    """Mixture of experts.

    Layer i (from 0) has experts when i >= `first_dense_layers` and
    (i - `first_dense_layers`) % `layer_period` == `layer_period` - 1, unless `Order` says it.

    Attributes:
        experts: routed experts per layer.
        experts_per_token: routed experts that each token visits.
        expert_hidden: inner width of one routed expert.
        shared_experts: experts that every token visits.
        shared_expert_hidden: inner width of one shared expert; 0 without shared experts.
        shared_expert_gate: whether a learned scalar gate (hidden to 1) scales the shared experts.
        first_dense_layers: leading layers that have a dense MLP.
        layer_period: distance between layers with experts after those; 1 = every layer.
        router_bias: whether the router adds one learned value per expert.
        groups: groups into which the experts are divided; 1: none.
        groups_per_token: groups among which a token's experts are chosen.
        latent: width to which tokens are projected before routed experts, and from which after; 0:
            experts work at the hidden width.
    """

    experts: int
    experts_per_token: int
    expert_hidden: int
    shared_experts: int
    shared_expert_hidden: int
    shared_expert_gate: bool
    first_dense_layers: int
    layer_period: int
    router_bias: bool
    groups: int = 1
    groups_per_token: int = 1
    latent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Position encoding.

    Attributes:
        kind: "rope", "learned", "alibi" or "none".
        max_positions: rows of the learned table, which count as parameters; None otherwise.
    """

    kind: str
    max_positions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What the publisher says the model has.

    Attributes:
        total_parameters: all parameters, or None.
        active_parameters: parameters used per token (mixture of experts), or None.
        other_parameters: part of `total_parameters` outside this record, such as a vision encoder.
        active_includes_input_embeddings: whether the publisher's active count contains the input
            embedding table.
    """

    total_parameters: int | None
    active_parameters: int | None
    other_parameters: int
    active_includes_input_embeddings: bool
