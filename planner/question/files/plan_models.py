"""What a plan file may hold: its fields with their kinds and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import core_schema

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.fields import Share as Clock
from planner.base.fields import choice, plain_whole, refusal
from planner.base.vocabulary import MODULES
from planner.plan import AXES, CP_MODES, OFFLOADS, RECOMPUTES, SHARDINGS, SPLITS
from planner.plan.choices import recomputation_schema
from planner.plan.layout_text import EXAMPLES, parse_layout
from planner.plan.recomputations import recomputation
from planner.question.fields import placed
from planner.question.request import Request
from planner.schedules import SCHEDULES

Size = Annotated[int, Field(ge=1, le=2**31), BeforeValidator(plain_whole)]
Layers = Annotated[int, Field(ge=0, le=2**20), BeforeValidator(plain_whole)]


def _recomputed(value: Any) -> Any:
    """A recomputation as it is kept."""
    if not isinstance(value, str):
        return value
    try:
        return recomputation(value)
    except InputError as error:
        raise refusal(str(error).removeprefix("recompute: ")) from error


Recomputed = Annotated[
    str, BeforeValidator(_recomputed), WithJsonSchema(recomputation_schema(RECOMPUTES))
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class MeshModel(_Strict):
    """Axis sizes; what is left out is 1."""

    dp: Size = Field(
        default=1, description="Replicas of the model (of its optimizer shards in zero1, 2)."
    )
    fsdp: Size = Field(default=1, description="Shards of weights, gradients and optimizer (zero3).")
    tp: Size = Field(default=1, description="Tensor parallelism.")
    cp: Size = Field(default=1, description="Context parallelism: parts of each sequence.")
    ep: Size = Field(default=1, description="Expert parallelism, folded over tp x cp x fsdp x dp.")
    etp: Size = Field(
        default=1, description="Tensor parallelism of each expert, whatever tp is; folded likewise."
    )
    pp: Size = Field(default=1, description="Pipeline stages.")


class CountsModel(_Strict):
    """Layers of one kind that a stage recomputes."""

    selective: Layers = Field(default=0, description="Layers recomputed selectively.")
    full: Layers = Field(default=0, description="Layers recomputed in full.")


class RecomputeModel(_Strict):
    """How many layers of a stage are recomputed: of its only kind, or of each kind apart."""

    selective: Layers = Field(default=0, description="Layers recomputed selectively.")
    full: Layers = Field(default=0, description="Layers recomputed in full.")
    dense: CountsModel | None = Field(default=None, description="Of the dense layers.")
    moe: CountsModel | None = Field(default=None, description="Of those with experts.")
    rest: Recomputed | None = Field(
        default=None, description="What is recomputed of the others; default as the plan."
    )

    @property
    def flat(self) -> bool:
        """Whether it counts layers without saying of which kind."""
        return self.selective + self.full > 0

    @model_validator(mode="after")
    def _one_way(self) -> RecomputeModel:
        if self.flat and (self.dense or self.moe):
            raise refusal("counts full and selective either of all layers or of dense and moe")
        return self


@dataclass(frozen=True, slots=True)
class _Or:
    """A field that takes text as well: how it is read, and what an editor is told of it.

    `keyword` of the JSON Schema says so of the texts: that they are all, or examples.
    """

    read: Callable[[str], Any]
    keyword: Literal["enum", "examples"]
    texts: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", self.keyword: list(self.texts)}, handler(schema)]}

    def _read(self, value: Any) -> Any:
        return self.read(value) if isinstance(value, str) else value


def _named(word: str) -> dict[str, str]:
    """A kind of recomputation as one of all layers."""
    return {"rest": _recomputed(word)}


def _laid_out(text: str) -> list[dict[str, int]]:
    """A layout as stages."""
    try:
        return [{"layers": layers} for layers in parse_layout(text)]
    except InputError as error:
        raise refusal(str(error)) from error


class StageModel(_Strict):
    """One stage of an explicit layout; what is left out is the plan's."""

    layers: Layers = Field(
        description="Transformer layers; the embedding is on the first stage, the head on the last."
    )
    recompute: (
        Annotated[RecomputeModel, _Or(_named, "examples", (*RECOMPUTES, *MODULES))] | None
    ) = Field(
        default=None,
        description="What the backward pass computes again of all its layers, or of how many; "
        "default the plan's.",
    )
    sharding: Literal[SHARDINGS] | None = Field(  # type: ignore[valid-type]
        default=None, description="What the data ranks share out; default the plan's."
    )
    clock: Clock | None = Field(default=None, description="Relative clock; default the plan's.")
    pool: str | None = Field(
        default=None, description="Pool of chips that it is on, where the job has several."
    )


class PlanModel(_Strict):
    """A plan as written in a file."""

    mesh: MeshModel = Field(
        default=MeshModel.model_construct(),  # which does not build its validator yet
        description="Axis sizes; their product is the chips used.",
    )
    micro_batch: Size = Field(default=1, description="Sequences of one micro-batch.")
    schedule: Annotated[Any, choice(SCHEDULES)] = Field(
        default="1f1b", description="Order of forward and backward passes in the pipeline."
    )
    interleave: Size = Field(
        default=1, description="Layer blocks per stage of the interleaved schedule."
    )
    sharding: Literal[SHARDINGS] = Field(  # type: ignore[valid-type]
        default="zero1", description="What the data ranks share out: optimizer, gradients, weights."
    )
    sequence_parallel: bool | None = Field(
        default=None,
        description="Activations between blocks are divided by tp; default where tp > 1.",
    )
    cp_mode: Literal[CP_MODES] = Field(  # type: ignore[valid-type]
        default="ring", description="How keys and values travel in context parallelism."
    )
    recompute: Recomputed = Field(
        default="none",
        description="What the backward pass computes again: none, selective, full, or modules of "
        "every layer, as mlp+moe_act.",
    )
    offload: list[Literal[OFFLOADS]] = Field(  # type: ignore[valid-type]
        default=[], description="What moves to the memory of the host."
    )
    placement: Annotated[list[str], placed(AXES)] = Field(
        default=list(AXES),
        description="Axes, or parts of axes with their sizes (`fsdp 16`), innermost first: "
        "neighbours on the first are nearest.",
    )
    split: Literal[SPLITS] = Field(  # type: ignore[valid-type]
        default="even", description="How layers are dealt to stages where `stages` does not say so."
    )
    clock: Clock = Field(default=1.0, description="Relative clock; 1 is where the peak rates hold.")
    stages: (
        Annotated[list[StageModel], Field(min_length=1), _Or(_laid_out, "examples", EXAMPLES)]
        | None
    ) = Field(
        default=None,
        description="Explicit pipeline stages, first to last (with interleaving: chunks), or their "
        "layers as text.",
    )


class PlanFile(_Strict):
    """A plan file."""

    schema_version: Literal[1] = Field(description="Version of this format.")
    job: Request = Field(description="What is trained, on what.")
    plan: PlanModel = Field(description="How it is split over the chips.")
