"""An independent replay of a schedule: which rules of the model it breaks, and by which send.

The replay knows nothing of how schedules are found. A node's state is the set of chunks that it
has; of a combined chunk, a bit mask of the members whose contributions it has added up so far. All
sends of a step leave with what their source had before the step.

Source of the rules: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, section 3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solvers.collectives.problem import Goal, Network, goal_of
from solvers.collectives.schedule import Schedule, Send

GATHERED = {"allreduce": "allgather", "reduce": "gather", "reduce-scatter": "alltoall"}
"""What each combining collective is when members add up whole contributions themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One rule broken.

    Attributes:
        rule: `rounds`, `step`, `link`, `chunk`, `kind`, `holds`, `complete`, `twice`, `lanes`,
            `shared` or `goal`.
        text: What is wrong, in words.
        send: Index into `Schedule.sends`; None where no single send is to blame.
    """

    rule: str
    text: str
    send: int | None = None


def goal_for(
    schedule: Schedule,
    nodes: int,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> Goal:
    """What a schedule must achieve by the name of its collective.

    Args:
        schedule: Its collective, chunks and `local_reduce` are read.
        nodes: Of the network.
        root: Of rooted collectives.
        groups: Members of each group; default: all nodes.

    Raises:
        ValueError: No such collective, or one without local reduction has it.
    """
    name = schedule.collective
    if schedule.local_reduce:
        if name not in GATHERED:
            raise ValueError(f"{name} adds nothing up, so it has no local reduction")
        name = GATHERED[name]
    return goal_of(name, nodes, schedule.chunks, root=root, groups=groups)


def faults(
    schedule: Schedule,
    network: Network,
    goal: Goal | None = None,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> tuple[Fault, ...]:
    """Replay a schedule and tell every rule that it breaks.

    Args:
        schedule: What is replayed.
        network: Links, lanes and shared capacities.
        goal: What must be achieved; default: `goal_for`.
        root, groups: Of the default goal.

    Returns:
        The faults: of the shape of sends, of capacity, of what nodes hold, of the goal. Empty:
        the schedule is right.
    """
    goal = goal or goal_for(schedule, network.nodes, root=root, groups=groups)
    shape = tuple(_shape(schedule, network, goal))
    bad = {fault.send for fault in shape}
    at_step: dict[int, list[int]] = defaultdict(list)
    for index, send in enumerate(schedule.sends):
        if index not in bad:
            at_step[send.step].append(index)
    replay = _sums if goal.combined else _copies
    return (*shape, *_capacity(schedule, network), *replay(schedule, network, goal, at_step))


def _words(index: int, send: Send) -> str:
    """The send as messages name it."""
    return (
        f"send {index} (step {send.step}, node {send.source} to {send.target}, chunk {send.chunk})"
    )


def _shape(schedule: Schedule, network: Network, goal: Goal) -> Iterator[Fault]:
    """Rounds below one, and sends over no link, in no step, of no chunk, or of the wrong kind."""
    for step, rounds in enumerate(schedule.rounds):
        if rounds < 1:
            yield Fault(rule="rounds", text=f"step {step} lasts {rounds} rounds; at least 1")
    links = frozenset(network.links)
    for index, send in enumerate(schedule.sends):
        words = _words(index, send)
        if not 0 <= send.step < schedule.steps:
            text = f"{words}: steps are 0 to {schedule.steps - 1}"
            yield Fault(rule="step", text=text, send=index)
        elif (send.source, send.target) not in links:
            text = f"{words}: there is no link from {send.source} to {send.target}"
            yield Fault(rule="link", text=text, send=index)
        elif not 0 <= send.chunk < goal.chunks:
            text = f"{words}: chunks are 0 to {goal.chunks - 1}"
            yield Fault(rule="chunk", text=text, send=index)
        elif send.reduces and not goal.combined:
            text = f"{words}: {schedule.collective} adds nothing up here"
            yield Fault(rule="kind", text=text, send=index)


def _count(number: int, noun: str) -> str:
    """`1 lane`, `2 lanes`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _capacity(schedule: Schedule, network: Network) -> Iterator[Fault]:
    """Links and shared capacities that carry more in a step than its rounds allow."""
    carried = Counter((send.step, send.source, send.target) for send in schedule.sends)
    last = {(s.step, s.source, s.target): index for index, s in enumerate(schedule.sends)}
    lanes = dict(zip(network.links, network.lanes, strict=True))
    for (step, source, target), sends in sorted(carried.items()):
        if (source, target) not in lanes or not 0 <= step < schedule.steps:
            continue
        room = lanes[source, target] * schedule.rounds[step]
        if sends > room:
            text = (
                f"step {step}: the link from {source} to {target} carries {sends} chunks; "
                f"{_count(lanes[source, target], 'lane')} in "
                f"{_count(schedule.rounds[step], 'round')} "
                f"{'carries' if lanes[source, target] == 1 else 'carry'} {room}"
            )
            yield Fault(rule="lanes", text=text, send=last[step, source, target])
    for number, port in enumerate(network.shared):
        ends = [network.links[link] for link in port.links]
        for step, rounds in enumerate(schedule.rounds):
            sends = sum(carried[step, source, target] for source, target in ends)
            if sends > port.capacity * rounds:
                text = (
                    f"step {step}: shared capacity {number} ({len(ends)} links) carries {sends} "
                    f"chunks; {port.capacity} a round in {_count(rounds, 'round')} carry "
                    f"{port.capacity * rounds}"
                )
                yield Fault(rule="shared", text=text)


def _copies(
    schedule: Schedule, network: Network, goal: Goal, at_step: dict[int, list[int]]
) -> Iterator[Fault]:
    """Chunks sent before they are there, and nodes that end without theirs."""
    has: list[set[int]] = [set() for _ in range(network.nodes)]
    for chunk, start in enumerate(goal.initial):
        for node in start:
            has[node].add(chunk)
    for step in sorted(at_step):
        arriving = []
        for index in at_step[step]:
            send = schedule.sends[index]
            if send.chunk in has[send.source]:
                arriving.append((send.target, send.chunk))
            else:
                yield _not_there(index, send)
        for node, chunk in arriving:
            has[node].add(chunk)
    for chunk, end in enumerate(goal.final):
        for node in sorted(end):
            if chunk not in has[node]:
                yield Fault(rule="goal", text=f"chunk {chunk} does not reach node {node}")


def _not_there(index: int, send: Send) -> Fault:
    text = f"{_words(index, send)}: node {send.source} does not have it before step {send.step}"
    return Fault(rule="holds", text=text, send=index)


def _sums(
    schedule: Schedule, network: Network, goal: Goal, at_step: dict[int, list[int]]
) -> Iterator[Fault]:
    """Contributions added twice, incomplete sums passed on as results, and missing ones."""
    whole = [sum(1 << node for node in start) for start in goal.initial]
    has: dict[tuple[int, int], int] = {
        (node, chunk): 1 << node for chunk, start in enumerate(goal.initial) for node in start
    }
    for step in sorted(at_step):
        leaving = [
            (index, schedule.sends[index], has.get(schedule.sends[index][1:4:2], 0))
            for index in at_step[step]
        ]
        for index, send, mask in leaving:
            there = (send.target, send.chunk)
            if not mask:
                yield _not_there(index, send)
            elif not send.reduces and mask != whole[send.chunk]:
                text = f"{_words(index, send)}: the sum lacks {_members(whole[send.chunk] & ~mask)}"
                yield Fault(rule="complete", text=text, send=index)
            elif send.reduces and mask & has.get(there, 0):
                twice = _members(mask & has[there])
                text = f"{_words(index, send)}: node {send.target} has already added {twice}"
                yield Fault(rule="twice", text=text, send=index)
            else:
                has[there] = mask | has.get(there, 0)
    for chunk, end in enumerate(goal.final):
        for node in sorted(end):
            missing = whole[chunk] & ~has.get((node, chunk), 0)
            if missing:
                text = f"the sum of chunk {chunk} at node {node} lacks {_members(missing)}"
                yield Fault(rule="goal", text=text)


def _members(mask: int) -> str:
    """What which nodes contribute, in words."""
    nodes = [str(node) for node in range(mask.bit_length()) if mask >> node & 1]
    if len(nodes) == 1:
        return f"what node {nodes[0]} contributes"
    return f"what nodes {', '.join(nodes)} contribute"
