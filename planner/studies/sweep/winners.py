"""Which points of a study win: the best one of each cell of a map, the front of two figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.objectives import OBJECTIVES
from planner.studies.sweep.columns import cell
from planner.studies.sweep.rows import Row

OTHERS = "others"
_CLASSES = 5


class Spot(NamedTuple):
    """A point as pictures take it.

    Attributes:
        x, y: Its place.
        group: What it is coloured by.
        row: The point.
    """

    x: Any
    y: Any
    group: Any
    row: Row


def order(values: Iterable[Any]) -> list[Any]:
    """Distinct values: numbers ascending, anything else as it comes first."""
    found = list(dict.fromkeys(values))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
        return sorted(found)
    return found


def winners(rows: Iterable[Row], names: Sequence[str], least: str) -> dict[tuple[Any, ...], Row]:
    """The row with the least of a figure, or the most, for each combination of some columns.

    Args:
        rows: Points; those without the figure win nothing.
        names: Columns that make a combination.
        least: The figure; of one of which more is better there is most.

    Raises:
        InputError: It is no number somewhere, or it is of several kinds.
    """
    found: dict[tuple[Any, ...], tuple[float, Row]] = {}
    for row in rows:
        value = number(row, least)
        if value is None:
            continue
        place, value = tuple(cell(row, name) for name in names), sign(least) * value
        if place in found and least == "value":
            _check_alike(row, found[place][1])
        if place not in found or value < found[place][0]:
            found[place] = (value, row)
    return {place: row for place, (_, row) in found.items()}


def sign(name: str) -> float:
    """1: less of a figure is better; -1: more is."""
    return -1.0 if name.rpartition(".")[2] in _MORE_IS_BETTER else 1.0


def _check_alike(one: Row, other: Row) -> None:
    """Refuses to compare what two points minimize where that differs.

    Raises:
        InputError: It does.
    """
    kinds = [str(row.answer.get("objective_name")) for row in (one, other)]
    if len(set(kinds)) > 1:
        raise InputError(
            f"least: points minimize {' and '.join(sorted(kinds))}, which cannot be compared; "
            "name one figure, e.g. --least best.step_time_s"
        )


def noun_of(rows: Iterable[Row]) -> str:
    """What `value` is of points that all minimize the same: `money per step`."""
    kinds = {(row.answer.get("objective_name"), row.asked.get("price_per_chip_hour") is not None)
             for row in rows if row.answer.get("best")}  # fmt: skip
    names = {str(name) for name, _ in kinds}
    if len(names) != 1 or (name := names.pop()) not in OBJECTIVES:
        return "value"
    return OBJECTIVES[name].priced(1.0 if all(priced for _, priced in kinds) else None).noun


def chosen_over(rows: Iterable[Row], shown: Sequence[str]) -> str:
    """`the best over model`: axes that vary beside those that are shown; empty: none does."""
    values: dict[tuple[Any, ...], set[str]] = {}
    for row in rows:
        place = tuple(cell(row, name) for name in shown)
        for name in row.axes:
            values.setdefault((name, place), set()).add(str(cell(row, name)))
    several = dict.fromkeys(name for (name, _), there in values.items() if len(there) > 1)
    return f"in each place the best over {' and '.join(several)}" if several else ""


_MORE_IS_BETTER = ("mfu", "hfu", "tokens_per_s", "share")
_FIGURES = {"time": "best.step_time_s", "energy": "best.energy_per_step_j"}


def minimized(rows: Iterable[Row]) -> str:
    """The figure of which all points have the least, by its column."""
    names = {row.answer.get("objective_name") for row in rows if row.answer.get("best")}
    return _FIGURES.get(str(names.pop()), "value") if len(names) == 1 else "value"


def number(row: Row, name: str) -> float | None:
    """A figure of a row; None: it has none.

    Raises:
        InputError: It is no number.
    """
    value = cell(row, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}: {shown(value)} is not a number; name a figure of the answer")
    return float(value)


def front(spots: Sequence[tuple[float, float]]) -> list[int]:
    """Places of those that no other has as little of both values as, by the first value."""
    ordered = sorted(range(len(spots)), key=spots.__getitem__)
    found: list[int] = []
    for at in ordered:
        if not found or spots[at][1] < spots[found[-1]][1]:
            found.append(at)
    return found


def groups_of(values: Sequence[Any], most: int) -> list[str]:
    """The group of each value, of at most so many: itself, or a class of numbers.

    Args:
        values: What points are coloured by; None: there is nothing.
        most: Groups that can be told apart.
    """
    there = order(value for value in values if value is not None)
    if len(there) <= most:
        return ["none" if value is None else _plain(value) for value in values]
    if all(isinstance(value, int | float) for value in there):
        edges = [there[round(at * (len(there) - 1) / _CLASSES)] for at in range(_CLASSES + 1)]
        return ["none" if value is None else _class(value, edges) for value in values]
    often = sorted(there, key=lambda value: -values.count(value))[: most - 1]
    return [
        "none" if value is None else _plain(value) if value in often else OTHERS for value in values
    ]


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _class(value: float, edges: Sequence[float]) -> str:
    """`0.3 to 0.35`: the class of a number."""
    at = max(at for at in range(_CLASSES) if at == 0 or value > edges[at])
    return f"{edges[at]:.4g} to {edges[at + 1]:.4g}"
