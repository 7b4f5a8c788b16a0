"""What is refused of a schedule from a file: the first faults, each with its place in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.base.errors import InputError
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import NUMBERINGS, machine_of
from planner.collectives.machines.renumber import alike, link_matrix, orders_between
from solvers.collectives.checking import GATHERED, Fault, faults
from solvers.collectives.problem import COMBINING, Network
from solvers.collectives.schedule import Schedule

MOST_CHUNKS = 2 * 10**6
"""Parts of the data of all nodes."""
_MOST = 4
_MOST_ARRIVALS = 2 * 10**6
_MOST_RENUMBERED = 16
"""Nodes up to which other numbers are looked for."""
_DGX1 = "dgx-1"


def first(lines: list[str]) -> str:
    """The first lines, and how many more there are."""
    more = [f"and {len(lines) - _MOST:,} more faults"] if len(lines) > _MOST else []
    return "\n".join(lines[:_MOST] + more)


def check(
    name: str, schedule: Schedule, network: Network, root: int, places: Sequence[int] = ()
) -> None:
    """Refuses a schedule that breaks a rule of the model.

    Args:
        name: What messages call the file.
        schedule: What is replayed.
        network: Where.
        root: Of a rooted collective.
        places: Where each send stands in the file; empty: in the order of the schedule.

    Raises:
        InputError: One line for each of the first faults.
    """
    lines = _odd(schedule, network, root)
    if not lines:
        found = faults(schedule, network, root=root)
        lines = [_with_place(fault, places) for fault in found]
    if lines:
        raise InputError(first([f"{name}: {line}" for line in lines]))


def check_made_for(
    name: str, schedule: Schedule, label: str, machine: Machine, made_for: Network
) -> None:
    """Refuses a schedule that uses links, or more lanes of them, than a machine has.

    Lanes are looked at only where the links are the same under other numbers; elsewhere `check`
    names the sends.

    Args:
        name: What messages call the file.
        schedule: What is sent.
        label: The topology that it was made for.
        machine: Where it is asked to run.
        made_for: The links of the file.

    Raises:
        InputError: One line: the two machines, and how many links are missing; or that their links
            are the same under other numbers.
    """
    if words := _other_numbering(schedule, machine, made_for):
        raise InputError(f"{name}: {words}")
    used = {(send.source, send.target) for send in schedule.sends}
    if lacking := sorted(used - set(machine.network.links)):
        (u, v), there = lacking[0], f"{len(lacking)} of the {len(used)} links that are used"
        other = f", not for {machine.label}" if label != machine.label else ""
        raise InputError(
            f"{name}: was made for {label}{other}: {machine.label} does not have {there}, e.g. "
            f"from {u} to {v}"
        )


def _other_numbering(schedule: Schedule, machine: Machine, made_for: Network) -> str | None:
    """Whether a schedule does not fit only because its nodes have other numbers."""
    here, there = link_matrix(machine.network), link_matrix(made_for)
    carried = Counter((send.step, send.source, send.target) for send in schedule.sends)
    fits = all(
        sends <= here[source, target] * schedule.rounds[step]
        for (step, source, target), sends in carried.items()
        if step < schedule.steps and max(source, target) < len(here)
    )
    if fits or len(here) > _MOST_RENUMBERED or alike(there, here):
        return None
    if not orders_between(there, here):
        return None
    words = f"its links are those of {machine.label} in another numbering"
    for numbering in NUMBERINGS if machine.label == _DGX1 else ():
        named = link_matrix(machine_of(_DGX1, numbering=numbering).network)
        if alike(named, there):
            return f"{words}; give --numbering {numbering}, or no --topology"
    return f"{words}; run it without a --topology, on the links in the file"


def _with_place(fault: Fault, places: Sequence[int]) -> str:
    """`sends: entry 5 (step 0, ...)`: the place in the file, which counts from 0."""
    number = f"send {fault.send} "
    if fault.send is None or not fault.text.startswith(number):
        return fault.text
    place = places[fault.send] if places else fault.send
    return f"sends: entry {place} {fault.text.removeprefix(number)}"


def _odd(schedule: Schedule, network: Network, root: int) -> list[str]:
    """What is wrong before anything is sent."""
    nodes, name, lines = network.nodes, schedule.collective, []
    if root >= nodes:
        lines.append(f"root: {root} is not one of the nodes 0 to {nodes - 1}")
    if schedule.local_reduce and name not in COMBINING:
        lines.append(f"local_reduce: {name} adds nothing up")
    if name == "allreduce" and not schedule.local_reduce and schedule.chunks % nodes:
        words = f"a multiple of the {nodes} nodes"
        lines.append(f"chunks: {schedule.chunks} of an allreduce must be {words}")
    goal = GATHERED.get(name, name) if schedule.local_reduce else name
    parts = {"alltoall": nodes**2, "allreduce": 1, "broadcast": 1, "reduce": 1}.get(goal, nodes)
    total = schedule.chunks * parts
    if total > MOST_CHUNKS:
        words = f"make {total:,} parts in all; at most {MOST_CHUNKS:,}"
        lines.append(f"chunks: {schedule.chunks:,} chunks {words}")
    least = total * (1 if goal in ("alltoall", "gather", "scatter") else nodes - 1)
    if len(schedule.sends) < least and least > _MOST_ARRIVALS:
        words = f"{schedule.chunks:,} chunks among {nodes:,} nodes take about {least:,}"
        lines.append(f"sends: {len(schedule.sends):,} of them; {words}")
    return lines
