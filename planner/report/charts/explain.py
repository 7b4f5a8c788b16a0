"""Pictures of an explanation: what each step would change, and what the answer leans on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.base.units import show_seconds
from planner.explanation.answer import ExplainResult, Step
from planner.explanation.causes import KEPT_OUT
from planner.explanation.sensitivity.elasticities import LEAST, Elasticity
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.drawing.style.looks import look_of
from planner.report.tables.explain import meaning_words, signed, value_words
from planner.report.tables.likely import tie_words
from planner.results.words import job_words, mesh_words

_MOST = 14
_ROW, _FRAME = 0.042, 0.16
"""Height of a row and of what is around the rows, over the width of a chart."""
_ROOM = 1.35
"""Length of half an axis over its longest bar: figures stand behind the bars."""
_TIME, _ENERGY = look_of("step_time"), look_of("energy")
_FAR = 6.0
"""Bars longer than this many times three quarters of all are cut, so that the others are seen."""
_DIRECTIONS = {
    "plan": (*look_of("another_choice"), "another choice"),
    "machine": (*look_of("another_machine"), "another machine"),
    "scale": (*look_of("another_size"), "more chips, a larger batch"),
}
"""Those that are drawn: what slower parts would do stands in tables alone."""


def explain_picture(result: ExplainResult) -> Picture:
    """Steps and elasticities of one plan."""
    title = f"{job_words(result.evaluated)}: {mesh_words(result.result.plan)}"
    charts = [steps_chart(result)]
    if drawn(result.explained.elasticities):
        charts.append(leaning_chart(result.explained.elasticities))
    return Picture(title=title, charts=tuple(charts))


def steps_chart(result: ExplainResult) -> Chart:
    """A bar per step: the change of the time of a token; what does not fit is drawn lightly."""
    shown = (step for step in result.explained.steps if step.direction in _DIRECTIONS)
    steps = [step for step in shown if step.time is not None]
    changes = [100 * abs(step.time or 0.0) for step in steps]
    longest = _longest(changes) or 1.0
    reach = longest * _ROOM
    marks: list[Mark] = [_zero(len(steps))]
    for row, step in enumerate(steps):
        marks += _step_marks(row, step, longest)
    cut = ("Bars that end in an arrow are cut; their figures are true.",)
    spoken = tie_words(result.evaluated.notes.spread, result.explained.objective)
    ties = spoken.replace(". ", ".\n").split("\n") if any(step.tie for step in steps) else ()
    why = result.explained.why
    told = [why[0], *(line for line in why[1:2] if line.startswith(KEPT_OUT))]
    binding = "\n".join(told).replace("; ", ";\n").replace(", but", ",\nbut").split("\n")
    return Chart(
        title="One step in every direction",
        subtitle=f"time of a token against this plan's ({show_seconds(result.result.step_time_s)})",
        x=Axis(label="change of the time of a token in %", low=-reach, high=reach),
        y=_rows([step.change for step in steps]),
        marks=tuple(marks),
        legend=_step_legend(steps),
        notes=(*binding, "To the left is faster.", *ties,
               *(cut if max(changes, default=0.0) > longest else ())),
        spelled=True,
        description="Change of the time of a token by step: "
        + "; ".join(f"{step.change} {signed(step.time)}" for step in steps),
        header=("change", "time", "energy", "memory", "verdict"),
        rows=tuple(
            (step.change, signed(step.time), signed(step.energy), signed(step.memory), step.verdict)
            for step in steps
        ),
        height=_FRAME + _ROW * len(steps),
    )  # fmt: skip


def _longest(changes: Sequence[float]) -> float:
    """The longest bar that is drawn in full; longer ones end there."""
    if not changes:
        return 0.0
    far = _FAR * float(np.quantile(changes, 0.75))
    return max((change for change in changes if change <= far), default=0.0)


def _step_marks(row: int, step: Step, longest: float) -> list[Mark]:
    """A bar from zero and its figure at the far end; what forbids it beside that."""
    whole = 100 * (step.time or 0.0)
    change = max(min(whole, longest), -longest)
    tone, hatch, _ = _DIRECTIONS[step.direction]
    words = signed(step.time)
    if step.refusal is not None:
        words += f", {step.refusal.reason}"
    elif step.tie:
        words += ", tie"
    gap = 0.012 * longest * _ROOM
    side = -1 if change < 0 else 1
    arrow: list[Mark] = []
    if change != whole:
        gap *= 4
        arrow = [Line(points=((change, row), (change + side * 0.8 * gap, row)), tone=tone,
                      arrow=True)]  # fmt: skip
    return [
        *arrow,
        Bar(
            left=min(change, 0.0), right=max(change, 0.0), bottom=row + 0.36, top=row - 0.36,
            tone=tone, hatch=hatch, faint=step.refusal is not None,
            detail=f"{step.change}: {step.verdict}{' (tie)' if step.tie else ''}",
        ),
        Words(x=change + side * gap, y=row, words=words, anchor="end" if side < 0 else "start"),
    ]  # fmt: skip


def _step_legend(steps: Sequence[Step]) -> tuple[Key, ...]:
    """The directions that there are, and what cannot be had."""
    there = [name for name in _DIRECTIONS if any(step.direction == name for step in steps)]
    keys = [
        Key(words=_DIRECTIONS[name][2], tone=_DIRECTIONS[name][0], kind="bar",
            hatch=_DIRECTIONS[name][1])
        for name in there
    ]  # fmt: skip
    if any(step.refusal for step in steps):
        keys.append(Key(words="cannot be had", tone="blue", kind="bar", faint=True))
    return tuple(keys)


def drawn(found: Sequence[Elasticity]) -> list[Elasticity]:
    """Those that change time or energy, the largest first; bytes are not drawn."""
    sizes = [(max(abs(one.time), abs(one.energy)), one) for one in found]
    moved = [pair for pair in sizes if pair[0] >= LEAST]
    return [one for _, one in sorted(moved, key=lambda pair: -pair[0])]


def leaning_chart(found: Sequence[Elasticity], most: int = _MOST) -> Chart:
    """A tornado: per number what 1 % more of it does to time and energy."""
    shown = drawn(found)[:most]
    longest = max(max(abs(one.time), abs(one.energy)) for one in shown) or 1.0
    reach = longest * _ROOM
    marks: list[Mark] = [_zero(len(shown))]
    for row, one in enumerate(shown):
        marks += _lean_marks(row, one, reach)
    names = [f"{one.number.path}{' *' if one.number.is_assumed else ''}" for one in shown]
    rows = tuple(
        (
            name,
            value_words(one.number, one.number.value),
            one.number.kind,
            f"{one.time:+.3f}",
            f"{one.energy:+.3f}",
            f"{one.memory:+.3f}",
        )
        for name, one in zip(names, shown, strict=True)
    )
    return Chart(
        title="What the answer leans on",
        subtitle="change of time and energy in % for 1 % more of a number",
        x=Axis(label="% for 1 %", low=-reach, high=reach),
        y=_rows(names),
        marks=tuple(marks),
        legend=(
            Key(words="step time", tone=_TIME[0], hatch=_TIME[1], kind="bar"),
            Key(words="energy", tone=_ENERGY[0], hatch=_ENERGY[1], kind="bar"),
        ),
        notes=_lean_notes(shown),
        spelled=True,
        description="Elasticities of step time and energy: "
        + "; ".join(f"{row[0]} {row[3]} and {row[4]}" for row in rows),
        header=("number", "value", "known as", "time", "energy", "memory"),
        rows=rows,
        height=_FRAME + _ROW * len(shown),
    )


def _lean_notes(shown: Sequence[Elasticity]) -> tuple[str, ...]:
    """What the star means, where there is one, and what names do not say."""
    star = ["* assumed: neither measured nor published."]
    stars = star if any(one.number.is_assumed for one in shown) else []
    return (*stars, *meaning_words(one.number.path for one in shown))


def _lean_marks(row: int, one: Elasticity, reach: float) -> list[Mark]:
    """Two bars, time above energy, each with its figure."""
    number = one.number
    slopes = f"time {one.time:+.3f}, energy {one.energy:+.3f}"
    detail = f"{number.record}: {number.path} ({number.kind}): {slopes}"
    marks: list[Mark] = []
    for value, (tone, hatch), middle in ((one.time, _TIME, -0.2), (one.energy, _ENERGY, 0.2)):
        side = -1 if value < 0 else 1
        marks += [
            Bar(
                left=min(value, 0.0), right=max(value, 0.0), bottom=row + middle + 0.185,
                top=row + middle - 0.185, tone=tone, hatch=hatch, detail=detail,
            ),
            Words(x=value + side * 0.012 * reach, y=row + middle, words=_slope(value),
                  anchor="end" if side < 0 else "start"),
        ]  # fmt: skip
    return marks


def _slope(value: float) -> str:
    """`-0.725`; what would be written as zero is `0`."""
    words = f"{value:+.3f}"
    return words if float(words) else "0"


def _zero(rows: int) -> Line:
    return Line(points=((0.0, -0.6), (0.0, rows - 0.4)), tone="grey")


def _rows(names: Sequence[str]) -> Axis:
    ticks = tuple((float(row), name) for row, name in enumerate(names))
    return Axis(label="", low=-0.6, high=len(names) - 0.4, ticks=ticks, downwards=True)
