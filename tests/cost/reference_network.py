"""Communication groups by enumeration of ranks, and what a collective on them costs.

Scalar and slow on purpose: every group of a mesh is listed rank by rank, its members are counted
domain by domain, and on a torus its members' coordinates are looked at one by one. Only groups
that are *regular* are priced (every domain that a group touches holds equally many of its members,
and the same in every group); `IrregularError` is raised elsewhere.

The formulas are those of the design (alpha-beta; bandwidth = min over the levels crossed of the
rate per chip times the members that share a domain; all-reduce = two gathers).
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cost.reference_protocols import under
from cost.reference_torus import Footprint, IrregularError, footprint_of
from hardware_db import Cluster, Level
from planner.assumptions.assumptions import Assumptions

Sizes = tuple[int, int, int, int, int]
AXES = ("tp", "cp", "fsdp", "dp", "pp")


@dataclass(frozen=True)
class Machine:
    """The levels of a cluster as a job of `chips` chips finds them, innermost first."""

    levels: tuple[Level, ...]
    domains: tuple[int, ...]
    assumptions: Assumptions
    others: tuple["Machine", ...] = ()  # under NCCL's further protocols

    def share(self, level: Level) -> float:
        """Achieved share of the wire rate."""
        a = self.assumptions
        return a.scale_out_efficiency if level.kind == "scale-out" else a.scale_up_efficiency

    def base_s(self, level: Level) -> float:
        """Start-up latency."""
        a = self.assumptions
        fitted = a.scale_out_latency_s if level.kind == "scale-out" else a.scale_up_latency_s
        return fitted if a.wire_latency else max(fitted, level.latency_s)

    def hop_s(self, level: Level) -> float:
        """Latency per member passed."""
        a = self.assumptions
        if a.wire_latency:
            return level.latency_s
        return max(a.ring_hop_s, level.latency_s) if level.kind == "scale-out" else a.scale_up_hop_s


@lru_cache(maxsize=64)
def machine(cluster: Cluster, chips: int, assumptions: Assumptions) -> Machine:
    """Cut the cluster; a level out of reach repeats the domain inside it."""
    used = {level.name: level for level in cluster.scale(chips).levels}
    levels, domains, reach = [], [], 1
    for built in cluster.levels:
        level = used.get(built.name)
        if level is not None:
            reach = min(level.domain_chips or chips, chips)
        levels.append(level or built)
        domains.append(reach)
    if not assumptions.protocols:
        return Machine(tuple(levels), tuple(domains), assumptions)
    first, *others = (
        Machine(tuple(levels), tuple(domains), under(assumptions, cluster, name))
        for name in ("simple", "ll", "ll128")
    )
    return replace(first, others=tuple(others))


def rank_coordinates(sizes: Sizes, order: Sequence[str]) -> list[dict[str, int]]:
    """Coordinates of every rank; `order` is innermost first."""
    count = math.prod(sizes)
    size_of = dict(zip(AXES, sizes, strict=True))
    ranks = []
    for rank in range(count):
        rest, place = rank, {}
        for axis in order:
            rest, place[axis] = divmod(rest, size_of[axis])
        ranks.append(place)
    return ranks


def groups_along(
    sizes: Sizes, order: Sequence[str], axes: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Ranks that differ only in `axes`, as groups in ascending order."""
    found: dict[tuple[int, ...], list[int]] = {}
    for rank, place in enumerate(rank_coordinates(sizes, order)):
        key = tuple(place[axis] for axis in AXES if axis not in axes)
        found.setdefault(key, []).append(rank)
    return tuple(tuple(group) for group in found.values())


@dataclass(frozen=True)
class Grouping:
    """Every named group of a mesh, as lists of ranks."""

    groups: dict[str, tuple[tuple[int, ...], ...]]


@lru_cache(maxsize=512)
def grouping(sizes: Sizes, order: tuple[str, ...], ep: int, etp: int = 1) -> Grouping:
    """All groups of a mesh; experts fold over the axes but pp, innermost first, dp last.

    Of such a group neighbours share each expert.
    """
    named = {
        "tp": ("tp",),
        "cp": ("cp",),
        "pp": ("pp",),
        "shard": ("cp", "fsdp"),
        "replica": ("dp",),
        "data": ("cp", "fsdp", "dp"),
    }
    groups = {name: groups_along(sizes, order, axes) for name, axes in named.items()}
    folded: dict[str, list[tuple[int, ...]]] = {name: [] for name in ("ep", "etp", *_LEFT)}
    places = rank_coordinates(sizes, order)
    for ranks in groups_along(sizes, order, ("tp", "cp", "fsdp", "dp")):
        stage = tuple(sorted(ranks, key=lambda rank: (places[rank]["dp"], rank)))
        held = ep * etp
        blocks = [stage[i : i + held] for i in range(0, len(stage), held)]
        folded["ep"] += [block[i::etp] for block in blocks for i in range(etp)]
        folded["etp"] += [block[i : i + etp] for block in blocks for i in range(0, held, etp)]
        for name, fixed in _LEFT.items():
            found: dict[tuple[int, ...], list[int]] = {}
            for block in blocks:
                for slot, rank in enumerate(block):
                    key = (slot, *(_block_place(places, block, axis) for axis in fixed))
                    found.setdefault(key, []).append(rank)
            folded[name] += [tuple(group) for group in found.values()]
    groups |= {name: tuple(lists) for name, lists in folded.items()}
    return Grouping(groups)


_LEFT: dict[str, tuple[str, ...]] = {
    "expert_shard": ("dp",),
    "expert_replica": ("tp", "cp", "fsdp"),
    "expert_data": (),
}


def _block_place(places: list[dict[str, int]], block: Sequence[int], axis: str) -> int:
    """Which slice of `axis` an expert group sits in (its first member decides)."""
    return min(places[rank][axis] for rank in block)


@dataclass(frozen=True)
class Net:
    """One kind of group on one machine.

    Attributes:
        size: Members.
        inside: Members in one domain, per level.
        footprint: (members, links between neighbours, closed ring) per torus axis of level 0.
        stride: Ranks between consecutive members of the group, largest.
    """

    host: Machine
    size: int
    inside: tuple[int, ...]
    footprint: tuple[Footprint, ...]
    stride: int

    def crossed(self) -> Iterator[tuple[Level, int, int]]:
        """(level, members below, members inside) of the levels that the group crosses."""
        lower = 1
        for level, inside in zip(self.host.levels, self.inside, strict=True):
            if inside > lower:
                yield level, lower, inside
                lower = inside

    def own_rate(self, level: Level, inside: int) -> float:
        """Ring rate of one chip on a level."""
        share = self.host.share(level)
        if level.torus_dims:
            rates = self._axis_rates(level.link_bandwidth_bytes_per_s * share)
            caps = [(inside - 1) / (members - 1) * rate for members, rate in rates]
            return min([math.fsum(rate for _, rate in rates), *caps])
        if level.topology == "fully-connected":
            return level.peer_bandwidth_bytes_per_s * share * max(inside - 1, 1)
        for most, rate in level.bandwidth_by_group:
            if inside <= most:
                return rate * share
        return level.bandwidth_bytes_per_s * share

    def _axis_rates(self, link: float) -> list[tuple[int, float]]:
        """Members and ring rate along each torus axis that the group spans.

        Rates of axes add up, but an axis with e of g members carries (e - 1) / g of the buffer at
        least: the rate is at most (g - 1) / (e - 1) times the axis's own.
        """
        return [
            (members, link * (2 if ring else 1) / spacing)
            for members, spacing, ring in self.footprint
            if members > 1
        ]

    @property
    def lopsided(self) -> bool:
        """Whether one torus axis holds up the others."""
        rates = self._axis_rates(1.0)
        inside = math.prod(members for members, _ in rates)
        whole = sum(rate for _, rate in rates)
        return any((inside - 1) / (members - 1) * rate < whole for members, rate in rates)

    def ring_rate(self) -> float:
        """Bytes per second into a member of a flat ring."""
        return min(self.own_rate(level, inside) * lower for level, lower, inside in self.crossed())

    def nodes(self) -> int:
        """Innermost domains that the group spans."""
        return self.size // self.inside[0]

    def gather_s(self, size_bytes: float) -> float:
        """All-gather or reduce-scatter of a full buffer of `size_bytes`."""
        if self.size == 1:
            return 0.0
        a = self.host.assumptions
        times = []
        if "ring" in a.collective_algorithms:
            volume = 1.0 if a.asymptotic_volume else (self.size - 1) / self.size
            times.append(self.ring_latency_s() + volume * size_bytes / self.ring_rate())
        if "hierarchical" in a.collective_algorithms and not a.asymptotic_volume:
            total = 0.0
            for level, lower, inside in self.crossed():
                meet = inside // lower
                received = size_bytes * (1 / lower - 1 / inside)
                total += self.host.base_s(level) + self.host.hop_s(level) * meet
                total += received / self.own_rate(level, inside)
            times.append(total)
        return min([*times, *(net.gather_s(size_bytes) for net in self.others())])

    def others(self) -> "list[Net]":
        """The same group under further protocols; without rings there are none."""
        rings = "ring" in self.host.assumptions.collective_algorithms
        return [replace(self, host=other) for other in self.host.others if rings]

    def ring_latency_s(self) -> float:
        """Base of the outermost level crossed, and one hop per node passed on scale-out levels.

        A ring of g members has g hops. Of these, g / lower cross at least the level above groups
        of `lower` members; each is charged to the outermost level that it crosses.
        """
        levels = list(self.crossed())
        total = self.host.base_s(levels[-1][0])
        for index, (level, lower, _) in enumerate(levels):
            above = self.size // levels[index + 1][1] if index + 1 < len(levels) else 0
            total += self.host.hop_s(level) * (self.size // lower - above)
        return total

    def reduce_s(self, size_bytes: float) -> float:
        """All-reduce: two gathers, a double tree, or the switches of one domain."""
        if self.size == 1:
            return 0.0
        a = self.host.assumptions
        times = [2 * self.gather_s(size_bytes)]
        levels = list(self.crossed())
        if "tree" in a.collective_algorithms and not a.asymptotic_volume:
            inner, outer = self.host.levels[0], levels[-1][0]
            alpha = self.host.base_s(outer)
            alpha += 2 * (self.inside[0] - 1) * self.host.hop_s(inner)
            reached = 0
            for level, _, inside in levels:
                if level.kind == "scale-out":
                    height = math.ceil(math.log2(inside / self.inside[0]))
                    alpha += 2 * (height - reached) * self.host.hop_s(level)
                    reached = height
            times.append(alpha + 2 * size_bytes / (self.ring_rate() * a.tree_efficiency))
        first = self.host.levels[0]
        reduces = first.in_network_reduction != "none"
        if (
            "in-switch" in a.collective_algorithms
            and not a.asymptotic_volume
            and reduces
            and self.inside[0] == self.size >= max(first.in_network_min_group, 2)
        ):
            ring = 2 * (self.size - 1) / self.size * size_bytes / self.ring_rate()
            start = a.in_switch_latency_s * max(self.size / 8, 1)
            times.append(self.host.base_s(first) + start + ring / first.in_network_gain)
        return min([*times, *(net.reduce_s(size_bytes) for net in self.others())])

    def send_s(self, size_bytes: float) -> float:
        """To the next member, over the outermost level that some neighbours cross."""
        if self.size == 1:
            return 0.0
        level = list(self.crossed())[-1][0]
        rate = level.bandwidth_bytes_per_s
        if level.topology == "fully-connected":
            rate = level.peer_bandwidth_bytes_per_s
        if level.torus_dims:
            passed, inner = 1, 1
            for length in level.torus_dims:
                if inner <= self.stride < inner * length:
                    passed = self.stride // inner
                inner *= length
            rate = level.link_bandwidth_bytes_per_s / passed
        return self.host.hop_s(level) + size_bytes / (rate * self.host.share(level))

    def exchange_s(self, size_bytes: float) -> float:
        """All-to-all; every member sends `size_bytes`, divided evenly over all members."""
        start, inside, outside = self._exchanged(size_bytes)
        return start + inside + outside

    def relay_s(self, near_bytes: float, far_bytes: float) -> float:
        """All-to-all that crosses between nodes once, and goes on inside every node."""
        start, inside, _ = self._exchanged(near_bytes)
        return start + max(inside * self.nodes(), self._exchanged(far_bytes)[2])

    def _exchanged(self, size_bytes: float) -> tuple[float, float, float]:
        """Seconds to start, inside nodes and between them."""
        if self.size == 1:
            return 0.0, 0.0, 0.0
        levels = list(self.crossed())
        first = self.host.levels[0]
        near = self.inside[0]
        start, total = self.host.base_s(levels[-1][0]), 0.0
        if first.torus_dims:
            link = first.link_bandwidth_bytes_per_s * self.host.share(first)
            spans = [
                members * spacing / (8 if ring else 4)
                for members, spacing, ring in self.footprint
                if members > 1
            ]
            total = size_bytes * max(spans, default=0.0) / link
            if self.size == math.prod(first.torus_dims):
                total /= first.torus_exchange_gain
        elif near > 1:
            rate = self.own_rate(first, near) * self.host.assumptions.exchange_efficiency
            total = size_bytes * (near - 1) / self.size / rate
        outer = [
            (self.size - lower) / self.size / (level.bandwidth_bytes_per_s * self.host.share(level))
            for level, lower, _ in levels
            if level is not first
        ]
        return start, total, size_bytes * max(outer, default=0.0)

    def received(self) -> list[float]:
        """Bytes per byte of the full buffer that a member receives in a gather, by level."""
        return self._by_level({level.name: 1 / low - 1 / top for level, low, top in self.crossed()})

    def exchanged(self) -> list[float]:
        """Bytes per byte sent in an all-to-all, by the level where sender and receiver part."""
        shares = {level.name: (top - low) / self.size for level, low, top in self.crossed()}
        return self._by_level(shares)

    def sent(self) -> list[float]:
        """1 at the outermost level that some neighbours cross."""
        if self.size == 1:
            return [0.0] * len(self.host.levels)
        return self._by_level({list(self.crossed())[-1][0].name: 1.0})

    def _by_level(self, shares: dict[str, float]) -> list[float]:
        return [shares.get(level.name, 0.0) for level in self.host.levels]


@lru_cache(maxsize=512)
def nets(
    host: Machine, sizes: Sizes, order: tuple[str, ...], ep: int, etp: int = 1
) -> dict[str, Net]:
    """Every group of a mesh on a machine.

    Raises:
        IrregularError: Some group with more than one member is irregular.
    """
    return {
        name: _net(host, groups, _stride(name, sizes, order))
        for name, groups in grouping(sizes, order, ep, etp).groups.items()
    }


def _stride(name: str, sizes: Sizes, order: tuple[str, ...]) -> int:
    if name != "pp":
        return 0
    inner = order[: order.index("pp")]
    return math.prod(sizes[AXES.index(axis)] for axis in inner)


def _net(host: Machine, groups: tuple[tuple[int, ...], ...], stride: int) -> Net:
    size = len(groups[0])
    inside = tuple(_members_inside(groups, domain) for domain in host.domains[:-1])
    dims = host.levels[0].torus_dims
    wraps = host.levels[0].torus_wrap
    footprint = footprint_of(groups, dims, wraps) if dims and size > 1 else ()
    return Net(host, size, (*inside, size), footprint, stride)


def _members_inside(groups: tuple[tuple[int, ...], ...], domain: int) -> int:
    counts = {count for group in groups for count in Counter(r // domain for r in group).values()}
    if len(counts) > 1:
        raise IrregularError(f"domains of {domain} hold {sorted(counts)} members")
    return counts.pop()
