"""Plans, and the jobs that they are for, as the text of a plan file.

What reads such files is `planner.question.files.plan_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.assumptions.optimizers import ADAM, UNQUANTIZED
from planner.assumptions.recipes import FP8
from planner.base.files import with_end
from planner.base.messages import printable
from planner.base.version import SCHEMA_VERSION
from planner.base.vocabulary import ADAPTERS, MATRICES, TOWER_RECOMPUTE
from planner.plan import Plan, Stage
from planner.plan.ranks import as_words
from planner.question.asked import UPKEEP
from planner.question.records import portable, preset_of
from planner.question.request import Request
from planner.question.resolved import Resolved

LAYER_KINDS = ("dense", "moe")
"""Of the layers that a stage recomputes, as files call them."""
# Fields without a default that change what a plan is said to cost.
_KEPT = (
    "lengths", "calibration", "mfu", "torus_axes", "collectives", "max_memory", "memory_margin",
    "power_cap", "cooling", "pue", "train_tokens", "price_per_chip_hour", "electricity_price",
    "carbon_intensity", "prices", *UPKEEP,
)  # fmt: skip


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
        "placement": list(plan.order) if plan.layout is None else as_words(plan.layout),
        "split": plan.split,
        "clock": plan.clock,
    }
    if plan.stages is not None:
        fields["stages"] = [_stage_fields(stage) for stage in plan.stages]
    return fields


def plan_text(
    resolved: Resolved, plan: Plan, comments: list[str], folder: Path | None = None
) -> str:
    """The YAML of a plan file, every default of the job written out.

    Args:
        resolved: The job.
        plan: The plan.
        comments: Lines that head the file.
        folder: Where the file will lie: the user's own files that lie in it are named from there.
    """
    return file_text(job_of(resolved, folder), plan, comments)


def file_text(job: Mapping[str, Any], plan: Plan, comments: list[str]) -> str:
    """The YAML of a plan file with a job as it is written there."""
    from strict_yaml.writing import dump  # noqa: PLC0415  (only when a file is written)

    written = plan_fields(plan)
    for name in says_nothing(plan):
        del written[name]
    data = {"schema_version": SCHEMA_VERSION, "job": dict(job), "plan": written}
    head = "".join(f"# {printable(line)}\n" for line in comments)
    text = dump(data, leaves_in_flow=True, width=100)
    return with_end(head, text)


def job_of(resolved: Resolved, folder: Path | None = None) -> dict[str, Any]:
    """The job of a plan file, every default written out; see `plan_text`."""
    request, job = resolved.request, resolved.cost.job
    fields: dict[str, Any] = {
        "model": request.model,
        "hardware": request.hardware,
        "batch_tokens": resolved.batch_tokens,
        "seq_len": resolved.seq_len,
        "precision": job.precision,
        "job": job.kind,
        "framework": job.framework.name,
        "era": job.era,
        "assumptions": request.assumptions,
    }
    if not job.trains_all:
        fields["lora_rank"] = job.lora_rank
        fields |= _unlike("frozen_weights", job.frozen_weights, UNQUANTIZED)
        fields |= _unlike("adapter", job.adapter, ADAPTERS[0])
        if job.lora_targets != MATRICES:
            fields["lora_targets"] = list(job.lora_targets)
        fields |= {"lora_dropout": job.lora_dropout} if job.lora_dropout else {}
    fields |= {"reference": job.reference} if job.reference else {}
    fields |= {"images": job.images} if job.images else {}
    fields |= _unlike("tower_recompute", job.tower_recompute, TOWER_RECOMPUTE)
    fields |= _unlike("optimizer", job.optimizer, ADAM)
    counts = job.precision == FP8 and preset_of(request.assumptions) == "calibrated"
    fields |= {"fp8_recipe": job.recipe} if counts else {}
    if request.placement == "all":  # else evaluate would warn of layouts that were asked for
        fields["placement"] = request.placement
    given = {name: getattr(request, name) for name in _KEPT}
    if request.train_tokens is None:  # one step of a plan has no price
        given["price_per_chip_hour"] = given["prices"] = None
    if request.degrade_link:
        given["degrade_link"] = list(request.degrade_link)
    if request.set:
        given["set"] = list(request.set)
    given["cooling"], given["pue"] = resolved.cooling, resolved.cost.facility.pue
    fields |= {name: value for name, value in given.items() if value is not None} | request.machine
    return portable(fields, folder)


def _unlike(name: str, value: str, usual: str) -> dict[str, str]:
    """A field of a job file, where it is not the usual one."""
    return {} if value == usual else {name: value}


def asked_of(request: Request) -> dict[str, Any]:
    """What a question says, as a job file holds it: asked again, it is the same question."""
    given = request.model_dump(mode="json", exclude_unset=True)
    if request.max_power is not None:  # without it the limit would mean another one in old files
        given["power_boundary"] = request.power_boundary
    return portable({name: value for name, value in given.items() if value is not None})


def says_nothing(plan: Plan) -> tuple[str, ...]:
    """Fields of a plan that another one of its fields decides."""
    return () if plan.stages is None else ("split",)


def _stage_fields(stage: Stage) -> dict[str, Any]:
    """A stage as plain data; what is the plan's is left out."""
    fields = {
        "layers": stage.layers,
        "recompute": _recompute_fields(stage) or stage.recompute,
        "sharding": stage.sharding,
        "clock": stage.clock,
        "pool": stage.pool,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _recompute_fields(stage: Stage) -> dict[str, Any]:
    """Counts by kind and recomputation with what holds for the rest; empty without counts."""
    counts = {
        kind: {name: number for name, number in (("selective", some), ("full", full)) if number}
        for kind, some, full in zip(LAYER_KINDS, stage.selective, stage.full, strict=True)
    }
    found: dict[str, Any] = {kind: each for kind, each in counts.items() if each}
    if found and stage.recompute is not None:
        found["rest"] = stage.recompute
    return found
