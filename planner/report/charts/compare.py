"""Pictures of a comparison: the parts side by side, and a waterfall from one time to the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hardware_db import FrozenMap
from planner.base.units import show_seconds, unit_for
from planner.explanation.comparison.answer import CompareResult, Side, Waterfall
from planner.report.charts.breakdown import breakdown_charts, words_of
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.drawing.style.looks import look_of
from planner.report.tables.compare import headlines, letter_of, signed_seconds
from planner.report.tables.explain import signed
from planner.results.plan import PlanResult

_ROW, _FRAME = 0.045, 0.16
"""Height of a row and of what is around the rows, over the width of a chart."""
_BEHIND = 0.2
"""Room for figures behind the bars, over the length that they take."""
_SMALL = 1e-4
"""Parts that change by less than this share of the longer time are left out of the picture."""


def compare_picture(result: CompareResult) -> Picture:
    """Breakdowns side by side, then one waterfall per plan but the first."""
    letters = [letter_of(number) for number in range(len(result.sides))]
    named = [
        (f"{letter}: {side.name}", _for_tokens(side, result.basis_tokens))
        for letter, side in zip(letters, result.sides, strict=True)
    ]
    says = headlines(result)
    falls = [
        waterfall_chart(fall, letter, words)
        for fall, letter, words in zip(result.waterfalls, letters[1:], says, strict=True)
    ]
    bars = breakdown_charts(named)
    if not result.same_batch:
        basis = f"for {result.basis_tokens:,.0f} tokens, those of a step of A"
        falls = [replace(fall, subtitle=f"{fall.subtitle}; {basis}") for fall in falls]
        titles = ("Time (slowest stage)", "Energy (split assumed)", bars[2].title)
        subtitles = (basis, basis, bars[2].subtitle)
        bars = tuple(
            replace(chart, title=title, subtitle=subtitle)
            for chart, title, subtitle in zip(bars, titles, subtitles, strict=True)
        )
    charts = (*falls, *bars)
    return Picture(title=" against ".join(side.name for side in result.sides), charts=charts)


def _for_tokens(side: Side, tokens: float) -> PlanResult:
    """What a plan costs, with its times and energies for so many tokens; bytes stay."""
    found, factor = side.result, tokens / side.tokens

    def scaled(parts: Mapping[str, float]) -> FrozenMap[float]:
        return FrozenMap({name: value * factor for name, value in parts.items()})

    return replace(
        found,
        step_time_s=found.step_time_s * factor,
        energy_per_step_j=found.energy_per_step_j * factor,
        time_s=scaled(found.time_s),
        communication_s=scaled(found.communication_s),
        energy_j=scaled(found.energy_j),
    )


def waterfall_chart(fall: Waterfall, letter: str, headline: str) -> Chart:
    """What each part adds to the time of A: each bar begins where the one before ended."""
    longest = max(fall.start_s, fall.end_s)
    parts = [
        (part, seconds)
        for part, seconds in sorted(fall.parts.items(), key=lambda item: -item[1])
        if abs(seconds) >= _SMALL * longest
    ]
    whole = fall.end_s - fall.start_s
    rest = whole - sum(seconds for _, seconds in parts)
    if abs(rest) > 1e-9 * longest:
        parts.append(("others", rest))
    reached = np.cumsum([0.0, *(seconds for _, seconds in parts)])
    spread = max(float(reached.max() - reached.min()), 1e-12 * longest)
    unit, name = unit_for(spread, "s")
    names = [*(words_of(part) for part, _ in parts), f"in all: {letter} against A"]
    return Chart(
        title=f"From A to {letter}: what makes the difference",
        subtitle=_subtitle(fall),
        x=Axis(
            label=f"change of the step time in {name}",
            low=(float(reached.min()) - 0.02 * spread) / unit,
            high=(float(reached.max()) + _BEHIND * spread) / unit,
        ),
        y=Axis(
            label="", low=-0.6, high=len(names) - 0.4, downwards=True,
            ticks=tuple((float(row), words) for row, words in enumerate(names)),
        ),
        marks=tuple(_marks(parts, whole, unit, 0.008 * spread)),
        legend=_legend([seconds for _, seconds in parts]),
        description=headline,
        header=("part of the step", "seconds"),
        rows=(
            ("A", show_seconds(fall.start_s)),
            *((words_of(part), signed_seconds(seconds)) for part, seconds in parts),
            (letter, show_seconds(fall.end_s)),
        ),
        height=_FRAME + _ROW * len(names),
    )  # fmt: skip


def _subtitle(fall: Waterfall) -> str:
    """`7.931 s to 7.988 s: +0.713 %`."""
    ends = f"{show_seconds(fall.start_s)} to {show_seconds(fall.end_s)}"
    return f"{ends}: {signed(fall.end_s / fall.start_s - 1)}"


def _legend(changes: list[float]) -> tuple[Key, ...]:
    """What there is: parts that take longer, parts that take less, their sum."""
    words = {
        "longer": "takes longer" if any(change > 0 for change in changes) else "",
        "shorter": "takes less" if any(change < 0 for change in changes) else "",
        "step_time": "the whole step",
    }
    return tuple(
        Key(words=said, tone=look_of(name)[0], hatch=look_of(name)[1], kind="bar")
        for name, said in words.items()
        if said
    )


def _marks(parts: list[tuple[str, float]], whole: float, unit: float, gap: float) -> list[Mark]:
    """A bar per part that begins where the one before ended, and the sum from zero."""
    reached = 0.0
    rows = len(parts) + 1
    marks: list[Mark] = [Line(points=((0.0, -0.6), (0.0, rows - 0.4)), tone="grey")]
    for row, (part, seconds) in enumerate([*parts, ("step time", whole)]):
        last = row == rows - 1
        before, reached = (0.0, seconds) if last else (reached, reached + seconds)
        look = look_of("step_time" if last else "longer" if seconds > 0 else "shorter")
        words, left, right = signed_seconds(seconds), min(before, reached), max(before, reached)
        if row:
            joint = (whole if last else before) / unit
            marks.append(
                Line(points=((joint, row - 0.64), (joint, row - 0.36)), tone="grey", dashed=True)
            )
        marks += [
            _bar(left, right, row, *look, f"{words_of(part)} {words}", unit),
            Words(x=(right + gap) / unit, y=row, words=words, anchor="start"),
        ]
    return marks


def _bar(
    left: float, right: float, row: int, tone: str, hatch: str, detail: str, unit: float
) -> Bar:
    return Bar(left=left / unit, right=right / unit, bottom=row + 0.36, top=row - 0.36,
               tone=tone, hatch=hatch, detail=detail)  # fmt: skip
