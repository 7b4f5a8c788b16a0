"""Other numbers for the same GPUs: schedules made for one numbering, run under another.

A schedule for the DGX-1 as SCCL numbers its GPUs does not fit the numbers of `nvidia-smi`: other
pairs have two NVLinks. An order says for each node of the schedule which GPU takes its place:
order [0, 3, 1, 2, 4, 7, 5, 6] puts node 1 on GPU 3. Any order that maps the links of the schedule
on links of the machine will do; orders are isomorphisms of the two graphs.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.numerals import is_digits
from planner.collectives.machines.machine import Machine
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send

LinkMatrix = NDArray[np.int64]
"""(GPUs, GPUs) links from each to each other."""

_TRIED = 64
_ROW = re.compile(r"GPU([0-9]{1,4})$")
_BONDED = re.compile(r"NV([0-9]{1,3})$")
_PATHS = ("X", "SYS", "NODE", "PHB", "PXB", "PIX", "PSB", "SOC")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_SEPARATE = re.compile(r"[\s,]+")


def parse_order(text: str, nodes: int) -> tuple[int, ...]:
    """`0,3,1,2` as the GPU that takes the place of each node.

    Raises:
        InputError: It is no permutation of 0 .. nodes - 1; one line per fault.
    """
    words = [word for word in _SEPARATE.split(text.strip(" []()")) if word]
    odd = [word for word in words if not (is_digits(word) and len(word) < 7)]
    if odd:
        raise InputError(f"ranks: {shown(odd[0])} is not the number of a GPU, 0 to {nodes - 1}")
    order = tuple(map(int, words))
    lines = []
    if len(order) != nodes:
        lines.append(f"ranks: {len(order)} numbers for {nodes} nodes; one for each")
    if high := [gpu for gpu in order if gpu >= nodes]:
        lines.append(f"ranks: GPU {high[0]}; GPUs are 0 to {nodes - 1}")
    if twice := [gpu for gpu, number in Counter(order).items() if number > 1]:
        lines.append(f"ranks: GPU {twice[0]} takes the place of two nodes; of one only")
    if lines:
        raise InputError("\n".join(lines))
    return order


def renumbered(schedule: Schedule, order: Sequence[int]) -> Schedule:
    """The schedule in which GPU order[v] does what node v did; parts of the data move with them.

    Args:
        schedule: Among all nodes.
        order: A permutation of the nodes. The root of a rooted collective becomes order[root].
    """
    chunk = _chunks(schedule, order)
    sends = (
        Send(s.step, order[s.source], order[s.target], chunk(s.chunk), s.reduces)
        for s in schedule.sends
    )
    return replace(schedule, sends=tuple(sorted(sends)))


def renumbered_network(network: Network, order: Sequence[int]) -> Network:
    """The network in which GPU order[v] has the links of node v; links keep their places."""
    links = tuple((order[u], order[v]) for u, v in network.links)
    return replace(network, links=links)


def renumbered_machine(machine: Machine, order: Sequence[int]) -> Machine:
    """The machine in which GPU order[v] has name and links of node v."""
    back = [order.index(gpu) for gpu in range(len(order))]
    wires = machine.uneven
    return replace(
        machine,
        uneven=wires and replace(wires, network=renumbered_network(wires.network, order)),
        names=tuple(machine.names[node] for node in back),
        network=renumbered_network(machine.network, order),
        symmetries=tuple(
            tuple(order[symmetry[node]] for node in back) for symmetry in machine.symmetries
        ),
    )


def link_matrix(network: Network) -> LinkMatrix:
    """Lanes from each node to each other."""
    matrix = np.zeros((network.nodes, network.nodes), dtype=np.int64)
    for (u, v), lanes in zip(network.links, network.lanes, strict=True):
        matrix[u, v] = lanes
    return matrix


def orders_between(wanted: LinkMatrix, there: LinkMatrix) -> list[tuple[int, ...]]:
    """Orders that map the links of a schedule exactly on those of a machine.

    Args:
        wanted, there: (n, n) links that the schedule was made for, and that the machine has, in
            any common unit: 1 for a link of one NVLink, or of 50 lanes, is the same.

    Returns:
        Up to 64 of them, rising; empty: there is none.
    """
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    if wanted.shape != there.shape:
        return []
    graphs = []
    for matrix in (_lowest(wanted), _lowest(there)):
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(matrix)))
        graph.add_edges_from(
            (int(u), int(v), {"links": int(matrix[u, v])}) for u, v in np.argwhere(matrix)
        )
        graphs.append(graph)
    matcher = nx.algorithms.isomorphism.DiGraphMatcher(
        *graphs, edge_match=lambda one, other: one["links"] == other["links"]
    )
    found = itertools.islice(matcher.isomorphisms_iter(), _TRIED)
    return sorted(tuple(order[node] for node in range(len(wanted))) for order in found)


def order_for(network: Network, there: LinkMatrix) -> tuple[int, ...]:
    """The first order that maps a network on the links of a machine.

    Raises:
        InputError: There is none; the line says how the two differ.
    """
    wanted = link_matrix(network)
    if len(wanted) != len(there):
        raise InputError(f"the schedule is for {len(wanted)} GPUs, the machine has {len(there)}")
    orders = orders_between(wanted, there)
    if not orders:
        words = f"{_census(wanted)}, the machine has {_census(there)}"
        raise InputError(f"no numbering of the GPUs fits: the schedule is for {words}")
    return orders[0]


def parse_topo(text: str, name: str = "nvidia-smi topo -m") -> LinkMatrix:
    """The NVLinks between GPUs from the output of `nvidia-smi topo -m`.

    Args:
        text: Its output; other rows and columns than those of GPUs are passed over.
        name: What messages call it.

    Returns:
        (GPUs, GPUs) NVLinks; 0 for pairs on PCIe.

    Raises:
        InputError: It has no rows of GPUs, or a row that cannot be read.
    """
    rows = [line.split() for line in _STYLE.sub("", text).splitlines()]
    rows = [row for row in rows if len(row) > 1 and _ROW.match(row[0]) and not _ROW.match(row[1])]
    if not rows:
        raise InputError(f"{name}: has no rows GPU0, GPU1, ... of links")
    names = [row[0] for row in rows]
    if names != [f"GPU{at}" for at in range(len(rows))]:
        raise InputError(
            f"{name}: rows are {', '.join(names)[:60]}, not GPU0 to GPU{len(rows) - 1}"
        )
    matrix = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for at, row in enumerate(rows):
        entries = row[1 : 1 + len(rows)]
        if len(entries) < len(rows):
            words = f"{len(entries)} entries for {len(rows)} GPUs"
            raise InputError(f"{name}: row {row[0]}: {words}")
        for to, entry in enumerate(entries):
            matrix[at, to] = _links(entry, f"{name}: row {row[0]}, GPU{to}")
    if differ := np.argwhere(matrix != matrix.T).tolist():
        u, v = differ[0]
        words = f"{matrix[u, v]} links from GPU{u} to GPU{v}, {matrix[v, u]} back"
        raise InputError(f"{name}: {words}")
    return matrix


def _links(entry: str, where: str) -> int:
    if found := _BONDED.match(entry):
        return int(found[1])
    if entry not in _PATHS:
        raise InputError(f"{where}: {shown(entry)} is none of NV1, NV2, ..., {', '.join(_PATHS)}")
    return 0


def _chunks(schedule: Schedule, order: Sequence[int]) -> Callable[[int], int]:
    """The number of a chunk after its part has moved with its node; see `goal_of`."""
    pairs = "reduce-scatter" if schedule.local_reduce else "alltoall"
    undivided = () if schedule.local_reduce else ("allreduce", "broadcast", "reduce")

    def number(chunk: int) -> int:
        part, within = divmod(chunk, schedule.chunks)
        if schedule.collective in undivided:
            return chunk
        if schedule.collective == pairs:
            u, v = divmod(part, len(order))
            part = order[u] * len(order) + order[v]
        else:
            part = order[part]
        return part * schedule.chunks + within

    return number


def alike(one: LinkMatrix, other: LinkMatrix) -> bool:
    """Whether two have the same links under the same numbers, in any common unit."""
    return np.array_equal(_lowest(one), _lowest(other))


def _lowest(matrix: LinkMatrix) -> LinkMatrix:
    """The matrix in its largest common unit."""
    return matrix // max(int(np.gcd.reduce(matrix, axis=None)), 1)


def _census(matrix: LinkMatrix) -> str:
    """`16 links of 1 lane and 16 of 2`, in the largest common unit."""
    counts = Counter(int(lanes) for lanes in _lowest(matrix).ravel() if lanes)
    parts = [f"{number} of {lanes}" for lanes, number in sorted(counts.items())]
    if not parts:
        return "no links"
    noun = "lane" if min(counts) == 1 else "lanes"
    first = parts[0].replace(" of ", " links of ", 1)
    return " and ".join([f"{first} {noun}", *parts[1:]])
