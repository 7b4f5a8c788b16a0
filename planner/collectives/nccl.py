"""What a library such as NCCL would run on a machine: rings, trees and direct exchanges.

The schedules are real ones, for the checker, the simulator and the files of other tools. Their
times follow the tuner of NCCL, which takes the fastest of its protocols at each size:

    T = base + S hop + (R / C) L / (share x rate of a lane)

Each protocol has its base, its time per step and the share of the wire that carries data: LL
sends a flag beside every 4 bytes, LL128 8 bytes of flags in 128, Simple signals whole slices.

Source: NCCL 2.30.7 (commit 5067397c2676), src/graph/tuning.cc: base and hardware latencies,
factors of the ring and of the tree. Its corrections of trees by size (`treeCorrectionFactor`)
are not in these lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from planner.collectives.machine import Machine
from planner.plan import FloatArray, IntArray
from solvers.collectives.problem import COLLECTIVES, Network
from solvers.collectives.rings import Ring, Rings, find_rings
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.trees import (
    Tree,
    chain,
    double_binary_tree,
    fits_network,
    height,
    pipeline,
)

SLICES = 8
"""Chunks that follow one another along each ring or tree of a pipeline."""
RINGED = ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce")
"""Collectives that run on rings; the others are sends between pairs."""
LINKS = ("nvlink", "pci", "net")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How data and its readiness travel.

    Attributes:
        name: LL, LL128 or Simple.
        ring_base_s, tree_base_s: Seconds of a collective of no bytes.
        ring_step_s, tree_step_s: Seconds per step, by kind of link (`LINKS`).
        ring_share, tree_share: Share of a lane that carries data.
    """

    name: str
    ring_base_s: float
    tree_base_s: float
    ring_step_s: dict[str, float]
    tree_step_s: dict[str, float]
    ring_share: float
    tree_share: float


def _steps(nvlink_us: float, pci_us: float, net_us: float) -> dict[str, float]:
    return {"nvlink": nvlink_us * 1e-6, "pci": pci_us * 1e-6, "net": net_us * 1e-6}


_TREE = 0.92  # of the ring's rate, before the share of the protocol
PROTOCOLS = (
    Protocol(name="LL", ring_base_s=6.6e-6, tree_base_s=6.8e-6,
             ring_step_s=_steps(0.6, 1.0, 2.7), tree_step_s=_steps(0.6, 1.0, 5.0),
             ring_share=0.5, tree_share=_TREE / 3.8),
    Protocol(name="LL128", ring_base_s=14.0e-6, tree_base_s=14.0e-6,
             ring_step_s=_steps(1.9, 2.5, 4.0), tree_step_s=_steps(1.25, 1.9, 8.5),
             ring_share=0.92, tree_share=_TREE * 7 / 9),
    Protocol(name="Simple", ring_base_s=8.4e-6, tree_base_s=8.4e-6,
             ring_step_s=_steps(3.4, 5.7, 14.0), tree_step_s=_steps(4.0, 4.0, 14.0),
             ring_share=1.0, tree_share=_TREE),
)  # fmt: skip
"""The protocols with the defaults of NCCL's tuner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Seconds of an algorithm as alpha + beta L; L as `goal_of` defines it.

    Attributes:
        name: E.g. `ring, LL128`.
        algorithm: `ring`, `tree` or `direct`.
        protocol: `LL`, `LL128` or `Simple`; empty: the machine's own constants.
        steps: S.
        load: R / C.
        alpha_s: Seconds of no bytes.
        s_per_byte: Seconds per byte of L.
    """

    name: str
    algorithm: str
    protocol: str
    steps: int
    load: Fraction
    alpha_s: float
    s_per_byte: float

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of (n,) sizes L."""
        return self.alpha_s + self.s_per_byte * np.asarray(size_bytes, dtype=np.float64)


@lru_cache(maxsize=64)
def rings_of(network: Network) -> Rings:
    """`find_rings`, found once per network."""
    return find_rings(network)


def ring_schedule(
    machine: Machine, collective: str, *, root: int = 0, slices: int = SLICES
) -> Schedule:
    """What runs on all rings of a machine at once, each with its share of the data.

    With M rings an all-gather has C = M chunks, S = R = n - 1; a reduce-scatter is the same
    backwards; an all-reduce is one after the other, C = n M, S = R = 2 (n - 1). Broadcast and
    reduce send `slices` chunks per ring one behind the other.

    Args:
        machine: The machine.
        collective: One of `RINGED`.
        root: Of a broadcast or a reduction.
        slices: Chunks per ring of a broadcast or a reduction.

    Raises:
        ValueError: No ring passes all nodes, or rings do not serve this collective.
    """
    if collective not in RINGED:
        raise ValueError(f"no ring for {collective!r}; rings serve {', '.join(RINGED)}")
    orders = rings_of(machine.network).orders
    if not orders:
        raise ValueError(f"{machine.label}: no ring passes all nodes over direct links")
    if collective in ("broadcast", "reduce"):
        return _along(machine.network, collective, _chains(orders, root), slices)
    nodes, rings = machine.network.nodes, len(orders)
    sends: list[Send] = []
    if collective != "allgather":
        sends += _ring_pass(orders, start=1, first_step=0, reduces=True)
    if collective != "reduce-scatter":
        first = nodes - 1 if collective == "allreduce" else 0
        sends += _ring_pass(orders, start=0, first_step=first, reduces=False)
    steps = 2 * (nodes - 1) if collective == "allreduce" else nodes - 1
    return Schedule(
        collective=collective,
        chunks=nodes * rings if collective == "allreduce" else rings,
        rounds=(1,) * steps,
        sends=tuple(sorted(sends)),
    )


def _ring_pass(
    orders: tuple[Ring, ...], *, start: int, first_step: int, reduces: bool
) -> list[Send]:
    """Part k once round each ring, from the node `start` after k; ring i has its i-th chunk."""
    sends = []
    for ring, order in enumerate(orders):
        nodes = len(order)
        for at, part in enumerate(order):
            chunk = part * len(orders) + ring
            for step in range(nodes - 1):
                source = order[(at + start + step) % nodes]
                target = order[(at + start + step + 1) % nodes]
                sends.append(Send(first_step + step, source, target, chunk, reduces))
    return sends


def tree_schedule(machine: Machine, *, slices: int = SLICES) -> Schedule:
    """An all-reduce up and down trees, in pipelines of `slices` chunks per tree.

    The double binary tree where its branches are links; else, as NCCL inside a node, a chain
    along each ring.

    Raises:
        ValueError: The trees are no links, and no ring passes all nodes.
    """
    return _along(machine.network, "allreduce", trees_of(machine), slices)


def trees_of(machine: Machine) -> tuple[Tree, ...]:
    """The trees of `tree_schedule`, as many as run side by side.

    Raises:
        ValueError: See `tree_schedule`.
    """
    double = double_binary_tree(machine.network.nodes)
    if all(fits_network(tree, machine.network) for tree in double):
        return double
    orders = rings_of(machine.network).orders
    chains = tuple(chain(order) for order in orders)
    if not chains or not all(fits_network(tree, machine.network) for tree in chains):
        raise ValueError(f"{machine.label}: neither trees nor rings over direct links")
    return chains


def _chains(orders: tuple[Ring, ...], root: int) -> tuple[Tree, ...]:
    """Each ring cut open before a root."""
    turned = [order[order.index(root) :] + order[: order.index(root)] for order in orders]
    return tuple(chain(order) for order in turned)


def _along(network: Network, collective: str, trees: tuple[Tree, ...], slices: int) -> Schedule:
    """A pipeline along trees, which chunks take in turn.

    The chunks of an all-reduce are rounded up to a multiple of the nodes, see `goal_of`.
    """
    if slices < 1:
        raise ValueError(f"{slices} slices; at least 1")
    count = slices * len(trees)
    if collective == "allreduce":
        count = -(-count // network.nodes) * network.nodes
    of_chunk = [trees[chunk % len(trees)] for chunk in range(count)]
    if collective == "reduce":  # a broadcast over reversed links, backwards
        towards = pipeline(network.reversed(), of_chunk, up=False)
        last = max(send.step for send in towards)
        sends = [Send(last - s.step, s.target, s.source, s.chunk, True) for s in towards]
    else:
        sends = list(pipeline(network, of_chunk, up=collective == "allreduce"))
    steps = max(send.step for send in sends) + 1
    return Schedule(
        collective=collective, chunks=count, rounds=(1,) * steps, sends=tuple(sorted(sends))
    )


def direct_schedule(machine: Machine, collective: str, *, root: int = 0) -> Schedule:
    """Alltoall, gather or scatter as sends between every two nodes, all in one step.

    Raises:
        ValueError: Two nodes that must talk have no link, or it is another collective.
    """
    if collective not in ("alltoall", "gather", "scatter"):
        raise ValueError(f"{collective!r} does not go by sends between pairs")
    network, nodes = machine.network, machine.network.nodes
    pairs = {
        "alltoall": [(u, v, u * nodes + v) for u in range(nodes) for v in range(nodes)],
        "gather": [(u, root, u) for u in range(nodes)],
        "scatter": [(root, v, v) for v in range(nodes)],
    }[collective]
    sends = [Send(0, u, v, chunk) for u, v, chunk in pairs if u != v]
    number = {link: at for at, link in enumerate(network.links)}
    missing = [(s.source, s.target) for s in sends if (s.source, s.target) not in number]
    if missing:
        u, v = (machine.names[node] for node in missing[0])
        raise ValueError(f"{machine.label}: no link from {u} to {v}")
    used = Counter(number[send.source, send.target] for send in sends)
    waits = [-(-used[link] // network.lanes[link]) for link in used]
    waits += [
        -(-sum(used[link] for link in port.links) // port.capacity) for port in network.shared
    ]
    return Schedule(
        collective=collective, chunks=1, rounds=(max(waits),), sends=tuple(sorted(sends))
    )


def baseline(machine: Machine, collective: str, *, root: int = 0) -> Schedule:
    """What such a library runs for large messages: rings, or sends between pairs.

    Raises:
        ValueError: Unknown collective, or the wiring has no such schedule.
    """
    if collective not in COLLECTIVES:
        raise ValueError(f"{collective!r} is not one of {', '.join(COLLECTIVES)}")
    if collective in RINGED:
        return ring_schedule(machine, collective, root=root)
    return direct_schedule(machine, collective, root=root)


def machine_line(machine: Machine, schedule: Schedule, name: str, algorithm: str) -> CostLine:
    """A schedule under the machine's own constants: start + S alpha + (R / C) L beta.

    Of links with unequal latency the largest counts.
    """
    alpha_s = float(np.max(machine.latency_s)) if len(machine.latency_s) else 0.0
    return CostLine(
        name=name,
        algorithm=algorithm,
        protocol="",
        steps=schedule.steps,
        load=schedule.load,
        alpha_s=machine.start_s + schedule.steps * alpha_s,
        s_per_byte=float(schedule.load) / machine.lane_bytes_per_s,
    )


def baseline_lines(machine: Machine, collective: str, *, root: int = 0) -> tuple[CostLine, ...]:
    """Ring, tree and direct under the machine's own constants, those that its wiring allows.

    Broadcast, reduce and the tree have a line for several lengths of the pipeline.
    """
    lines = []
    for slices in (1, 4, 32) if collective in ("broadcast", "reduce") else (1,):
        name = "ring" if slices == 1 else f"ring, {slices} slices"
        if collective in RINGED and rings_of(machine.network).orders:
            found = ring_schedule(machine, collective, root=root, slices=slices)
            lines.append(machine_line(machine, found, name, "ring"))
    if collective == "allreduce":
        for slices in (1, 4):
            name = "tree" if slices == 1 else f"tree, {slices} slices"
            try:
                found = tree_schedule(machine, slices=slices)
            except ValueError:
                break
            lines.append(machine_line(machine, found, name, "tree"))
    if collective not in RINGED:
        try:
            found = direct_schedule(machine, collective, root=root)
        except ValueError:
            return tuple(lines)
        lines.append(machine_line(machine, found, "direct", "direct"))
    return tuple(lines)


def protocol_lines(
    machine: Machine, schedule: Schedule, name: str, algorithm: str, *, link: str = "nvlink"
) -> tuple[CostLine, ...]:
    """A schedule in each protocol, with NCCL's base, time per step and share of the lane.

    For schedules of rings, sends and those that are synthesized: all move data as rings do.

    Args:
        machine: Gives the rate of a lane.
        schedule: Its S and R / C.
        name: Of the schedule; the protocol is added.
        algorithm: See `CostLine`.
        link: One of `LINKS`.
    """
    return tuple(
        CostLine(
            name=f"{name}, {protocol.name}",
            algorithm=algorithm,
            protocol=protocol.name,
            steps=schedule.steps,
            load=schedule.load,
            alpha_s=protocol.ring_base_s + schedule.steps * protocol.ring_step_s[link],
            s_per_byte=float(schedule.load) / machine.lane_bytes_per_s / protocol.ring_share,
        )
        for protocol in PROTOCOLS
    )


def tree_protocol_lines(machine: Machine, *, link: str = "nvlink") -> tuple[CostLine, ...]:
    """An all-reduce along trees in each protocol, long pipelines taken as full.

    T = base + 2 h hop + 2 L / (share x rate of all rings): h is the height of the trees, and up
    and down every byte passes each node twice.

    Raises:
        ValueError: See `tree_schedule`.
    """
    steps = 2 * max(height(tree) for tree in trees_of(machine))
    rings = rings_of(machine.network)
    load = Fraction(2, len(rings.orders) or rings.bound)
    return tuple(
        CostLine(
            name=f"tree, {protocol.name}",
            algorithm="tree",
            protocol=protocol.name,
            steps=steps,
            load=load,
            alpha_s=protocol.tree_base_s + steps * protocol.tree_step_s[link],
            s_per_byte=float(load) / machine.lane_bytes_per_s / protocol.tree_share,
        )
        for protocol in PROTOCOLS
    )


def nccl_lines(
    machine: Machine, collective: str, *, root: int = 0, link: str = "nvlink"
) -> tuple[CostLine, ...]:
    """All that the tuner of NCCL chooses from on a machine; empty where nothing fits its wiring.

    Args:
        machine: The machine; its own latency and start do not count, the tuner's do.
        collective: One of `COLLECTIVES`.
        root: Of collectives with one.
        link: One of `LINKS`.
    """
    lines: tuple[CostLine, ...] = ()
    try:
        found = baseline(machine, collective, root=root)
        kind = "ring" if collective in RINGED else "direct"
        lines = protocol_lines(machine, found, kind, kind, link=link)
        if collective == "allreduce":
            lines += tree_protocol_lines(machine, link=link)
    except ValueError:
        if collective not in COLLECTIVES:
            raise
    return lines


def fastest(lines: Sequence[CostLine], size_bytes: FloatArray) -> tuple[FloatArray, IntArray]:
    """Seconds of the fastest line at (n,) sizes, and which of `lines` it is."""
    times = np.stack([line.time_s(size_bytes) for line in lines])
    return np.asarray(times.min(axis=0)), np.asarray(times.argmin(axis=0))
