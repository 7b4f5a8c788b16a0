"""The costs of synthesized collectives: one (alpha, beta) line per schedule of a table.

Inside the innermost domain a group takes a schedule that was made for the wiring; across the
levels outside, one ring per level, one after the other, as the hierarchical algorithm has it:

    alpha = latency of S steps + sum over the outer levels that are crossed (base + hop x n)
    beta  = load / lane rate   + sum over the outer levels of (n - 1) / n / lower / rate

n members meet on a level, `lower` of them in a domain below. An all-reduce is twice a gather; one
that gathers all buffers and adds them up everywhere stays inside the domain. An all-to-all takes
the schedule for what stays inside, while network cards carry the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.network.fabric import Fabric
from planner.network.groups import Membership, Segment
from planner.network.synthesized.tables import (
    MOST_POINTS,
    NCCL,
    SYNTHESIZED,
    group_keys,
    key_of,
    points_of,
    step_latency_s,
)

NEVER = 1e300
"""The latency, in seconds, of an algorithm that the fabric does not offer."""
SLOW = 1.0
"""Seconds per byte of such a line: no placement with it may look cheap where another has none."""
_WIDTH = {"gather": 2, "reduce": 2, "exchange": 3}


class Lines(NamedTuple):
    """Synthesized algorithms per collective."""

    gather: int = 0
    reduce: int = 0
    exchange: int = 0

    def rows(self, collective: str, first: int) -> range:
        """First row of each algorithm of a collective; `first`: the row where all begin."""
        for name, count in zip(self._fields, self, strict=True):
            end = first + _WIDTH[name] * count
            if name == collective:
                return range(first, end, _WIDTH[name])
            first = end
        return range(0)

    @property
    def width(self) -> int:
        """Rows of all of them."""
        return sum(_WIDTH[name] * count for name, count in self._asdict().items())


NO_LINES = Lines()


def lines_of(fabric: Fabric) -> Lines:
    """The lines that groups on a fabric have, whatever their number of members."""
    if not _offers(fabric):
        return NO_LINES
    return Lines(gather=MOST_POINTS, reduce=MOST_POINTS, exchange=MOST_POINTS)


def _offers(fabric: Fabric) -> bool:
    return fabric.collectives != NCCL and not fabric.asymptotic_volume


def synthesized_rows(
    fabric: Fabric,
    members: Membership,
    segments: Sequence[Segment],
    own: Sequence[FloatArray],
    rows: Sequence[FloatArray],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The rows of the other algorithms as the fabric offers them, and those of `lines_of`.

    Args:
        fabric: The network.
        members: Where the members are.
        segments: What the groups are made of, merged.
        own: What one chip gets from each level.
        rows: alpha and beta of ring, hierarchical, tree, in-switch and send (2 rows each), then
            alpha, near and far of the all-to-all.
    """
    if not _offers(fabric):
        return list(rows), []
    inside = members.inside[0].astype(np.float64)
    shape = inside.shape
    steps = {name: np.zeros((MOST_POINTS, *shape), dtype=np.int64) for name in _WIDTH}
    loads = {name: np.zeros((MOST_POINTS, *shape)) for name in _WIDTH}
    _direct(fabric, members, steps, loads)
    _tabled(fabric, segments, steps, loads)
    far = rows[12]
    gather = _gathers(fabric, members, own, steps["gather"], loads["gather"])
    reduce = _reduces(fabric, members, steps["reduce"], loads["reduce"])
    exchange = _exchanges(fabric, members, steps["exchange"], loads["exchange"], rows)
    more = [row for line in (*gather, *reduce) for row in line]
    more += [row for alpha, near in exchange for row in (alpha, near, far.copy())]
    kept = list(rows)
    if fabric.collectives == SYNTHESIZED:
        there = steps["gather"][0] > 0
        kept[:8] = [_without(row, there, at % 2 == 0) for at, row in enumerate(rows[:8])]
        there = exchange[0][0] < NEVER
        kept[10:13] = [_without(row, there, at == 0) for at, row in enumerate(rows[10:13])]
    return kept, more


def _without(row: FloatArray, there: BoolArray, is_alpha: bool) -> FloatArray:
    """A row of an algorithm that is left out where there is a synthesized one."""
    return np.where(there, NEVER if is_alpha else SLOW, row)


def _direct(
    fabric: Fabric,
    members: Membership,
    steps: dict[str, IntArray],
    loads: dict[str, FloatArray],
) -> None:
    """Through a switch: one step; loads in seconds per byte of V. All-to-alls are so anyway."""
    level, inside = fabric.levels[0], members.inside[0]
    if not level.direct:
        return
    there = inside > 1
    once = (inside - 1) / inside / level.bytes_per_s
    for name, times in (("gather", 1), ("reduce", inside)):
        steps[name][0] = np.where(there, 1, 0)
        loads[name][0] = np.where(there, times * once, 0.0)


def _tabled(
    fabric: Fabric,
    segments: Sequence[Segment],
    steps: dict[str, IntArray],
    loads: dict[str, FloatArray],
) -> None:
    """Of a table: the points of the groups whose form it has; loads in seconds per byte of V."""
    level = fabric.levels[0]
    if level.table is None or level.table.chips != level.domain:
        return
    keys = group_keys(level.domain, segments)
    for group in level.table.groups:
        rows = np.flatnonzero(keys == key_of(group.members))
        fronts = {"gather": group.gather, "reduce": group.gather, "exchange": group.exchange}
        for name, front in fronts.items():
            points = points_of(front, name, len(group.members))
            for at, (count, load) in enumerate(points):
                steps[name][at, rows] = count
                loads[name][at, rows] = float(load) / level.lane_bytes_per_s


def _latency_s(fabric: Fabric, steps: IntArray, ring: FloatArray) -> FloatArray:
    """(n,) latency of schedules of (n,) steps on the innermost level."""
    base_s = fabric.levels[0].base_latency_s
    return step_latency_s(base_s, _hop_s(fabric), fabric.step_s, fabric.start_s, steps, ring)


def _hop_s(fabric: Fabric) -> float:
    """Latency per hop of the innermost level; 0 where it is that of a protocol of the library."""
    return 0.0 if fabric.protocols else fabric.levels[0].hop_latency_s


def _gathers(
    fabric: Fabric,
    members: Membership,
    own: Sequence[FloatArray],
    steps: IntArray,
    loads: FloatArray,
) -> list[tuple[FloatArray, FloatArray]]:
    """Alpha and beta of each line of a gather."""
    alpha, beta = np.zeros(members.size.shape), np.zeros(members.size.shape)
    levels = zip(fabric.levels, members.below, members.inside, own, strict=True)
    for at, (level, below, inside, of_chip) in enumerate(levels):
        meets = (inside > below) & (at > 0)
        meeting = inside / below
        moved = (meeting - 1) / meeting / below
        alpha = alpha + np.where(meets, level.base_latency_s + level.hop_latency_s * meeting, 0.0)
        beta = beta + np.where(meets, moved / of_chip, 0.0)
    ring = members.inside[0] - 1.0
    return [
        (
            np.where(count > 0, _latency_s(fabric, count, ring) + alpha, NEVER),
            np.where(count > 0, load + beta, SLOW),
        )
        for count, load in zip(steps, loads, strict=True)
    ]


def _reduces(
    fabric: Fabric, members: Membership, steps: IntArray, loads: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Alpha and beta of each line of an all-reduce by gathering everything, inside one domain."""
    ring = members.inside[0] - 1.0
    whole = members.inside[0] == members.size
    return [
        (
            np.where((count > 0) & whole, _latency_s(fabric, count, ring), NEVER),
            np.where((count > 0) & whole, load, SLOW),
        )
        for count, load in zip(steps, loads, strict=True)
    ]


def _exchanges(
    fabric: Fabric,
    members: Membership,
    steps: IntArray,
    loads: FloatArray,
    rows: Sequence[FloatArray],
) -> list[tuple[FloatArray, FloatArray]]:
    """Alpha and beta inside a node of each line of an all-to-all that crosses one scale-up level.

    A member sends i / g of its bytes to the i members of its domain. The latency of the others'
    all-to-all holds one step.
    """
    share = members.inside[0] / members.size
    base = rows[10]
    more = _hop_s(fabric) or fabric.step_s
    further = [not outer.scale_out for outer in fabric.levels[1:]]
    crossed = members.inside[1:][further] > members.below[1:][further]
    alone = ~crossed.any(axis=0)  # of scale-up levels that work at the same time
    return [
        (
            np.where((count > 0) & alone, base + (count - 1) * more, NEVER),
            np.where((count > 0) & alone, load * share / fabric.exchange_efficiency, SLOW),
        )
        for count, load in zip(steps, loads, strict=True)
    ]
