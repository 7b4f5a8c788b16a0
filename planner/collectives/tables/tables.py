"""Tables of synthesized collectives for the cost model: read from this package, or made here.

Tables of common wirings are shipped; others are made when they are first asked for
(`planner.collectives.tables.making`) and kept as long as the process lives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from hardware_db import Cluster, Level
from planner.base.progress import Progress
from planner.network.synthesized.tables import DomainTable, GroupTable, Point, wiring_of

FILE = "tables.json"
SHIPPED = "data"

_MADE: dict[str, DomainTable | None] = {}  # by wiring, which says all that schedules depend on
_LISTENER: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def listening(on_progress: Progress | None) -> Iterator[None]:
    """Tables that are made meanwhile say how far they are.

    Args:
        on_progress: Called with (what, done, of); None: nobody.
    """
    token = _LISTENER.set(on_progress)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def table_of(level: Level, chips: int) -> DomainTable | None:
    """The table of a domain of a level, read or made; None where none can be had.

    Args:
        level: The innermost level of a job.
        chips: Chips of a domain that the job has.
    """
    wiring = wiring_of(level, chips)
    if not wiring:
        return None
    if wiring not in (known := shipped()):
        if wiring not in _MADE:
            _MADE[wiring] = _made(level, chips, _LISTENER.get())
        return _MADE[wiring]
    return known[wiring]


def prepare(cluster: Cluster, chips: int, on_progress: Progress | None = None) -> None:
    """Make the tables that jobs of up to `chips` chips will ask for, and say how far it is.

    Args:
        cluster: The cluster.
        chips: The largest job.
        on_progress: Called with (what, done, of).
    """
    inner = cluster.levels[0]
    whole = min(inner.domain_chips or chips, chips)
    for count in {*cluster.chip_counts(whole), chips}:
        level = cluster.scale(count).levels[0]
        size = min(level.domain_chips or count, count)
        wiring = wiring_of(level, size) if level.name == inner.name else ""
        if wiring and wiring not in shipped() and wiring not in _MADE:
            _MADE[wiring] = _made(level, size, on_progress)


def _made(level: Level, chips: int, on_progress: Progress | None) -> DomainTable | None:
    from planner.collectives.tables.making import make  # noqa: PLC0415  (start-up: loads SciPy)

    return make(level, chips, on_progress)


@lru_cache(maxsize=1)
def shipped() -> dict[str, DomainTable]:
    """The tables of this package, by wiring."""
    file = Path(__file__).parent.joinpath(SHIPPED, FILE)
    tables = json.loads(file.read_text(encoding="utf-8"))["tables"]
    return {table["wiring"]: _read(table) for table in tables}


def _read(data: dict[str, Any]) -> DomainTable:
    """A table as `as_data` has it."""
    groups = tuple(
        GroupTable(
            members=tuple(group["members"]),
            gather=_points(group["gather"], len(group["members"])),
            exchange=_points(group["exchange"], len(group["members"])),
        )
        for group in data["groups"]
    )
    return DomainTable(wiring=data["wiring"], chips=data["chips"], groups=groups)


def _points(rows: list[list[Any]], members: int) -> tuple[Point, ...]:
    """Rounds are whole, or written as a fraction where links are slow."""
    return tuple(
        Point(
            chunks=chunks,
            steps=steps,
            rounds=Fraction(rounds),
            load=Fraction(rounds) / (chunks * members),
            proved=bool(proved),
        )
        for chunks, steps, rounds, proved in rows
    )


def as_data(table: DomainTable) -> dict[str, Any]:
    """A table as JSON-ready data; points as chunks, steps, rounds and whether they are proved."""
    return {
        "wiring": table.wiring,
        "chips": table.chips,
        "groups": [
            {
                "members": list(group.members),
                **{
                    name: [_row(point) for point in points]
                    for name, points in (("gather", group.gather), ("exchange", group.exchange))
                },
            }
            for group in table.groups
        ],
    }


def _row(point: Point) -> list[Any]:
    whole = point.rounds.denominator == 1
    rounds = int(point.rounds) if whole else str(point.rounds)
    return [point.chunks, point.steps, rounds, int(point.proved)]
