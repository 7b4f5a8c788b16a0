"""Tables of synthesized collectives for the cost model: read from this package, or made here.

For every form of groups that tile a domain (`planner.network.algorithms.forms`), one schedule is
made for all groups side by side: their parts are the commodities of one problem, and chips of one
group may pass on the parts of another. So a table never promises one group the links that its
neighbours need at the same time.

Degraded links have fewer lanes than others: a lane is then a part of a healthy one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from hardware_db import Cluster, Level
from planner.network.algorithms import (
    MOST_POINTS,
    DomainTable,
    GroupTable,
    Point,
    forms,
    front_of,
    side_by_side,
    wiring_of,
)
from planner.network.domains import lanes_between
from planner.plan import IntArray
from solvers.collectives.problem import Network
from solvers.collectives.synthesis import Question, fewest_rounds, question
from solvers.solution import Status

FILE = "tables.json"
SHIPPED = "data"
_CHUNKS = {"allgather": 6, "alltoall": 3}  # the most chunks that are tried
_FEW = {"allgather": (1, 2, 3, 4), "alltoall": (1, 2)}  # of domains of more than 8 chips
_LARGE = 8
_LARGEST_PART = 10
"""Degraded links have a share of their lanes that is rounded to parts of at most this many."""
_MOST_CHUNKS = 12
_TIME_LIMIT_S = 3.0  # of one schedule

_MADE: dict[str, DomainTable | None] = {}  # by wiring, which says all that schedules depend on

Told = Callable[[str, int, int], None]
"""Called with (what, done, of)."""


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
            _MADE[wiring] = make(level, chips)
        return _MADE[wiring]
    return known[wiring]


def prepare(cluster: Cluster, chips: int, told: Told | None = None) -> None:
    """Make the tables that jobs of up to `chips` chips will ask for, and say how far it is.

    Args:
        cluster: The cluster.
        chips: The largest job.
        told: Is told of the progress.
    """
    inner = cluster.levels[0]
    whole = min(inner.domain_chips or chips, chips)
    for count in {*cluster.chip_counts(whole), chips}:
        level = cluster.scale(count).levels[0]
        size = min(level.domain_chips or count, count)
        wiring = wiring_of(level, size) if level.name == inner.name else ""
        if wiring and wiring not in shipped() and wiring not in _MADE:
            _MADE[wiring] = make(level, size, told)


@lru_cache(maxsize=1)
def shipped() -> dict[str, DomainTable]:
    """The tables of this package, by wiring."""
    file = resources.files("planner.collectives").joinpath(SHIPPED, FILE)
    tables = json.loads(file.read_text(encoding="utf-8"))["tables"]
    return {table["wiring"]: _read(table) for table in tables}


def _read(data: dict[str, Any]) -> DomainTable:
    """A table as `as_data` has it."""
    groups = tuple(
        GroupTable(
            members=tuple(group["members"]),
            gather=_points(group["gather"], len(group["members"]), data["parts"]),
            exchange=_points(group["exchange"], len(group["members"]), data["parts"]),
        )
        for group in data["groups"]
    )
    return DomainTable(
        wiring=data["wiring"],
        chips=data["chips"],
        parts=data["parts"],
        groups=groups,
    )


def _points(rows: list[list[int]], members: int, parts: int) -> tuple[Point, ...]:
    return tuple(_point(c, s, r, members, parts, proved=bool(p)) for c, s, r, p in rows)


def _point(
    chunks: int, steps: int, rounds: int, members: int, parts: int, *, proved: bool
) -> Point:
    """A point; its rounds are those of lanes of which one of a healthy link has `parts`."""
    return Point(
        chunks=chunks,
        steps=steps,
        rounds=rounds,
        load=Fraction(rounds * parts, chunks * members),
        proved=proved,
    )


def as_data(table: DomainTable) -> dict[str, Any]:
    """A table as JSON-ready data; points as chunks, steps, rounds and whether they are proved."""
    return {
        "wiring": table.wiring,
        "chips": table.chips,
        "parts": table.parts,
        "groups": [
            {
                "members": list(group.members),
                **{
                    name: [[p.chunks, p.steps, p.rounds, int(p.proved)] for p in points]
                    for name, points in (("gather", group.gather), ("exchange", group.exchange))
                },
            }
            for group in table.groups
        ],
    }


def network_of(level: Level, chips: int) -> tuple[Network, int]:
    """The chips of a domain and their links, and the lanes that a lane of a healthy link makes."""
    lanes = lanes_between(level, chips)
    slow = [(u, v, share) for u, v, share in level.degraded if max(u, v) < chips]
    shares = [max(Fraction(s).limit_denominator(_LARGEST_PART), _least(s)) for _, _, s in slow]
    parts = math.lcm(1, *(share.denominator for share in shares))
    lanes = lanes * parts
    for (u, v, _), share in zip(slow, shares, strict=True):
        lanes[u, v] = lanes[v, u] = int(lanes[u, v] * share)
    return _network(lanes), parts


def _least(share: float) -> Fraction:
    """The smallest part that a link which still works is rounded to."""
    return Fraction(1, _LARGEST_PART) if share > 0 else Fraction(0)


def _network(lanes: IntArray) -> Network:
    links = [tuple(map(int, pair)) for pair in np.argwhere(lanes > 0)]
    return Network(
        nodes=len(lanes),
        links=tuple((u, v) for u, v in links),
        lanes=tuple(int(lanes[u, v]) for u, v in links),
    )


def make(
    level: Level, chips: int, told: Told | None = None, time_limit_s: float = _TIME_LIMIT_S
) -> DomainTable | None:
    """The table of a domain, synthesized; None where failed links part its chips.

    Args:
        level: A level of direct links.
        chips: Chips of a domain that the job has.
        told: Is told of the progress.
        time_limit_s: For one schedule; where it ends a search, a point is not proved.
    """
    network, parts = network_of(level, chips)
    shapes = forms(chips)
    groups = []
    for done, members in enumerate(shapes):
        if told is not None:
            told(f"schedules for {wiring_of(level, chips)}", done, len(shapes))
        beside = side_by_side(members, chips)
        try:
            asked = [question(network, name, groups=beside) for name in _CHUNKS]
        except ValueError:  # some chips cannot reach others
            return None
        gather, exchange = (_front(one, chips, parts, time_limit_s) for one in asked)
        groups.append(GroupTable(members=members, gather=gather, exchange=exchange))
    return DomainTable(
        wiring=wiring_of(level, chips),
        chips=chips,
        parts=parts,
        groups=tuple(groups),
    )


def _front(asked: Question, chips: int, parts: int, time_limit_s: float) -> tuple[Point, ...]:
    """The fewest rounds per chunk with S_min steps and a few more.

    With S steps a number of chunks is only looked into for fewer rounds per chunk than those before
    it have, and more steps only as long as they help.
    """
    name, found = asked.collective, list[Point]()
    members = asked.members[0]
    counts = range(1, _CHUNKS[name] + 1) if chips <= _LARGE else _FEW[name]
    chunks = [count * parts for count in counts if count == 1 or count * parts <= _MOST_CHUNKS]
    least = asked.least_steps
    for steps in range(least, least + MOST_POINTS):
        for count in chunks:
            best = min((point.load for point in found), default=None)
            most = None if best is None else _below(best * count * members / parts)
            if most is None or most >= steps:
                found += _fewest(asked, count, steps, most, parts, time_limit_s)
        if len(front_of(found)) < steps - least + 1:
            break
    return front_of(found)


def _below(rounds: Fraction) -> int:
    """The largest whole number below."""
    return math.ceil(rounds) - 1


def _fewest(
    asked: Question, chunks: int, steps: int, most: int | None, parts: int, time_limit_s: float
) -> list[Point]:
    """The schedule with the fewest rounds, of at most so many, as a list of one; none: empty."""
    if most is not None:
        fits = fewest_rounds(asked, chunks, steps, rounds=most, time_limit_s=time_limit_s)
        if fits.decision is None:
            return []
    answer = fewest_rounds(asked, chunks, steps, time_limit_s=time_limit_s)
    if answer.decision is None:
        return []
    members = asked.members[0]
    rounds, proved = answer.decision.total_rounds, answer.status is Status.OPTIMAL
    return [_point(chunks, steps, rounds, members, parts, proved=proved)]
