"""Plans as YAML files that people can read, edit and evaluate again.

    schema_version: 1
    job:    what is trained, on what (fields of a request)
    plan:   mesh, micro_batch, sharding, schedule, ... (fields of `Plan`)

A file that `planner solve -o` wrote evaluates to the same digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.errors import InputError
from planner.files import read_yaml
from planner.plan import (
    AXES,
    CP_MODES,
    OFFLOADS,
    RECOMPUTES,
    SCHEDULES,
    SHARDINGS,
    SPLITS,
    Plan,
    Stage,
    complete_order,
)
from planner.request import Request, Resolved, mistakes

SCHEMA_VERSION = 1
Size = Annotated[int, Field(ge=1, le=2**31)]
Clock = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MeshModel(_Strict):
    """Axis sizes; what is left out is 1."""

    dp: Size = 1
    fsdp: Size = 1
    tp: Size = 1
    cp: Size = 1
    ep: Size = 1
    pp: Size = 1


class StageModel(_Strict):
    """One stage of an explicit layout; what is left out is the plan's."""

    layers: Annotated[int, Field(ge=0, le=2**20)]
    recompute: Literal[RECOMPUTES] | None = None  # type: ignore[valid-type]
    sharding: Literal[SHARDINGS] | None = None  # type: ignore[valid-type]
    clock: Clock | None = None


class PlanModel(_Strict):
    """A plan as written in a file; `placement` lists axes innermost first."""

    mesh: MeshModel = MeshModel()
    micro_batch: Size = 1
    schedule: Literal[SCHEDULES] = "1f1b"  # type: ignore[valid-type]
    interleave: Size = 1
    sharding: Literal[SHARDINGS] = "zero1"  # type: ignore[valid-type]
    sequence_parallel: bool | None = None
    cp_mode: Literal[CP_MODES] = "ring"  # type: ignore[valid-type]
    recompute: Literal[RECOMPUTES] = "none"  # type: ignore[valid-type]
    offload: list[Literal[OFFLOADS]] = []  # type: ignore[valid-type]
    placement: list[str] = list(AXES)
    split: Literal[SPLITS] = "even"  # type: ignore[valid-type]
    clock: Clock = 1.0
    stages: list[StageModel] | None = None


class PlanFile(_Strict):
    """A plan file."""

    schema_version: Literal[1]
    job: Request
    plan: PlanModel


def read_plan_file(path: Path) -> tuple[Request, Plan]:
    """The job and the plan in a file.

    Raises:
        InputError: One line per mistake, with its path in the file.
    """
    data = read_yaml(path)
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema_version is {version!r}; this planner reads version {SCHEMA_VERSION}"
        )
    try:
        file = PlanFile.model_validate(data)
    except ValidationError as error:
        known = (*Request.model_fields, *PlanModel.model_fields, *MeshModel.model_fields)
        raise InputError(mistakes(error, str(path), known)) from error
    return file.job, plan_of(file.plan)


def plan_of(model: PlanModel) -> Plan:
    """The plan that a file describes; sequence parallelism defaults to on where tp > 1."""
    sequence_parallel = model.sequence_parallel
    if sequence_parallel is None:
        sequence_parallel = model.mesh.tp > 1
    return Plan(
        **model.mesh.model_dump(),
        micro_batch=model.micro_batch,
        schedule=model.schedule,
        interleave=model.interleave,
        sharding=model.sharding,
        sequence_parallel=sequence_parallel,
        cp_mode=model.cp_mode,
        recompute=model.recompute,
        offload=tuple(model.offload),
        order=complete_order(model.placement),
        split=model.split,
        clock=model.clock,
        stages=None
        if model.stages is None
        else tuple(Stage(**stage.model_dump()) for stage in model.stages),
    )


def plan_fields(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; inverse of `plan_of`."""
    fields: dict[str, Any] = {
        "mesh": plan.mesh,
        "micro_batch": plan.micro_batch,
        "schedule": plan.schedule,
        "interleave": plan.interleave,
        "sharding": plan.sharding,
        "sequence_parallel": plan.sequence_parallel,
        "cp_mode": plan.cp_mode,
        "recompute": plan.recompute,
        "offload": list(plan.offload),
        "placement": list(plan.order),
        "split": plan.split,
        "clock": plan.clock,
    }
    if plan.stages is not None:
        fields["stages"] = [
            {
                name: value
                for name, value in (
                    ("layers", stage.layers),
                    ("recompute", stage.recompute),
                    ("sharding", stage.sharding),
                    ("clock", stage.clock),
                )
                if value is not None
            }
            for stage in plan.stages
        ]
    return fields


def plan_text(resolved: Resolved, plan: Plan, comments: list[str]) -> str:
    """The YAML of a plan file, every default of the job written out; `comments` head it."""
    import yaml  # noqa: PLC0415  (only when a file is written)

    request, job = resolved.request, resolved.cost.job
    fields: dict[str, Any] = {
        "model": request.model,
        "hardware": request.hardware,
        "batch_tokens": job.batch_tokens,
        "seq_len": job.seq_len,
        "precision": job.precision,
        "job": job.kind,
        "framework": job.framework.name,
        "era": job.era,
        "assumptions": request.assumptions,
    }
    if not job.trains_all:
        fields["lora_rank"] = job.lora_rank
    data = {"schema_version": SCHEMA_VERSION, "job": fields, "plan": plan_fields(plan)}
    head = "".join(f"# {line}\n" for line in comments)
    return head + yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
