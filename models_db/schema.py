"""The file format of a model, as pydantic classes; imported only when a file is read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

NAME_PATTERN = r"^[a-z0-9]+([._-][a-z0-9]+)*$"
URL_PATTERN = r"^https?://[^\s]+$"
DATE_PATTERN = r"^\d{4}-\d{2}-\d{2}$"
ONE, SEVERAL = "<one>", "<several>"


def _one_or_several(value: object) -> str:
    """Which form of `source` a value is meant to have."""
    return SEVERAL if isinstance(value, list) else ONE


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
    """A public document that numbers of this file come from."""

    title: Text
    url: Annotated[str, Field(pattern=URL_PATTERN, max_length=500)]
    accessed: Annotated[str, Field(pattern=DATE_PATTERN)] | None = None


class _Number(_Record):
    """A whole number with unit, kind, source and note."""

    kind: Kind
    source: Keys
    note: Text | None = None


class Count(_Number):
    """A count or width of at least 1."""

    value: Annotated[int, Field(ge=1, le=10**9)]
    unit: Literal["1"]


class LayerCount(Count):
    """A number of layers; per-layer tables are made of it, hence the bound."""

    value: Annotated[int, Field(ge=1, le=100_000)]


class CountOrZero(_Number):
    """A count that may be 0."""

    value: Annotated[int, Field(ge=0, le=10**9)]
    unit: Literal["1"]


class Tokens(_Number):
    """A number of tokens."""

    value: Annotated[int, Field(ge=1, le=10**12)]
    unit: Literal["tokens"]


class ParameterCount(_Number):
    """A published number of parameters; `uncertainty` is half the interval of a rounded one."""

    value: Annotated[int, Field(ge=1, le=10**18)]
    unit: Literal["parameters"]
    uncertainty: Annotated[int, Field(ge=1, le=10**18)] | None = None


class DefaultsRecord(_Record):
    """Provenance of every number of the file that does not state its own."""

    kind: Kind | None = None
    source: Keys | None = None
    note: Text | None = None


class AttentionRecord(_Record):
    """Attention; the four dimensions at the end belong to kind mla."""

    kind: Literal["mha", "gqa", "mqa", "mla"]
    bias: list[Literal["query", "key", "value", "output"]]
    qk_norm: Literal["none", "per-head", "full-width", "unweighted"]
    sinks: bool
    q_lora_rank: Count | None = None
    kv_lora_rank: Count | None = None
    qk_nope_head_dim: Count | None = None
    qk_rope_head_dim: Count | None = None
    v_head_dim: Count | None = None


class WindowRecord(_Record):
    """Local attention layers and their order."""

    kind: Literal["sliding", "chunked"]
    tokens: Tokens
    local_layers: Count
    global_layers: CountOrZero
    first: Literal["local", "global"]


class MlpRecord(_Record):
    """Feed-forward block; hidden is left out when every layer has experts."""

    hidden: Count | None = None
    gated: bool
    bias: bool


class NormRecord(_Record):
    """Norms of the hidden width."""

    kind: Literal["layernorm", "rmsnorm"]
    bias: bool
    per_layer: Count
    final: bool
    embedding: bool


class MoeRecord(_Record):
    """Mixture of experts."""

    experts: Count
    experts_per_token: Count
    expert_hidden: Count
    shared_experts: CountOrZero
    shared_expert_hidden: Count | None = None
    shared_expert_gate: bool = False
    first_dense_layers: CountOrZero
    layer_period: Count
    router_bias: bool


class PositionsRecord(_Record):
    """Position encoding; max_positions belongs to kind learned."""

    kind: Literal["rope", "learned", "alibi", "none"]
    max_positions: Tokens | None = None


class PublishedRecord(_Record):
    """The publisher's own parameter counts."""

    total_parameters: ParameterCount | None = None
    active_parameters: ParameterCount | None = None
    other_parameters: ParameterCount | None = None
    active_includes_input_embeddings: bool = True


class MtpRecord(_Record):
    """Multi-token-prediction modules."""

    modules: Count


class ModelRecord(_Record):
    """One model."""

    name: Name
    title: Text
    family: Name
    aliases: list[Annotated[str, Field(min_length=1, max_length=120)]] = []
    note: Text | None = None
    defaults: DefaultsRecord | None = None
    layers: LayerCount
    hidden: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    vocab_size: Tokens
    seq_len: Tokens
    tied_embeddings: bool
    parallel_block: bool
    attention: AttentionRecord
    window: WindowRecord | None = None
    mlp: MlpRecord
    norm: NormRecord
    positions: PositionsRecord
    moe: MoeRecord | None = None
    mtp: MtpRecord | None = None
    published: PublishedRecord | None = None
    sources: Annotated[dict[Key, SourceRecord], Field(min_length=1, max_length=40)]
