"""Small networks that the tests of collectives share."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solvers.collectives.problem import Network, Shared

DGX1_PAIRS = {
    (0, 1): 2, (0, 2): 1, (0, 3): 1, (0, 4): 2, (1, 2): 1, (1, 3): 2, (1, 5): 1, (2, 3): 2,
    (2, 6): 2, (3, 7): 1, (4, 5): 2, (4, 6): 1, (4, 7): 1, (5, 6): 1, (5, 7): 2, (6, 7): 2,
}  # fmt: skip
"""NVLinks between the GPUs of a DGX-1 with V100s, numbered as SCCL's authors number them."""


def both_ways(nodes: int, pairs: dict[tuple[int, int], int]) -> Network:
    """A network with as many lanes each way."""
    lanes = {**pairs, **{(v, u): count for (u, v), count in pairs.items()}}
    links = tuple(sorted(lanes))
    return Network(nodes=nodes, links=links, lanes=tuple(lanes[link] for link in links))


def dgx1(boxes: int = 1) -> Network:
    """One DGX-1, or several in a ring: NVLink 2 units, InfiniBand 1 between 4 pairs of GPUs."""
    if boxes == 1:
        return both_ways(8, DGX1_PAIRS)
    pairs = {
        (8 * box + u, 8 * box + v): 2 * count
        for box in range(boxes)
        for (u, v), count in DGX1_PAIRS.items()
    }
    for box in range(boxes if boxes > 2 else 1):
        other = (box + 1) % boxes
        for at in (0, 2, 4, 6):
            pairs[8 * box + at, 8 * other + at] = 1
    return both_ways(8 * boxes, pairs)


def ring(nodes: int) -> Network:
    """A ring, one lane each way."""
    return both_ways(nodes, {(min(u, v), max(u, v)): 1 for u in range(nodes)
                             for v in [(u + 1) % nodes]})  # fmt: skip


def torus(*sides: int) -> Network:
    """A torus with sides of at least 3, one lane each way."""
    index = np.arange(int(np.prod(sides))).reshape(sides)
    pairs = {
        (min(u, v), max(u, v)): 1
        for axis in range(len(sides))
        for u, v in zip(index.flat, np.roll(index, -1, axis).flat, strict=True)
    }
    return both_ways(index.size, {(int(u), int(v)): count for (u, v), count in pairs.items()})


def translations(*sides: int) -> tuple[tuple[int, ...], ...]:
    """The unit translations of a torus."""
    index = np.arange(int(np.prod(sides))).reshape(sides)
    return tuple(tuple(np.roll(index, -1, axis).ravel().tolist()) for axis in range(len(sides)))


def switch(nodes: int, lanes: int) -> Network:
    """Every node joined to every other one, so many chunks out and in of each per round."""
    links = tuple((u, v) for u in range(nodes) for v in range(nodes) if u != v)
    ports = [
        Shared(links=tuple(i for i, link in enumerate(links) if link[side] == node), capacity=lanes)
        for side in (0, 1)
        for node in range(nodes)
    ]
    return Network(nodes=nodes, links=links, lanes=(lanes,) * len(links), shared=tuple(ports))


def random_network(seed: int, *, most: int = 6, lanes: int = 3) -> Network:
    """A ring of 3 to `most` nodes with random links beside it, in a random order."""
    random = np.random.default_rng(seed)
    nodes = int(random.integers(3, most + 1))
    order = random.permutation(nodes)
    links = {(int(order[i]), int(order[(i + 1) % nodes])) for i in range(nodes)}
    for u, v in random.integers(0, nodes, size=(int(random.integers(0, 2 * nodes)), 2)).tolist():
        links |= {(u, v)} if u != v else set()
    ends = tuple(sorted(links))
    return Network(
        nodes=nodes, links=ends,
        lanes=tuple(random.integers(1, lanes + 1, size=len(ends)).tolist()),
    )  # fmt: skip


def random_shared_network(seed: int) -> Network:
    """A small random network; every other one has ports that links share."""
    network = random_network(seed, most=5)
    if seed % 2 == 0:
        return network
    last = len(network.links) - 1
    ports = (Shared(links=(0, 1), capacity=1), Shared(links=(0, last), capacity=2))
    return replace(network, shared=ports)


NETWORKS: dict[str, Callable[[], Network]] = {
    "dgx-1": dgx1,
    "ring 8": lambda: ring(8),
    "torus 4x4": lambda: torus(4, 4),
    "switch 16": lambda: switch(16, 6),
}
