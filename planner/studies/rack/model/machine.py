"""The rack: chips with an array of PEs, links inside a rack, links between racks, topologies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction

from frozen_records import dataclass
from hardware_db import Chip, Cluster, FrozenMap, Level
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import parse_bytes
from planner.network.topology.fit import fits

_MOST_SRAM = 1e15
FULL_BLOCK = 1024
"""Threads of a block that keep all multipliers of a PE busy: the largest block of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What one hop costs.

    Attributes:
        bytes_per_s: Rate per chip and direction.
        j_per_byte: Energy of one byte over one hop.
        latency_s: Time before the first byte; counts where the assumptions say so.
    """

    bytes_per_s: float
    j_per_byte: float
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.bytes_per_s) and self.bytes_per_s > 0):
            raise InputError(f"bandwidth: {self.bytes_per_s:g} bytes per second is not above 0")
        if not (math.isfinite(self.j_per_byte) and self.j_per_byte >= 0):
            raise InputError(f"energy-per-hop: {self.j_per_byte:g} J per byte is not at least 0")
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise InputError(f"latency: {self.latency_s:g} s is not at least 0")


_LINK_WORDS = {
    "bandwidth_bytes_per_s": "bandwidth",
    "energy_j_per_byte": "energy",
    "latency_s": "latency",
    "price": "price",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTopology:
    """A topology of given sizes, or a graph: it has one number of chips.

    Attributes:
        chips: How many.
        hops: Average hops between two of them.
        links: In all.
        ports: The most links at one chip.
        ignored: Figures that a graph gives its links and that are not used: only wiring counts.
    """

    chips: int
    hops: Fraction
    links: int
    ports: int
    ignored: tuple[str, ...] = ()

    @property
    def ignored_words(self) -> str:
        """`bandwidth`, `bandwidth or energy`, ...; empty where nothing is ignored."""
        names = [_LINK_WORDS[name] for name in self.ignored]
        return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Chips and what joins them.

    Attributes:
        chip: The chip at its own number of PEs.
        precision: Number format of the arithmetic.
        inner: Links between chips of a rack.
        outer: Links between racks; None: there is only one rack.
        rack_chips: Chips of one rack, side by side in the order of `RackPlans`.
        topologies: Names of `planner.network.topology` that plans may index, or of `fixed`.
        fixed: Topologies with one number of chips, by name.
    """

    chip: Chip
    precision: str
    inner: Link
    outer: Link | None
    rack_chips: int
    topologies: tuple[str, ...]
    fixed: Mapping[str, FixedTopology] = field(default_factory=dict)

    def has_rack(self, topology: str, chips: int) -> bool:
        """Whether there is a rack of that topology with so many chips."""
        if topology in self.fixed:
            return chips == self.fixed[topology].chips
        return chips == 1 or fits(topology, chips)


def machine_of(cluster: Cluster, precision: str | None = None) -> Machine:
    """The machine of a cluster record with one or two levels.

    Args:
        cluster: Record, e.g. `report1-rack` or `c2c-ndr400-rack`.
        precision: Default the chip's widest 16-bit format, else 8 bits.

    Raises:
        InputError: The chip has no rate at that precision.
    """
    rates = cluster.chip.peak_flop_per_s
    known = [name for name in ("bf16", "fp16", "int8", "fp8") if name in rates]
    if precision is None:
        precision = known[0] if known else ""
    if precision not in rates:
        raise InputError(f"precision: {cluster.chip.name} has {', '.join(sorted(rates))}")
    inner, *others = cluster.levels
    return Machine(
        chip=cluster.chip,
        precision=precision,
        inner=_link(inner),
        outer=_link(others[0]) if others else None,
        rack_chips=inner.domain_chips or cluster.max_chips,
        topologies=("fully-connected" if inner.topology == "switch" else inner.topology,),
    )


def parse_sram(given: object) -> float:
    """Bytes of SRAM such as `64KiB`.

    Raises:
        InputError: It is no size above 0.
    """
    held = parse_bytes(str(given), "sram")
    if not 0 < held <= _MOST_SRAM:
        rule = "greater than 0" if held <= 0 else f"at most {_MOST_SRAM:g} bytes"
        raise InputError(f"sram: {shown(given)}: must be {rule}")
    return held


def _link(level: Level) -> Link:
    return Link(
        bytes_per_s=level.bandwidth_bytes_per_s,
        j_per_byte=level.energy_j_per_byte,
        latency_s=level.latency_s,
    )


def with_threads(machine: Machine, threads: int) -> Machine:
    """The machine with blocks of so many threads, `FULL_BLOCK` of which use all of a PE.

    Fewer threads use fewer of its multipliers; PEs, memories and their rates stay as they are.

    Raises:
        InputError: Not from 1 to `FULL_BLOCK`.
    """
    if not 1 <= threads <= FULL_BLOCK:
        nearest = min(max(threads, 1), FULL_BLOCK)
        raise InputError(
            f"block-size: {threads:,} is not from 1 to {FULL_BLOCK:,} threads; nearest: {nearest:,}"
        )
    rates = {
        name: rate * threads / FULL_BLOCK for name, rate in machine.chip.peak_flop_per_s.items()
    }
    return replace(machine, chip=replace(machine.chip, peak_flop_per_s=FrozenMap(rates)))
