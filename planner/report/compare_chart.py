"""Pictures of a comparison: the parts side by side, and a waterfall from one time to the other."""

from __future__ import annotations

from planner.explanation.compare_answer import CompareResult, Waterfall
from planner.report.breakdown_chart import breakdown_charts, words_of
from planner.report.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.compare_view import headlines, letter_of, signed_seconds
from planner.units import show_seconds, unit_for

_ROW, _FRAME = 0.045, 0.16
"""Height of a row and of what is around the rows, over the width of a chart."""
_SMALL = 1e-4
"""Parts that change by less than this share of the longer time are left out of the picture."""


def compare_picture(result: CompareResult) -> Picture:
    """Breakdowns side by side, then one waterfall per plan but the first."""
    letters = [letter_of(number) for number in range(len(result.sides))]
    named = [
        (f"{letter}: {side.name}", side.result)
        for letter, side in zip(letters, result.sides, strict=True)
    ]
    says = headlines(result)
    falls = [
        waterfall_chart(fall, letter, words)
        for fall, letter, words in zip(result.waterfalls, letters[1:], says, strict=True)
    ]
    charts = (*falls, *breakdown_charts(named))
    return Picture(title=" against ".join(side.name for side in result.sides), charts=charts)


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
    marks, low, high = _marks(fall, letter, parts, unit)
    names = ["A", *(words_of(part) for part, _ in parts), letter]
    room = 0.16 * (high - low)
    return Chart(
        title=f"From A to {letter}: what makes the difference",
        subtitle=headline,
        x=Axis(label=name, low=max(low - room, 0.0), high=high + room),
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
        description=headline,
        header=("part of the step", "seconds"),
        rows=(
            ("A", show_seconds(fall.start_s)),
            *((words_of(part), signed_seconds(seconds)) for part, seconds in parts),
            (letter, show_seconds(fall.end_s)),
        ),
        height=_FRAME + _ROW * len(names),
    )  # fmt: skip


def _marks(
    fall: Waterfall, letter: str, parts: list[tuple[str, float]], unit: float
) -> tuple[list[Mark], float, float]:
    """The bars, and the least and largest value between which they change."""
    reached = fall.start_s
    ends = [reached]
    steps: list[Mark] = []
    for row, (part, seconds) in enumerate(parts, start=1):
        before, reached = reached, reached + seconds
        ends.append(reached)
        longer = seconds > 0
        words = signed_seconds(seconds)
        steps += [
            Line(
                points=((before / unit, row - 0.64), (before / unit, row - 0.36)),
                tone="grey", dashed=True,
            ),
            Bar(
                left=min(before, reached) / unit, right=max(before, reached) / unit,
                bottom=row + 0.36, top=row - 0.36,
                tone="orange" if longer else "green", hatch="slant" if longer else "dots",
                detail=f"{words_of(part)} {words}",
            ),
        ]  # fmt: skip
        steps.append(_figure(max(before, reached), row, words, unit, max(ends)))
    spread = max(ends) - min(ends)
    floor = max(min(ends) - 0.5 * spread, 0.0)
    whole = [(0, "A", fall.start_s), (len(parts) + 1, letter, fall.end_s)]
    bars: list[Mark] = []
    for row, name, seconds in whole:
        bars.append(
            Bar(
                left=floor / unit, right=seconds / unit, bottom=row + 0.36, top=row - 0.36,
                tone="blue", detail=f"{name}: {show_seconds(seconds)}",
            )
        )  # fmt: skip
        bars.append(_figure(seconds, row, show_seconds(seconds), unit, max(ends)))
    return [*bars, *steps], floor / unit, max(ends) / unit


def _figure(seconds: float, row: int, words: str, unit: float, longest: float) -> Words:
    return Words(x=(seconds + 0.004 * longest) / unit, y=row, words=words, anchor="start")
