"""Ring, tree and direct schedules of a library: replayed send by send, and their costs."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from support.cases import each

from planner.collectives.machines.machine import Machine
from planner.collectives.nccl.lines import baseline_lines, fastest, nccl_lines, protocols
from planner.collectives.nccl.schedules import (
    RINGED,
    direct_schedule,
    ring_schedule,
    rings_of,
    tree_schedule,
)
from planner.network.topology.graphs import dgx1_graph
from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.schedule import Schedule
from solvers.collectives.trees import double_binary_tree, height


def machine_of(network: Network, label: str) -> Machine:
    return Machine(
        label=label,
        names=tuple(str(node) for node in range(network.nodes)),
        network=network,
        lane_bytes_per_s=25e9,
        latency_s=np.full(len(network.links), 0.7e-6),
        start_s=3e-6,
    )


def direct(nodes: int, links: dict[tuple[int, int], int]) -> Network:
    both = {**links, **{(v, u): lanes for (u, v), lanes in links.items()}}
    return Network(nodes=nodes, links=tuple(both), lanes=tuple(both.values()))


def torus(*dims: int) -> Network:
    nodes = list(itertools.product(*map(range, dims)))
    links = {}
    for at, node in enumerate(nodes):
        for axis, length in enumerate(dims):
            there = (*node[:axis], (node[axis] + 1) % length, *node[axis + 1 :])
            links[at, nodes.index(there)] = 1
    return direct(len(nodes), links)


def switch(nodes: int, ports: int) -> Network:
    links = tuple(itertools.permutations(range(nodes), 2))
    shared = tuple(
        Shared(links=tuple(k for k, link in enumerate(links) if link[end] == node), capacity=ports)
        for node in range(nodes)
        for end in (0, 1)
    )
    return Network(nodes=nodes, links=links, lanes=(ports,) * len(links), shared=shared)


DGX1 = direct(8, {(u, v): data["links"] for u, v, data in dgx1_graph().edges(data=True)})
MACHINES = {
    name: machine_of(network, name)
    for name, network in {
        "dgx-1": DGX1,
        "ring:5": torus(5),
        "torus:4x4": torus(4, 4),
        "fully-connected:6": direct(6, dict.fromkeys(itertools.combinations(range(6), 2), 1)),
        "switch:6": switch(6, 3),
    }.items()
}


def replay(schedule: Schedule, network: Network, root: int = 0) -> None:
    """Runs a schedule with sets of contributions; fails where a rule is broken."""
    each = schedule.chunks // (network.nodes if schedule.collective == "allreduce" else 1)
    goal = goal_of(schedule.collective, network.nodes, schedule.chunks, root=root)
    assert each >= 1
    number = {link: at for at, link in enumerate(network.links)}
    held = [{node: {node} if goal.combined else {0} for node in start} for start in goal.initial]
    for step in range(schedule.steps):
        sends = [send for send in schedule.sends if send.step == step]
        used = Counter(number[send.source, send.target] for send in sends)
        rounds = schedule.rounds[step]
        assert all(count <= rounds * network.lanes[link] for link, count in used.items())
        for port in network.shared:
            assert sum(used[link] for link in port.links) <= rounds * port.capacity
        before = [{node: set(parts) for node, parts in chunk.items()} for chunk in held]
        for send in sends:
            parts = before[send.chunk][send.source]
            own = held[send.chunk].get(send.target, set())
            assert not (send.reduces and own & parts), send  # nothing is added twice
            held[send.chunk][send.target] = own | parts if send.reduces else parts
    for chunk, start, end in zip(held, goal.initial, goal.final, strict=True):
        whole = set(start) if goal.combined else {0}
        assert all(chunk.get(node) == whole for node in end)


@each("name", MACHINES)
@each("collective", RINGED)
def test_ring_schedules_do_what_they_should(name: str, collective: str) -> None:
    machine = MACHINES[name]
    found = ring_schedule(machine, collective, root=2, slices=3)
    assert found.steps == len(found.rounds) == found.total_rounds
    replay(found, machine.network, root=2)


@each("name", MACHINES)
@each("slices", [1, 5])
def test_tree_schedules_do_what_they_should(name: str, slices: int) -> None:
    replay(tree_schedule(MACHINES[name], slices=slices), MACHINES[name].network)


@each("collective", ["alltoall", "gather", "scatter"])
@each("name", ["fully-connected:6", "switch:6"])
def test_direct_schedules_do_what_they_should(name: str, collective: str) -> None:
    found = direct_schedule(MACHINES[name], collective, root=4)
    replay(found, MACHINES[name].network, root=4)
    assert found.steps == 1


def test_a_dgx1_has_six_rings_and_the_known_schedule() -> None:
    rings = rings_of(DGX1)
    assert rings.complete
    assert len(rings.orders) == 6
    found = ring_schedule(MACHINES["dgx-1"], "allgather")
    assert (found.chunks, found.steps, found.total_rounds) == (6, 7, 7)
    both = ring_schedule(MACHINES["dgx-1"], "allreduce")
    assert (both.chunks, both.steps, both.total_rounds) == (48, 14, 14)


@each(
    ("name", "rings"),
    [("ring:5", 2), ("torus:4x4", 4), ("fully-connected:6", 4), ("switch:6", 3)],
)
def test_rings_use_all_lanes_where_rings_can(name: str, rings: int) -> None:
    """Six nodes have no five edge-disjoint directed rings (Tillson 1980); four keep pairs apart."""
    assert len(rings_of(MACHINES[name].network).orders) == rings


def test_every_node_but_the_roots_is_a_leaf_of_one_of_two_trees() -> None:
    for nodes in range(2, 40):
        leaves: Counter[int] = Counter()
        for tree in double_binary_tree(nodes):
            inside = {parent for node, parent in enumerate(tree) if node != parent}
            leaves.update(set(range(nodes)) - inside)
            assert sum(node == parent for node, parent in enumerate(tree)) == 1
            assert height(tree) <= max(1, (nodes - 1).bit_length())
            children = Counter(parent for node, parent in enumerate(tree) if node != parent)
            assert max(children.values()) <= 2
        if nodes % 2 == 0:
            assert sum(leaves[node] >= 1 for node in range(nodes)) >= nodes - 2


def test_lines_are_those_of_the_schedules() -> None:
    lines = {line.name: line for line in baseline_lines(MACHINES["dgx-1"], "allreduce")}
    ring = lines["ring"]
    assert ring.load == Fraction(14, 48)
    assert ring.alpha_s == pytest.approx(3e-6 + 14 * 0.7e-6)
    assert ring.time_s(np.array([25e9]))[0] == pytest.approx(ring.alpha_s + 14 / 48)
    assert lines["tree as chains"].steps > 0
    assert [line.name for line in baseline_lines(MACHINES["switch:6"], "alltoall")] == ["direct"]
    assert baseline_lines(MACHINES["ring:5"], "alltoall") == ()


def test_what_a_wiring_cannot_run_is_said() -> None:
    line = machine_of(direct(3, {(0, 1): 1, (1, 2): 1}), "linear:3")
    with pytest.raises(ValueError, match="no ring passes all nodes"):
        ring_schedule(line, "allgather")
    with pytest.raises(ValueError, match="no link from 0 to 2"):
        direct_schedule(line, "alltoall")
    with pytest.raises(ValueError, match="no ring for 'gather'"):
        ring_schedule(line, "gather")


def test_the_tuner_takes_low_latency_first_and_full_rate_last() -> None:
    """Latencies by hand from the tuner's table: LL of a ring of 8 takes 6.6 + 7 x 0.6 us."""
    lines = nccl_lines(MACHINES["dgx-1"], "allgather")
    assert [line.protocol for line in lines] == [protocol.name for protocol in protocols()]
    assert [line.alpha_s * 1e6 for line in lines] == pytest.approx([10.8, 27.3, 32.2])
    times, which = fastest(lines, np.array([1e3, 1e6, 1e9]))
    assert [lines[at].protocol for at in which] == ["LL", "LL128", "Simple"]
    assert times[0] == pytest.approx(10.8e-6 + 1e3 * 7 / 6 / (0.5 * 25e9))
    reduce = nccl_lines(MACHINES["switch:6"], "allreduce")
    assert {line.algorithm for line in reduce} == {"ring", "tree"}
    assert reduce[fastest(reduce, np.array([1.0]))[1][0]].algorithm == "tree"
