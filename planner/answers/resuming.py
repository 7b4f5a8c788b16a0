"""The answer about a run that exists: the best plan that its checkpoint loads into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from planner.answers.evaluation import evaluate_plan
from planner.answers.notes.caveats import not_launchable
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.units import show_percent, show_seconds
from planner.plan import Plan
from planner.plan.choices import says_something
from planner.question.files.plan_text import asked_of, plan_fields
from planner.question.kinds.kind import Kind, kind_of
from planner.question.launch.resuming import Resumed, resumed
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.results.result import SolveResult
from planner.results.words import RESUMED


def narrowed(request: Request, origin: Origin) -> tuple[Request, Resumed]:
    """The question without its run, with what the checkpoint of that keeps as fixed fields.

    Raises:
        InputError: See `planner.question.launch.resuming.resumed`; or the question is about pools
            or several machines, which no run that exists has.
    """
    if (kind := kind_of(request)) in (Kind.POOLS, Kind.MACHINES):
        raise InputError(
            origin.blame(
                f"resume-from: a run that exists is on one machine, and the question is about "
                f"{'pools' if kind is Kind.POOLS else 'several'}; leave it out",
                {"resume_from"},
            )
        )
    resolved = resolve(request, origin)
    found = resumed(request, resolved)
    if lines := not_launchable(resolved.cost, found.plan):
        raise InputError("\n".join(f"resume-from: {line}" for line, _ in lines))
    fields: dict[str, Any] = {"fix": dict(found.kept), "resume_from": None, "checkpoint": None}
    if found.checkpoint.same_chips:
        fields |= {"chips": found.plan.chips, "chips_at_most": None, "chips_exact": True}
    return request.model_copy(update=fields), found


def with_run_noted(
    request: Request, origin: Origin, found: Resumed, result: SolveResult
) -> SolveResult:
    """The answer that says what the checkpoint kept, and what the change of the layout gains."""
    lines = (_kept_words(found), *_gain(request, origin, found, result))
    notes = replace(result.notes, caveats=(*result.notes.caveats, *lines))
    question = replace(result.question, asked=asked_of(request))
    return replace(result, notes=notes, question=question)


def _kept_words(found: Resumed) -> str:
    form = found.checkpoint
    spared = () if found.plan.etp > 1 else ("etp",)  # which is said where experts are divided
    names = [name for name in form.kept(found.plan) if name in found.kept and name not in spared]
    kept = ", ".join(f"{name} {' or '.join(found.kept[name])}" for name in names)
    chips = f", and the {found.plan.chips} chips" if form.same_chips else ""
    return (
        f"the checkpoint {form.name} ({form.said}) keeps {kept}{chips}: {form.source} "
        f"({form.version})"
    )


def _gain(request: Request, origin: Origin, found: Resumed, result: SolveResult) -> Iterator[str]:
    """What the best plan gains against the layout of the run."""
    best, plan = result.best, found.plan
    if best is None:
        return
    try:
        own = evaluate_plan(resolve(request, origin, plan.chips), plan)
    except InputError as error:
        yield f"{RESUMED} cannot be kept: {str(error).splitlines()[0]}"
        return
    before = own.result.step_time_s
    assumed = _assumed_words(found)
    changes = list(_changes(plan, best.plan))
    if not changes:
        yield f"{RESUMED} is the best one that its checkpoint loads into{assumed}"
        return
    fits = "" if own.fits else ", which does not fit as it is"
    on = "" if plan.chips == best.chips else f" on its {plan.chips} chips"
    gain = 1 - best.step_time_s / before
    word = "less" if gain >= 0 else "more"
    yield (
        f"{RESUMED} takes {show_seconds(before)}{on}{fits}; this plan takes "
        f"{show_seconds(best.step_time_s)}, {show_percent(abs(gain))} {word}: "
        f"{', '.join(changes)}{assumed}"
    )


def _assumed_words(found: Resumed) -> str:
    """What a text did not say of the run."""
    if not found.assumed:
        return ""
    flat = _flat(found.plan)
    words = ", ".join(f"{name}={flat[name]}" for name in found.assumed)
    return f"; assumed of the run, to be corrected in resume-from: {words}"


def _changes(old: Plan, new: Plan) -> Iterator[str]:
    """The fields in which two plans differ, where either's can change what it costs."""
    before, after = _flat(old), _flat(new)
    for name, value in after.items():
        if before[name] == value or not any(says_something(one, name) for one in (old, new)):
            continue
        yield f"{name} {before[name]} to {value}"


def _flat(plan: Plan) -> dict[str, str]:
    """Every field of a plan by its name in files, as an answer shows it."""
    found = {**plan.mesh, "etp": plan.etp, **plan_fields(plan)}
    del found["mesh"]
    placed = [axis if plan.layout is None else f"{axis} {n}" for axis, n in plan.ranks if n > 1]
    stages = found.get("stages") or []
    words = {name: str(value).lower() for name, value in found.items()}
    return words | {
        "clock": f"{plan.clock:g}",
        "offload": "+".join(plan.offload) or "none",
        "placement": "-".join(placed) or "none",
        "stages": "; ".join(map(_stage_words, stages)) or "alike",
    }


def _stage_words(stage: Mapping[str, Any]) -> str:
    """A stage of a plan file in words."""
    layers, *others = (
        str(value) if name == "layers" else f"{name} {value}" for name, value in stage.items()
    )
    return " ".join((layers, *(others and (f"({', '.join(others)})",))))
