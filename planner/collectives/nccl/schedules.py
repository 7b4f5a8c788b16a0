"""The schedules that a library such as NCCL runs on a machine: rings, trees, direct exchanges.

Real schedules, for the checker, the simulator and the files of other tools; their times are in
`planner.collectives.nccl.lines`.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from planner.collectives.machines.machine import Machine
from solvers.collectives.problem import COLLECTIVES, Network
from solvers.collectives.rings import Ring, Rings, find_rings
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.trees import Tree, chain, double_binary_tree, fits_network, pipeline

SLICES = 8
"""Chunks that follow one another along each ring or tree of a pipeline."""
CHAINS = "tree as chains"
"""Name of the tree where its branches are no links: a chain along each ring."""
CHAINS_WORDS = (
    "The branches of a tree are no links of this machine; as chains it goes along each ring, as "
    "NCCL's tree does inside a node."
)
RINGED = ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce")
"""Collectives that run on rings; the others are sends between pairs."""


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


def tree_name(machine: Machine) -> str:
    """How `tree_schedule` is called: whether its trees are the double binary one, or chains.

    Raises:
        ValueError: See `tree_schedule`.
    """
    return "tree" if trees_of(machine) == double_binary_tree(machine.network.nodes) else CHAINS


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
