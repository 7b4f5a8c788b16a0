"""Tables of synthesized collectives: what a group inside one domain can have instead of rings.

A schedule of S steps and R rounds that cuts its buffer into C chunks costs S latencies and
R / C rounds of a lane for every byte of that buffer (`solvers.collectives`). A table holds these
points for every way in which groups of equal form tile a domain of directly wired chips, all
groups at work at the same time, over each other's chips where that helps. They are read from the
files of this package, or made when they are needed (`planner.collectives.tables.tables`).

    load     rounds of one lane of a healthy link per byte of the full buffer V of a group
    gather   all-gather, and reduce-scatter by the same schedule backwards
    reduce   all-reduce that gathers all buffers and adds them up on every chip: S steps
    exchange all-to-all; V is what a member sends, its part for itself included

Where every chip has a way of its own to a switch, no table is needed: each sends every other its
part directly, S = 1, at the rate of all its lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from frozen_records import dataclass
from hardware_db import Level
from planner.assumptions.assumptions import COLLECTIVES
from planner.base.arrays import FloatArray, IntArray
from planner.network.domains import TILED

NCCL, SYNTHESIZED, BEST = COLLECTIVES
LARGEST_DOMAIN = 16
"""Chips of a domain up to which tables are made."""
MOST_POINTS = 3
"""Points of a front that a table keeps."""

Members = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One schedule.

    Attributes:
        chunks, steps, rounds: C, S and R; C of the part of one member. R counts rounds of a lane
            of a healthy link: a step over a slow one takes more than one, maybe no whole number.
        load: Rounds of a lane per byte of V: R / C over the members.
        proved: Whether no schedule of as many chunks and steps has fewer rounds.
    """

    chunks: int
    steps: int
    rounds: Fraction
    load: Fraction
    proved: bool

    @property
    def words(self) -> str:
        """`(6, 3, 7)`: chunks, steps, rounds."""
        return f"({self.chunks}, {self.steps}, {float(self.rounds):.5g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """The schedules of groups of one form that tile a domain.

    Attributes:
        members: Ranks of the group of rank 0, ascending; the others are moved copies of it.
        gather: Points with fewer rounds the more steps they have.
        exchange: The same of all-to-alls.
    """

    members: Members
    gather: tuple[Point, ...]
    exchange: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTable:
    """The schedules of one domain.

    Attributes:
        wiring: How its chips are wired, as `planner.collectives.tables.tables` names it.
        chips: Chips of the domain.
        groups: One entry per form of group; forms without schedules are not there.
    """

    wiring: str
    chips: int
    groups: tuple[GroupTable, ...]


def wiring_of(level: Level, chips: int) -> str:
    """What tables of a domain of `chips` chips of a level are known by; empty: none are made.

    The topology with its size, of a torus its axes (a line of k, closed or not, as `ring:k` or
    `linear:k`), and the degraded links.
    """
    if level.kind != "scale-up" or level.topology not in TILED or not 1 < chips <= LARGEST_DOMAIN:
        return ""
    name = f"{level.topology}:{chips}"
    if level.torus_dims:
        axes = [(n, closed) for n, closed in zip(level.torus_dims, level.torus_wrap, strict=True)]
        name = "grid:" + "x".join(f"{n}{'o' * closed}" for n, closed in axes if n > 1)
    elif level.topology == "ring" and level.domain_chips != chips:
        name = f"linear:{chips}"
    slow = [
        f"{u}-{v}={repr(float(share)).removesuffix('.0')}"
        for u, v, share in level.degraded
        if max(u, v) < chips
    ]
    return ",".join([name, *slow])


def forms(chips: int) -> tuple[Members, ...]:
    """The groups of rank 0 whose moved copies tile `chips` ranks in equal strides.

    >>> forms(4)
    ((0, 1), (0, 2), (0, 1, 2, 3))
    """
    found = {members for members in _grown((0,), 1, chips) if len(members) > 1}
    return tuple(sorted(found, key=lambda members: (len(members), members)))


def _grown(members: Members, reach: int, chips: int) -> Iterator[Members]:
    """A group and all that further segments make of it; `reach`: ranks that it spans."""
    yield members
    for stride in range(reach, chips, reach):
        for size in range(2, chips // stride + 1):
            if chips % (size * stride) == 0:
                more = tuple(m + stride * i for i in range(size) for m in members)
                yield from _grown(more, size * stride, chips)


def side_by_side(members: Members, chips: int) -> tuple[Members, ...]:
    """The group of rank 0 and its moved copies, which tile `chips` ranks."""
    free = sorted(set(range(chips)))
    groups: list[Members] = []
    while free:
        moved = tuple(free[0] + member for member in members)
        groups.append(moved)
        free = sorted(set(free) - set(moved))
    return tuple(groups)


def key_of(members: Members) -> int:
    """A number that tells forms of a domain apart."""
    return sum(1 << member for member in members)


def group_keys(chips: int, segments: Sequence[tuple[IntArray, IntArray]]) -> IntArray:
    """(n,) `key_of` the part of each group inside one domain; 0 where parts do not tile it.

    Args:
        chips: Chips of the domain, at most `LARGEST_DOMAIN`.
        segments: (size, stride) of the groups, (n,) each.
    """
    key = np.ones_like(segments[0][0])
    tiles = np.ones(key.shape, dtype=np.bool_)
    for size, stride in segments:
        reach = size * stride
        outside = (stride >= chips) & (stride % chips == 0)
        inside = (chips % np.minimum(stride, chips) == 0) & (stride < chips)
        inside = inside & ((chips % np.maximum(reach, 1) == 0) | (reach % chips == 0))
        tiles = tiles & (outside | inside | (size == 1))
        together = np.where(inside, np.gcd(chips, reach) // np.maximum(stride, 1), 1)
        single, grown = key, key
        for place in range(1, chips):
            shift = np.where(place < together, place * stride, 0)
            grown = np.where(place < together, grown | (single << shift), grown)
        key = grown
    return np.where(tiles, key, 0)


def points_of(
    points: Sequence[Point], collective: str, members: int
) -> tuple[tuple[int, Fraction], ...]:
    """(steps, load) of the lines that a front gives to a collective of `members`.

    An all-reduce that gathers everything moves `members` whole buffers where a gather moves one.
    """
    times = members if collective == "reduce" else 1
    return tuple((point.steps, times * point.load) for point in points)


def front_of(points: Sequence[Point], most: int = MOST_POINTS) -> tuple[Point, ...]:
    """Points of which none has both more steps and more load than another; at most `most`.

    Where there are more, those with the fewest steps and with the least load stay.
    """
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.steps, point.load, point.chunks)):
        if not kept or point.load < kept[-1].load:
            kept.append(point)
    return tuple(kept if len(kept) <= most else [*kept[: most - 1], kept[-1]])


def step_latency_s(
    base_s: float, hop_s: float, step_s: float, start_s: float, steps: IntArray, ring: FloatArray
) -> FloatArray:
    """(n,) seconds that schedules take beside their bytes.

    Where hops have no latency of their own, the latency fitted for a ring holds its steps: a
    schedule of S steps instead of the g - 1 of a ring saves those between,

        max( base - (g - 1 - S) step, min(base, start + S step) )

    and never goes below what starting it and its own steps take.

    Args:
        base_s: Latency of starting a collective on the level.
        hop_s: Latency per hop; 0 where base_s holds them all.
        step_s: Latency of one step on links between chips.
        start_s: Least latency of starting a collective.
        steps: (n,) S.
        ring: (n,) steps that `base_s` holds: g - 1, or 1 for an all-to-all.
    """
    if hop_s > 0:
        return base_s + hop_s * np.asarray(steps, dtype=np.float64)
    least = np.minimum(base_s, start_s + steps * step_s)
    return np.asarray(np.maximum(base_s - (ring - steps) * step_s, least))
