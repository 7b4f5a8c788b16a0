"""The interconnect as the cost model sees it: levels with achieved rates and latencies.

An `Allocation` of `hardware_db` holds wire rates; `Assumptions` say which share of them software
achieves and what a collective costs before its first byte. `Fabric` is their product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from frozen_records import dataclass
from hardware_db import Allocation, Level
from planner.assumptions.assumptions import Assumptions
from planner.network.domains import LANES_OF_DGX1, left_for_rings
from planner.network.protocols import SIMPLE, by_protocol
from planner.network.synthesized.tables import NCCL, DomainTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Torus:
    """The torus, ring or line inside one domain of a level.

    Attributes:
        dims: Length of each physical axis; rank 0 walks the first axis first.
        wrap: Whether the axis closes into a ring.
        link_bytes_per_s: Achieved rate of one link in one direction.
        ring_links: Links of a chip that a closed ring of one axis keeps busy.
        exchange_gain: Throughput of an all-to-all over all chips of the torus relative to that of
            straight wraparound links; above 1 where the slice is twisted.
        unit: Ranks between neighbours on the first axis: the domain of the level inside, whose
            chips of equal position form a torus each.
    """

    dims: tuple[int, ...]
    wrap: tuple[bool, ...]
    link_bytes_per_s: float
    ring_links: float = 2.0
    exchange_gain: float = 1.0
    unit: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricLevel:
    """One level, innermost levels first in a `Fabric`.

    Attributes:
        name: As in the cluster record, e.g. `nvlink`.
        scale_out: True where the level is reached through a NIC.
        domain: Chips that share one domain of this level (the whole job at the outermost).
        bytes_per_s: Achieved rate per chip and direction.
        base_latency_s: Software cost of starting a collective that crosses this level.
        hop_latency_s: Added for every hop of a ring that crosses this level outermost.
        peer_bytes_per_s: Rate between one pair where chips are wired directly; 0 on a switch.
        by_group: Achieved ring rates of odd graphs, (chips side by side, bytes per s), ascending.
        torus: The torus, ring or line of a domain, or None.
        in_switch_gain: Rate of an all-reduce done by the switches relative to a ring; 0 where
            they do not reduce.
        in_switch_group: Smallest group for which the library uses it.
        energy_j_per_byte: Energy per byte that crosses the level.
        static_w_per_chip: Switches and optics of the level, per chip, always on.
        hops_of: Topology whose average hops every byte takes; empty: one hop.
        hop_axes: Length of each axis of a whole domain, and whether it closes; empty: those that
            the topology has for its number of chips.
        direct: Whether a switch lets every chip send to all others in one step.
        table: Synthesized collectives of a domain of directly wired chips, or None.
        lane_bytes_per_s: Achieved rate of the lane that the table counts in.
        slowed: (chip, chip, share): links of every domain that have a share of their rate left
            for rings; see `planner.network.rates.pace`.
    """

    name: str
    scale_out: bool
    domain: int
    bytes_per_s: float
    base_latency_s: float
    hop_latency_s: float
    peer_bytes_per_s: float = 0.0
    by_group: tuple[tuple[int, float], ...] = ()
    torus: Torus | None = None
    in_switch_gain: float = 0.0
    in_switch_group: int = 2
    energy_j_per_byte: float = 0.0
    static_w_per_chip: float = 0.0
    hops_of: str = ""
    hop_axes: tuple[tuple[int, bool], ...] = ()
    direct: bool = False
    table: DomainTable | None = None
    lane_bytes_per_s: float = 0.0
    slowed: tuple[tuple[int, int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """All levels of an allocation, innermost first, with the settings of its collectives.

    Under `slowest_link` the links of one level do not add up where several of them lead out of a
    domain: one ring passes all members and goes at the rate of its slowest link.
    Under `byte_hops` a byte of an all-to-all counts on every link of a torus that it takes.
    `protocols` are the same levels under further protocols that collectives choose from, by name.
    `collectives` is one of `planner.assumptions.assumptions.COLLECTIVES`; `step_s` and `start_s`
    are what a synthesized schedule takes per step and to start at all.
    """

    levels: tuple[FabricLevel, ...]
    algorithms: tuple[str, ...]
    asymptotic_volume: bool
    tree_efficiency: float
    in_switch_latency_s: float
    exchange_efficiency: float
    slowest_link: bool = False
    byte_hops: bool = False
    collectives: str = NCCL
    step_s: float = 0.0
    start_s: float = 0.0
    protocols: tuple[tuple[str, Fabric], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Level names, innermost first."""
        return tuple(level.name for level in self.levels)


Tables = Callable[[Level, int], DomainTable | None]
"""Gives the table of a domain of so many chips of a level, where there is one."""


def no_tables(level: Level, chips: int) -> DomainTable | None:
    """No domain has a table."""
    del level, chips
    return None


@lru_cache(maxsize=256)
def build_fabric(
    allocation: Allocation, assumptions: Assumptions, tables: Tables = no_tables
) -> Fabric:
    """The fabric of an allocation under the efficiencies and latencies of `assumptions`.

    It has all levels of the cluster; a level that the job is too small to reach has the domain of
    the level inside it, so that nothing ever crosses it. Questions on one machine share it.

    Args:
        allocation: The levels of a job.
        assumptions: Efficiencies and latencies.
        tables: Gives the synthesized collectives of a domain of the innermost level.
    """
    if not assumptions.protocols:
        return _one_fabric(allocation, assumptions, tables)
    every = by_protocol(assumptions, allocation.cluster)
    main = _one_fabric(allocation, every.pop(SIMPLE), tables)
    others = {name: _one_fabric(allocation, one, no_tables) for name, one in every.items()}
    return replace(main, protocols=tuple(others.items()))


def _one_fabric(allocation: Allocation, assumptions: Assumptions, tables: Tables) -> Fabric:
    """The fabric under one protocol; see `build_fabric`."""
    used = {level.name: level for level in allocation.levels}
    levels: list[FabricLevel] = []
    reach = 1
    for built in allocation.cluster.levels:
        level = used.get(built.name) or replace(built, domain_chips=reach)
        domain = min(level.domain_chips or allocation.chips, allocation.chips)
        whole = built.domain_chips is None or domain == built.domain_chips
        torus = _torus(level, domain // reach, reach, whole, _share(level, assumptions))
        levels.append(_achieved(level, domain, torus, assumptions))
        reach = domain
    if assumptions.collectives != NCCL and levels:
        levels[0] = _synthesized(levels[0], used, tables)
    return Fabric(
        levels=tuple(levels),
        algorithms=assumptions.collective_algorithms,
        asymptotic_volume=assumptions.asymptotic_volume,
        tree_efficiency=assumptions.tree_efficiency,
        in_switch_latency_s=assumptions.in_switch_latency_s,
        exchange_efficiency=assumptions.exchange_efficiency,
        slowest_link=assumptions.slowest_link,
        byte_hops=assumptions.component_energy,
        collectives=assumptions.collectives,
        step_s=assumptions.synthesized_step_s if assumptions.latencies else 0.0,
        start_s=assumptions.synthesized_start_s if assumptions.latencies else 0.0,
    )


def _synthesized(inner: FabricLevel, used: Mapping[str, Level], tables: Tables) -> FabricLevel:
    """The innermost level with what it has of synthesized collectives."""
    level = used.get(inner.name)
    if level is None or inner.scale_out:
        return inner
    if level.topology == "switch":
        return replace(inner, direct=True)
    table = tables(level, inner.domain)
    if table is None:
        return inner
    lane = inner.peer_bytes_per_s or inner.bytes_per_s / LANES_OF_DGX1
    if inner.torus is not None:
        lane = inner.torus.link_bytes_per_s
    return replace(inner, table=table, lane_bytes_per_s=lane)


_DIRECT = ("linear", "ring", "mesh", "torus", "hypercube")  # elsewhere every pair is one hop apart


def _share(level: Level, assumptions: Assumptions) -> float:
    """Share of the wire rate that software achieves."""
    if level.kind == "scale-out":
        return assumptions.scale_out_efficiency
    return assumptions.scale_up_efficiency


def _torus(level: Level, length: int, unit: int, whole: bool, share: float) -> Torus | None:
    """The wiring of a torus, or of a ring or line of `length` times `unit` chips.

    A ring that is not `whole` is cut open. Where links are not told apart, a chip has two.
    """
    if level.torus_dims:
        return Torus(
            dims=level.torus_dims,
            wrap=level.torus_wrap,
            link_bytes_per_s=level.link_bandwidth_bytes_per_s * share,
            exchange_gain=level.torus_exchange_gain,
            unit=unit,
        )
    if level.topology not in ("ring", "linear"):
        return None
    link = level.link_bandwidth_bytes_per_s or level.bandwidth_bytes_per_s / 2
    return Torus(
        dims=(length,),
        wrap=(level.topology == "ring" and whole,),
        link_bytes_per_s=link * share,
        ring_links=min(level.bandwidth_bytes_per_s / link, 2.0),
        unit=unit,
    )


def _achieved(
    level: Level, domain: int, torus: Torus | None, assumptions: Assumptions
) -> FabricLevel:
    scale_out = level.kind == "scale-out"
    share = _share(level, assumptions)
    simple = assumptions.uniform_traffic
    direct = level.topology == "fully-connected" and not simple
    counted = simple and level.topology in _DIRECT
    return FabricLevel(
        name=level.name,
        scale_out=scale_out,
        domain=domain,
        bytes_per_s=level.bandwidth_bytes_per_s / level.oversubscription * share,
        base_latency_s=assumptions.base_latency_s(scale_out=scale_out, wire_s=level.latency_s),
        hop_latency_s=assumptions.hop_latency_s(scale_out=scale_out, wire_s=level.latency_s),
        peer_bytes_per_s=level.peer_bandwidth_bytes_per_s * share if direct else 0.0,
        by_group=()
        if simple
        else tuple((size, rate * share) for size, rate in level.bandwidth_by_group),
        torus=None if simple else torus,
        in_switch_gain=level.in_network_gain if level.in_network_reduction != "none" else 0.0,
        in_switch_group=max(level.in_network_min_group, 2),
        energy_j_per_byte=level.energy_j_per_byte,
        static_w_per_chip=level.switch_power_w_per_chip,
        hops_of=level.topology if counted else "",
        hop_axes=tuple(zip(level.torus_dims, level.torus_wrap, strict=True)) if counted else (),
        slowed=left_for_rings(level, domain) if level.degraded else (),
    )
