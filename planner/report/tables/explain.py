"""`planner explain` in a terminal: what binds, what a step would change, what it leans on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import is_change, plain, plural, show_change, show_seconds
from planner.explanation.answer import Explained, ExplainResult, Step
from planner.explanation.sensitivity.elasticities import Elasticity, Overtaking
from planner.explanation.sensitivity.numbers import Number
from planner.report.tables.fitted import Fitted
from planner.report.tables.launch import unread_view
from planner.report.tables.likely import spread_words, tie_words, with_interval
from planner.report.tables.tables import indented, section, spaced
from planner.report.tables.terminal import defaults_view, head, plan_view
from planner.results.parts import Spread
from planner.results.result import EvaluateResult
from planner.results.words import job_words, join_words

_MOST = 12
_FEW = 4
_MEANS = {
    "zero3_overlap": "how much of the collectives of layers hides, of zero3 and of the gradients "
    "that zero2 scatters after each micro-batch",
}
_COUNTS = 0.005
"""Elasticities from which a number is named at the end of a search."""
_STEP = ("change", "step time", "time", "energy", "memory", "")
_LEAN = ("number", "value", "known as", "time", "energy", "memory")


def explain_view(result: ExplainResult) -> RenderableType:
    """Everything that `planner explain` prints."""
    evaluated, why = result.evaluated, result.explained
    return Group(
        *head(job_words(evaluated), evaluated.notes.losses, evaluated.warnings),
        plan_view("Plan", result.result),
        Text(spread_words(evaluated.notes.spread)),
        Text(),
        section("Why", indented(why.why)),
        Text(),
        *steps_view(why, evaluated.notes.spread),
        *refused_view(why),
        *leaning_view(why),
        *overtaking_view(why),
        *_of_launch(evaluated),
    )


def _of_launch(evaluated: EvaluateResult) -> list[RenderableType]:
    """What is assumed of a launch, and what of it was not read."""
    if not evaluated.launch:
        return []
    unread = [[one] for one in unread_view(evaluated)]
    return [Text(), spaced([defaults_view(evaluated.notes.defaults), *unread])]


def steps_view(why: Explained, spread: Spread | None = None) -> list[RenderableType]:
    """What may be had one step away, and the same plan on other machines."""
    words = tie_words(spread, why.objective)
    titles = {
        "plan": "One step away, all else the same",
        "machine": "What if the machine were another one (the same plan; power stays)",
        "slower": "What if a part of the machine were slower (the same plan; power stays)",
        "scale": "What if the job were larger (energy and time per token)",
    }
    parts: list[RenderableType] = []
    for direction, title in titles.items():
        rows = [_step_row(step) for step in why.steps if step.direction == direction and _had(step)]
        if rows:
            view = Fitted(_STEP, rows, right=_STEP[2:5])
            below = [Text(words)] if words and direction == "plan" else []
            parts += [section(title, view, *below), Text()]
    return parts


def _had(step: Step) -> bool:
    return step.refusal is None and step.result is not None


def _step_row(step: Step) -> tuple[str, ...]:
    found = step.result
    assert found is not None
    time = with_interval(
        found.step_time_s, found.step_time_low_s, found.step_time_high_s, show_seconds
    )
    return (
        step.change,
        time,
        signed(step.time),
        signed(step.energy),
        signed(step.memory),
        "tie" if step.tie else "",
    )


def signed(change: float | None) -> str:
    """`+3.1 %`, `-0.02 %`, `same`; nothing where it is not known."""
    if change is None:
        return ""
    if not is_change(change):
        return "same"
    return f"{'+' if change > 0 else '-'}{show_change(change)}"


def refused_view(why: Explained) -> list[RenderableType]:
    """What forbids the other steps: how many each limit and rule, and the closest misses."""
    refused = [step for step in why.steps if step.refusal is not None]
    if not refused:
        return []
    counts = [f"{count} by {name}" for name, count in why.refused.items()]
    words = f"Of the steps of the plan {join_words(counts)} cannot be had." if counts else ""
    rows = [(step.change, _refusal_words(step)) for step in sorted(refused, key=_distance)]
    lines = [Text(words)] if words else []
    return [section("What cannot be had, the closest first", *lines,
                    Fitted(("change", "because"), rows)), Text()]  # fmt: skip


def _distance(step: Step) -> float:
    """How far a limit is exceeded; rules come after limits."""
    assert step.refusal is not None
    excess = step.refusal.excess
    return float("inf") if excess is None else excess


def _refusal_words(step: Step) -> str:
    assert step.refusal is not None
    source = f" [{step.refusal.source}]" if step.refusal.source else ""
    return f"{step.refusal.words}{source}"


def leaning_view(why: Explained, most: int = _MOST) -> list[RenderableType]:
    """The numbers with the largest elasticities; what nobody measured is marked."""
    if not why.elasticities:
        return []
    shown = list(why.elasticities[:most])
    assumed = [one for one in why.elasticities if one.number.is_assumed]
    shown += [one for one in assumed[:_FEW] if one not in shown]
    rows = [_lean_row(one) for one in shown]
    words = (
        f"Per cent by which a result changes when a number grows by 1 %; "
        f"{len(why.elasticities)} of {plural(why.numbers, 'number')} change anything. "
        "* marks what is assumed, neither measured nor published. A file for "
        "--assumptions takes constants of the calibration and fields of the assumptions by these "
        "names; the others are facts of chip, cluster and framework."
    )
    view = Fitted(_LEAN, rows, right=_LEAN[3:])
    means = map(Text, meaning_words(one.number.path for one in shown))
    return [section("What the answer leans on", view, Text(words), *means), Text()]


def meaning_words(paths: Iterable[str]) -> list[str]:
    """What names of numbers mean that say too little, or too much."""
    shown = list(paths)
    return [
        f"{name}: {means}."
        for name, means in _MEANS.items()
        if any(path.rpartition(".")[2] == name for path in shown)
    ]


def _lean_row(one: Elasticity) -> tuple[str, ...]:
    number = one.number
    mark = "*" if number.is_assumed else ""
    parts = (one.time, one.energy, one.memory)
    return (
        f"{number.path}{mark}",
        value_words(number, number.value),
        number.kind,
        *(_slope(part) for part in parts),
    )


def _slope(value: float) -> str:
    return "0" if abs(value) < 5e-4 else f"{value:+.3f}"


def value_words(number: Number, value: float) -> str:
    """`450 GB/s`, `0.74`, `15.4 us`: a number with its unit."""
    unit = "" if number.unit in ("", "1") else number.unit
    if not unit:
        return plain(value, 4) if value >= 1e-4 else f"{value:.4g}"
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        if value >= scale:
            return f"{plain(value / scale, 4)} {prefix}{unit}"
    for scale, prefix in ((1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")):
        if value >= scale:
            return f"{plain(value / scale, 4)} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def overtaking_view(why: Explained) -> list[RenderableType]:
    """What is better already, and at which value of a number a worse plan becomes better."""
    lines: list[RenderableType] = [Text(line) for line in _already_better(why)]
    header = ("number", "value", "another plan is better below", "above")
    rows = [
        (
            f"{one.number.path}{'*' if one.number.is_assumed else ''}",
            value_words(one.number, one.number.value),
            _end(one, one.low, one.low_plan, tie=one.low_tie),
            _end(one, one.high, one.high_plan, tie=one.high_tie),
        )
        for one in why.overtakings
    ]
    if rows:
        lines += [Fitted(header, rows), *(Text(line) for line in _tried(why))]
    return [section("Would another value change the plan?", *lines)] if lines else []


def _already_better(why: Explained) -> list[str]:
    """The plans that need no other value to be better."""
    if not why.better:
        return []
    words = [
        f"{one.change} ({signed(one.relative)}{', a tie' if one.tie else ''})"
        for one in why.better[:_FEW]
    ]
    more = len(why.better) - len(words)
    words += [f"{more} more"] if more else []
    return [f"Already better in {why.objective.short}, as the values are: {'; '.join(words)}."]


def _tried(why: Explained) -> list[str]:
    """What was tried, and what was not."""
    lines = [
        f"Tried: these {len(why.overtakings)} of {plural(why.numbers, 'number')}, those with the "
        f"largest elasticities of {why.objective.short}, those that close the distance to "
        "another plan first, and of what is assumed those that do so first, one at a time, down "
        "to half and up to twice the value (shares up to their limit). Others: the plans that are "
        "worse now, one step away and, of a front or the answer of a search, those in the same "
        "file on as many chips. beyond: none overtakes."
    ]
    if any(one.low_tie or one.high_tie for one in why.overtakings):
        lines.append("(ties): that plan cannot be told from this one at the value as it is.")
    return lines


def _end(one: Overtaking, value: float | None, plan: str, *, tie: bool | None) -> str:
    if value is None:
        return "beyond"
    change = value / one.number.value - 1
    mark = " (ties)" if tie else ""
    return f"{value_words(one.number, value)} ({signed(change)}): {plan}{mark}"


def short_leaning_view(found: Sequence[Elasticity]) -> RenderableType:
    """The end of `planner solve`: the numbers that its best plan leans on the most."""
    largest = [one for one in found if abs(one.time) >= _COUNTS]
    known = [one for one in largest if not one.number.is_assumed][:_FEW]
    assumed = [one for one in largest if one.number.is_assumed][:_FEW]

    def words(some: Sequence[Elasticity]) -> str:
        return join_words([f"{one.number.path} ({one.time:+.2f})" for one in some]) or "nothing"

    return section(
        "What the step time leans on",
        indented(
            [
                f"Per cent of time for 1 % more: {words(known)}; of what is assumed, "
                f"{words(assumed)}.",
                *meaning_words(one.number.path for one in (*known, *assumed)),
                "More, and at which values another plan wins: planner explain plan.yaml.",
            ]
        ),
    )
