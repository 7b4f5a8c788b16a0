"""Constructions for large networks: at once, in phases, along packed trees."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.compose import reverse
from solvers.collectives.cuts import cut_bound
from solvers.collectives.hierarchy import grid_groups, in_phases
from solvers.collectives.packing import along_trees, packed_trees
from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.synthesis import synthesize


def grid(*sizes: int) -> tuple[Network, tuple[tuple[int, ...], ...]]:
    """A torus of dimensions of at least 3, and its steps round each dimension."""
    numbers = np.arange(prod(sizes)).reshape(sizes)
    turns = tuple(tuple(np.roll(numbers, -1, axis).ravel().tolist()) for axis in range(len(sizes)))
    links = tuple(sorted(pair for t in turns for u, v in enumerate(t) for pair in ((u, v), (v, u))))
    return Network(nodes=prod(sizes), links=links, lanes=(1,) * len(links)), turns


def leaves(count: int, each: int, trunk: int) -> Network:
    """Chips under leaf switches: a lane per chip, so many per trunk, both ways."""
    nodes = count * each
    links = tuple((u, v) for u in range(nodes) for v in range(nodes) if u != v)
    ports = [({u}, 1) for u in range(nodes)]
    trunks = [(set(range(at * each, (at + 1) * each)), trunk) for at in range(count)]
    shared = []
    for side in (0, 1):
        shared += [
            Shared(
                links=tuple(
                    at
                    for at, ends in enumerate(links)
                    if ends[side] in inside and (len(inside) == 1 or ends[1 - side] not in inside)
                ),
                capacity=capacity,
            )
            for inside, capacity in ports + trunks
        ]
    return Network(nodes=nodes, links=links, lanes=(1,) * len(links), shared=tuple(shared))


def random_network(nodes: int, seed: int) -> Network:
    """A ring in random order and some links of 1 to 3 lanes."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(nodes).tolist()
    lanes = dict.fromkeys(zip(order, order[1:] + order[:1], strict=True), 1)
    for u, v in draw.integers(0, nodes, (2 * nodes, 2)).tolist():
        if u != v:
            lanes[u, v] = int(draw.integers(1, 4))
    links = tuple(sorted(lanes))
    return Network(nodes=nodes, links=links, lanes=tuple(lanes[link] for link in links))


@each("sizes", [(5,), (4, 4), (5, 5), (8, 8), (3, 3, 3), (4, 4, 4)])
def test_equal_tori_gather_at_the_cut_in_diameter_steps(sizes: tuple[int, ...]) -> None:
    network, turns = grid(*sizes)
    chunks, steps = 2 * len(sizes), sum(size // 2 for size in sizes)
    found = synthesize(network, "allgather", chunks, steps, symmetries=turns)
    assert found.decision is not None
    assert found.decision.total_rounds == found.bound == network.nodes - 1
    assert found.counts == {}


def test_an_unequal_torus_scatters_sums_at_the_cut() -> None:
    network, turns = grid(4, 6)
    found = synthesize(network, "reduce-scatter", 4, 5, symmetries=turns)
    assert found.objective == found.bound == 23
    assert found.counts == {}


@each(("sizes", "rounds"), [((4, 4), 8), ((5, 5), 15), ((4, 4, 4), 32)])
def test_tori_exchange_in_as_many_rounds_as_moves(sizes: tuple[int, ...], rounds: int) -> None:
    """Every chunk makes its hops, and all directions are busy in every round."""
    network, turns = grid(*sizes)
    hops = [min(at, size - at) for size in sizes for at in range(size)]
    moves = sum(hops) * network.nodes // sizes[0]
    assert rounds == -(-moves // (2 * len(sizes)))
    steps = sum(size // 2 for size in sizes)
    found = synthesize(network, "alltoall", 1, steps, symmetries=turns)
    assert found.objective == found.bound == rounds
    assert found.counts == {}


@each("collective", ["allgather", "reduce-scatter", "alltoall"])
def test_a_switch_exchanges_in_one_step(collective: str) -> None:
    nodes, lanes, chunks = 6, 3, 2
    links = tuple((u, v) for u in range(nodes) for v in range(nodes) if u != v)
    ports = tuple(
        Shared(links=tuple(at for at, ends in enumerate(links) if ends[side] == u), capacity=lanes)
        for side in (0, 1)
        for u in range(nodes)
    )
    network = Network(nodes=nodes, links=links, lanes=(lanes,) * len(links), shared=ports)
    found = synthesize(network, collective, chunks, 1)
    assert found.objective == found.bound == -(-(nodes - 1) * chunks // lanes)


@each(("trunk", "pieces", "load"), [(3, 1, 8), (1, 1, 12), (1, 6, 9)])
def test_phases_over_leaves(trunk: int, pieces: int, load: int) -> None:
    """3 leaves of 3 chips: 2 parts in over the own port, then 6; trunks carry 6 parts."""
    network = leaves(3, 3, trunk)
    phases = []
    for axis in (0, 1):
        groups = grid_groups((3, 3), axis)
        found = synthesize(network, "allgather", 1, 1, groups=groups)
        assert found.decision is not None
        phases.append((axis, found.decision))
    schedule = in_phases(network, (3, 3), phases, pieces)
    assert faults(schedule, network) == ()
    assert schedule.steps == (2 if pieces == 1 else pieces + 1)
    cut = cut_bound(network, goal_of("allgather", 9, 1)).load
    assert cut == 8
    assert schedule.load == load if pieces == 1 else cut < schedule.load <= load


def test_phases_that_lead_through_other_lines_bring_nothing_twice() -> None:
    """Pairs 0-1 and 2-3 joined by 0-2 alone: what goes from 1 to 3 passes 0 and 2."""
    ends = ((0, 1), (0, 2), (1, 0), (2, 0), (2, 3), (3, 2))
    network = Network(nodes=4, links=ends, lanes=(1,) * len(ends))
    phases = []
    for axis, steps in ((0, 3), (1, 1)):
        groups = grid_groups((2, 2), axis)
        found = synthesize(network, "allgather", 1, steps, groups=groups)
        assert found.decision is not None
        phases.append((axis, found.decision))
    for pieces in (1, 4):
        schedule = in_phases(network, (2, 2), phases, pieces)
        assert len(schedule.sends) == 4 * 3 * schedule.chunks
        assert faults(schedule, network) == ()
        assert faults(reverse(schedule), network.reversed()) == ()


def test_every_dimension_is_gathered_once() -> None:
    network = leaves(2, 2, 1)
    half = synthesize(network, "allgather", 1, 1, groups=grid_groups((2, 2), 0)).decision
    assert half is not None
    with pytest.raises(ValueError, match="every dimension"):
        in_phases(network, (2, 2), [(0, half)])


@each("seed", range(12))
def test_trees_are_packed_at_the_cut(seed: int) -> None:
    """The load of the trees is the bottleneck cut: none can have less."""
    network = random_network(5 + seed, seed)
    load = cut_bound(network, goal_of("allgather", network.nodes, 1)).load
    trees = packed_trees(network, load)
    carried = Counter[int]()
    roots = Counter[int]()
    for tree in trees:
        reached = {tree.root}
        for link in tree.links:
            u, v = network.links[link]
            assert u in reached
            assert v not in reached
            reached.add(v)
            carried[link] += tree.count
        assert len(reached) == network.nodes
        roots[tree.root] += tree.count
    assert set(roots.values()) == {load.denominator}
    assert len(roots) == network.nodes
    for link, lanes in enumerate(network.lanes):
        assert carried[link] <= lanes * load.numerator


def test_long_pipelines_come_near_the_cut() -> None:
    network = random_network(8, 3)
    load = cut_bound(network, goal_of("allgather", 8, 1)).load
    trees = packed_trees(network, load)
    gaps = []
    for pieces in (1, 8, 64):
        schedule = along_trees(network, trees, pieces)
        assert faults(schedule, network) == ()
        gaps.append(schedule.load / load - 1)
    assert gaps == sorted(gaps, reverse=True)
    assert 0 <= gaps[-1] < Fraction(1, 10)


def test_no_trees_below_the_cut_nor_through_ports() -> None:
    network = random_network(6, 1)
    load = cut_bound(network, goal_of("allgather", 6, 1)).load
    with pytest.raises(ValueError, match="below the bottleneck cut"):
        packed_trees(network, load * Fraction(9, 10))
    with pytest.raises(ValueError, match="ports that links share"):
        packed_trees(leaves(2, 2, 1), Fraction(3))
