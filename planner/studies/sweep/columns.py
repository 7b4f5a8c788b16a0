"""Columns of a study: what a table or a picture takes from a point and its answer.

A column is an axis, a field of the question, or a dotted path into what is kept of an answer
(`best.step_time_s`, `best.mesh.tp`, `training_run.cost`); some have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import did_you_mean, shown
from planner.question.asked import BY_NAME
from planner.studies.sweep.kept import clock_words, mesh_words
from planner.studies.sweep.question.conditions import Condition
from planner.studies.sweep.rows import Row
from planner.studies.sweep.store import FAILED

_FIGURES = ("best.step_time_s", "best.mfu", "best.energy_per_step_j", "best.memory_per_chip_bytes")
_WHOLE = 2.0**53
NONE_CHOSEN = "no point has an answer that fulfils the conditions"
Cell = Callable[[Row], Any]


def _best(row: Row) -> Mapping[str, Any]:
    return row.answer.get("best") or {}


def _plan(row: Row) -> str | None:
    """`tp8 pp2 dp4, zero1, micro-batch 2`: the best plan in short."""
    best = _best(row)
    if not best:
        return None
    words = [mesh_words(best), best["sharding"], f"micro-batch {best['micro_batch']}"]
    if best["recompute"] != "none":
        words.append(f"recompute {best['recompute']}")
    words.append(clock_words(best))
    if best.get("chips", asked := row.asked.get("chips")) != asked and asked is not None:
        words.append(f"on {best['chips']:,} chips")
    return ", ".join(filter(None, words))


_OWN: dict[str, Cell] = {
    "place": lambda row: row.place,
    "key": lambda row: row.key,
    "status": lambda row: row.status or "to do",
    "version": lambda row: row.version,
    "cpu_s": lambda row: row.cpu_s if row.status else None,
    "value": lambda row: row.answer.get("objective"),
    "plan": _plan,
    "front_plans": lambda row: len((row.answer.get("front") or {}).get("plans", [])) or None,
    "reason": lambda row: row.answer.get("reason") if row.status in FAILED
    else row.answer.get("diagnosis"),
}  # fmt: skip
"""Columns with names of their own."""


def usual(axes: Sequence[str]) -> tuple[str, ...]:
    """The columns that a table has where none are named."""
    return (*axes, "status", "plan", *_FIGURES)


def known(rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of the columns that rows have, and of those that any study has."""
    names = dict.fromkeys(_OWN)
    for row in rows:
        names |= dict.fromkeys(row.axes) | dict.fromkeys(row.asked)
        names |= dict.fromkeys(name for name, _ in _leaves(row.answer))
    return tuple(names | dict.fromkeys(_FIGURES))


def _leaves(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Single values of nested mappings by dotted name."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield prefix + name, value


def checked(names: Sequence[str], there: Sequence[str], what: str = "columns") -> tuple[str, ...]:
    """Names of columns as the store has them.

    Args:
        names: As they were typed, with dashes or underscores.
        there: Those of the store.
        what: What they are for, in messages.

    Raises:
        InputError: One is unknown, or there is none.
    """
    found, problems = [], []
    for given in names:
        name = given.strip()
        plain = name if name in there else name.replace("-", "_")
        if plain in there or plain in BY_NAME:
            found.append(plain)
        else:
            hint = did_you_mean(plain, there) or "; the first ones are " + ", ".join(there[:12])
            if what == "where" and plain.isidentifier():
                hint = f"; a text stands in quotes: '{plain}'{hint}"
            problems.append(f"{what}: {shown(name)} is no column of this store{hint}")
    if problems or not found:
        raise InputError("\n".join(problems) or f"{what}: none is named")
    return tuple(found)


def cell(row: Row, name: str) -> Any:
    """A value of a column; None: there is none."""
    if (own := _OWN.get(name)) is not None:
        return own(row)
    if isinstance(row.axes.get(name), str) and isinstance(row.asked.get(name, ""), str):
        return row.axes[name]  # as it was written: several names may mean one record
    if name in BY_NAME:
        return _single(row.asked.get(name))
    if name in row.axes:
        return _single(row.axes[name])
    value: Any = row.answer
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return _single(value)


def _single(value: Any) -> Any:
    """A value as a cell holds it: whole numbers as such, lists and mappings as text."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_single(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(str(_single(inner)) for inner in value)
    return value


def cells(rows: Iterable[Row], names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows of some columns."""
    return (tuple(cell(row, name) for name in names) for row in rows)


def chosen(rows: Iterable[Row], conditions: Sequence[Condition]) -> Iterator[Row]:
    """Rows for which conditions over columns hold; a value that is not there fulfils none."""
    for row in rows:
        values = {name: cell(row, name) for one in conditions for name in one.names}
        if None not in values.values() and all(one.holds(values) for one in conditions):
            yield row
