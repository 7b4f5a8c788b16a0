"""Rings that pass every node of a network once, without asking more of a link than its lanes.

A library of collectives runs its rings side by side, one per lane: on a DGX-1 six directed ones,
edge-disjoint, three wirings run round in both directions. They are found here as a packing of
Hamiltonian circuits: first those that step round the nodes in one stride, which is all that a
ring or a switch needs, then by CP-SAT.

Source of the rings: Jeaugey, NCCL 2.0, GTC 2017, session S7155.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from solvers.collectives.problem import Network
from solvers.cpsat_solver import new_solver, run_search

Ring = tuple[int, ...]
LARGEST_SEARCH = 64
"""Nodes up to which rings are searched for; beyond only those of one stride are known."""
_EFFORT = 2.0  # deterministic seconds of CP-SAT per number of rings


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """Directed rings that run side by side.

    Attributes:
        orders: Nodes of each ring in the order in which it passes them, from node 0; a ring that
            uses several lanes of its links stands here as often.
        bound: More rings than this no network with these lanes at its nodes can have.
    """

    orders: tuple[Ring, ...]
    bound: int

    @property
    def complete(self) -> bool:
        """Whether the rings keep every lane of some node busy."""
        return len(self.orders) == self.bound


def find_rings(network: Network) -> Rings:
    """As many directed rings as are found that share the lanes of a network.

    Deterministic. Where `Rings.complete` is false there may be more.

    Args:
        network: Links, lanes and shared capacities.

    Returns:
        Rings, none where no circuit through all nodes was found.
    """
    bound = _bound(network)
    found = _by_stride(network)
    if len(found) >= bound or network.nodes > LARGEST_SEARCH:
        return Rings(orders=tuple(found[:bound]), bound=bound)
    for count in _counts(network, bound, len(found)):
        packed = _packed(network, count)
        if packed:
            return Rings(orders=tuple(packed), bound=bound)
    return Rings(orders=tuple(found), bound=bound)


def _bound(network: Network) -> int:
    """Lanes out of the node that has fewest, and into it; shared capacities count per node."""
    best = math.inf
    for end in (0, 1):
        lanes = [0] * network.nodes
        for link, count in zip(network.links, network.lanes, strict=True):
            lanes[link[end]] += count
        for port in network.shared:
            at = {network.links[link][end] for link in port.links}
            if len(at) == 1 and len(port.links) == sum(x[end] in at for x in network.links):
                lanes[min(at)] = min(lanes[min(at)], port.capacity)
        best = min(best, *lanes)
    return int(best)


def _by_stride(network: Network) -> list[Ring]:
    """Rings that go k nodes further at each hop, k with no factor in common with the nodes."""
    nodes = network.nodes
    number = {link: at for at, link in enumerate(network.links)}
    lanes = list(network.lanes)
    shared = [port.capacity for port in network.shared]
    found: list[Ring] = []
    for stride in range(1, nodes):
        if math.gcd(stride, nodes) > 1:
            continue
        order = tuple(stride * at % nodes for at in range(nodes))
        hops = [number.get(hop) for hop in zip(order, (*order[1:], 0), strict=True)]
        used = [hop for hop in hops if hop is not None]
        if len(used) < nodes:
            continue
        crossing = [len(set(port.links) & set(used)) for port in network.shared]
        times = min(lanes[hop] for hop in used)
        times = min([times, *(c // n for c, n in zip(shared, crossing, strict=True) if n)])
        for hop in used:
            lanes[hop] -= times
        shared = [c - times * n for c, n in zip(shared, crossing, strict=True)]
        found += [order] * times
    return found


def _counts(network: Network, bound: int, found: int) -> list[int]:
    """Numbers of rings to try, the largest first: the bound, even ones, and a single one."""
    return [
        count for count in range(bound, found, -1) if count in (bound, 1) or count % 2 == 0
    ]  # fmt: skip


def _packed(network: Network, count: int) -> list[Ring]:
    """`count` rings by CP-SAT; none where the effort allowed finds none.

    Where every link has one as wide in the other direction, half of an even number of rings is
    searched for, and the other half are the same turned round.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

    number = {link: at for at, link in enumerate(network.links)}
    back = [number.get((v, u), -1) for u, v in network.links]
    both = count % 2 == 0 and all(
        at >= 0 and network.lanes[at] == lanes
        for at, lanes in zip(back, network.lanes, strict=True)
    )
    model = cp_model.CpModel()
    rings = []
    for ring in range(count // 2 if both else count):
        taken = [model.new_bool_var(f"{ring},{link}") for link in range(len(network.links))]
        model.add_circuit([(u, v, taken[at]) for at, (u, v) in enumerate(network.links)])
        rings.append(taken)
    uses = [
        sum(ring[at] + ring[back[at]] if both else ring[at] for ring in rings)
        for at in range(len(network.links))
    ]
    for at, lanes in enumerate(network.lanes):
        model.add(uses[at] <= lanes)
    for port in network.shared:
        model.add(sum(uses[at] for at in port.links) <= port.capacity)
    solver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = _EFFORT
    if run_search(solver, model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return []
    orders = [
        _order(network, [at for at, x in enumerate(ring) if solver.value(x)]) for ring in rings
    ]
    orders.sort()
    return orders + [(0, *reversed(order[1:])) for order in orders] if both else orders


def _order(network: Network, links: Sequence[int]) -> Ring:
    """The nodes of a circuit of links, from node 0."""
    after = dict(network.links[at] for at in links)
    order = [0]
    while len(order) < network.nodes:
        order.append(after[order[-1]])
    return tuple(order)
