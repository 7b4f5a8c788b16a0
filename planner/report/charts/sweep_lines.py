"""Figures of a study over an axis with intervals, two figures with their front, many as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from planner.base.errors import InputError
from planner.base.units import plural
from planner.report.charts.sweep_looks import (
    MOST_GROUPS,
    Look,
    best_words,
    cells_of,
    keys_of,
    looks_of,
    over,
    places,
)
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.tables.sweep import cell_words, column_words
from planner.studies.sweep.columns import cell
from planner.studies.sweep.rows import Row
from planner.studies.sweep.winners import (
    chosen_over,
    front,
    groups_of,
    number,
    order,
    sign,
    winners,
)

_MOST_DOTS = 3000
_MOST_LINES = 400
_FEW = 60  # dots whose details are told
_MOST_WORDS = 12


def line_picture(rows: Sequence[Row], x: str, y: str, color: str | None, least: str) -> Picture:
    """A figure of the best point over an axis, with its 80 % interval where it has one.

    Args:
        rows: Points.
        x: Column of the axis.
        y: The figure.
        color: Column with a line for each value; None: one line.
        least: Figure by which the point that is drawn is the best; see `winners`.

    Raises:
        InputError: No point has the figure, or it is no number.
    """
    names = (x,) if color is None else (x, color)
    best = winners(rows, names, least)
    if not best:
        raise InputError(f"plot: no point has {least}")
    groups = _groups(list(best.values()), color)
    looks = looks_of(groups)
    where, across = places([place[0] for place in best], x)
    known = [(where[place[0]], row, group) for (place, row), group in
             zip(best.items(), groups, strict=True) if number(row, y) is not None]  # fmt: skip
    ends = [_interval(row, y) for _, row, _ in known]
    values = [number(row, y) or 0.0 for _, row, _ in known]
    if not values:
        raise InputError(f"plot: no point has {y}")
    header = tuple(dict.fromkeys((*names, y, least, "plan")))
    chart = Chart(
        title=(
            best_words(y, rows)
            if y == least
            else f"{column_words(y)} of the point with the {best_words(least, rows)}"
        ),
        subtitle=chosen_over(rows, names),
        x=across,
        y=_scaled(y, [*values, *(end for pair in ends if pair for end in pair)]),
        marks=tuple(_lines(known, looks, y)),
        legend=keys_of(looks, color, "dot") if color else (),
        notes=("bars: 80 % interval",) if any(ends) else (),
        description="; ".join(
            f"{', '.join(cell_words(name, cell(row, name)) for name in reversed(names))}: "
            f"{cell_words(y, cell(row, y))}"
            for _, row, _ in known[:_FEW]
        ),
        header=header,
        rows=tuple(cells_of(row, header) for _, row, _ in known),
    )
    return Picture(title=f"{column_words(y)} over {column_words(x)}", charts=(chart,))


def _groups(rows: Sequence[Row], color: str | None) -> list[str]:
    if color is None:
        return ["all"] * len(rows)
    return groups_of([cell(row, color) for row in rows], MOST_GROUPS, partial(cell_words, color))


def _scaled(name: str, values: Sequence[float]) -> Axis:
    """An axis of a figure whose ticks have its unit."""
    axis = over(name, values)
    if axis.logarithmic:
        return axis
    return over(name, values, zero=min(values) >= 0)


def _interval(row: Row, name: str) -> tuple[float, float] | None:
    """The 80 % interval of a figure, where its answer has one."""
    stem, _, unit = name.rpartition("_")
    for low, high in ((f"{stem}_low_{unit}", f"{stem}_high_{unit}"), (f"{name}_low",
                                                                      f"{name}_high")):  # fmt: skip
        ends = number(row, low), number(row, high)
        if ends[0] is not None and ends[1] is not None:
            return ends[0], ends[1]
    return None


def _lines(
    known: Sequence[tuple[float, Row, str]], looks: dict[str, Look], y: str
) -> Iterator[Mark]:
    for group, (tone, shape, _) in looks.items():
        own = sorted((at, number(row, y) or 0.0, row) for at, row, of in known if of == group)
        for at, _, row in own:
            if (ends := _interval(row, y)) is not None:
                yield Line(points=((at, ends[0]), (at, ends[1])), tone=tone, strength=0.5)
        yield Line(points=tuple((at, value) for at, value, _ in own), tone=tone)
        for at, value, row in own:
            words = cell_words(y, value)
            yield Dot(x=at, y=value, tone=tone, shape=shape,
                      words=words if len(known) <= _MOST_WORDS else "",
                      detail=f"{group}: {words}, {cell(row, 'plan')}")  # fmt: skip


def scatter_picture(rows: Sequence[Row], x: str, y: str, color: str | None) -> Picture:
    """All points by two figures, with those that no other is better than in both.

    Args:
        rows: Points.
        x, y: Figures.
        color: Column that tells groups apart.

    Raises:
        InputError: No point has both figures, or one is no number.
    """
    there = [row for row in rows if number(row, x) is not None and number(row, y) is not None]
    if not there:
        raise InputError(f"plot: no point has both {x} and {y}")
    spots = [(number(row, x) or 0.0, number(row, y) or 0.0) for row in there]
    best = front([(sign(x) * one, sign(y) * other) for one, other in spots])
    looks = looks_of(groups := _groups(there, color))
    thin = range(0, len(there), -(-len(there) // _MOST_DOTS))
    marks: list[Mark] = [_spot(there[at], spots[at], looks[groups[at]]) for at in thin]
    if len(there) > _FEW:
        marks = [Dot(x=m.x, y=m.y, tone=m.tone, faint=True) for m in marks if isinstance(m, Dot)]
    marks.append(Line(points=tuple(spots[at] for at in best), tone="grey", dashed=True,
                      detail="front"))  # fmt: skip
    for at in best:
        tone, shape, _ = looks[groups[at]]
        marks.append(Dot(x=spots[at][0], y=spots[at][1], tone=tone, shape=shape, strong=True,
                         detail=str(cell(there[at], "plan"))))  # fmt: skip
    header = tuple(dict.fromkeys((x, y, *((color,) if color else ()), "plan")))
    shown = f"; {len(thin):,} of them are drawn" if len(thin) < len(there) else ""
    chart = Chart(
        title=f"{column_words(y)} against {column_words(x)}",
        subtitle=f"{plural(len(there), 'point')}, {len(best):,} on the front{shown}",
        x=over(x, [one for one, _ in spots]),
        y=over(y, [other for _, other in spots]),
        marks=tuple(marks),
        legend=(*(keys_of(looks, color, "dot") if color else ()),
                Key(words=f"front: {_better(x, y)}", tone="grey", kind="dashed")),
        description=f"{plural(len(best), 'point')} on the front of {x} and {y}.",
        header=header,
        rows=tuple(cells_of(there[at], header) for at in best),
    )  # fmt: skip
    return Picture(title=f"{column_words(y)} and {column_words(x)}", charts=(chart,))


def _better(x: str, y: str) -> str:
    """What the points of a front have before all others."""
    ends = [best_words(name).split(" ")[0] for name in (x, y)]
    if ends[0] == ends[1]:
        return f"no other has as {'little' if ends[0] == 'least' else 'much'} of both"
    less, more = (x, y) if ends[0] == "least" else (y, x)
    return f"no other has as little {column_words(less)} and as much {column_words(more)}"


def _spot(row: Row, place: tuple[float, float], look: Look) -> Dot:
    tone, shape, _ = look
    return Dot(x=place[0], y=place[1], tone=tone, shape=shape, detail=str(cell(row, "plan")))


def parallel_picture(rows: Sequence[Row], names: Sequence[str], color: str | None) -> Picture:
    """A line for each point across upright axes, one for each column.

    Args:
        rows: Points; those that lack a value are left out.
        names: Columns.
        color: Column that tells groups apart.

    Raises:
        InputError: There are fewer than two columns, or no points with all of them.
    """
    if len(names) < 2:
        raise InputError("plot: parallel lines need two columns or more; give --columns")
    there = [row for row in rows if all(cell(row, name) is not None for name in names)]
    if not there:
        raise InputError(f"plot: no point has all of {', '.join(names)}")
    shown = there[:: -(-len(there) // _MOST_LINES)]
    scales = [_Scale(name, [cell(row, name) for row in shown]) for name in names]
    looks = looks_of(groups := _groups(shown, color))
    marks: list[Mark] = []
    for row, group in zip(shown, groups, strict=True):
        path = tuple((float(at), one.place(cell(row, one.name))) for at, one in enumerate(scales))
        words = ", ".join(f"{name} {cell_words(name, cell(row, name))}" for name in names)
        marks.append(Line(points=path, tone=looks[group][0], strength=0.6, detail=words))
    for at, one in enumerate(scales):
        marks += one.marks(float(at))
    header = tuple(dict.fromkeys((*names, *((color,) if color else ()))))
    left = f"{len(shown):,} of {plural(len(there), 'point')}"
    chart = Chart(
        title=f"Points of the study across {plural(len(names), 'column')}",
        subtitle=left if len(shown) < len(there) else plural(len(there), "point"),
        x=Axis(label="", low=-0.5, high=len(names) - 0.5, hidden=True),
        y=Axis(label="", low=-0.12, high=1.12, hidden=True),
        marks=tuple(marks),
        legend=keys_of(looks, color, "line") if color else (),
        description=f"{left} as lines across {', '.join(names)}.",
        header=header,
        rows=tuple(cells_of(row, header) for row in shown[:_FEW]),
    )
    return Picture(title="Points across columns", charts=(chart,))


class _Scale:
    """One upright axis, from 0 to 1."""

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        self.name = name
        where, axis = places(values, name)
        self._where, self._axis = where, axis

    def place(self, value: Any) -> float:
        """Where a value stands on it."""
        from math import log  # noqa: PLC0415  (beside the only use)

        low, high, at = self._axis.low, self._axis.high, self._where[value]
        if self._axis.logarithmic:
            low, high, at = log(low), log(high), log(at)
        return (at - low) / (high - low)

    def marks(self, x: float) -> Iterator[Mark]:
        """The line with its name and its values."""
        yield Line(points=((x, 0.0), (x, 1.0)), tone="grey", bold=True)
        yield Words(x=x, y=1.06, words=column_words(self.name), bold=True)
        there = order(self._where)
        few = there if len(there) <= 8 else [there[0], there[-1]]
        for value in few:
            words = cell_words(self.name, value)
            yield Words(x=x + 0.02, y=self.place(value), words=words, anchor="start")
