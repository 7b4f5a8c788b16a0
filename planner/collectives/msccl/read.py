"""An MSCCL algorithm as a schedule: which chunk crosses which link in which step.

The algorithm is run (see `msccl_run`), which gives every transfer and what it must come after: a
chunk leaves a step after it arrived, a connection keeps its order, and what a transfer changes is
read in the same step at the latest. The steps are the fewest that this allows. Rounds say how many
chunks of a connection fit into each step; the least total for the order of the connections is
looked for, beginning with what the file says of itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.collectives.msccl.goal import Wanted, wanted_of
from planner.collectives.msccl.program import Program
from planner.collectives.msccl.run import Run, Transfer, run
from planner.collectives.msccl.steps import Connection, connection, placed
from solvers.collectives.checking import faults
from solvers.collectives.problem import COMBINING, Network
from solvers.collectives.schedule import Schedule, Send

_MOST = 4


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
    if network is not None and not lines:
        lines = _lacking(found, network)
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


def _lacking(found: Run, network: Network) -> list[str]:
    """A line where an algorithm uses links that a machine does not have."""
    used = {(one.source, one.target) for one in found.transfers}
    if not (lacking := sorted(used - set(network.links))):
        return []
    words = f"it does not have {len(lacking)} of the {len(used)} links that are used"
    return [f"was made for another machine: {words}, e.g. from {lacking[0][0]} to {lacking[0][1]}"]


def _schedule(
    program: Program, wanted: Wanted, found: Run, name: str, network: Network
) -> Schedule:
    local = _adds_locally(program, wanted, found)
    numbers = [_chunk(wanted, one, local=local) for one in found.transfers]
    if None in numbers:
        lines = ["sends chunks made of different chunks; no schedule of the model does"]
        _refuse(name, lines)
    order = placed(found.transfers, _widths(found, network), _noted(program))
    if order is None:
        _refuse(name, ["some transfers must come both before and after others; no steps do that"])
    steps, rounds = order or ([], ())
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


def _adds_locally(program: Program, wanted: Wanted, found: Run) -> bool:
    """Whether only whole contributions travel, so that members add them up themselves."""
    if program.notes.get("local_reduce") == "1":
        return True
    kinds = Counter(s.kind for gpu in program.gpus for b in gpu.blocks for s in b.steps)
    adding = kinds["rrc"] + kinds["rrs"] + kinds["rrcs"]
    single = all(len(one.value) == 1 for one in found.transfers)
    return wanted.collective in COMBINING and single and not adding


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


def _noted(program: Program) -> tuple[int, ...]:
    """The rounds that the file says its steps have; none where it does not."""
    words = program.notes.get("rounds", "").split()
    told = all(len(w) < 7 and is_digits(w) and int(w) for w in words)
    return tuple(map(int, words)) if told else ()


def _widths(found: Run, network: Network) -> dict[Connection, int]:
    """Chunks that each connection carries in a round: the lanes of its link over its channels."""
    used = sorted({connection(one) for one in found.transfers})
    lanes = dict(zip(network.links, network.lanes, strict=True))
    channels = Counter(one[:2] for one in used)
    return {one: -(-lanes.get(one[:2], 1) // channels[one[:2]]) for one in used}


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
