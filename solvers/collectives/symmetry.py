"""Automorphisms of a network, and groups of them in which only the identity keeps any node.

An automorphism permutes the nodes so that every link lands on one with as many lanes and every
shared capacity on an equal one. A group acts freely when only its identity keeps any node; then
every orbit of nodes, links and commodities with one source has as many members as the group.
A schedule may be restricted to be invariant, which is only a way to find one; bounds on averages
over orbits hold for every schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from solvers.collectives.commodities import Commodity, commodities, copying
from solvers.collectives.distances import IntArray, hops
from solvers.collectives.problem import Goal, Network

Permutation = tuple[int, ...]
Group = tuple[Permutation, ...]

SEARCHED_NODES = 80
"""Above so many nodes no automorphism is searched for: they must be given."""
_ALL_WITHIN = 2_000
"""Automorphisms that are listed to choose a group from."""
_TRIALS = 4_000
"""Images that one search tries before it gives up."""


def link_images(network: Network, group: Sequence[Permutation]) -> IntArray:
    """(g, m) index of the link that each link is mapped on, -1 where there is none."""
    index = np.full((network.nodes, network.nodes), -1, dtype=np.int64)
    ends = np.array(network.links, dtype=np.int64).reshape(-1, 2)
    index[ends[:, 0], ends[:, 1]] = np.arange(len(ends))
    images = np.array(group, dtype=np.int64).reshape(-1, network.nodes)
    found: IntArray = index[images[:, ends[:, 0]], images[:, ends[:, 1]]]
    return found


def shared_images(network: Network, group: Sequence[Permutation]) -> IntArray:
    """(g, shared) index of the shared capacity each one is mapped on, -1 where there is none."""
    number = {(port.links, port.capacity): at for at, port in enumerate(network.shared)}
    images = link_images(network, group)
    found = np.full((len(images), len(network.shared)), -1, dtype=np.int64)
    for at, port in enumerate(network.shared):
        moved = np.sort(images[:, list(port.links)], axis=1)
        for row, links in enumerate(moved.tolist()):
            found[row, at] = number.get((tuple(links), port.capacity), -1)
    return found


def orbits(images: IntArray) -> IntArray:
    """(x,) the least member of the orbit of each of x things, of (g, x) images under a group."""
    least: IntArray = images.min(axis=0)
    return least


def is_automorphism(network: Network, permutation: Permutation) -> bool:
    """Whether links land on links with as many lanes, and shared capacities on equal ones."""
    if sorted(permutation) != list(range(network.nodes)):
        return False
    images = link_images(network, (permutation,))[0]
    lanes = np.array(network.lanes, dtype=np.int64)
    if (images < 0).any() or (lanes[images] != lanes).any():
        return False
    if not network.shared:
        return True
    moved = Counter(
        (tuple(np.sort(images[list(port.links)]).tolist()), port.capacity)
        for port in network.shared
    )
    return moved == Counter((port.links, port.capacity) for port in network.shared)


def keeps_goal(nodes: int, goal: Goal, permutation: Permutation) -> bool:
    """Whether the commodities of a goal are mapped onto each other."""
    parts = commodities(goal.reversed() if goal.combined else goal)
    return _keeps_parts(nodes, parts, np.array(permutation, dtype=np.int64))


def _keeps_parts(nodes: int, parts: tuple[Commodity, ...], image: IntArray) -> bool:
    """The same of commodities: their rows (source, destinations, chunks) stay the same set."""
    sources = np.array([part.source for part in parts], dtype=np.int64)
    chunks = np.array([part.chunks for part in parts], dtype=np.int64)
    if all(len(part.destinations) == 1 for part in parts):
        ends = np.array([part.destinations[0] for part in parts], dtype=np.int64)
        before = np.stack([sources * nodes + ends, chunks])
        after = np.stack([image[sources] * nodes + image[ends], chunks])
        same = before[:, np.lexsort(before)] == after[:, np.lexsort(after)]
        return bool(same.all())
    member = np.zeros((len(parts), nodes), dtype=np.bool_)
    for row, part in enumerate(parts):
        member[row, list(part.destinations)] = True
    moved = np.zeros_like(member)
    moved[:, image] = member
    return _rows(sources, member, chunks) == _rows(image[sources], moved, chunks)


def _rows(
    sources: IntArray, member: npt.NDArray[np.bool_], chunks: IntArray
) -> set[tuple[int, bytes, int]]:
    packed = np.packbits(member, axis=1)
    return {
        (source, row.tobytes(), count)
        for source, row, count in zip(sources.tolist(), packed, chunks.tolist(), strict=True)
    }


def closure(generators: Iterable[Permutation], nodes: int, most: int = 100_000) -> Group:
    """The group that permutations generate, sorted, the identity first.

    Raises:
        ValueError: It has more than `most` elements.
    """
    identity = tuple(range(nodes))
    steps = [np.array(one, dtype=np.int64) for one in sorted(set(generators))]
    found = {identity}
    fresh = [identity]
    while fresh:
        products = {
            tuple(step[list(element)].tolist()) for element in fresh for step in steps
        } - found
        found |= products
        if len(found) > most:
            raise ValueError(f"the permutations generate more than {most} others")
        fresh = sorted(products)
    return tuple(sorted(found))


def is_free(group: Sequence[Permutation]) -> bool:
    """Whether only the identity keeps any node."""
    images = np.array(group, dtype=np.int64)
    kept = images == np.arange(images.shape[1])
    return bool((~kept.any(axis=1) | kept.all(axis=1)).all())


def automorphisms(network: Network, *, most: int = _ALL_WITHIN) -> Group:
    """Automorphisms found by backtracking, sorted; all of them unless there are more than `most`.

    A node may only be mapped on one with the same links, lanes and distances to all nodes that
    are placed already.
    """
    colour = _colours(network)
    kinds = _node_kinds(colour)
    sizes = Counter(kinds.tolist())
    order = sorted(range(network.nodes), key=lambda node: (sizes[int(kinds[node])], node))
    found: list[Permutation] = []
    for permutation in _images(colour, kinds, order):
        if not network.shared or is_automorphism(network, permutation):
            found.append(permutation)
        if len(found) >= most:
            break
    return tuple(sorted(found))


def free_subgroup(network: Network, goal: Goal, generators: Sequence[Permutation] = ()) -> Group:
    """The largest group found that keeps the goal and in which only the identity keeps any node.

    Args:
        network: Nodes, links and shared capacities.
        goal: Its commodities are mapped onto each other.
        generators: Known symmetries, e.g. the translations of a torus. Those members of the group
            they generate are taken that keep network and goal. Without them, and up to
            `SEARCHED_NODES` nodes, symmetries are searched for.

    Returns:
        All its permutations, sorted, the identity first; the identity alone if none is found.
    """
    links, parts_of = copying(network, goal)
    parts = commodities(parts_of)
    identity = tuple(range(network.nodes))
    spread = Counter(part.source for part in parts)
    if len(spread) == 1:
        return (identity,)

    def fits(one: Permutation) -> bool:
        image = np.array(one, dtype=np.int64)
        return is_automorphism(links, one) and _keeps_parts(network.nodes, parts, image)

    given = [tuple(int(node) for node in one) for one in generators]
    if given:
        group = closure(given, network.nodes)
        if not all(fits(one) for one in given):
            group = tuple(one for one in group if fits(one))
        if is_free(group):
            return group
        return _greedy([one for one in group if is_free((one,))], network.nodes)
    if network.nodes > SEARCHED_NODES:
        return (identity,)
    return _greedy([one for one in _candidates(links) if fits(one)], network.nodes)


def fixing(
    network: Network, parts: tuple[Commodity, ...], node: int, *, most: int = 1_000
) -> Group:
    """All automorphisms that keep a node and the commodities; sorted.

    The identity alone if there are more than `most`, or more nodes than `SEARCHED_NODES`.
    """
    identity = tuple(range(network.nodes))
    if network.nodes > SEARCHED_NODES:
        return (identity,)
    colour = _colours(network)
    kinds = _node_kinds(colour)
    kinds[node] = kinds.max() + 1
    order = sorted(range(network.nodes), key=lambda other: (int(colour[node, other]), other))
    order.remove(node)
    found: list[Permutation] = []
    for one in _images(colour, kinds, [node, *order]):
        if is_automorphism(network, one) and _keeps_parts(network.nodes, parts, np.array(one)):
            found.append(one)
        if len(found) > most:
            return (identity,)
    return tuple(sorted(found))


def _greedy(candidates: Sequence[Permutation], nodes: int) -> Group:
    """The largest free group met when candidates are joined, started from each of them."""
    best: Group = (tuple(range(nodes)),)
    for first in candidates:
        if first in best:
            continue
        generators: Group = ()
        group: Group = (tuple(range(nodes)),)
        for one in (first, *candidates):
            larger = None if one in group else _joined((*generators, one), nodes)
            if larger is not None:
                generators, group = (*generators, one), larger
            if len(group) == nodes:
                return group
        best = max(best, group, key=len)
    return best


def _joined(generators: Group, nodes: int) -> Group | None:
    """The group they generate, if only its identity keeps any node."""
    try:
        group = closure(generators, nodes, most=nodes)
    except ValueError:
        return None
    return group if is_free(group) else None


def _candidates(network: Network) -> list[Permutation]:
    """Automorphisms of which no power but the identity keeps a node, longest cycles first."""
    colour = _colours(network)
    found: set[Permutation] = set()
    listed = automorphisms(network, most=_ALL_WITHIN) if network.nodes <= 16 else ()
    if 0 < len(listed) < _ALL_WITHIN:
        found |= {one for one in listed if _cycle(one)}
    else:
        lengths = [p for p in range(network.nodes, 1, -1) if network.nodes % p == 0]
        for length in lengths:
            for target in range(1, network.nodes):
                one = _rotation(colour, length, target)
                if one is None or not is_automorphism(network, one):
                    continue
                if length == network.nodes:
                    return [one]
                found.add(one)
    return sorted(found, key=lambda one: (-_cycle(one), one))


def _cycle(permutation: Permutation) -> int:
    """The length of all cycles, if they are equally long and longer than 1; else 0."""
    lengths = set()
    unseen = set(range(len(permutation)))
    while unseen:
        start = node = min(unseen)
        length = 0
        while node in unseen:
            unseen.remove(node)
            node = permutation[node]
            length += 1
        if node != start or length == 1:
            return 0
        lengths.add(length)
    return lengths.pop() if len(lengths) == 1 else 0


def _colours(network: Network) -> IntArray:
    """(n, n) number of what an ordered pair of nodes is like: lanes, shared ones, distances."""
    between = hops(network)
    ports: list[list[tuple[int, int]]] = [[] for _ in network.links]
    for port in network.shared:
        for link in port.links:
            ports[link].append((port.capacity, len(port.links)))
    of_link = {
        ends: (lanes, *sorted(of))
        for ends, lanes, of in zip(network.links, network.lanes, ports, strict=True)
    }
    number: dict[object, int] = {}
    colour = np.empty((network.nodes, network.nodes), dtype=np.int64)
    for u in range(network.nodes):
        for v in range(network.nodes):
            kind = (
                of_link.get((u, v)), of_link.get((v, u)),
                int(between[u, v]), int(between[v, u]),
            )  # fmt: skip
            colour[u, v] = number.setdefault(kind, len(number))
    return colour


def _node_kinds(colour: IntArray) -> IntArray:
    """(n,) number of the kind of each node, refined by its pairs until it stays the same."""
    kinds = np.zeros(len(colour), dtype=np.int64)
    while True:
        pairs = np.sort(colour * (kinds.max() + 1) + kinds, axis=1)
        refined = np.unique(np.column_stack([kinds, pairs]), axis=0, return_inverse=True)[1]
        refined = np.asarray(refined, dtype=np.int64).reshape(-1)
        if refined.max() == kinds.max():
            return refined
        kinds = refined


def _images(colour: IntArray, kinds: IntArray, order: list[int]) -> Iterator[Permutation]:
    """Every permutation that keeps the colours of all pairs, by depth-first search."""
    image = np.full(len(order), -1, dtype=np.int64)
    stack = [iter(_fitting(colour, kinds, image, order, 0))]
    while stack:
        depth = len(stack) - 1
        image[order[depth]] = -1
        chosen = next(stack[-1], None)
        if chosen is None:
            stack.pop()
            continue
        image[order[depth]] = chosen
        if depth + 1 == len(order):
            yield tuple(image.tolist())
        else:
            stack.append(iter(_fitting(colour, kinds, image, order, depth + 1)))


def _fitting(
    colour: IntArray, kinds: IntArray, image: IntArray, order: list[int], depth: int
) -> list[int]:
    """The nodes that the next one in order can be mapped on."""
    node, placed = order[depth], order[:depth]
    at = image[placed]
    fits = (colour[:, at] == colour[node, placed]).all(axis=1) & (kinds == kinds[node])
    fits[at] = False
    found: list[int] = np.flatnonzero(fits).tolist()
    return found


def _rotation(colour: IntArray, length: int, target: int) -> Permutation | None:
    """A permutation that keeps the colours, all of whose cycles are so long, with 0 on `target`.

    Cycle after cycle is filled by depth-first search, which gives up after `_TRIALS` images.
    """
    nodes = len(colour)
    image = np.full(nodes, -1, dtype=np.int64)
    placed: list[int] = []
    stack: list[Iterator[int]] = [iter([target])]
    for _ in range(_TRIALS):
        node = placed[-1] if len(placed) == len(stack) else None
        if node is not None:
            image[placed.pop()] = -1
        chosen = next(stack[-1], None)
        if chosen is None:
            stack.pop()
            if not stack:
                return None
            continue
        source = _next_source(image, placed, length)
        image[source] = chosen
        placed.append(source)
        if len(placed) == nodes:
            return tuple(image.tolist())
        stack.append(iter(_turned(colour, image, placed, length)))
    return None


def _next_source(image: IntArray, placed: list[int], length: int) -> int:
    """The node whose image comes next: the end of the open cycle, or the least one left."""
    if len(placed) % length:
        return int(image[placed[-1]])
    return int(np.flatnonzero(image < 0)[0])


def _turned(colour: IntArray, image: IntArray, placed: list[int], length: int) -> list[int]:
    """The nodes that the next source can be mapped on, so that cycles have their length."""
    source = _next_source(image, placed, length)
    at = image[placed]
    fits = (colour[:, at] == colour[source, placed]).all(axis=1)
    fits[at] = False
    fits[source] = False
    done = len(placed) % length
    if done == length - 1:
        start = placed[-done]
        return [start] if fits[start] else []
    fits[placed] = False
    found: list[int] = np.flatnonzero(fits).tolist()
    return found
