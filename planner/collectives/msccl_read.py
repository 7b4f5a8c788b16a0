"""An MSCCL algorithm as a schedule: which chunk crosses which link in which step.

The algorithm is run (see `msccl_run`), which gives every transfer and what it must come after: a
chunk leaves a step after it arrived, a connection keeps its order, and what a transfer changes is
read in the same step at the latest. The steps are the fewest that this allows. Rounds say how many
chunks of a connection fit into each step; the least total for the order of the connections is
looked for, beginning with what the file says of itself.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

from planner.collectives.msccl_goal import Wanted, wanted_of
from planner.collectives.msccl_program import Program
from planner.collectives.msccl_run import Run, Transfer, run
from planner.errors import InputError
from solvers.collectives.checking import faults
from solvers.collectives.problem import COMBINING, Network
from solvers.collectives.schedule import Schedule, Send

_MOST = 4
_TRIES = 300
_WORK = 10**6
"""Transfers placed in all of these tries."""


def schedule_of(
    program: Program, name: str, network: Network | None = None
) -> tuple[Schedule, Network, int]:
    """The schedule that an algorithm runs.

    Args:
        program: The algorithm.
        name: What messages call the file.
        network: Where it runs; default: a link for each pair that exchanges chunks, with a lane
            for each channel.

    Returns:
        The schedule, the network and the root.

    Raises:
        InputError: The algorithm is wrong (see `msccl_run`), or no schedule of this model; one
            line for each of the first faults.
    """
    wanted, found = wanted_of(program), run(program)
    lines = list(found.faults)
    if not lines and not found.transfers:
        lines = ["nothing is sent"]
    if network is not None and network.nodes != program.members:
        lines = [f"is for {program.members} GPUs, the network has {network.nodes} nodes"]
    _refuse(name, lines)
    network = network or _network(program.members, found)
    schedule = _schedule(program, wanted, found, name, network)
    broken = faults(schedule, network, root=found.root)
    _refuse(name, [fault.text for fault in broken])
    return schedule, network, found.root


def _refuse(name: str, lines: list[str]) -> None:
    if lines:
        more = [f"and {len(lines) - _MOST:,} more"] if len(lines) > _MOST else []
        raise InputError("\n".join(f"{name}: {line}" for line in lines[:_MOST] + more))


def _network(members: int, found: Run) -> Network:
    """The links that are used."""
    channels: dict[tuple[int, int], set[int]] = defaultdict(set)
    for one in found.transfers:
        channels[one.source, one.target].add(one.channel)
    links = tuple(sorted(channels))
    return Network(nodes=members, links=links, lanes=tuple(len(channels[link]) for link in links))


def _schedule(
    program: Program, wanted: Wanted, found: Run, name: str, network: Network
) -> Schedule:
    numbers = [_chunk(wanted, one, local=False) for one in found.transfers]
    local = _adds_locally(program, wanted)
    if local:
        numbers = [_chunk(wanted, one, local=True) for one in found.transfers]
    if None in numbers:
        lines = ["sends chunks made of different chunks; no schedule of the model does"]
        _refuse(name, lines)
    steps, rounds = _placed(program, found.transfers)
    combines = wanted.collective in COMBINING and not local
    sends = {
        Send(step, one.source, one.target, number or 0, combines and _partial(wanted, one))
        for step, one, number in zip(steps, found.transfers, numbers, strict=True)
    }
    return Schedule(
        collective=wanted.collective,
        chunks=wanted.each,
        rounds=_enough(rounds, sends, network),
        sends=tuple(sorted(sends)),
        local_reduce=local,
    )


def _partial(wanted: Wanted, one: Transfer) -> bool:
    return len(one.value) < wanted.members


def _adds_locally(program: Program, wanted: Wanted) -> bool:
    """Whether nothing is added up on arrival, so that members add up whole contributions."""
    if program.notes.get("local_reduce") == "1":
        return True
    kinds = Counter(s.kind for gpu in program.gpus for b in gpu.blocks for s in b.steps)
    return wanted.collective in COMBINING and not kinds["rrc"] + kinds["rrs"] + kinds["rrcs"]


def _chunk(wanted: Wanted, one: Transfer, *, local: bool) -> int | None:
    """The number of the chunk in the goal; None where a value is of several chunks."""
    each, members = wanted.each, wanted.members
    offsets = {offset for _, offset in one.value}
    if len(offsets) != 1 or (local and len(one.value) != 1):
        return None
    (rank, _), offset = min(one.value), offsets.pop()
    if wanted.collective == "alltoall" or (local and wanted.collective == "reduce-scatter"):
        return rank * members * each + offset
    return rank * each + offset if wanted.collective == "allgather" or local else offset


def _placed(program: Program, transfers: tuple[Transfer, ...]) -> tuple[list[int], tuple[int, ...]]:
    """The step of each transfer, and the rounds of each step."""
    earliest = _earliest(transfers, None) or [0]
    least = max(earliest) + 1
    for rounds in _noted(program):
        if (steps := _earliest(transfers, rounds)) is not None:
            return steps, rounds
    loads = Counter(
        (step, *_connection(one)) for step, one in zip(earliest, transfers, strict=True)
    )
    counted = tuple(max(n for key, n in loads.items() if key[0] == step) for step in range(least))
    needed = _needed(transfers, earliest, _latest(transfers, least))
    tries = min(_TRIES, _WORK // len(transfers))
    for rounds in itertools.islice(_vectors(needed, sum(counted) - 1), tries):
        if (steps := _earliest(transfers, rounds)) is not None:
            return steps, rounds
    return earliest, counted


def _noted(program: Program) -> Iterator[tuple[int, ...]]:
    """The rounds that the file says its steps have."""
    words = program.notes.get("rounds", "").split()
    if words and all(len(w) < 7 and w.isdecimal() and w.isascii() and int(w) for w in words):
        yield tuple(map(int, words))


def _needed(
    transfers: tuple[Transfer, ...], earliest: list[int], latest: list[int]
) -> list[list[int]]:
    """needed[b][a]: rounds that steps a to b need for what can be nowhere else; at least 1 each."""
    steps = range(max(earliest) + 1)
    lanes: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for number, one in enumerate(transfers):
        lanes[_connection(one)].append(number)
    windows = [[(earliest[n], latest[n]) for n in numbers] for numbers in lanes.values()]

    def need(a: int, b: int) -> int:
        bound = (sum(first >= a and last <= b for first, last in rows) for rows in windows)
        return max(b - a + 1, *bound)

    return [[need(a, b) for a in range(b + 1)] for b in steps]


def _vectors(needed: list[list[int]], most: int) -> Iterator[tuple[int, ...]]:
    """Rounds of each step that allow for what is needed, the smallest total first."""

    def extend(chosen: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        step = len(chosen)
        if step == len(needed):
            if not left:
                yield chosen
            return
        least = max(need - sum(chosen[a:]) for a, need in enumerate(needed[step]))
        later = needed[-1][step + 1] if step + 1 < len(needed) else 0
        for rounds in range(max(least, 1), left - later + 1):
            yield from extend((*chosen, rounds), left - rounds)

    for total in range(needed[-1][0], most + 1):
        yield from extend((), total)


def _connection(one: Transfer) -> tuple[int, int, int]:
    return one.source, one.target, one.channel


def _earliest(transfers: tuple[Transfer, ...], rounds: tuple[int, ...] | None) -> list[int] | None:
    """The earliest step of each transfer that all rules allow; None: there are too few steps.

    Every rule only ever moves a transfer to a later step, so moving them until no rule is broken
    ends at the earliest steps.

    Args:
        transfers: In the order in which they were sent.
        rounds: Chunks that a connection carries in each step; None: any number, in any step.
    """
    queues: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    steps = [0] * len(transfers)
    moved = True
    while moved:
        moved = False
        queues.clear()
        for number, one in enumerate(transfers):
            queue = queues[_connection(one)]
            step = max(
                steps[number],
                max((steps[a] + 1 for a in one.after), default=0),
                max((steps[a] for a in one.not_before), default=0),
                max((steps[a] + 1 for a in one.replaces), default=0),
                steps[queue[-1]] if queue else 0,
            )
            if rounds is not None:
                while step < len(rounds) and rounds[step] <= _in_step(steps, queue, step):
                    step += 1
                if step >= len(rounds):
                    return None
            queue.append(number)
            moved = moved or step != steps[number]
            steps[number] = step
    return steps


def _latest(transfers: tuple[Transfer, ...], steps: int) -> list[int]:
    """The latest step of each transfer, whatever a connection carries."""
    latest = [steps - 1] * len(transfers)
    moved = True
    while moved:
        moved = False
        behind: dict[tuple[int, int, int], int] = {}
        for number, one in reversed(list(enumerate(transfers))):
            step = min(latest[number], behind.get(_connection(one), steps))
            behind[_connection(one)] = step
            moved = moved or step != latest[number]
            latest[number] = step
            for others, apart in ((one.after, 1), (one.not_before, 0), (one.replaces, 1)):
                for other in others:
                    moved = moved or latest[other] > step - apart
                    latest[other] = min(latest[other], step - apart)
    return latest


def _in_step(steps: list[int], queue: list[int], step: int) -> int:
    """Transfers at the end of a queue that are in a step."""
    return sum(1 for _ in itertools.takewhile(lambda a: steps[a] == step, reversed(queue)))


def _enough(rounds: tuple[int, ...], sends: set[Send], network: Network) -> tuple[int, ...]:
    """Rounds that the links and shared capacities of the network need; no fewer than given."""
    carried = Counter((send.step, (send.source, send.target)) for send in sends)
    needed = list(rounds)
    lanes = dict(zip(network.links, network.lanes, strict=True))
    for (step, link), number in carried.items():
        needed[step] = max(needed[step], -(-number // lanes.get(link, number)))
    for port in network.shared:
        for step in range(len(needed)):
            number = sum(carried[step, network.links[link]] for link in port.links)
            needed[step] = max(needed[step], -(-number // port.capacity))
    return tuple(needed)
