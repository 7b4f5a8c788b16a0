"""The run that a question goes on from, and what its checkpoint lets a new plan change."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from models_db import Model
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import Origin, not_one_of, shown
from planner.base.numerals import is_digits
from planner.base.vocabulary import LAYOUTS, MESH_AXES, SPLITS
from planner.cost.stages.layout import stage_layers
from planner.frameworks.checkpoints import Checkpoint, checkpoint_of
from planner.frameworks.recognition import recognized
from planner.frameworks.registry import TARGETS, framework_of, framework_of_target
from planner.frameworks.rules import broken
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.plan.choices import says_something
from planner.plan.layout_text import parse_layout
from planner.plan.plan import NAMED
from planner.question.checks import problems_of
from planner.question.files.front_file import file_and_row
from planner.question.files.plan_file import PlanRead, read_plan_file
from planner.question.launch.read import read_launch, text_of
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve
from planner.question.run.upkeep import OF_THE_WHOLE

_PART = re.compile(r"\s*([a-z_]+)\s*=\s*([A-Za-z0-9-]+)\s*")
_PLANS = (".yaml", ".yml", ".json", ".csv")
_CHOSEN = ("micro_batch", "recompute", "sharding", "sequence_parallel", "cp_mode", "schedule",
           "interleave", "split")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that exists.

    Attributes:
        plan: Its plan.
        checkpoint: The form of its checkpoint.
        kept: Values that fields of a new plan may take, as `fix` has them.
        assumed: Fields of the plan that cost something and that a text left out.
    """

    plan: Plan
    checkpoint: Checkpoint
    kept: Mapping[str, tuple[str, ...]]
    assumed: tuple[str, ...] = ()


def resumed(request: Request, resolved: Resolved) -> Resumed:
    """The run that a question goes on from.

    Args:
        request: A question with `resume_from`.
        resolved: The same made concrete.

    Raises:
        InputError: It cannot be read, its checkpoint has no known form, or what that keeps
            contradicts the question.
    """
    profile = resolved.cost.framework
    framework = framework_of(profile.name)
    if framework is None:
        raise InputError(f"resume-from: no form of checkpoint of {profile.name} is known")
    plan = run_of(request, resolved)
    checkpoint = checkpoint_of(framework, request.checkpoint, plan)
    if checkpoint.same_chips and plan.chips not in resolved.counts:
        raise InputError(
            f"chips: the checkpoint {checkpoint.name} of {plan.chips} chips is loaded on as many "
            f"({checkpoint.source}); allowed: {plan.chips}"
        )
    _check_layers(request, checkpoint, plan)
    return Resumed(
        plan=plan,
        checkpoint=checkpoint,
        kept=_both(checkpoint.kept(plan), request.fix),
        assumed=_assumed(request.resume_from or "", plan),
    )


def of_plan_file(fields: Mapping[str, Any]) -> tuple[Request, Origin] | None:
    """A question with the job of the plan file that runs, unless it names another model.

    Args:
        fields: As flags give them; they replace those of the file.

    Raises:
        InputError: The file is a plan that cannot be used.
    """
    text = fields.get("resume_from")
    if not isinstance(text, str) or is_text_of_plan(text):
        return None
    path, row = file_and_row(text)
    if not _may_hold_a_job(path, row) or not _names_a_plan(path):
        return None
    if "model" in fields and fields["model"] != _read(path, row).request.model:
        return None
    found = _read(path, row, fields)
    dropped = {name: None for name in OF_THE_WHOLE if name not in fields}
    return found.request.model_copy(update=dropped), found.origin


def _read(path: Path, row: int | None, fields: Mapping[str, Any] | None = None) -> PlanRead:
    """The plan file that runs; arguments and errors as of `read_plan_file`."""
    flags = fields is not None
    return read_plan_file(path, fields, flags=flags, row=row, asked_by="resume-from: row")


def run_of(request: Request, resolved: Resolved) -> Plan:
    """The plan of the run that a question goes on from; arguments as of `resumed`.

    Raises:
        InputError: It cannot be read, or no run of the model has its sizes.
    """
    plan = _plan(request, resolved)
    _check_sizes(resolved, plan)
    _check_rules(resolved, plan, request.resume_from or "")
    return plan


def _check_sizes(resolved: Resolved, plan: Plan) -> None:
    """Refuses a run of sizes that no run of the model has.

    Raises:
        InputError: A line each.
    """
    own = {name: (str(getattr(plan, name)),) for name in ("tp", "cp", "ep", "etp")}
    if lines := problems_of(resolved.cost, own, None):
        raise InputError("\n".join(f"resume-from: {line.removeprefix('fix: ')}" for line in lines))


def _check_rules(resolved: Resolved, plan: Plan, text: str) -> None:
    """Refuses a run that its framework cannot have had, whatever the job and its batch.

    A text of a plan is held to the rules about the fields that it gives.

    Raises:
        InputError: A line per rule.
    """
    found = broken(resolved.cost, PlanTable.from_plans([plan]), all_orders=True)
    given = {*_given(text), "mesh"} if is_text_of_plan(text) else None
    lines = [
        f"resume-from: {line}"
        for rule, line in found
        if rule.framework != "any" and (given is None or rule.field in given)
    ]
    if lines:
        raise InputError("\n".join(dict.fromkeys(lines)))


def _given(text: str) -> set[str]:
    """The fields that a text of a plan gives."""
    return {part.partition("=")[0].strip() for part in text.split(",")}


def _check_layers(request: Request, checkpoint: Checkpoint, plan: Plan) -> None:
    """Refuses stages with other layers than those of the run, where its checkpoint keeps them.

    Raises:
        InputError: The question decides them, or lists others.
    """
    if not checkpoint.keeps_layers(plan):
        return
    own = None if plan.stages is None else tuple(stage.layers for stage in plan.stages)
    asked = None if request.layout in LAYOUTS else parse_layout(request.layout)
    if (request.layout == LAYOUTS[0] and own is None) or (own is not None and asked == own):
        return
    allowed = LAYOUTS[0] if own is None else ",".join(map(str, own))
    raise InputError(
        f"layout: {request.layout} would move layers between stages, and the checkpoint "
        f"{checkpoint.name} keeps those of each; allowed: {allowed}"
    )


def _both(
    kept: Mapping[str, tuple[str, ...]], fix: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """What a checkpoint keeps and a question fixes."""
    found = dict(fix)
    for name, values in kept.items():
        allowed = tuple(value for value in values if value in fix.get(name, values))
        if not allowed:
            raise InputError(
                f"fix: {name}={','.join(fix[name])} contradicts resume-from, whose checkpoint "
                f"keeps {name} {' or '.join(values)}"
            )
        found[name] = allowed
    return found


def _plan(request: Request, resolved: Resolved) -> Plan:
    """The plan of a run: of a text such as `tp=4,pp=2,dp=8`, a plan file or a launch."""
    text = request.resume_from or ""
    if not text.strip():
        raise InputError(
            "resume-from: is empty; give a plan file, a launch or a mesh, e.g. tp=4,pp=2,dp=8"
        )
    path, row = file_and_row(text)
    if is_text_of_plan(text):
        return _with_split(_of_text(text, request, resolved), resolved, given="split" in text)
    if path.suffix.lower() in _PLANS and _names_a_plan(path):
        return _of_same_weights(_read(path, row), request, resolved, text).plan
    job = {"hardware": request.hardware, "model": request.model}
    return read_launch(_source(resolved, path, text), path, job).plan


def _source(resolved: Resolved, path: Path, text: str) -> str:
    """The target whose launch a file is, which must be one of the framework of the question.

    Raises:
        InputError: It is a launch of another framework, or none of this one is read.
    """
    name = resolved.cost.framework.name
    framework = framework_of(name)
    readable = [] if framework is None else [one for one in framework.targets if one.launches]
    target: Target | None = readable[0] if readable else None
    with contextlib.suppress(InputError):  # of none that is known by its text: as the question says
        target = TARGETS[recognized(text_of(path), str(path))]
    if not readable or target is None:
        raise InputError(
            f"resume-from: {shown(text)} is no plan file, and no launch of {name} is read; give "
            "its mesh, e.g. tp=4,pp=2,dp=8"
        )
    if framework_of_target(target) is not framework:
        raise InputError(
            f"resume-from: {shown(text)} is a launch of {target.name}, and the question is about "
            f"{name}, which loads no checkpoint of that; give --framework {target.framework}"
        )
    return target.name if target.launches else readable[0].name


def is_text_of_plan(text: str) -> bool:
    """Whether a run is given by fields of its plan, not by a file."""
    return "=" in text and not Path(text).exists()


def _assumed(text: str, plan: Plan) -> tuple[str, ...]:
    """Fields beside the mesh that decide the step time and that a text of a plan left out."""
    if not is_text_of_plan(text):
        return ()
    given = _given(text)
    free = [name for name in _CHOSEN if says_something(plan, name) and name not in given]
    return (*(() if {"dp", "fsdp"} & given else ("dp",)), *free)


def _of_same_weights(found: PlanRead, request: Request, resolved: Resolved, text: str) -> PlanRead:
    """The plan in a file, whose run trains the weights that the question does.

    Raises:
        InputError: It is a run of another model or framework, or one has adapters that the other
            lacks.
    """
    of_run = resolve(found.request, found.origin, found.plan.chips).cost
    _check_model(of_run.job.model, resolved.cost.job.model, text)
    own, asked = of_run.framework.name, resolved.cost.framework.name
    if framework_of(own) is not framework_of(asked):
        hardware = found.request.hardware
        beside = "" if hardware == request.hardware else f" --hardware {hardware}"
        raise InputError(
            f"resume-from: {shown(text)} is a run of {own}, and the question is about {asked}, "
            f"which loads no checkpoint of that; give --framework {own}{beside}"
        )
    return _of_same_adapters(found, request, text)


def _check_model(run: Model, asked: Model, text: str) -> None:
    """Refuses a run of another model: of another shape, whatever their names.

    Raises:
        InputError: It is one.
    """
    shapes = [
        (one.total_parameters, one.layers, one.hidden, one.heads, one.kv_heads, one.vocab_size)
        for one in (run, asked)
    ]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"resume-from: {shown(text)} is a run of {run.name}, and the question is about "
            f"{asked.name}, whose weights are others; give --model {run.name}, or leave "
            "resume-from out"
        )


def _of_same_adapters(found: PlanRead, request: Request, text: str) -> PlanRead:
    """The plan in a file, whose run has the adapters that the question has.

    Raises:
        InputError: One has adapters that the other lacks.
    """
    runs = (found.request, request)
    own, asked = (
        (one.adapter, one.lora_rank, {*one.lora_targets}) if one.job == "lora" else ()
        for one in runs
    )
    if own != asked:
        raise InputError(
            f"resume-from: {shown(text)} is a run of job {found.request.job} whose checkpoint does "
            f"not hold what this job {request.job} trains: the adapters, or their rank and "
            "matrices, are others; leave resume-from out"
        )
    return found


def _with_split(plan: Plan, resolved: Resolved, *, given: bool) -> Plan:
    """The plan with the first rule of its framework that deals its layers out."""
    model, splits = resolved.cost.job.model, resolved.cost.framework.splits
    if given or plan.pp == 1:
        return plan
    dealt = (
        name
        for name in splits
        if stage_layers(model, plan.pp, plan.interleave, SPLITS.index(name)) is not None
    )
    return replace(plan, split=next(dealt, plan.split))


def _may_hold_a_job(path: Path, row: int | None) -> bool:
    """Whether a file is a plan file by its name, or a row of a front is asked for."""
    return path.suffix.lower() in (_PLANS[:2] if row is None else _PLANS)


def _names_a_plan(path: Path) -> bool:
    """Whether a file is one of ours, and no recipe or configuration of a framework."""
    return path.suffix.lower() == ".csv" or "schema_version" in read_text(path)


def _of_text(text: str, request: Request, resolved: Resolved) -> Plan:
    """A plan from fields of it; data ranks that are no shards have one of a framework's shardings.

    Without data ranks it has as many as the chips of the question leave.

    Raises:
        InputError: A field is none, given twice, or its value is no size or word.
    """
    shardings = resolved.cost.framework.shardings
    known = {one.name: one.type for one in fields(Plan)}
    allowed = (*MESH_AXES, *_CHOSEN)
    given: dict[str, int | str | bool] = {}
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise InputError(
                f"resume-from: {shown(part)} is no field of a plan with its value, e.g. tp=4"
            )
        name, value = found.groups()
        if name not in allowed or name not in known:
            raise InputError(f"resume-from: {not_one_of(name, allowed)}")
        if name in given:
            raise InputError(f"resume-from: {name} is given twice")
        given[name] = _value(name, value)
    if not {"dp", "fsdp"} & set(given):
        counts = () if request.chips is None else resolved.counts
        given["dp"] = _data_ranks(Plan(**given).chips, text, counts)  # type: ignore[arg-type]
    if "sharding" not in given:
        replicas = "zero1" if "zero1" in shardings else "ddp"
        given["sharding"] = "zero3" if int(given.get("fsdp", 1)) > 1 else replicas
        if int(given.get("dp", 1)) * int(given.get("fsdp", 1)) * int(given.get("cp", 1)) == 1:
            given["sharding"] = "ddp"
    return Plan(**given)  # type: ignore[arg-type]


def _data_ranks(chips: int, text: str, counts: Sequence[int]) -> int:
    """How many data ranks of so many chips there are on those that a question may have.

    Raises:
        InputError: The question does not say how many chips, or they are no multiple.
    """
    if len(counts) == 1 and counts[0] % chips == 0:
        return counts[0] // chips
    why = (
        f"the {counts[0]:,} chips of the question are no multiple of its {chips:,}"
        if len(counts) == 1
        else "the question leaves the number of chips open"
    )
    raise InputError(
        f"resume-from: {text.strip()} does not say dp, and {why}; add it, e.g. {text.strip()},dp=2"
    )


def _value(name: str, text: str) -> int | str | bool:
    words = {**NAMED, "sequence_parallel": ("true", "false"), "schedule": (text,)}
    if name in words:
        if text not in words[name]:
            raise InputError(f"resume-from: {name}: {not_one_of(text, words[name])}")
        return text == "true" if name == "sequence_parallel" else text
    if not is_digits(text) or not 1 <= int(text[:9]) <= 2**24:
        raise InputError(f"resume-from: {name}={text} is no size of at least 1")
    return int(text)
