"""What the pictures of a study share: looks of groups, axes over values, the table below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from typing import Any

from planner.base.numerals import number_of
from planner.report.drawing.chart import HATCHES, SHAPES, TONES, Axis, Key, Picture
from planner.report.tables.sweep import cell_words, column_words
from planner.studies.sweep.columns import cell
from planner.studies.sweep.rows import Age, Row
from planner.studies.sweep.winners import noun_of, order, sign

MOST_GROUPS = len(TONES) - 1
_MARGIN = 0.05
_LOGARITHMIC = 8.0  # times as much at the end
Look = tuple[str, str, str]


def looks_of(groups: Sequence[str]) -> dict[str, Look]:
    """Tone, shape and hatch by group, in their order."""
    return {
        group: (TONES[at % MOST_GROUPS], SHAPES[at % len(SHAPES)], HATCHES[at % len(HATCHES)])
        for at, group in enumerate(_ordered(groups))
    }


def _ordered(groups: Sequence[str]) -> list[str]:
    """Groups that are numbers ascending, others as they come."""
    names = list(dict.fromkeys(groups))
    try:
        return sorted(names, key=lambda name: number_of(name.split(" to ")[0].replace(",", "")))
    except ValueError:
        return names


def keys_of(looks: dict[str, Look], name: str, kind: str) -> tuple[Key, ...]:
    """The legend of groups of a column."""
    of_bars = kind == "bar"
    found = [
        Key(words=group, tone=tone, shape=shape, kind=kind, hatch=hatch if of_bars else "",
            faint=of_bars)
        for group, (tone, shape, hatch) in looks.items()
    ]  # fmt: skip
    first = replace(found[0], words=f"{column_words(name)} {found[0].words}")
    return first, *found[1:]


def beside(name: str, values: Sequence[Any]) -> Axis:
    """An axis on which values stand side by side."""
    ticks = tuple((float(at + 1), cell_words(name, value)) for at, value in enumerate(values))
    return Axis(label=column_words(name), low=0.5, high=len(values) + 0.5, ticks=ticks, beside=True)


def over(name: str, values: Sequence[float], *, zero: bool = False) -> Axis:
    """An axis of numbers; logarithmic where they span much.

    Args:
        name: Of the column.
        values: The numbers.
        zero: Whether it begins at 0.
    """
    low, high = min(values), max(values)
    if isclose(low, high):
        low, high = low - abs(low) / 2 - (low == 0), high + abs(high) / 2 + (high == 0)
    wide = not zero and low > 0 and high / low >= _LOGARITHMIC
    if wide:
        margin = (high / low) ** _MARGIN
        return Axis(
            label=column_words(name), low=low / margin, high=high * margin, logarithmic=True
        )
    margin = (high - low) * _MARGIN
    return Axis(label=column_words(name), low=0.0 if zero else low - margin, high=high + margin)


def numeric(values: Sequence[Any]) -> bool:
    """Whether all values are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def places(values: Sequence[Any], name: str) -> tuple[dict[Any, float], Axis]:
    """Where values stand on an axis, and the axis: numbers to scale, others side by side."""
    there = order(values)
    if numeric(there) and len(there) > 1:
        axis = over(name, there)
        few = len(there) <= 12
        ticks = tuple((float(value), cell_words(name, value)) for value in there) if few else ()
        return (
            {value: float(value) for value in there},
            replace(axis, ticks=ticks),
        )  # fmt: skip
    return {value: float(at + 1) for at, value in enumerate(there)}, beside(name, there)


def best_words(name: str, rows: Sequence[Row] = ()) -> str:
    """`least step time (s)`, `most mfu`: the better end of a figure, of some points."""
    words = noun_of(rows) if name == "value" else column_words(name)
    return f"{'least' if sign(name) > 0 else 'most'} {words}"


def cells_of(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    """A line of the table under a picture."""
    return tuple(cell_words(name, cell(row, name)) for name in names)


def noted(picture: Picture, age: Age) -> Picture:
    """A picture that says below it which of its points are of another version."""
    if not age.words:
        return picture
    *others, last = picture.charts
    return replace(picture, charts=(*others, replace(last, notes=(*last.notes, age.words))))
