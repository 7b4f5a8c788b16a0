"""What a collective costs: alpha + beta * bytes, the best algorithm for each message size.

`GroupCosts` holds, for every group, one (alpha, beta) pair per algorithm; the time of a message
is the smallest of alpha + beta * V over the algorithms that the fabric allows. V is the full
buffer: what every member ends with after an all-gather, or starts with before a reduce-scatter.

    ring          all-gather: beta = (g-1)/g / rate; all-reduce: twice that; the latency counts
                  every member passed on the outermost level. This is the form fitted to
                  published runs.
    hierarchical  one ring per level, one after the other: fewer latencies, sums the levels' times
    tree          all-reduce only: 2 log2(domains) latencies (NCCL src/graph/tuning.cc)
    in-switch     all-reduce inside one domain whose switches reduce (NVLink SHARP)

Source of the alpha-beta form: Thakur, Rabenseifner, Gropp, Optimization of Collective
Communication Operations in MPICH, IJHPCA 2005, doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.network.fabric import Fabric
from planner.network.groups import (
    Membership,
    Segment,
    level_rate,
    membership,
    neighbour_rate,
    ring_rate,
    torus_exchange_s_per_byte,
)
from planner.plan import FloatArray, IntArray

ALGORITHMS = ("ring", "hierarchical", "tree", "in-switch")
_NEVER = 1e300  # the latency, in seconds, of an algorithm that the fabric does not offer


@dataclass(frozen=True, slots=True)
class GroupCosts:
    """Cost features of groups.

    Attributes:
        features: (features, u) of distinct groups; two with equal columns cost the same, whatever
            their members.
        levels: Number of levels of the fabric.
        at: Column of each group, of any shape; None: the groups are the columns.
    """

    features: FloatArray
    levels: int
    at: IntArray | None = None

    def __len__(self) -> int:
        return int(self.features.shape[1]) if self.at is None else len(self.at)

    def take(self, index: IntArray) -> GroupCosts:
        """The groups of `index`, in its shape."""
        return GroupCosts(self.features, self.levels, index if self.at is None else self.at[index])

    def flat(self) -> GroupCosts:
        """The same groups in one dimension."""
        return self if self.at is None else GroupCosts(self.features, self.levels, self.at.ravel())

    def _row(self, index: int) -> FloatArray:
        row: FloatArray = self.features[index]
        return row if self.at is None else np.take(row, self.at)

    @property
    def size(self) -> FloatArray:
        """(n,) members."""
        return self._row(0)

    @property
    def domains(self) -> FloatArray:
        """(n,) innermost domains (nodes, slices) that the group spans."""
        return self._row(1)

    def gather_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-gather or a reduce-scatter of (n,) `size_bytes`; 0 for one member."""
        ring = self._row(2) + self._row(3) * size_bytes
        return np.asarray(np.minimum(ring, self._row(4) + self._row(5) * size_bytes))

    def reduce_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of an all-reduce of (n,) `size_bytes`; 0 for one member."""
        best = 2.0 * self.gather_s(size_bytes)
        best = np.minimum(best, self._row(6) + self._row(7) * size_bytes)
        return np.asarray(np.minimum(best, self._row(8) + self._row(9) * size_bytes))

    def send_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds to send (n,) `size_bytes` to the next member."""
        return np.asarray(self._row(10) + self._row(11) * size_bytes)

    def exchange_s(
        self, size_bytes: FloatArray, remote_share: FloatArray | float = 1.0
    ) -> FloatArray:
        """Seconds of an all-to-all in which each member sends (n,) `size_bytes` in total.

        Args:
            size_bytes: Bytes that leave each member if nothing is deduplicated.
            remote_share: Share of the bytes between domains that is really sent (experts on the
                same remote node can share one copy).
        """
        inside = self._row(13) * size_bytes
        return np.asarray(self._row(12) + inside + self._row(14) * size_bytes * remote_share)

    def crossing(self, level: int) -> FloatArray:
        """(n,) bytes per byte of V that each member receives over `level` in an all-gather."""
        return self._row(15 + level)

    def exchange_crossing(self, level: int) -> FloatArray:
        """(n,) bytes per byte sent that cross `level` outermost in an all-to-all."""
        return self._row(15 + self.levels + level)

    def send_crossing(self, level: int) -> FloatArray:
        """(n,) 1.0 where the worst hop to the next member crosses `level` outermost, else 0."""
        return self._row(15 + 2 * self.levels + level)


def group_costs(fabric: Fabric, segments: Sequence[Segment]) -> GroupCosts:
    """The costs of the groups made of `segments`: (size, stride) arrays, innermost first."""
    members = membership(fabric.levels, segments)
    rate = ring_rate(fabric.levels, members, segments)
    alone = members.size == 1
    domains = members.size / members.inside[0]
    rows = [members.size.astype(np.float64), domains]
    rows += _gather(fabric, members, rate, segments)
    rows += _tree(fabric, members, rate, domains)
    rows += _in_switch(fabric, members, rate)
    rows += _send(fabric, members, segments)
    rows += _exchange(fabric, members, segments)
    for row in rows[2:]:
        row[alone] = 0.0
    rows += _crossings(members)
    return GroupCosts(np.stack(rows), len(fabric.levels))


def _volume(fabric: Fabric, members: IntArray) -> FloatArray:
    """(g-1)/g, or 1 where the assumptions take the asymptotic volume."""
    exact = (members - 1) / members
    return np.where(members > 1, 1.0, 0.0) if fabric.asymptotic_volume else exact


def _latency(fabric: Fabric, members: Membership, steps: Sequence[FloatArray]) -> FloatArray:
    """Base latency of the outermost level crossed plus `steps` hops on every level."""
    total = np.zeros(members.size.shape)
    base = np.zeros(members.size.shape)
    outside = np.ones_like(members.size)
    for level, inside, count in zip(fabric.levels, members.inside, steps, strict=True):
        base = np.where(inside > outside, level.base_latency_s, base)
        total = total + np.where(inside > outside, level.hop_latency_s * count, 0.0)
        outside = np.maximum(outside, inside)
    return base + total


def _gather(
    fabric: Fabric, members: Membership, rate: FloatArray, segments: Sequence[Segment]
) -> list[FloatArray]:
    """Rows alpha, beta of the flat ring and of one ring per level."""
    lower = np.vstack([np.ones_like(members.size)[None], members.inside[:-1]])
    at_level = members.inside / lower
    ring_alpha = _latency(fabric, members, list(at_level))
    ring_beta = _volume(fabric, members.size) / rate
    alpha = np.zeros(members.size.shape)
    beta = np.zeros(members.size.shape)
    for row, level in enumerate(fabric.levels):
        meets = at_level[row] > 1
        own = level_rate(level, members.inside[row], segments)
        moved = (at_level[row] - 1) / at_level[row] / lower[row]
        alpha = alpha + np.where(
            meets, level.base_latency_s + level.hop_latency_s * at_level[row], 0.0
        )
        beta = beta + np.where(meets, moved / own, 0.0)
    if "hierarchical" not in fabric.algorithms or fabric.asymptotic_volume:
        alpha, beta = ring_alpha.copy(), ring_beta.copy()
    if "ring" not in fabric.algorithms:
        ring_alpha, ring_beta = alpha.copy(), beta.copy()
    return [ring_alpha, ring_beta, alpha, beta]


def _tree(
    fabric: Fabric, members: Membership, rate: FloatArray, domains: FloatArray
) -> list[FloatArray]:
    """Rows alpha, beta of a double binary tree all-reduce."""
    inner, outer = fabric.levels[0], fabric.levels[-1]
    chain = 2.0 * (members.inside[0] - 1) * inner.hop_latency_s
    climb = 2.0 * np.ceil(np.log2(domains)) * outer.hop_latency_s
    base = np.where(domains > 1, outer.base_latency_s, inner.base_latency_s)
    beta = 2.0 / (rate * fabric.tree_efficiency)
    allowed = "tree" in fabric.algorithms and not fabric.asymptotic_volume
    never = [np.full(rate.shape, _NEVER), np.zeros(rate.shape)]
    return [base + chain + climb, beta] if allowed else never


def _in_switch(fabric: Fabric, members: Membership, rate: FloatArray) -> list[FloatArray]:
    """Rows alpha, beta of an all-reduce done by the switches of the innermost level."""
    inner = fabric.levels[0]
    allowed = (members.inside[0] == members.size) & (members.size >= inner.in_switch_group)
    offered = "in-switch" in fabric.algorithms and not fabric.asymptotic_volume
    if inner.in_switch_gain == 0 or not offered:
        allowed = np.zeros_like(allowed)
    ring = 2.0 * (members.size - 1) / members.size / rate
    alpha = np.full(rate.shape, inner.base_latency_s + fabric.in_switch_latency_s)
    beta = np.where(allowed, ring / (inner.in_switch_gain or 1.0), 0.0)
    return [np.where(allowed, alpha, _NEVER), beta]


def _send(fabric: Fabric, members: Membership, segments: Sequence[Segment]) -> list[FloatArray]:
    """Rows alpha, beta of a message to the next member, on the outermost level crossed."""
    rate = np.full(members.size.shape, np.inf)
    alpha = np.zeros(members.size.shape)
    outside = np.ones_like(members.size)
    for level, inside in zip(fabric.levels, members.inside, strict=True):
        rate = np.where(inside > outside, neighbour_rate(level, segments[-1][1]), rate)
        alpha = np.where(inside > outside, level.hop_latency_s, alpha)
        outside = np.maximum(outside, inside)
    return [alpha, 1.0 / rate]


def _exchange(fabric: Fabric, members: Membership, segments: Sequence[Segment]) -> list[FloatArray]:
    """Rows alpha, beta inside the innermost domain, beta between domains of an all-to-all."""
    inner = fabric.levels[0]
    near = members.inside[0]
    if inner.torus is not None:
        inside = torus_exchange_s_per_byte(inner.torus, segments)
    else:
        own = level_rate(inner, near, segments)
        inside = (near - 1) / members.size / (own * fabric.exchange_efficiency)
    outer = np.zeros(members.size.shape)
    lower = near
    for level, reach in zip(fabric.levels[1:], members.inside[1:], strict=True):
        crossing = (members.size - lower) / members.size / level.bytes_per_s
        outer = np.maximum(outer, np.where(reach > lower, crossing, 0.0))
        lower = np.maximum(lower, reach)
    alpha = _latency(fabric, members, [np.zeros(members.size.shape)] * len(fabric.levels))
    return [alpha, inside, outer]


def _crossings(members: Membership) -> list[FloatArray]:
    """Per level: bytes received in an all-gather, in an all-to-all, and by a send."""
    lower = np.vstack([np.ones_like(members.size)[None], members.inside[:-1]])
    gathers = list(1.0 / lower - 1.0 / members.inside)
    exchanges = list((members.inside - lower) / members.size)
    crossed = members.inside > lower
    outermost = crossed & ~np.vstack(
        [np.cumsum(crossed[::-1], axis=0)[::-1][1:] > 0, np.zeros_like(crossed[:1])]
    )
    return gathers + exchanges + [row.astype(np.float64) for row in outermost]
