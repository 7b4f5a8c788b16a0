"""Pictures of a comparison: the parts side by side, and a waterfall from one time to the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hardware_db import FrozenMap
from planner.explanation.compare_answer import CompareResult, Side, Waterfall
from planner.report.breakdown_chart import breakdown_charts, words_of
from planner.report.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.compare_view import headlines, letter_of, signed_seconds
from planner.report.explain_view import signed
from planner.results import PlanResult
from planner.units import show_seconds, unit_for

_ROW, _FRAME = 0.045, 0.16
"""Height of a row and of what is around the rows, over the width of a chart."""
_LARGE = 0.3
"""Share of the longer time from which on the changes are seen on an axis from zero."""
_BEHIND = 0.16
"""Room for figures behind the bars, over the length of the axis."""
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
    """From the time of A to that of another plan: each bar begins where the one before ended."""
    longest = max(fall.start_s, fall.end_s)
    unit, name = unit_for(longest, "s")
    parts = [
        (part, seconds)
        for part, seconds in sorted(fall.parts.items(), key=lambda item: -item[1])
        if abs(seconds) >= _SMALL * longest
    ]
    rest = fall.end_s - fall.start_s - sum(seconds for _, seconds in parts)
    if abs(rest) > 1e-9 * longest:
        parts.append(("others", rest))
    low, high = _ends(fall, [seconds for _, seconds in parts])
    marks = _marks(fall, letter, parts, unit, low, high)
    names = ["A", *(words_of(part) for part, _ in parts), letter]
    return Chart(
        title=f"From A to {letter}: what makes the difference",
        subtitle=_subtitle(fall),
        x=Axis(label=name, low=low / unit, high=high / unit),
        y=Axis(
            label="", low=-0.6, high=len(names) - 0.4, downwards=True,
            ticks=tuple((float(row), words) for row, words in enumerate(names)),
        ),
        marks=tuple(marks),
        legend=(
            Key(words="time of a plan", tone="blue", kind="bar"),
            Key(words="takes longer", tone="orange", kind="bar", hatch="slant"),
            Key(words="takes less", tone="green", kind="bar", hatch="dots"),
        ),
        notes=("The axis does not begin at zero.",) if low else (),
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


def _ends(fall: Waterfall, changes: list[float]) -> tuple[float, float]:
    """Seconds at both ends of the axis: it begins at zero where the changes are large enough."""
    reached = fall.start_s + np.cumsum([0.0, *changes])
    least, most = float(reached.min()), float(reached.max())
    spread = max(most - least, _SMALL * most)
    low = 0.0 if spread > _LARGE * most else max(least - 0.5 * spread, 0.0)
    return low, most + _BEHIND * (most - low)


def _marks(
    fall: Waterfall,
    letter: str,
    parts: list[tuple[str, float]],
    unit: float,
    low: float,
    high: float,
) -> list[Mark]:
    """The times of both plans, and between them a bar per part."""
    reached, gap = fall.start_s, 0.008 * (high - low)
    marks: list[Mark] = []
    for row, name, seconds in ((0, "A", fall.start_s), (len(parts) + 1, letter, fall.end_s)):
        words = show_seconds(seconds)
        marks += [
            _bar(low, seconds, row, "blue", "", f"{name}: {words}", unit),
            Words(x=(seconds + gap) / unit, y=row, words=words, anchor="start"),
        ]
    for row, (part, seconds) in enumerate(parts, start=1):
        before, reached = reached, reached + seconds
        looks = ("orange", "slant") if seconds > 0 else ("green", "dots")
        words, left, right = signed_seconds(seconds), min(before, reached), max(before, reached)
        marks += [
            Line(
                points=((before / unit, row - 0.64), (before / unit, row - 0.36)),
                tone="grey", dashed=True,
            ),
            _bar(left, right, row, *looks, f"{words_of(part)} {words}", unit),
            Words(x=(right + gap) / unit, y=row, words=words, anchor="start"),
        ]  # fmt: skip
    return marks


def _bar(
    left: float, right: float, row: int, tone: str, hatch: str, detail: str, unit: float
) -> Bar:
    return Bar(left=left / unit, right=right / unit, bottom=row + 0.36, top=row - 0.36,
               tone=tone, hatch=hatch, detail=detail)  # fmt: skip
