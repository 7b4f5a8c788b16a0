"""Schedules made without a solver: every chunk floods along shortest paths, one hop a step."""

from collections import Counter, deque

import numpy as np

import hardware_db
from planner.collectives.machines.machine import Machine
from solvers.collectives.checking import faults
from solvers.collectives.compose import DUAL, in_turn, local_reduce, reverse
from solvers.collectives.problem import COMBINING, Network, goal_of
from solvers.collectives.schedule import Schedule, Send


def network_of(matrix) -> Network:
    """Links with as many lanes as a matrix says."""
    matrix = np.asarray(matrix)
    links = [(int(u), int(v)) for u, v in np.argwhere(matrix)]
    return Network(
        nodes=len(matrix),
        links=tuple(links),
        lanes=tuple(int(matrix[link]) for link in links),
    )


def dgx1(table: str = "links_between_msccl") -> Network:
    """DGX-1 as SCCL numbers it, or as `nvidia-smi` does (links_between)."""
    facts = hardware_db.load_reference("topologies").quantities
    return network_of(facts[f"dgx1-v100.{table}"].value)


def machine(network: Network, label: str = "mine") -> Machine:
    """With 25 GB/s a lane, and other latencies on each link."""
    return Machine(
        label=label,
        names=tuple(f"GPU{node}" for node in range(network.nodes)),
        network=network,
        lane_bytes_per_s=25e9,
        latency_s=np.linspace(7e-7, 9e-7, len(network.links)),
        start_s=1e-6,
    )


def flooded(network: Network, collective: str, chunks: int, root: int = 0) -> Schedule:
    """A right schedule, seldom a good one."""
    if collective == "allreduce":
        halves = [flooded(network, name, chunks) for name in ("reduce-scatter", "allgather")]
        made = in_turn(*halves, members=network.nodes)
    elif collective in COMBINING:
        dual = flooded(network.reversed(), DUAL[collective], chunks, root)
        made = reverse(dual)
    else:
        made = _flooded(network, collective, chunks, root)
    assert faults(made, network, root=root) == ()
    return made


def gathered(network: Network, collective: str, chunks: int, root: int = 0) -> Schedule:
    """Whole contributions, added up where they arrive."""
    return local_reduce(flooded(network, collective, chunks, root))


def _flooded(network: Network, collective: str, chunks: int, root: int) -> Schedule:
    goal = goal_of(collective, network.nodes, chunks, root=root)
    sends = set()
    for chunk, (start, end) in enumerate(zip(goal.initial, goal.final, strict=True)):
        (source,) = start
        came_from = _tree(network, source, chunk)
        for target in end:
            node, hops = target, []
            while node != source:
                hops.append((came_from[node], node))
                node = came_from[node]
            for step, (u, v) in enumerate(reversed(hops)):
                sends.add(Send(step, u, v, chunk))
    lanes = dict(zip(network.links, network.lanes, strict=True))
    carried = Counter((send.step, send.source, send.target) for send in sends)
    rounds = [1] * (1 + max(send.step for send in sends))
    for (step, u, v), number in carried.items():
        rounds[step] = max(rounds[step], -(-number // lanes[u, v]))
    return Schedule(
        collective=collective, chunks=chunks, rounds=tuple(rounds), sends=tuple(sorted(sends))
    )


def _tree(network: Network, source: int, chunk: int) -> dict[int, int]:
    """A tree of shortest paths; chunks take turns in the order of links."""
    came_from, queue = {source: source}, deque([source])
    turn = chunk % len(network.links)
    links = network.links[turn:] + network.links[:turn]
    while queue:
        node = queue.popleft()
        for u, v in links:
            if u == node and v not in came_from:
                came_from[v] = u
                queue.append(v)
    return came_from
