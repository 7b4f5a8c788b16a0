"""Rings side by side: each is one, all fit, and they are as many as every packing has at most."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations

from collective_networks import both_ways, dgx1, random_shared_network, ring, switch

from solvers.collectives.problem import Network, Shared
from solvers.collectives.rings import Ring, find_rings


def hops(order: Ring) -> list[tuple[int, int]]:
    """The links of a ring."""
    return [*pairwise(order), (order[-1], order[0])]


def fit(network: Network, rings: tuple[Ring, ...]) -> bool:
    """Whether no link and no shared capacity has more rings than lanes."""
    used = Counter(hop for order in rings for hop in hops(order))
    lanes = dict(zip(network.links, network.lanes, strict=True))
    return all(used[link] <= lanes.get(link, 0) for link in used) and all(
        sum(used[network.links[at]] for at in port.links) <= port.capacity
        for port in network.shared
    )


def most(network: Network) -> int:
    """The largest packing of rings, of all of them."""
    every = [(0, *rest) for rest in permutations(range(1, network.nodes))]
    every = [order for order in every if fit(network, (order,))]

    def beside(taken: tuple[Ring, ...], first: int) -> int:
        more = [at for at in range(first, len(every)) if fit(network, (*taken, every[at]))]
        return max((beside((*taken, every[at]), at) for at in more), default=len(taken))

    return beside((), 0)


def test_as_many_as_every_packing_has() -> None:
    counts = []
    for seed in range(8, 20):
        network = random_shared_network(seed)
        found, best = find_rings(network), most(network)
        assert all(sorted(order) == [*range(network.nodes)] for order in found.orders), seed
        assert all(order[0] == 0 for order in found.orders), seed
        assert fit(network, found.orders), seed
        assert len(found.orders) <= best <= found.bound, seed
        # Of odd numbers of rings the bound and one alone are tried.
        tried = best in (found.bound, 1) or best % 2 == 0
        assert len(found.orders) >= (best if tried else best - 1), seed
        counts.append(len(found.orders))
    assert {*counts} >= {0, 1, 2}


def test_shared_capacities_bound_rings_that_no_stride_makes() -> None:
    # Two triangles, joined by two links that share a trunk.
    inside = {(0, 1): 1, (1, 2): 1, (0, 2): 1, (3, 4): 1, (4, 5): 1, (3, 5): 1}
    network = both_ways(6, {**inside, (0, 3): 1, (1, 4): 1})
    assert len(find_rings(network).orders) == most(network) == 2
    across = tuple(at for at, (u, v) in enumerate(network.links) if (u < 3) != (v < 3))
    for capacity, count in ((1, 0), (2, 1), (4, 2)):
        trunk = replace(network, shared=(Shared(links=across, capacity=capacity),))
        found = find_rings(trunk)
        assert fit(trunk, found.orders)
        assert len(found.orders) == count == most(trunk), capacity


def test_known_machines() -> None:
    for network, count in ((dgx1(), 6), (ring(5), 2), (switch(6, 4), 4)):
        found = find_rings(network)
        assert fit(network, found.orders)
        assert (len(found.orders), found.bound, found.complete) == (count, count, True)


def test_rings_that_go_one_way_alone() -> None:
    # Two rings that no stride makes; no link has one back, or the links back have other lanes.
    orders = [(0, 2, 1, 4, 3, 5), (0, 1, 3, 2, 5, 4)]
    links = tuple(sorted({hop for order in orders for hop in hops(order)}))
    lanes = Counter(hop for order in orders for hop in hops(order))
    network = Network(nodes=6, links=links, lanes=tuple(lanes[link] for link in links))
    assert most(network) == len(find_rings(network).orders) == 2
    assert fit(network, find_rings(network).orders)
    back = tuple(sorted({(v, u) for u, v in links} - {*links}))
    wider = Network(
        nodes=6, links=(*links, *back), lanes=tuple(2 * lanes[link] for link in links)
        + (1,) * len(back),
    )  # fmt: skip
    found = find_rings(wider)
    assert fit(wider, found.orders)
    assert len(found.orders) == most(wider)
