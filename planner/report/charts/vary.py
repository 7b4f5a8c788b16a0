"""The answers of `planner solve --vary` as a picture: curves over one field, a map of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.answers.varying.result import Varied, VaryResult
from planner.base.units import show_joules, show_seconds, unit_for
from planner.report.drawing.chart import (
    HATCHES,
    SHAPES,
    TONES,
    Axis,
    Bar,
    Chart,
    Dot,
    Key,
    Line,
    Mark,
    Picture,
)
from planner.report.tables.vary import between_lines, title_of, winner_lines
from planner.results.plan import PlanResult

_ROOM = 1.15
_MARGIN = 0.05


def vary_picture(result: VaryResult) -> Picture:
    """Step time and energy over the values of one field, or which plan wins where of two."""
    if len(result.axes) > 1:
        return Picture(title=title_of(result), charts=(_map(result),))
    charts = (
        _curve(result, "step time", "s", lambda best: best.step_time_s, show_seconds),
        _curve(result, "energy per step", "J", lambda best: best.energy_per_step_j, show_joules),
    )
    return Picture(title=title_of(result), charts=charts, columns=2)


def _looks(result: VaryResult) -> dict[str, tuple[str, str, str]]:
    """Tone, shape and hatch by letter."""
    letters = dict.fromkeys(result.letter(point) for point in result.points if point.best)
    return {
        letter: (TONES[at % len(TONES)], SHAPES[at % len(SHAPES)], HATCHES[at % len(HATCHES)])
        for at, letter in enumerate(letters)
    }


def _places(result: VaryResult) -> list[float]:
    """Where the values stand on the axis: themselves, or side by side."""
    axis = result.axes[0]
    if axis.continuous:
        return [axis.at(point.texts[0]) for point in result.points]
    return [float(at + 1) for at in range(len(result.points))]


def _curve(
    result: VaryResult,
    name: str,
    symbol: str,
    value: Callable[[PlanResult], float],
    show: Callable[[float], str],
) -> Chart:
    axis, looks, places = result.axes[0], _looks(result), _places(result)
    known = [(at, point, point.best) for at, point in zip(places, result.points, strict=True)
             if point.best is not None]  # fmt: skip
    top = max((value(best) for _, _, best in known), default=1.0)
    scale, unit = unit_for(top, symbol)
    marks: list[Mark] = [
        Line(points=((turn.below.at, 0.0), (turn.below.at, top * _ROOM / scale)), tone="grey",
             dashed=True, detail=f"the best plan changes at {axis.shown(turn.below.at)}")
        for one in result.between
        for turn in one.turns
    ]  # fmt: skip
    marks.append(
        Line(points=tuple((at, value(best) / scale) for at, _, best in known), tone="grey")
    )
    for at, point, best in known:
        letter = result.letter(point)
        tone, shape, _ = looks[letter]
        words = f"{letter}, {show(value(best))}"
        marks.append(Dot(x=at, y=value(best) / scale, tone=tone, shape=shape, words=words,
                         detail=f"{axis.name}={point.texts[0]}: {words}"))  # fmt: skip
    return Chart(
        title=f"{name} of the best plan",
        x=_across(result, places),
        y=Axis(label=f"{name} ({unit})", low=0.0, high=top * _ROOM / scale),
        marks=tuple(marks),
        legend=_legend(result, looks),
        notes=tuple(between_lines(result)) if symbol == "s" else (),
        description="; ".join(f"{point.texts[0]}: {show(value(best))}" for _, point, best in known),
        header=(axis.name, "plan", name),
        rows=tuple((p.texts[0], result.letter(p), show(value(best))) for _, p, best in known),
    )


def _across(result: VaryResult, places: Sequence[float]) -> Axis:
    """The axis of the values."""
    axis, low, high = result.axes[0], min(places), max(places)
    margin = (high / low) ** _MARGIN if axis.continuous else 1.0
    return Axis(
        label=axis.name,
        low=low / margin if axis.continuous else low - 0.5,
        high=high * margin if axis.continuous else high + 0.5,
        logarithmic=axis.continuous,
        ticks=tuple((at, point.texts[0]) for at, point in zip(places, result.points, strict=True)),
    )


def _legend(result: VaryResult, looks: dict[str, tuple[str, str, str]]) -> tuple[Key, ...]:
    return tuple(
        Key(words=f"{letter}: {line}", tone=look[0], shape=look[1])
        for (letter, look), line in zip(looks.items(), winner_lines(result), strict=True)
    )


def _map(result: VaryResult) -> Chart:
    """A cell for each pair of values, with the look of the plan that wins there."""
    down, across = result.axes
    looks = _looks(result)
    marks = [_cell(result, point, looks) for point in result.points if point.best is not None]
    names = tuple(looks)
    rows = tuple(
        (*point.texts, result.letter(point), show_seconds(point.best.step_time_s))
        for point in result.points
        if point.best is not None
    )
    return Chart(
        title=f"best plan over {down.name} and {across.name}",
        x=_beside(across.name, across.texts),
        y=_beside(down.name, down.texts),
        marks=tuple(marks),
        legend=tuple(
            Key(
                words=f"{letter}: {line}", tone=looks[letter][0], kind="bar", hatch=looks[letter][2]
            )
            for letter, line in zip(names, winner_lines(result), strict=True)
        ),
        description="; ".join(" ".join(row) for row in rows),
        header=(down.name, across.name, "plan", "step time"),
        rows=rows,
    )


def _beside(name: str, texts: Sequence[str]) -> Axis:
    """An axis on which values stand side by side."""
    ticks = tuple((float(at + 1), text) for at, text in enumerate(texts))
    return Axis(label=name, low=0.5, high=len(texts) + 0.5, ticks=ticks)


def _cell(result: VaryResult, point: Varied, looks: dict[str, tuple[str, str, str]]) -> Bar:
    down, across = result.axes
    x, y = across.texts.index(point.texts[1]) + 1, down.texts.index(point.texts[0]) + 1
    letter = result.letter(point)
    tone, _, hatch = looks[letter]
    assert point.best is not None
    words = f"{letter} {show_seconds(point.best.step_time_s)}"
    return Bar(left=x - 0.5, right=x + 0.5, bottom=y - 0.5, top=y + 0.5, tone=tone, hatch=hatch,
               words=words, detail=f"{', '.join(point.texts)}: {words}", faint=True)  # fmt: skip
