"""Trees for reducing and broadcasting, and the pipelines of chunks that run along them.

The double binary tree has every node but two as a leaf in one tree and inside in the other, so
that both together keep all nodes busy.

Source: Sanders, Speck, Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and
scan, Parallel Computing 35(12), 2009, doi:10.1016/j.parco.2009.09.001; the numbering is that of
NCCL 2.30.7, src/graph/trees.cc.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solvers.collectives.problem import Network
from solvers.collectives.schedule import Send

Tree = tuple[int, ...]
"""Parent of each node; the root is its own."""


def double_binary_tree(nodes: int) -> tuple[Tree, Tree]:
    """Two binary trees over nodes 0 .. nodes - 1.

    The second is the first with the nodes counted from the other end, or, of an odd number of
    nodes, one node further.
    """
    first = tuple(_binary_parent(node, nodes) for node in range(nodes))
    second = [0] * nodes
    for node, parent in enumerate(first):
        if nodes % 2 == 0:
            second[nodes - 1 - node] = nodes - 1 - parent
        else:
            second[(node + 1) % nodes] = (parent + 1) % nodes
    return first, tuple(second)


def _binary_parent(node: int, nodes: int) -> int:
    """Above a node with lowest bit b stands the one with lowest bit 2 b, if it exists."""
    lowest = node & -node
    above = (node ^ lowest) | (lowest << 1)
    return above if above < nodes else node ^ lowest


def chain(order: Sequence[int]) -> Tree:
    """The tree that is a path: each node's parent is the one before it."""
    parents = [0] * len(order)
    parents[order[0]] = order[0]
    for before, node in itertools.pairwise(order):
        parents[node] = before
    return tuple(parents)


def fits_network(tree: Tree, network: Network) -> bool:
    """Whether all branches of a tree are links in both directions."""
    links = set(network.links)
    return all(
        {(node, parent), (parent, node)} <= links
        for node, parent in enumerate(tree)
        if node != parent
    )


def height(tree: Tree) -> int:
    """Branches between the root and the node farthest from it."""
    return max(_depths(tree))


def _depths(tree: Tree) -> list[int]:
    depths = []
    for node in range(len(tree)):
        depth, at = 0, node
        while tree[at] != at:
            depth, at = depth + 1, tree[at]
        depths.append(depth)
    return depths


@dataclass(slots=True)
class _Pending:
    """A send that waits for others.

    Attributes:
        source, target, chunk, reduces: As in `Send`.
        waits_for: Sends that must have arrived.
    """

    source: int
    target: int
    chunk: int
    reduces: bool
    waits_for: list[int]


def pipeline(
    network: Network, trees: Sequence[Tree], *, up: bool = True, down: bool = True
) -> tuple[Send, ...]:
    """Chunks along trees, each step as many as the lanes carry in one round.

    In each step the sends that may start go in the order of their chunks, those further up the
    pipeline first.

    Args:
        network: The links.
        trees: The tree of each chunk.
        up: Whether contributions are added up towards the root.
        down: Whether the root's chunk is handed down.

    Returns:
        The sends, sorted; every step lasts one round.

    Raises:
        KeyError: A branch is no link.
    """
    pending = _pending(trees, up, down)
    missing = [len(send.waits_for) for send in pending]
    frees: list[list[int]] = [[] for _ in pending]
    for key, send in enumerate(pending):
        for other in send.waits_for:
            frees[other].append(key)
    number = {link: at for at, link in enumerate(network.links)}
    ready = [key for key, count in enumerate(missing) if not count]
    sends: list[Send] = []
    step = 0
    while ready:
        lanes = _Lanes(network)
        started = [
            key for key in ready if lanes.take(number[pending[key].source, pending[key].target])
        ]
        ready = sorted(set(ready).difference(started))
        for key in started:
            send = pending[key]
            sends.append(Send(step, send.source, send.target, send.chunk, send.reduces))
            for other in frees[key]:
                missing[other] -= 1
                if not missing[other]:
                    ready.append(other)
        ready.sort()
        step += 1
    return tuple(sorted(sends))


class _Lanes:
    """What is left of the lanes of a network in one round."""

    def __init__(self, network: Network) -> None:
        self._links = list(network.lanes)
        self._ports = [port.capacity for port in network.shared]
        self._of_link: list[list[int]] = [[] for _ in network.links]
        for port, one in enumerate(network.shared):
            for link in one.links:
                self._of_link[link].append(port)

    def take(self, link: int) -> bool:
        """Takes a lane of a link and what it needs of shared capacity; false: none is left."""
        ports = self._of_link[link]
        if not self._links[link] or not all(self._ports[port] for port in ports):
            return False
        self._links[link] -= 1
        for port in ports:
            self._ports[port] -= 1
        return True


def _pending(trees: Sequence[Tree], up: bool, down: bool) -> list[_Pending]:
    """The sends of all chunks, one chunk after another."""
    found: list[_Pending] = []
    for chunk, tree in enumerate(trees):
        first = len(found)
        for send in _of_tree(chunk, tree, up, down):
            send.waits_for = [first + other for other in send.waits_for]
            found.append(send)
    return found


def _of_tree(chunk: int, tree: Tree, up: bool, down: bool) -> Iterator[_Pending]:
    """The sends of one chunk; those they wait for are counted from the chunk's first."""
    depths = _depths(tree)
    upwards = sorted((n for n in range(len(tree)) if tree[n] != n), key=lambda n: (-depths[n], n))
    at = {node: key for key, node in enumerate(upwards)}
    if up:
        for node in upwards:
            children = [at[n] for n in upwards if tree[n] == node]
            yield _Pending(node, tree[node], chunk, True, children)
    if not down:
        return
    first = len(upwards) if up else 0
    downwards = upwards[::-1]
    below = {node: first + key for key, node in enumerate(downwards)}
    root = next(node for node, parent in enumerate(tree) if node == parent)
    gathered = [at[n] for n in upwards if tree[n] == root] if up else []
    for node in downwards:
        parent = tree[node]
        yield _Pending(parent, node, chunk, False, gathered if parent == root else [below[parent]])
