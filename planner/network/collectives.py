"""What a collective costs: alpha + beta * bytes, the best algorithm for each message size.

`GroupCosts` holds, for every group, one (alpha, beta) pair per algorithm; the time of a message
is the smallest of alpha + beta * V over the algorithms that the fabric allows. V is the full
buffer: what every member ends with after an all-gather, or starts with before a reduce-scatter.

    ring          all-gather: beta = (g-1)/g / rate; all-reduce: twice that; one latency per hop,
                  that of the outermost level that the hop crosses (a hop inside a node has none
                  but on the wire). This is the form fitted to published runs.
    hierarchical  one ring per level, one after the other: fewer latencies, sums the levels' times
    tree          all-reduce only: 2 log2(nodes) latencies, each of the level that it climbs
                  (NCCL src/graph/tuning.cc)
    in-switch     all-reduce inside one domain whose switches reduce (NVLink SHARP)
    in-switch-tree  all-reduce over several such domains, whose sums climb a double binary tree at
                  the same time (NCCL's NVLSTree, same file)
    synthesized   where the fabric has them: schedules for the wiring of the innermost level, with
                  one ring per level outside it (`planner.network.synthesized.costs`)

A node is what a network card serves: the largest domain of the scale-up levels, one chip where
there are none.

Source of the alpha-beta form: Thakur, Rabenseifner, Gropp, Optimization of Collective
Communication Operations in MPICH, IJHPCA 2005, doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.network.fabric import Fabric, FabricLevel
from planner.network.groups import Membership, Segment, membership_of, merged
from planner.network.in_switch import in_switch_rows
from planner.network.protocols import PRINTED
from planner.network.rates import (
    exchange_s_per_byte,
    level_hops,
    level_rates,
    ring_rate,
    step_rate,
)
from planner.network.synthesized.costs import (
    NEVER,
    NO_LINES,
    SLOW,
    Lines,
    lines_of,
    synthesized_rows,
)
from planner.network.synthesized.tables import SYNTHESIZED
from planner.network.torus import torus_average_hops


@dataclass(frozen=True, slots=True)
class GroupCosts:
    """Cost features of groups.

    Attributes:
        features: (features, u) of distinct groups; two with equal columns cost the same, whatever
            their members.
        levels: Number of levels of the fabric.
        at: Column of each group, of any shape; None: the groups are the columns.
        lines: How many synthesized algorithms follow the other rows, per collective.
        protocols: Protocols whose rings and then trees follow all of these, 2 rows each.
    """

    features: FloatArray
    levels: int
    at: IntArray | None = None
    lines: Lines = NO_LINES
    protocols: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.features.shape[1]) if self.at is None else len(self.at)

    @property
    def columns(self) -> IntArray:
        """Column of `features` of each group, in the shape of the groups."""
        return np.arange(self.features.shape[1]) if self.at is None else self.at

    def take(self, index: IntArray) -> GroupCosts:
        """The groups of `index`, in its shape."""
        at = index if self.at is None else self.at[index]
        return GroupCosts(self.features, self.levels, at, self.lines, self.protocols)

    def flat(self) -> GroupCosts:
        """The same groups in one dimension."""
        if self.at is None:
            return self
        return GroupCosts(self.features, self.levels, self.at.ravel(), self.lines, self.protocols)

    def with_features(self, features: FloatArray) -> GroupCosts:
        """Other groups: the columns of features of the same rows."""
        return GroupCosts(features, self.levels, None, self.lines, self.protocols)

    def _row(self, index: int) -> FloatArray:
        row: FloatArray = self.features[index]
        return row if self.at is None else row.take(self.at)

    @property
    def size(self) -> FloatArray:
        """(n,) members."""
        return self._row(0)

    @property
    def domains(self) -> FloatArray:
        """(n,) nodes (slices of a torus) that the group spans."""
        return self._row(1)

    def gather_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-gather or a reduce-scatter of (n,) `size_bytes`; 0 for one member."""
        ring = self._row(2) + self._row(3) * size_bytes
        best = np.minimum(ring, self._row(4) + self._row(5) * size_bytes)
        for row in self.rows_of("gather"):
            best = np.minimum(best, self._row(row) + self._row(row + 1) * size_bytes)
        return np.asarray(best)

    def reduce_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-reduce of (n,) `size_bytes`; 0 for one member."""
        best = 2.0 * self.gather_s(size_bytes)
        best = np.minimum(best, self._row(6) + self._row(7) * size_bytes)
        best = np.minimum(best, self._row(8) + self._row(9) * size_bytes)
        for row in self.rows_of("reduce"):
            best = np.minimum(best, self._row(row) + self._row(row + 1) * size_bytes)
        return np.asarray(best)

    def send_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds to send (n,) `size_bytes` to the next member."""
        return np.asarray(self._row(10) + self._row(11) * size_bytes)

    def exchange_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-to-all in which each member sends (n,) `size_bytes` in total."""
        best = self._row(12) + self._row(13) * size_bytes + self._row(14) * size_bytes
        for row in self.rows_of("exchange"):
            inside = self._row(row) + self._row(row + 1) * size_bytes
            best = np.minimum(best, inside + self._row(row + 2) * size_bytes)
        return np.asarray(best)

    def relay_s(self, near_bytes: FloatArray, far_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-to-all that crosses between nodes once, and goes on inside them.

        What a node gets is handed on to the members in it; both go on at the same time.

        Args:
            near_bytes: Bytes that leave each member with one copy for each member.
            far_bytes: The same with one copy for each node.
        """
        best = self._relayed(12, near_bytes, far_bytes)
        for row in self.rows_of("exchange"):
            best = np.minimum(best, self._relayed(row, near_bytes, far_bytes))
        return np.asarray(best)

    def _relayed(self, row: int, near_bytes: FloatArray, far_bytes: FloatArray) -> FloatArray:
        """Of one algorithm, whose rows are alpha and beta inside and between nodes."""
        inside = self._row(row + 1) * self.domains * near_bytes
        return np.asarray(self._row(row) + np.maximum(inside, self._row(row + 2) * far_bytes))

    def by_algorithm(
        self, collective: str, size_bytes: FloatArray
    ) -> tuple[tuple[str, FloatArray], ...]:
        """Seconds of each algorithm of a gather, reduce or exchange; the least is what it costs.

        Synthesized ones are called by their place in the table of their group: `synthesized 0`.
        """
        own = {
            "gather": (("ring", 2), ("hierarchical", 4)),
            "reduce": (("tree", 6), ("in-switch", 8)),
            "exchange": (("direct", 12),),
        }[collective]
        made = [(f"{SYNTHESIZED} {i}", row) for i, row in enumerate(self._made(collective))]
        plain = {"gather": "ring", "reduce": "tree"}.get(collective)
        others = zip(self.protocols, self.rows_of(collective)[len(made) :], strict=False)
        made += [(f"{plain}, {PRINTED[name]}", row) for name, row in others]
        found = [
            (name, self._row(row) + self._row(row + 1) * size_bytes) for name, row in (*own, *made)
        ]
        if collective == "exchange":
            found = [
                (name, seconds + self._row(row + 2) * size_bytes)
                for (name, seconds), (_, row) in zip(found, (*own, *made), strict=True)
            ]
        if collective == "reduce":
            gathers = self.by_algorithm("gather", size_bytes)
            found = [*((f"twice {name}", 2.0 * seconds) for name, seconds in gathers), *found]
        return tuple(found)

    def rows_of(self, collective: str) -> tuple[int, ...]:
        """First row of each further algorithm of a collective: synthesized, other protocols.

        Rows of gather and reduce are alpha, beta; of exchange alpha and beta inside a node and
        between nodes.
        """
        return _further_rows(self.levels, self.lines, 2 * len(self.protocols), collective)

    def _made(self, collective: str) -> range:
        """First rows of the synthesized algorithms."""
        return self.lines.rows(collective, 15 + 3 * self.levels)

    def crossing(self, level: int) -> FloatArray:
        """(n,) bytes per byte of V that each member receives over `level` in an all-gather."""
        return self._row(15 + level)

    def exchange_crossing(self, level: int) -> FloatArray:
        """(n,) bytes per byte sent that cross `level` outermost in an all-to-all."""
        return self._row(15 + self.levels + level)

    def send_crossing(self, level: int) -> FloatArray:
        """(n,) 1.0 where the worst hop to the next member crosses `level` outermost, else 0."""
        return self._row(15 + 2 * self.levels + level)


@lru_cache(maxsize=256)
def _further_rows(levels: int, lines: Lines, count: int, collective: str) -> tuple[int, ...]:
    """See `GroupCosts.rows_of`; `count`: rows of all rings, or trees, in further protocols."""
    first = 15 + 3 * levels
    starts = {"gather": first + lines.width, "reduce": first + lines.width + count}
    at = starts.get(collective)
    own = range(0) if at is None else range(at, at + count, 2)
    return (*lines.rows(collective, first), *own)


def group_costs(fabric: Fabric, segments: Sequence[Segment]) -> GroupCosts:
    """The costs of the groups made of `segments`: (size, stride) arrays, innermost first."""
    parts = merged(segments)
    members = membership_of(fabric.levels, parts)
    own = level_rates(fabric.levels, members, parts)
    rate = ring_rate(members, own, slowest_link=fabric.slowest_link)
    alone = members.size == 1
    nodes = members.size / _in_a_node(fabric, members)
    rows = [members.size.astype(np.float64), nodes]
    base = _base(fabric, members)
    rows += _gather(fabric, members, base, rate, own)
    rows += _tree(fabric, members, base, rate)
    rows += in_switch_rows(fabric, members, rate, own, base)
    rows += _send(fabric, members, segments)
    rows += [base.copy(), *exchange_s_per_byte(fabric, members, parts, own)]
    rows[2:], more = synthesized_rows(fabric, members, parts, own, rows[2:])
    more += _other_protocols(fabric, members, rate, rows[2] >= NEVER)
    for row in (*rows[2:], *more):
        row[alone] = 0.0
    rows += [*_crossings(fabric, members, parts), *more]
    names = tuple(name for name, _ in fabric.protocols)
    return GroupCosts(np.stack(rows), len(fabric.levels), lines=lines_of(fabric), protocols=names)


def _other_protocols(
    fabric: Fabric, members: Membership, rate: FloatArray, replaced: BoolArray
) -> list[FloatArray]:
    """Rows alpha, beta of the ring of a gather in each further protocol, then of the tree.

    A protocol's data are the same share of the wire on every level, and so of `rate`, the ring's.
    Where synthesized schedules have `replaced` the library's, there are none.
    """
    gathers, reduces = [], []
    for _, other in fabric.protocols:
        own = rate * (other.levels[0].bytes_per_s / fabric.levels[0].bytes_per_s)
        base = _base(other, members)
        gathers += _ring(other, members, base, own)
        reduces += _tree(other, members, base, own)
    rows = [*gathers, *reduces]
    return [np.where(replaced, SLOW if at % 2 else NEVER, row) for at, row in enumerate(rows)]


def _in_a_node(fabric: Fabric, members: Membership) -> IntArray:
    """(n,) members in one domain of the outermost scale-up level, 1 where there is none."""
    count = np.ones_like(members.size)
    for level, _, inside in _by_level(fabric, members):
        if not level.scale_out:
            count = inside
    return count


def _by_level(
    fabric: Fabric, members: Membership
) -> Iterator[tuple[FabricLevel, IntArray, IntArray]]:
    """Each level with the members in a domain of the level below and in one of its own."""
    return zip(fabric.levels, members.below, members.inside, strict=True)


def _volume(fabric: Fabric, members: IntArray) -> FloatArray:
    """(g-1)/g, or 1 where the assumptions take the asymptotic volume."""
    exact = (members - 1) / members
    return np.where(members > 1, 1.0, 0.0) if fabric.asymptotic_volume else exact


def _base(fabric: Fabric, members: Membership) -> FloatArray:
    """(n,) start-up latency of the outermost level crossed."""
    base = np.zeros(members.size.shape)
    for level, below, inside in _by_level(fabric, members):
        base = np.where(inside > below, level.base_latency_s, base)
    return base


def _ring_hops(fabric: Fabric, members: Membership) -> FloatArray:
    """(n,) seconds of the hops of a flat ring, each at the outermost level that it crosses.

    Of the g hops of a ring, g / below leave the domains below a level, and g / inside its own.
    """
    total = np.zeros(members.size.shape)
    for level, below, inside in _by_level(fabric, members):
        leaving = np.where(inside < members.size, members.size / inside, 0.0)
        hops = np.where(inside > below, members.size / below - leaving, 0.0)
        total = total + level.hop_latency_s * hops
    return total


def _ring(
    fabric: Fabric, members: Membership, base: FloatArray, rate: FloatArray
) -> list[FloatArray]:
    """Rows alpha, beta of the flat ring."""
    return [base + _ring_hops(fabric, members), _volume(fabric, members.size) / rate]


def _gather(
    fabric: Fabric,
    members: Membership,
    base: FloatArray,
    rate: FloatArray,
    own: Sequence[FloatArray],
) -> list[FloatArray]:
    """Rows alpha, beta of the flat ring and of one ring per level."""
    ring_alpha, ring_beta = _ring(fabric, members, base, rate)
    alpha = np.zeros(members.size.shape)
    beta = np.zeros(members.size.shape)
    levels = zip(fabric.levels, members.below, members.inside, own, strict=True)
    for level, below, inside, of_chip in levels:
        meets = inside > below
        meeting = inside / below
        moved = (meeting - 1) / meeting / below
        alpha = alpha + np.where(meets, level.base_latency_s + level.hop_latency_s * meeting, 0.0)
        beta = beta + np.where(meets, moved / of_chip, 0.0)
    if "hierarchical" not in fabric.algorithms or fabric.asymptotic_volume:
        alpha, beta = ring_alpha.copy(), ring_beta.copy()
    if "ring" not in fabric.algorithms:
        ring_alpha, ring_beta = alpha.copy(), beta.copy()
    return [ring_alpha, ring_beta, alpha, beta]


def _tree(
    fabric: Fabric, members: Membership, base: FloatArray, rate: FloatArray
) -> list[FloatArray]:
    """Rows alpha, beta of a double binary tree over the nodes, with a chain inside each node."""
    alpha = base
    nodes = _in_a_node(fabric, members)
    reached = np.zeros(rate.shape)
    for level, below, inside in _by_level(fabric, members):
        if level.scale_out:
            height = np.ceil(np.log2(np.maximum(inside / nodes, 1.0)))
            climbed, reached = height - reached, height
        else:
            climbed = inside / below - 1
        alpha = alpha + 2.0 * climbed * level.hop_latency_s
    beta = 2.0 / (rate * fabric.tree_efficiency)
    allowed = "tree" in fabric.algorithms and not fabric.asymptotic_volume
    never = [np.full(rate.shape, NEVER), np.zeros(rate.shape)]
    return [alpha, beta] if allowed else never


def _send(fabric: Fabric, members: Membership, segments: Sequence[Segment]) -> list[FloatArray]:
    """Rows alpha, beta of a message to the next member, on the outermost level crossed.

    Where members come in several segments, some messages step along each; the slowest counts.
    """
    rate = np.full(members.size.shape, np.inf)
    alpha = np.zeros(members.size.shape)
    for level, below, inside in _by_level(fabric, members):
        crossed = inside > below
        rate = np.where(crossed, step_rate(level, segments), rate)
        alpha = np.where(crossed, level.hop_latency_s, alpha)
    return [alpha, 1.0 / rate]


def _crossings(
    fabric: Fabric, members: Membership, segments: Sequence[Segment]
) -> list[FloatArray]:
    """Per level: bytes received in an all-gather, in an all-to-all, and by a send.

    Where a byte takes several hops it counts on each. Of the links of one flat ring 1 / below
    leave the domains inside a level, 1 / inside those of the level, and none all of the group.
    """
    gathers = list(1.0 / members.below - 1.0 / members.inside)
    if fabric.slowest_link:
        leaving = np.where(members.inside < members.size, 1.0 / members.inside, 0.0)
        links = np.where(members.inside > members.below, 1.0 / members.below - leaving, 0.0)
        gathers = list(links * (members.size - 1) / members.size)
    exchanges = list((members.inside - members.below) / members.size)
    for row, (level, below, inside) in enumerate(_by_level(fabric, members)):
        hops = level_hops(level, inside // below)
        gathers[row], exchanges[row] = gathers[row] * hops, exchanges[row] * hops
        if fabric.byte_hops and level.torus is not None:
            exchanges[row] = exchanges[row] * torus_average_hops(level.torus, segments)
    crossed = members.inside > members.below
    outermost = crossed & ~np.vstack(
        [np.cumsum(crossed[::-1], axis=0)[::-1][1:] > 0, np.zeros_like(crossed[:1])]
    )
    return gathers + exchanges + [row.astype(np.float64) for row in outermost]
