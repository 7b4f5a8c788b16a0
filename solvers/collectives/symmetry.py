"""Automorphisms of a network, and groups of them in which only the identity keeps any node.

An automorphism permutes the nodes so that every link lands on one with as many lanes and every
shared capacity on an equal one. A group acts freely when only its identity keeps any node; then
every orbit of nodes, links and commodities with one source has as many members as the group.
A schedule may be restricted to be invariant, which is only a way to find one; bounds on averages
over orbits hold for every schedule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from solvers.clock import deadline_of, left_s
from solvers.collectives.backtracking import colours_of, images_of, node_kinds, rotation
from solvers.collectives.commodities import Commodity, commodities, copying
from solvers.collectives.distances import IntArray
from solvers.collectives.problem import Goal, Network

Permutation = tuple[int, ...]
Group = tuple[Permutation, ...]

SEARCHED_NODES = 80
"""Above so many nodes no automorphism is searched for: they must be given."""
_ALL_WITHIN = 2_000
"""Automorphisms that are listed to choose a group from."""


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


def automorphisms(
    network: Network, *, most: int = _ALL_WITHIN, time_limit_s: float = math.inf
) -> Group:
    """Automorphisms found by backtracking, sorted: all, unless time or `most` ends it.

    A node may only be mapped on one with the same links, lanes and distances to all nodes that
    are placed already.
    """
    deadline = deadline_of(time_limit_s)
    colour = colours_of(network)
    kinds = node_kinds(colour)
    sizes = Counter(kinds.tolist())
    order = sorted(range(network.nodes), key=lambda node: (sizes[int(kinds[node])], node))
    found: list[Permutation] = []
    for permutation in images_of(colour, kinds, order, deadline):
        if not network.shared or is_automorphism(network, permutation):
            found.append(permutation)
        if len(found) >= most:
            break
    return tuple(sorted(found))


def free_subgroup(
    network: Network,
    goal: Goal,
    generators: Sequence[Permutation] = (),
    *,
    time_limit_s: float = math.inf,
) -> Group:
    """The largest group found that keeps the goal and in which only the identity keeps any node.

    Args:
        network: Nodes, links and shared capacities.
        goal: Its commodities are mapped onto each other.
        generators: Known symmetries, e.g. the translations of a torus. Those members of the group
            they generate are taken that keep network and goal. Without them, and up to
            `SEARCHED_NODES` nodes, symmetries are searched for.
        time_limit_s: When the search ends with the largest group so far.

    Returns:
        All its permutations, sorted, the identity first; the identity alone if none is found.
    """
    deadline = deadline_of(time_limit_s)
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
        return _greedy([one for one in group if is_free((one,))], network.nodes, deadline)
    if network.nodes > SEARCHED_NODES:
        return (identity,)
    candidates = [one for one in _candidates(links, deadline) if fits(one)]
    return _greedy(candidates, network.nodes, deadline)


def fixing(
    network: Network, parts: tuple[Commodity, ...], node: int, *, most: int = 1_000,
    time_limit_s: float = math.inf,
) -> Group:  # fmt: skip
    """All automorphisms that keep a node and the commodities; sorted.

    The identity alone if there are more than `most`, more nodes than `SEARCHED_NODES`, or
    time is up before all are found.
    """
    identity = tuple(range(network.nodes))
    if network.nodes > SEARCHED_NODES:
        return (identity,)
    deadline = deadline_of(time_limit_s)
    colour = colours_of(network)
    kinds = node_kinds(colour)
    kinds[node] = kinds.max() + 1
    order = sorted(range(network.nodes), key=lambda other: (int(colour[node, other]), other))
    order.remove(node)
    found: list[Permutation] = []
    for one in images_of(colour, kinds, [node, *order], deadline):
        if is_automorphism(network, one) and _keeps_parts(network.nodes, parts, np.array(one)):
            found.append(one)
        if len(found) > most:
            return (identity,)
    return tuple(sorted(found)) if left_s(deadline) else (identity,)


def _greedy(candidates: Sequence[Permutation], nodes: int, deadline: float) -> Group:
    """The largest free group met when candidates are joined, started from each of them."""
    best: Group = (tuple(range(nodes)),)
    for first in candidates:
        if first in best:
            continue
        generators: Group = ()
        group: Group = (tuple(range(nodes)),)
        for one in (first, *candidates):
            if not left_s(deadline):
                return max(best, group, key=len)
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


def _candidates(network: Network, deadline: float) -> list[Permutation]:
    """Automorphisms of which no power but the identity keeps a node, longest cycles first."""
    colour = colours_of(network)
    found: set[Permutation] = set()
    listed: Group = ()
    if network.nodes <= 16:
        listed = automorphisms(network, most=_ALL_WITHIN, time_limit_s=left_s(deadline))
    if 0 < len(listed) < _ALL_WITHIN:
        found |= {one for one in listed if _cycle(one)}
    else:
        lengths = [p for p in range(network.nodes, 1, -1) if network.nodes % p == 0]
        for length in lengths:
            for target in range(1, network.nodes):
                one = rotation(colour, length, target) if left_s(deadline) else None
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
