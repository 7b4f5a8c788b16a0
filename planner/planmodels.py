"""What a plan file may hold: its fields with their kinds and ranges."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from planner.fields import Share as Clock
from planner.fields import placed, plain_whole
from planner.plan import AXES, CP_MODES, OFFLOADS, RECOMPUTES, SCHEDULES, SHARDINGS, SPLITS
from planner.request import Request

Size = Annotated[int, Field(ge=1, le=2**31), BeforeValidator(plain_whole)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MeshModel(_Strict):
    """Axis sizes; what is left out is 1."""

    dp: Size = Field(
        default=1, description="Replicas of the model (of its optimizer shards in zero1, 2)."
    )
    fsdp: Size = Field(default=1, description="Shards of weights, gradients and optimizer (zero3).")
    tp: Size = Field(default=1, description="Tensor parallelism.")
    cp: Size = Field(default=1, description="Context parallelism: parts of each sequence.")
    ep: Size = Field(default=1, description="Expert parallelism, folded over tp x cp x fsdp x dp.")
    pp: Size = Field(default=1, description="Pipeline stages.")


class StageModel(_Strict):
    """One stage of an explicit layout; what is left out is the plan's."""

    layers: Annotated[int, Field(ge=0, le=2**20), BeforeValidator(plain_whole)] = Field(
        description="Transformer layers; the embedding is on the first stage, the head on the last."
    )
    recompute: Literal[RECOMPUTES] | None = Field(  # type: ignore[valid-type]
        default=None, description="What the backward pass computes again; default the plan's."
    )
    sharding: Literal[SHARDINGS] | None = Field(  # type: ignore[valid-type]
        default=None, description="What the data ranks share out; default the plan's."
    )
    clock: Clock | None = Field(default=None, description="Relative clock; default the plan's.")


class PlanModel(_Strict):
    """A plan as written in a file."""

    mesh: MeshModel = Field(
        default=MeshModel(), description="Axis sizes; their product is the chips used."
    )
    micro_batch: Size = Field(default=1, description="Sequences of one micro-batch.")
    schedule: Literal[SCHEDULES] = Field(  # type: ignore[valid-type]
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
    recompute: Literal[RECOMPUTES] = Field(  # type: ignore[valid-type]
        default="none", description="What the backward pass computes again."
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
    stages: list[StageModel] | None = Field(
        default=None, min_length=1, description="Explicit pipeline stages, first to last."
    )


class PlanFile(_Strict):
    """A plan file."""

    schema_version: Literal[1] = Field(description="Version of this format.")
    job: Request = Field(description="What is trained, on what.")
    plan: PlanModel = Field(description="How it is split over the chips.")
