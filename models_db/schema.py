"""The file format of a model, as pydantic classes; imported only when a file is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

NAME_PATTERN = r"^[a-z0-9]+([._-][a-z0-9]+)*$"
URL_PATTERN = r"^https?://[^\s]+$"
SHA256_PATTERN = r"^[0-9a-f]{64}$"
DATE_PATTERN = r"^\d{4}-\d{2}-\d{2}$"
MIXERS_PATTERN = r"^[*M+.]+$"
FEED_FORWARDS_PATTERN = r"^[-E.]+$"
ONE, SEVERAL = "<one>", "<several>"


def _one_or_several(value: object) -> str:
    """Which form of `source` a value is meant to have."""
    return SEVERAL if isinstance(value, list) else ONE


def _whole(value: object) -> object:
    """The integer that a number such as 1e9 is; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


FeedForwards = Annotated[str, Field(pattern=FEED_FORWARDS_PATTERN, max_length=10_000)]
Whole = Annotated[int, BeforeValidator(_whole)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=60)]
Key = Annotated[str, Field(min_length=1, max_length=60)]
Keys = Annotated[
    Annotated[Key, Tag(ONE)]
    | Annotated[list[Key], Field(min_length=1, max_length=8), Tag(SEVERAL)],
    Discriminator(_one_or_several),
]
Kind = Literal["datasheet", "measured", "derived", "assumed"]


class _Record(BaseModel):
    """Common rules: no unknown fields, no coercion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, title=None)


class SourceRecord(_Record):
    """A document that numbers of this file come from: a public one, or a file of one's own."""

    title: Text = Field(description="Title of the document.")
    url: Annotated[str, Field(pattern=URL_PATTERN, max_length=500)] | None = Field(
        default=None, description="Where it is; a file of one's own has its sha256 instead."
    )
    sha256: Annotated[str, Field(pattern=SHA256_PATTERN)] | None = Field(
        default=None, description="SHA-256 of a file, in hexadecimal."
    )
    accessed: Annotated[str, Field(pattern=DATE_PATTERN)] | None = Field(
        default=None, description="When it was read, as YYYY-MM-DD."
    )


def _defaults_give_the_rest(schema: dict[str, Any]) -> None:
    """A file may leave out the provenance that its `defaults` give."""
    schema["required"] = [name for name in schema["required"] if name not in ("kind", "source")]


class _Number(_Record):
    """A whole number with unit, kind, source and note."""

    model_config = ConfigDict(json_schema_extra=_defaults_give_the_rest)

    kind: Kind = Field(description="How the number is known; an assumed one needs a note.")
    source: Keys = Field(description="Key, or keys, of `sources`.")
    note: Text | None = Field(
        default=None, description="How the number was obtained, or what is special about it."
    )


class Count(_Number):
    """A count or width of at least 1."""

    value: Annotated[Whole, Field(ge=1, le=10**9)] = Field(description="The number.")
    unit: Literal["1"] = Field(description="Unit of the value.")


class LayerCount(Count):
    """A number of layers; per-layer tables are made of it, hence the bound."""

    value: Annotated[Whole, Field(ge=1, le=10_000)] = Field(description="The number.")


class CountOrZero(_Number):
    """A count that may be 0."""

    value: Annotated[Whole, Field(ge=0, le=10**9)] = Field(description="The number.")
    unit: Literal["1"] = Field(description="Unit of the value.")


class Tokens(_Number):
    """A number of tokens."""

    value: Annotated[Whole, Field(ge=1, le=10**12)] = Field(description="The number.")
    unit: Literal["tokens"] = Field(description="Unit of the value.")


class ParameterCount(_Number):
    """A published number of parameters; `uncertainty` is half the interval of a rounded one."""

    value: Annotated[Whole, Field(ge=1, le=10**18)] = Field(description="The number.")
    unit: Literal["parameters"] = Field(description="Unit of the value.")
    uncertainty: Annotated[Whole, Field(ge=1, le=10**18)] | None = Field(
        default=None, description="Half the interval of a rounded number."
    )


class DefaultsRecord(_Record):
    """Provenance of every number of the file that does not state its own."""

    kind: Kind | None = Field(default=None, description="How the numbers are known.")
    source: Keys | None = Field(default=None, description="Key, or keys, of `sources`.")
    note: Text | None = Field(default=None, description="How the numbers were obtained.")


class AttentionRecord(_Record):
    """Attention; the four dimensions at the end belong to kind mla."""

    kind: Literal["mha", "gqa", "mqa", "mla"] = Field(
        description="Multi-head, grouped-query, multi-query or latent attention."
    )
    bias: list[Literal["query", "key", "value", "output"]] = Field(
        description="Projections that have a bias."
    )
    qk_norm: Literal["none", "per-head", "full-width", "unweighted"] = Field(
        description="Norm of queries and keys."
    )
    sinks: bool = Field(description="Whether each head has a learned sink.")
    q_lora_rank: Count | None = Field(
        default=None, description="Rank of the compressed queries (mla)."
    )
    kv_lora_rank: Count | None = Field(
        default=None, description="Rank of the compressed keys and values (mla)."
    )
    qk_nope_head_dim: Count | None = Field(
        default=None, description="Width per head without positions (mla)."
    )
    qk_rope_head_dim: Count | None = Field(
        default=None, description="Width per head with positions (mla)."
    )
    v_head_dim: Count | None = Field(default=None, description="Width of a value head (mla).")
    output_gate: bool = Field(
        default=False, description="Whether a gate as wide as the queries scales the output."
    )


class OrderRecord(_Record):
    """What each layer is made of, a letter per layer; a shorter text is repeated."""

    mixers: Annotated[str, Field(pattern=MIXERS_PATTERN, max_length=10_000)] = Field(
        description="* attention, M recurrence, + both side by side, . neither."
    )
    feed_forwards: FeedForwards | None = Field(
        default=None, description="- an MLP, E experts, . neither; by default one after each mixer."
    )


class RecurrenceRecord(_Record):
    """The mixer of layers that order says to be a recurrence."""

    kind: Literal[
        "mamba2", "gated-delta", "kimi-delta", "lightning", "mamba", "short-convolution"
    ] = Field(description="Mamba-2, gated delta rule, with a decay per channel, and so on.")
    heads: Count = Field(description="Heads of the values.")
    head_dim: Count = Field(description="Width of one of them.")
    key_heads: Count | None = Field(default=None, description="Heads, or groups, of the keys.")
    key_dim: Count | None = Field(
        default=None, description="Width of a key: the size of the state per channel."
    )
    kernel: Count | None = Field(default=None, description="Taps of the convolution over tokens.")
    rank: Count | None = Field(
        default=None, description="Rank of the step (mamba) or of the gates (kimi-delta)."
    )
    bias: list[Literal["input", "convolution", "output"]] = Field(
        description="Parts that have a bias."
    )
    norm: Literal["none", "full-width", "per-head", "inputs"] = Field(
        description="Norm of what it gives, or of its step, keys and queries."
    )
    chunk: Tokens | None = Field(
        default=None, description="Tokens that are worked through as one product."
    )


class WindowRecord(_Record):
    """Local attention layers and their order."""

    kind: Literal["sliding", "chunked"] = Field(description="A window that slides, or chunks.")
    tokens: Tokens = Field(description="Its length.")
    local_layers: Count = Field(description="Local layers of one period.")
    global_layers: CountOrZero = Field(description="Global layers of one period.")
    first: Literal["local", "global"] = Field(description="Which of them come first.")


class MlpRecord(_Record):
    """Feed-forward block; hidden is left out when every layer has experts."""

    hidden: Count | None = Field(default=None, description="Intermediate width.")
    gated: bool = Field(description="Whether it has three matrices instead of two.")
    bias: bool = Field(description="Whether its matrices have biases.")


class NormRecord(_Record):
    """Norms of the hidden width."""

    kind: Literal["layernorm", "rmsnorm"] = Field(
        description="Layer norm (with a mean) or RMS norm."
    )
    bias: bool = Field(description="Whether norms have a bias.")
    per_layer: Count = Field(description="Norms of the hidden width in each layer.")
    final: bool = Field(description="Whether there is one before the head.")
    embedding: bool = Field(description="Whether there is one after the embedding.")


class MoeRecord(_Record):
    """Mixture of experts."""

    experts: Count = Field(description="Routed experts per layer.")
    experts_per_token: Count = Field(description="Routed experts that a token visits.")
    expert_hidden: Count = Field(description="Intermediate width of one expert.")
    shared_experts: CountOrZero = Field(description="Experts that every token visits.")
    shared_expert_hidden: Count | None = Field(
        default=None,
        description="Intermediate width of one shared expert; default that of a routed one.",
    )
    shared_expert_gate: bool = Field(
        default=False, description="Whether the shared expert has a gate."
    )
    first_dense_layers: CountOrZero | None = Field(
        default=None, description="Dense layers before the first layer with experts."
    )
    layer_period: Count | None = Field(
        default=None, description="Layers from one with experts to the next."
    )
    router_bias: bool = Field(description="Whether the router has a bias.")
    groups: Count | None = Field(
        default=None, description="Groups of experts, of which a token chooses some; default 1."
    )
    groups_per_token: Count | None = Field(
        default=None, description="Groups in which the experts of a token are; default 1."
    )
    latent: Count | None = Field(
        default=None, description="Width that routed experts read and give; default the hidden one."
    )


class PositionsRecord(_Record):
    """Position encoding; max_positions belongs to kind learned."""

    kind: Literal["rope", "learned", "alibi", "none"] = Field(description="How positions enter.")
    max_positions: Tokens | None = Field(default=None, description="Length of the learned table.")


class PublishedRecord(_Record):
    """The publisher's own parameter counts."""

    total_parameters: ParameterCount | None = Field(default=None, description="All parameters.")
    active_parameters: ParameterCount | None = Field(
        default=None, description="Parameters that a token uses."
    )
    other_parameters: ParameterCount | None = Field(
        default=None, description="Part of the total outside this record, such as a vision encoder."
    )
    active_includes_input_embeddings: bool = Field(
        default=True, description="Whether the active count contains the input embedding."
    )


class VisionRecord(_Record):
    """A vision tower and its projector; patches of one image."""

    layers: LayerCount = Field(description="Its layers.")
    hidden: Count = Field(description="Its width.")
    heads: Count = Field(description="Its attention heads.")
    mlp_hidden: Count = Field(description="Inner width of its feed-forward.")
    gated: bool = Field(description="Whether its feed-forward has three matrices.")
    bias: bool = Field(description="Whether its matrices have biases.")
    norm_bias: bool = Field(description="Whether its norms have a bias.")
    last_norm: bool = Field(description="Whether a norm follows its last layer.")
    patch: Count = Field(description="Side of a patch in pixels.")
    frames: Count | None = Field(default=None, description="Images that a patch spans.")
    channels: Count | None = Field(default=None, description="Colours of a pixel; default 3.")
    patches: Count = Field(description="Patches of one image.")
    positions: Count | None = Field(default=None, description="Rows of its position table.")
    merge: Count | None = Field(
        default=None, description="Side of the squares of patches that become one token."
    )
    projector_hidden: Count | None = Field(
        default=None, description="Inner width of a projector of two matrices."
    )
    projector_bias: bool = Field(description="Whether the projector has biases.")
    projector_norm: Literal["none", "layernorm", "rmsnorm"] = Field(
        description="Norm before the projector."
    )


class MtpRecord(_Record):
    """Multi-token-prediction modules."""

    modules: Count = Field(description="Number of modules.")


class ModelRecord(_Record):
    """One model."""

    name: Name = Field(description="Name on the command line.")
    title: Text = Field(description="Full name.")
    family: Name = Field(description="Models of the same design.")
    aliases: list[Annotated[str, Field(min_length=1, max_length=120)]] = Field(
        default=[], description="Other names, such as those of checkpoints."
    )
    note: Text | None = Field(default=None, description="Anything a reader should know.")
    defaults: DefaultsRecord | None = Field(
        default=None, description="Provenance of numbers that do not state their own."
    )
    layers: LayerCount = Field(description="Transformer layers.")
    hidden: Count = Field(description="Width of the model.")
    heads: Count = Field(description="Query heads.")
    kv_heads: Count = Field(description="Key and value heads.")
    head_dim: Count = Field(description="Width of a query head.")
    vocab_size: Tokens = Field(description="Rows of the embedding.")
    seq_len: Tokens = Field(description="Sequence length that it was trained with.")
    tied_embeddings: bool = Field(description="Whether embedding and head share their weights.")
    parallel_block: bool = Field(description="Whether attention and feed-forward run side by side.")
    attention: AttentionRecord = Field(description="Attention.")
    window: WindowRecord | None = Field(
        default=None, description="Local attention; none where every layer sees everything."
    )
    mlp: MlpRecord = Field(description="Feed-forward block of dense layers.")
    norm: NormRecord = Field(description="Norms.")
    positions: PositionsRecord = Field(description="Position encoding.")
    moe: MoeRecord | None = Field(default=None, description="Experts; none in a dense model.")
    order: OrderRecord | None = Field(
        default=None, description="What each layer is made of; none: attention and feed-forward."
    )
    recurrence: RecurrenceRecord | None = Field(
        default=None, description="The mixer that replaces attention in some layers."
    )
    mtp: MtpRecord | None = Field(default=None, description="Multi-token-prediction modules.")
    vision: VisionRecord | None = Field(
        default=None, description="A vision tower, which is no part of the decoder's parameters."
    )
    published: PublishedRecord | None = Field(
        default=None, description="The publisher's own parameter counts."
    )
    sources: Annotated[dict[Key, SourceRecord], Field(min_length=1, max_length=40)] = Field(
        description="Documents that the numbers come from, by key."
    )
