"""Plans as YAML files that people can read, edit and evaluate again.

    schema_version: 1
    job:    what is trained, on what (fields of a request)
    plan:   mesh, micro_batch, sharding, schedule, ... (fields of `Plan`)

A file that `planner solve -o` wrote evaluates to the same digits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from planner.assumptions.file_kinds import with_command
from planner.assumptions.software import COMPILERS
from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.base.mistakes import mistakes
from planner.plan import AXES, Plan, complete_order
from planner.plan.ranks import as_layout, check_layout
from planner.question.chips_of_plan import changed, check_chips, check_request_chips
from planner.question.files.front_file import file_and_row, plan_file_of, point_of, read_content
from planner.question.files.plan_models import (
    MeshModel,
    PlanFile,
    PlanModel,
    RecomputeModel,
    StageModel,
)
from planner.question.files.plan_text import plan_fields, says_nothing
from planner.question.files.stage_file import stages_of
from planner.question.files.versions import OF_PLANS, check_given_version, check_version
from planner.question.records import located, model_named
from planner.question.request import Request, unknown_names
from strict_yaml.text import YamlText

# Fields of a job that say what another one means; they go where that one is changed.
_OF_HARDWARE = (
    "max_memory", "power_cap", "cooling", "pes", "scale", "topology", "degrade_link", "mtbf",
    "chip_hours_per_failure", "failure_site", "prices",
)  # fmt: skip
_FOLLOWS = {
    "price_per_chip_hour": ("prices",),
    "electricity_price": ("prices",),
    "prices": ("price_per_chip_hour", "electricity_price"),
    "framework": ("era", "fp8_recipe"),
    "era": ("fp8_recipe",),
    "mtbf": ("chip_hours_per_failure", "failure_site"),
    "chip_hours_per_failure": ("mtbf", "failure_site"),
    "failure_site": ("mtbf", "chip_hours_per_failure"),
    "precision": ("fp8_recipe",),
    "assumptions": ("fp8_recipe",),
    "hardware": _OF_HARDWARE,
}
WRITTEN = (
    "model", "hardware", "batch_tokens", "seq_len", "precision", "job", "framework", "era",
    "assumptions",
)  # fmt: skip
"""Fields of the job that every file has that solve writes."""
_UNNAMED = Origin(file="plan file")


class PlanRead(NamedTuple):
    """What a plan file says.

    Attributes:
        request: The job.
        plan: The plan.
        origin: Where the fields of the job come from.
        assumed: Fields of the plan that the file leaves out: (name, value, reason).
    """

    request: Request
    plan: Plan
    origin: Origin
    assumed: tuple[tuple[str, str, str], ...]


def read_plan_file(
    path: Path,
    changes: Mapping[str, Any] | None = None,
    *,
    flags: bool = False,
    row: int | None = None,
    content: bytes | None = None,
    asked_by: str = "row",
) -> PlanRead:
    """The job and the plan in a file.

    Args:
        path: A plan file, or a front as `solve --pareto` writes it to front.json or front.csv, of
            which `front.json:2` is a row.
        changes: Fields of the job that replace those of the file; what followed from a replaced
            field goes with it.
        flags: Whether the changes are flags of the command line.
        row: Which plan of a front, from 1.
        content: What the file holds, where it was read before: a pipe is read once.
        asked_by: What asks for the row, for messages.

    Raises:
        InputError: One line per mistake, with its path in the file.
    """
    path, row = file_and_row(path, row)
    data, text = read_content(path, content)
    check_given_version(data, Origin(file=str(path), content=text.content))
    if mistaken := with_command(data, "a plan", "plan", "front"):
        raise InputError(f"{path}: {mistaken}")
    point = point_of(data, path, row, asked_by)
    if point is None:
        return plan_in(data, path, str(path), changes, flags=flags, text=text.content)
    return plan_in(point, path, f"{path}: row {row}", changes, flags=flags, row=row)


def plan_in(
    content: Mapping[str, Any],
    path: Path,
    where: str,
    changes: Mapping[str, Any] | None = None,
    *,
    flags: bool = False,
    row: int | None = None,
    text: bytes | str = b"",
) -> PlanRead:
    """The job and the plan in the content of a plan file, or in a point of a front.

    Args:
        content: What a plan file holds; with a row: a point with its `job` and `schema_version`.
        path: The file; files that the job names are looked for from its folder.
        where: What the content is called in messages.
        changes, flags, row: See `read_plan_file`.
        text: The file itself, for the lines of its fields; empty: messages name none.

    Raises:
        InputError: One line per mistake.
    """
    point = None if row is None else content
    names = PlanModel.model_fields
    data = dict(content)
    if point is not None:
        pooled = isinstance(point.get("job"), dict) and point["job"].get("pools") is not None
        written = [name for name in WRITTEN if not (pooled and name == "hardware")]
        data = plan_file_of(point, where, names, written)
    top = Origin(file=where, content=text)
    check_version(data, top, OF_PLANS)
    changes = changes or {}
    job = data.get("job")
    if isinstance(job, dict):
        stale = _stale(job, changes)
        kept = {name: value for name, value in located(job, path).items() if name not in stale}
        job = changed(kept, changes)
        data = {**data, "job": job}
    origin = replace(top, section="job.", arguments=frozenset(changes), dashes=flags)
    file = _validated(data, origin, top)
    plan = _laid_out(plan_of(file.plan, _layer_kinds(file, origin), top), top)
    check_request_chips(file.job, plan, origin)
    if point is not None:
        check_chips(point.get("chips"), plan, top)
    return PlanRead(file.job, plan, origin, _assumed(file.plan, plan))


def _stale(job: Mapping[str, Any], changes: Mapping[str, Any]) -> set[str]:
    """Fields of a job that go where others change; with the chips the era of their compiler."""
    stale = {name for given in changes for name in _FOLLOWS.get(given, ())}
    compiled = job.get("era") in [era.name for era in COMPILERS]
    return stale | {"era"} if compiled and "hardware" in changes else stale


def _laid_out(plan: Plan, origin: Origin) -> Plan:
    """A plan of a file whose layout, if it has one, agrees with its mesh.

    Raises:
        InputError: It does not; one line per axis.
    """
    try:
        check_layout(plan.layout or plan.ranks, {axis: plan.mesh[axis] for axis in AXES})
    except InputError as error:
        lines = [
            f"{origin.label(['plan', field])}: {words}"
            for field, _, words in (line.partition(": ") for line in str(error).split("\n"))
        ]
        raise InputError("\n".join(lines)) from error
    return plan


def _assumed(given: PlanModel, plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """What a file leaves out of its plan, with the value taken; axes left out are 1."""
    names = [name for name in PlanModel.model_fields if name not in given.model_fields_set]
    return left_out(plan, names)


def left_out(plan: Plan, names: Collection[str]) -> tuple[tuple[str, str, str], ...]:
    """Fields of a plan that its file leaves out: (name, value taken, reason)."""
    taken = {n: value for n, value in plan_fields(plan).items() if n not in says_nothing(plan)}
    reasons = {"sequence_parallel": "on where tp > 1"}
    return tuple(
        (
            f"plan.{name}",
            _words(taken[name]),
            reasons.get(name, "left out of the plan; its default"),
        )
        for name in PlanModel.model_fields
        if name in taken and name in names and name != "mesh"
    )


def _words(value: object) -> str:
    """A value of a plan as its file shows it."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return value if isinstance(value, str) else shown(value)


def read_job_file(path: Path) -> tuple[dict[str, Any], YamlText]:
    """The fields of a job file, and its text.

    Raises:
        InputError: It cannot be read, or it is a plan or a front; then with the command for it.
    """
    data, text = read_content(path)
    if mistaken := with_command(data, "a job file", "job"):
        raise InputError(f"{path}: {mistaken}")
    return located(data, path), text


def _validated(data: dict[str, Any], origin: Origin, top: Origin) -> PlanFile:
    """The content of a plan file in its form.

    Args:
        data: The content.
        origin: Names the fields of its job.
        top: Names all others.

    Raises:
        InputError: One line per mistake.
    """

    def label(path: Sequence[int | str]) -> str:
        in_job = path[:1] == ["job"] and len(path) > 1
        return origin.label(path[1:]) if in_job else top.label(path)

    try:
        return PlanFile.model_validate(data)
    except ValidationError as error:
        known = (
            *PlanFile.model_fields,
            *Request.model_fields,
            *PlanModel.model_fields,
            *MeshModel.model_fields,
            *StageModel.model_fields,
            *RecomputeModel.model_fields,
        )
        lines = mistakes(error, label, known)
        if isinstance(data.get("job"), dict):
            lines += unknown_names(data["job"], origin)
        raise InputError("\n".join(lines)) from error


def _layer_kinds(file: PlanFile, origin: Origin) -> tuple[str, ...]:
    """The kind of every layer of the model, where stages count layers without saying of which.

    Raises:
        InputError: The model is not known.
    """
    stages = file.plan.stages or ()
    if not any(stage.recompute and stage.recompute.flat for stage in stages):
        return ()
    try:
        return model_named(file.job.model).layer_kinds
    except InputError as error:
        lines = [origin.blame(line, Request.model_fields) for line in str(error).split("\n")]
        raise InputError("\n".join(lines)) from error


def plan_of(model: PlanModel, layer_kinds: tuple[str, ...] = (), origin: Origin = _UNNAMED) -> Plan:
    """The plan that a file describes; sequence parallelism defaults to on where tp > 1.

    Args:
        model: The plan as written.
        layer_kinds: Of every layer, for stages that count layers without saying of which kind.
        origin: Names its fields in messages.

    Raises:
        InputError: Such a stage has layers of both kinds.
    """
    given = model.sequence_parallel
    layout = as_layout(model.placement)
    return Plan(
        **model.mesh.model_dump(),
        micro_batch=model.micro_batch,
        schedule=model.schedule,
        interleave=model.interleave,
        sharding=model.sharding,
        sequence_parallel=model.mesh.tp > 1 if given is None else given,
        cp_mode=model.cp_mode,
        recompute=model.recompute,
        offload=tuple(model.offload),
        order=complete_order(model.placement) if layout is None else AXES,
        layout=layout,
        split=model.split,
        clock=model.clock,
        stages=None if model.stages is None else stages_of(model.stages, layer_kinds, origin),
    )
