"""A machine made of chips: its network levels, and how many chips it can give to a job."""

from __future__ import annotations

from frozen_records import dataclass
from hardware_db.chip import Chip
from hardware_db.frozen_map import FrozenMap
from hardware_db.quantity import Quantity, Source

TOPOLOGIES = (
    "switch", "fat-tree", "dragonfly", "fully-connected", "hybrid-cube-mesh", "torus", "mesh",
    "hypercube", "ring", "linear",
)  # fmt: skip
REDUCTIONS = ("none", "nvls", "sharp")
WRAP_RULES = (
    "multiple-of-4-full-cubes", "axis-equals-16", "axis-equals-pod", "always", "never",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusRules:
    """Which slices of a torus can be had, and which of their axes close into rings.

    Attributes:
        pod: Length of each axis of the whole torus.
        cube_edge: Edge of the building block that larger slices are made of; 0 if slices exist
            only in the shapes of `slices`.
        wrap_rule: One of `WRAP_RULES`: `multiple-of-4-full-cubes` (every axis of a slice made of
            whole 4x4x4 cubes), `axis-equals-16`, `axis-equals-pod` (an axis as long as the pod's),
            `always` (every axis longer than two), `never`.
        slices: Shapes that can be had besides whole cubes.
        largest_slice_chips: Largest slice that the provider schedules.
        smallest_multislice_chips: Smallest slice of a job that spans several.
        max_slices: Most slices in one job.
        twist_gains: Where the wraparound links of short axes can be shifted along the long ones (a
            twisted torus), throughput of an all-to-all over a whole slice, relative to the regular
            torus, of the shapes k x k x 2k and k x 2k x 2k; empty where slices are never twisted.
    """

    pod: tuple[int, ...]
    cube_edge: int
    wrap_rule: str
    slices: tuple[tuple[int, ...], ...]
    largest_slice_chips: int
    smallest_multislice_chips: int
    max_slices: int
    twist_gains: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One tier of the interconnect, as built (in a `Cluster`) or cut to a job (`Allocation`).

    Attributes:
        name: nvlink, leaf, spine, ici, dcn, ...
        kind: `scale-up` (memory-semantic links between chips) or `scale-out` (through NICs).
        topology: One of `TOPOLOGIES`.
        domain_chips: Chips that share one domain of this level; None if unlimited.
        bandwidth_bytes_per_s: Per chip, one direction, all links of the level together.
        links: Links per chip of this level; 0 if not told apart.
        link_bandwidth_bytes_per_s: One link, one direction; 0 if not told apart.
        links_per_pair: Links between each pair of a fully connected domain, else 0.
        peer_bandwidth_bytes_per_s: What one pair of chips can use, one direction.
        bandwidth_by_group: (group size, ring bandwidth per chip and direction) of graphs where
            it depends on the group, ascending; empty elsewhere.
        latency_s: Per message on a switched level, per hop on a directly wired one.
        energy_j_per_byte: Per byte that crosses the level, at full load.
        in_network_reduction: One of `REDUCTIONS`; all-reduce only.
        in_network_gain: Measured all-reduce bus bandwidth relative to a ring (1 without).
        in_network_min_group: Smallest group for which the library uses it (0 without).
        switch_ports: Ports of one switch; 0 if not told, and the domain of a leaf tells it then.
        switch_power_w_per_chip: Switches and optical transceivers of this level per installed
            chip, always on; not part of the chip's `host_w`.
        switch_power_in_host_w_per_chip: Switches of this level that the chip's `host_w` contains;
            None where that was not told apart.
        nic_power_w_per_chip: NIC per chip, for information: it is part of `host_w`.
        oversubscription: Injection bandwidth over what crosses this level when all chips send; it
            divides the bandwidth.
        torus_dims: Axis lengths of the torus inside one domain; empty elsewhere.
        torus_wrap: Whether each of these axes closes into a ring.
        torus_exchange_gain: Throughput of an all-to-all over the whole of that torus relative to
            one with straight wraparound links; above 1 where it is twisted.
        torus: The rules for slices; None where the level is no torus, or has `torus_axes`.
        torus_axes: Axes of a torus whose lengths follow from the size of the job; else 0.
        degraded: (chip, chip, share): links of every domain that carry only a share of their rate,
            both ways; 0: none. Chips count from 0 within the domain; one that stands twice has a
            slow link to a switch.
        dragonfly: (a, h, p) where they are known: switches per group, global links and chips per
            switch; empty elsewhere.
    """

    name: str
    kind: str
    topology: str
    domain_chips: int | None
    bandwidth_bytes_per_s: float
    links: int = 0
    link_bandwidth_bytes_per_s: float = 0.0
    links_per_pair: int = 0
    peer_bandwidth_bytes_per_s: float
    bandwidth_by_group: tuple[tuple[int, float], ...] = ()
    latency_s: float
    energy_j_per_byte: float
    in_network_reduction: str = "none"
    in_network_gain: float = 1.0
    in_network_min_group: int = 0
    switch_ports: int = 0
    switch_power_w_per_chip: float
    switch_power_in_host_w_per_chip: float | None = None
    nic_power_w_per_chip: float = 0.0
    oversubscription: float = 1.0
    torus_dims: tuple[int, ...] = ()
    torus_wrap: tuple[bool, ...] = ()
    torus_exchange_gain: float = 1.0
    torus: TorusRules | None = None
    torus_axes: int = 0
    dragonfly: tuple[int, ...] = ()
    degraded: tuple[tuple[int, int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A cluster cut to the chips of one job.

    Attributes:
        cluster: The cluster it is cut from.
        chips: Chips of the job.
        levels: The levels that the job uses, innermost first, with `domain_chips` cut to the job
            (never None) and `torus_dims`, `torus_wrap`, `torus_exchange_gain` of the chosen slice.
        slices: Equal torus slices that the job consists of; 1 elsewhere.
        losses: What the chosen count gives away, as plain sentences.
    """

    cluster: Cluster
    chips: int
    levels: tuple[Level, ...]
    slices: int = 1
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A machine: equal chips in nodes, joined by levels of network.

    Attributes:
        name, title: Labels.
        chip: The chip of every position.
        node_chips: Chips per host; whole hosts are allocated above one host.
        max_chips: Largest job it is modelled for.
        levels: Network levels, innermost first, with growing domains.
        quantities: Dotted path in the file to the quantity with its provenance (cluster fields
            only; the chip has its own).
        sources: Source key to source.
        record_name: Name of the record, where this cluster is one wired in another way; None:
            this is the record.
        base: The record, or the file, that its file says it is like; None: none.
        changed: Dotted paths in the file of what differs from that.
        is_record: Whether nodes and network are those of a record, whatever it is called.
    """

    name: str
    title: str
    chip: Chip
    node_chips: int
    max_chips: int
    levels: tuple[Level, ...]
    quantities: FrozenMap[Quantity]
    sources: FrozenMap[Source]
    record_name: str | None = None
    base: Cluster | None = None
    changed: tuple[str, ...] = ()
    is_record: bool = True

    def scale(self, chips: int) -> Allocation:
        """Cut the cluster to `chips` chips.

        A switched machine gives any number of chips of one node, else whole nodes; if scale-up
        domains span several nodes, every domain in use holds the same number of chips. A torus
        gives the most cubic slice of that size, or the fewest equal slices joined by the
        data-center network.

        Raises:
            HardwareError: The cluster cannot give that many; names the nearest counts it can.
        """
        from hardware_db.allocation import allocate  # noqa: PLC0415  (it imports this module)

        return allocate(self, chips)

    def chip_counts(self, max_chips: int) -> tuple[int, ...]:
        """Every chip count up to `max_chips` that `scale` accepts, ascending."""
        from hardware_db.allocation import possible_counts  # noqa: PLC0415  (it imports Cluster)

        return possible_counts(self, min(max_chips, self.max_chips))
