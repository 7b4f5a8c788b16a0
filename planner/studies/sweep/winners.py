"""Which points of a study win: the best one of each cell of a map, the front of two figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.objectives import OBJECTIVES, objective_asked
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
            check_alike((row, found[place][1]), "least")
        if place not in found or value < found[place][0]:
            found[place] = (value, row)
    return {place: row for place, (_, row) in found.items()}


def sign(name: str) -> float:
    """1: less of a figure is better; -1: more is."""
    return -1.0 if name.rpartition(".")[2] in _MORE_IS_BETTER else 1.0


def check_alike(rows: Iterable[Row], asked_by: str) -> None:
    """Refuses to compare what points minimize where that differs.

    Args:
        rows: Points; those without a plan say nothing.
        asked_by: What asks for their `value`, for messages.

    Raises:
        InputError: It does.
    """
    kinds = _kinds(rows)
    if len(kinds) > 1:
        names = {name for name, _ in kinds}
        named = names if len(names) > 1 else {noun for _, noun in kinds}
        raise InputError(
            f"{asked_by}: points minimize {' and '.join(sorted(named))}, which cannot be compared; "
            f"name one figure, e.g. --{asked_by} best.step_time_s"
        )


def noun_of(rows: Iterable[Row]) -> str:
    """What `value` is of points that all minimize the same: `money per step`."""
    kinds = _kinds(rows)
    return kinds.pop()[1] if len(kinds) == 1 else "value"


def _kinds(rows: Iterable[Row]) -> set[tuple[str, str]]:
    """What points minimize, with its noun: where a chip-hour has a price, money has another."""
    answered = (row for row in rows if row.answer.get("best"))
    named = ((str(row.answer.get("objective_name")), row.asked) for row in answered)
    return {
        (name, objective_asked(name, asked).noun if name in OBJECTIVES else "value")
        for name, asked in named
    }


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
    kinds = _kinds(rows)
    return _FIGURES.get(kinds.pop()[0], "value") if len(kinds) == 1 else "value"


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


def groups_of(values: Sequence[Any], most: int, words: Callable[[Any], str]) -> list[str]:
    """The group of each value, of at most so many: itself, or a class of numbers.

    Args:
        values: What points are coloured by; None: there is nothing.
        most: Groups that can be told apart.
        words: Of a value.
    """
    there = order(value for value in values if value is not None)
    if len(there) <= most:
        return ["none" if value is None else words(value) for value in values]
    if all(isinstance(value, int | float) for value in there):
        edges = [there[round(at * (len(there) - 1) / _CLASSES)] for at in range(_CLASSES + 1)]
        return ["none" if value is None else _class(value, edges, words) for value in values]
    often = sorted(there, key=lambda value: -values.count(value))[: most - 1]
    return [
        "none" if value is None else words(value) if value in often else OTHERS for value in values
    ]


def _class(value: float, edges: Sequence[float], words: Callable[[Any], str]) -> str:
    """`30 % to 35 %`: the class of a number."""
    at = max(at for at in range(_CLASSES) if at == 0 or value > edges[at])
    return f"{words(edges[at])} to {words(edges[at + 1])}"
