"""A schedule on a machine, ready to be run at any size: hops over links, and what each waits for.

A send over a link of the machine is one hop. Where the link has failed, the send takes a shortest
way round, stored and forwarded, of several hops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.collectives.machines.machine import Machine, Wires
from planner.collectives.runs.turns import turns_of
from solvers.collectives.schedule import Schedule, Send

_MOST_WAYS = 64
"""Shortest ways round a failed link that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Hops, sorted by step, by their place in the way of their send, and by turn.

    Attributes:
        schedule: What is run.
        machine: What it runs on.
        wires: The links of the machine as they are.
        send: Of each hop, the number of its send in the schedule.
        link: The index of its link, among the wires.
        step: Its step.
        turn: Its turn within the step, from 0: sends that the cables and ports of a step carry at
            once have the same. It is the order of sends that compete for one.
        before: The hops of earlier steps that bring what it carries.
        relayed: The hop of the same send that it goes on from; -1: none.
    """

    schedule: Schedule
    machine: Machine
    wires: Wires
    send: tuple[int, ...]
    link: tuple[int, ...]
    step: tuple[int, ...]
    turn: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    relayed: tuple[int, ...]

    @property
    def detours(self) -> bool:
        """Whether some send goes round a link that is not there."""
        return max(self.relayed, default=-1) >= 0

    @property
    def turns(self) -> tuple[int, ...]:
        """Turns of each step."""
        most = [0] * self.schedule.steps
        for step, turn in zip(self.step, self.turn, strict=True):
            most[step] = max(most[step], turn + 1)
        return tuple(most)


def program_of(schedule: Schedule, machine: Machine, *, reroute: bool = False) -> Program:
    """Prepares a schedule, which is taken to be valid (`solvers.collectives.checking`).

    Args:
        schedule: Its sends name nodes of the machine.
        machine: Links, lanes, shared capacities.
        reroute: A send over a link that is not there takes a shortest way round; without, it is
            an error.

    Raises:
        InputError: A send names a node, a step or a link that is not there.
    """
    wires = machine.wires
    index = {ends: at for at, ends in enumerate(wires.network.links)}
    hops: list[tuple[int, int, int, int, int]] = []  # step, stage, turn, send, link
    numbered = enumerate(schedule.sends)
    for step, group in groupby(numbered, key=lambda pair: pair[1].step):
        hops += _hops_of_step(step, list(group), schedule, machine, index, wires, reroute=reroute)
    hops.sort()
    before, relayed = _needs(hops, schedule)
    return Program(
        schedule=schedule, machine=machine, wires=wires,
        send=tuple(hop[3] for hop in hops), link=tuple(hop[4] for hop in hops),
        step=tuple(hop[0] for hop in hops), turn=tuple(hop[2] for hop in hops),
        before=before, relayed=relayed,
    )  # fmt: skip


def _hops_of_step(
    step: int,
    sends: Sequence[tuple[int, Send]],
    schedule: Schedule,
    machine: Machine,
    index: dict[tuple[int, int], int],
    wires: Wires,
    *,
    reroute: bool,
) -> list[tuple[int, int, int, int, int]]:
    """(step, stage, turn, send, link) of the hops of the sends of a step."""
    links: list[tuple[int, int, int]] = []  # stage, send, link
    used: dict[int, int] = defaultdict(int)
    for number, send in sends:
        _check(number, send, schedule, machine)
        link = index.get((send.source, send.target))
        if link is None and not reroute:
            raise InputError(f"{_named(number, send)}: {machine.label} has no such link")
        way = [link] if link is not None else _way(number, send, machine, index, wires, used)
        for stage, hop in enumerate(way):
            links.append((stage, number, hop))
            used[hop] += 1
    links.sort()
    turns = turns_of([link for _, _, link in links], wires.network)
    return [
        (step, stage, turn, number, link)
        for (stage, number, link), turn in zip(links, turns, strict=True)
    ]


def _named(number: int, send: Send) -> str:
    return f"send {number} (step {send.step}, {send.source} to {send.target}, chunk {send.chunk})"


def _check(number: int, send: Send, schedule: Schedule, machine: Machine) -> None:
    nodes = machine.network.nodes
    if not (0 <= send.source < nodes and 0 <= send.target < nodes):
        raise InputError(f"{_named(number, send)}: {machine.label} has nodes 0 to {nodes - 1}")
    if not 0 <= send.step < schedule.steps:
        raise InputError(f"{_named(number, send)}: steps are 0 to {schedule.steps - 1}")


def _way(
    number: int,
    send: Send,
    machine: Machine,
    index: dict[tuple[int, int], int],
    wires: Wires,
    used: dict[int, int],
) -> list[int]:
    """The links of a shortest way, the one whose fullest link takes least for its sends yet."""
    rates = (np.array(wires.network.lanes) * wires.bytes_per_s / wires.bytes_per_s.max()).tolist()
    ways = list(islice(_ways(send.source, send.target, wires), _MOST_WAYS))
    if not ways:
        raise InputError(f"{_named(number, send)}: {machine.label} has no way there")
    found = [[index[ends] for ends in way] for way in ways]
    return min(found, key=lambda way: (max((used[link] + 1) / rates[link] for link in way), way))


def _ways(source: int, target: int, wires: Wires) -> Iterator[list[tuple[int, int]]]:
    """Every shortest way between two nodes, as the ends of its links."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph = nx.DiGraph()
    graph.add_nodes_from(range(wires.network.nodes))
    graph.add_edges_from(wires.network.links)
    if not nx.has_path(graph, source, target):
        return
    for nodes in nx.all_shortest_paths(graph, source, target):
        yield list(pairwise(nodes))


def _needs(
    hops: Sequence[tuple[int, int, int, int, int]], schedule: Schedule
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Per hop, those of earlier steps that bring its chunk, and the one before it on its way."""
    arrived: dict[tuple[int, int], list[int]] = defaultdict(list)  # by chunk and node
    last: dict[int, int] = {}  # of each send, the hop seen last
    stages = {hop[3]: 0 for hop in hops}
    for hop in hops:
        stages[hop[3]] = max(stages[hop[3]], hop[1])
    before: list[tuple[int, ...]] = []
    relayed = []
    for _, group in groupby(enumerate(hops), key=lambda pair: pair[1][0]):
        brought = []
        for at, (_, stage, _, number, _) in group:
            send = schedule.sends[number]
            first = not stage
            before.append(tuple(arrived[send.chunk, send.source]) if first else ())
            relayed.append(-1 if first else last[number])
            last[number] = at
            if stage == stages[number]:
                brought.append(((send.chunk, send.target), at))
        for place, at in brought:
            arrived[place].append(at)
    return tuple(before), tuple(relayed)
