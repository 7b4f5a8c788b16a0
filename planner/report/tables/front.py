"""The Pareto front in a terminal: a table for the width there is, and a small plot."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import show_bytes, show_joules, show_percent, show_seconds
from planner.report.tables.machine_marks import COLUMNS, cells, has_machines
from planner.report.tables.scatter import WIDTH, scatter
from planner.report.tables.tables import ByWidth, section, table
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from planner.results.words import (
    best_apart,
    choice_words,
    front_title,
    is_best,
    marks_proved,
    mesh_words,
    proved_mark,
)

_FEW = 12
_WIDE, _MIDDLE = 104, 78
_CHOICES = "other choices"
_MARK = 8
"""Columns that the marks of proved plans take."""
_FIGURES = ("#", "chips", "step time", "energy/step", "MFU", "memory")


def front_view(result: SolveResult) -> RenderableType:
    """Table, plot and what the front ranges over."""
    parts: list[RenderableType] = [ByWidth(lambda room: _table(result, room))]
    if len(result.front) > 1:
        parts.append(ByWidth(lambda room: Text(_plot(result, room), no_wrap=True)))
    note = [Text(result.front.note)]
    if result.notes.spread is not None:
        low, high = result.notes.spread.low, result.notes.spread.high
        note.append(Text(f"80 % interval of each step time: {low:.2f} to {high:.2f} times it."))
    return section(front_title(result), *parts, *note)


def _table(result: SolveResult, room: int) -> RenderableType:
    """One table where there is room for it, else the figures first and the plans below."""
    points = _few(result.front)
    marked = marks_proved(result)
    header = (*_names(result), *(("proved",) if marked else ()))
    figures = [_figures(number, point, result) for number, point in points]
    plans = [_plan(number, point, result) for number, point in points]
    if has_machines(result):
        return _machine_table(points, figures, plans, _names(result))
    if room >= _WIDE + _MARK * marked:
        rows = [(*left, *right) for left, right in zip(figures, plans, strict=True)]
        return table((*header, "mesh", _CHOICES), rows, right=_names(result))
    if room >= _MIDDLE + _MARK * marked:
        both = ["\n".join(filter(None, right)) for right in plans]
        rows = [(*left, plan) for left, plan in zip(figures, both, strict=True)]
        return table((*header, "plan"), rows, right=_names(result))
    below = [(left[0], *right) for left, right in zip(figures, plans, strict=True)]
    return Group(
        table(header, figures, right=_names(result)),
        Text(),
        table(("#", "mesh", _CHOICES), below, right=("#",)),
    )


def _names(result: SolveResult) -> tuple[str, ...]:
    """Names of the figures of a plan."""
    return (*_FIGURES, *(one.short for one in result.beside))


def _machine_table(
    points: list[tuple[int, PlanResult | None]],
    figures: list[tuple[str, ...]],
    plans: list[tuple[str, str]],
    names: tuple[str, ...],
) -> RenderableType:
    """Figures with the machine of each plan first, then what the plans are."""
    rows = [
        (left[0], *(("", "") if point is None else cells(point)), *left[1:])
        for (_, point), left in zip(points, figures, strict=True)
    ]
    header = (names[0], *COLUMNS, *names[1:])
    right = tuple(name for name in header if name != "wiring")
    below = [(left[0], *plan) for left, plan in zip(figures, plans, strict=True)]
    return Group(
        table(header, rows, right=right),
        Text(),
        table(("#", "mesh", _CHOICES), below, right=("#",)),
    )


def _few(front: Sequence[PlanResult]) -> list[tuple[int, PlanResult | None]]:
    """The first and last points of a long front with their numbers, None between them."""
    points: list[tuple[int, PlanResult | None]] = list(enumerate(front, start=1))
    if len(front) <= _FEW:
        return points
    half = _FEW // 2
    return [*points[:half], (len(front) - _FEW, None), *points[-half:]]


def _figures(number: int, point: PlanResult | None, result: SolveResult) -> tuple[str, ...]:
    marked = marks_proved(result)
    if point is None:
        return ("...", *[""] * (len(_names(result)) - 1), *([""] if marked else []))
    return (
        f"*{number}" if is_best(point, result) else f"{number}",
        f"{point.chips:,}",
        show_seconds(point.step_time_s),
        show_joules(point.energy_per_step_j),
        show_percent(point.mfu),
        show_bytes(point.memory_per_chip_bytes),
        *(one.shown(point.costs) for one in result.beside),
        *([proved_mark(result, number - 1)] if marked else []),
    )


def _plan(number: int, point: PlanResult | None, result: SolveResult) -> tuple[str, str]:
    if point is None:
        return (f"{number} more", "")
    return mesh_words(point.plan), choice_words(point.plan)


def _plot(result: SolveResult, room: int) -> str:
    """Both axes of the front; the best plan is drawn last, so that nothing covers it."""
    shown = [*result.front, *best_apart(result)]
    points = sorted(shown, key=lambda point: is_best(point, result))
    across, other = result.across, result.against
    times = [across.value_of(point.costs) for point in points]
    heights = [other.value_of(point.costs) for point in points]
    ends = other.show(min(heights)), other.show(max(heights))
    return scatter(
        times,
        heights,
        ["*" if is_best(point, result) else "o" for point in points],
        x_label=across.noun,
        y_label=other.noun,
        legend="* best, o front",
        x_ends=(across.show(min(times)), across.show(max(times))),
        y_ends=ends,
        width=max(20, min(WIDTH, room - max(map(len, ends)) - 2)),
    )
