"""Backtracking over permutations that keep what ordered pairs of nodes are like."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from solvers.clock import left_s
from solvers.collectives.distances import IntArray, hops
from solvers.collectives.problem import Network

Permutation = tuple[int, ...]

_TRIALS = 4_000
"""Images that one search for a rotation tries before it gives up."""


def colours_of(network: Network) -> IntArray:
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


def node_kinds(colour: IntArray) -> IntArray:
    """(n,) number of the kind of each node, refined by its pairs until it stays the same."""
    kinds = np.zeros(len(colour), dtype=np.int64)
    while True:
        pairs = np.sort(colour * (kinds.max() + 1) + kinds, axis=1)
        refined = np.unique(np.column_stack([kinds, pairs]), axis=0, return_inverse=True)[1]
        refined = np.asarray(refined, dtype=np.int64).reshape(-1)
        if refined.max() == kinds.max():
            return refined
        kinds = refined


def images_of(
    colour: IntArray, kinds: IntArray, order: list[int], deadline: float = math.inf
) -> Iterator[Permutation]:
    """Every permutation that keeps the colours of all pairs; until the deadline."""
    image = np.full(len(order), -1, dtype=np.int64)
    stack = [iter(_fitting(colour, kinds, image, order, 0))]
    while stack and left_s(deadline):
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


def rotation(colour: IntArray, length: int, target: int) -> Permutation | None:
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
