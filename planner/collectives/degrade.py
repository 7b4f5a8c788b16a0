"""Machines with slow or failed links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from planner.collectives.lanes import MOST_LANES
from planner.collectives.machine import Machine
from planner.collectives.machines import maps_onto_itself
from planner.errors import InputError
from planner.messages import did_you_mean
from planner.units import plain
from solvers.collectives.compose import split
from solvers.collectives.problem import Network, Shared
from solvers.collectives.schedule import Schedule

_LARGEST_DENOMINATOR = 16
_LARGEST_GROUP = 1024
_EXACT = 1e-9

Pairs = Sequence[tuple[int, int]]


def degrade(machine: Machine, pairs: Pairs, factor: float) -> Machine:
    """A machine whose links between some pairs of nodes have a fraction of their bandwidth.

    Lanes of the whole machine are cut so that each link has a whole number of them: chunks of a
    schedule for the healthy machine have to be cut as often (`cut_for`). Shared capacities, of
    ports and trunks, stay as they are.

    Args:
        machine: The healthy one.
        pairs: Both directions of each, where the machine has them.
        factor: Above 0, at most 1; fractions with denominators above 16 are rounded, and a note of
            the machine says so.

    Raises:
        InputError: A pair has no link, the factor is out of range, or it would take too many lanes.
    """
    if not 0 < factor <= 1:
        raise InputError(
            f"degrade: {factor:g}: must be above 0 and at most 1; a link that carries nothing has "
            "failed"
        )
    slow = _links_of(machine, pairs, "degrade")
    near = max(
        Fraction(factor).limit_denominator(_LARGEST_DENOMINATOR), Fraction(1, _LARGEST_DENOMINATOR)
    )
    network = machine.network
    each = [lanes * (near if link in slow else 1) for link, lanes in enumerate(network.lanes)]
    parts = math.lcm(*(Fraction(lanes).denominator for lanes in each))
    most = max(network.lanes) * parts
    if most > max(MOST_LANES, *network.lanes):
        raise InputError(
            f"degrade: {factor:g}: a link would have {most:,} lanes; at most {MOST_LANES}"
        )
    notes = [f"links {_words(pairs, machine)} at {near} of their bandwidth"]
    if abs(float(near) - factor) > _EXACT:
        notes.append(f"{plain(factor)} is rounded to {near}")
    slower = replace(
        network,
        lanes=tuple(int(lanes * parts) for lanes in each),
        shared=tuple(replace(port, capacity=port.capacity * parts) for port in network.shared),
    )
    return _changed(machine, slower, notes, lane_bytes_per_s=machine.lane_bytes_per_s / parts)


def fail(machine: Machine, pairs: Pairs) -> Machine:
    """A machine without the links between some pairs of nodes, in both directions.

    Raises:
        InputError: A pair has no link, or some node can no longer be reached from another.
    """
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    gone = _links_of(machine, pairs, "fail")
    network = machine.network
    kept = [link for link in range(len(network.links)) if link not in gone]
    left = Network(
        nodes=network.nodes,
        links=tuple(network.links[link] for link in kept),
        lanes=tuple(network.lanes[link] for link in kept),
        shared=_without(network.shared, kept),
    )
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    graph.add_edges_from(left.links)
    if not nx.is_strongly_connected(graph):
        raise InputError(
            f"fail: without {_words(pairs, machine)} some chips of {machine.label} cannot be "
            "reached from others"
        )
    notes = [f"links {_words(pairs, machine)} have failed"]
    return replace(_changed(machine, left, notes), latency_s=machine.latency_s[kept])


def cut_for(schedule: Schedule, made_for: Machine, runs_on: Machine) -> Schedule:
    """A schedule with its chunks cut as the lanes were when a machine was degraded.

    A chunk then takes as many lanes of a healthy link as that link's lane was cut into, so that
    healthy links are as fast as they were.

    Args:
        schedule: Of the healthy machine.
        made_for: That machine.
        runs_on: What `degrade` or `fail` made of it.
    """
    return split(schedule, max(1, round(made_for.lane_bytes_per_s / runs_on.lane_bytes_per_s)))


def pair_of(text: str, machine: Machine, flag: str) -> tuple[int, int]:
    """Two nodes that are joined, written `0-2` with their numbers or names.

    Raises:
        InputError: It is not written so, or the machine has no such node or link.
    """
    ends = text.split("-")
    for cut in range(1, len(ends)):
        names = "-".join(ends[:cut]).strip(), "-".join(ends[cut:]).strip()
        found = [_node(name, machine) for name in names]
        if None not in found:
            pair = (found[0] or 0, found[1] or 0)
            _links_of(machine, [pair], flag)
            return pair
    if len(ends) != 2:
        raise InputError(f"{flag}: '{text}' is no pair of chips; write it like 0-2")
    wrong = next(name.strip() for name in ends if _node(name.strip(), machine) is None)
    raise InputError(
        f"{flag}: '{text}': {machine.label} has no chip '{wrong}'; chips are {machine.names[0]} to "
        f"{machine.names[-1]}{did_you_mean(wrong, machine.names)}"
    )


def _node(name: str, machine: Machine) -> int | None:
    """The number of a node by its name, or by its number."""
    if name in machine.names:
        return machine.names.index(name)
    if name.isascii() and name.isdigit() and int(name) < machine.network.nodes:
        return int(name)
    return None


def _links_of(machine: Machine, pairs: Pairs, flag: str) -> set[int]:
    """Links between pairs, both directions."""
    index = {ends: at for at, ends in enumerate(machine.network.links)}
    found: set[int] = set()
    for u, v in pairs:
        both = {index[ends] for ends in ((u, v), (v, u)) if ends in index}
        if not both:
            near = sorted({b for a, b in index if a == u})
            joined = ", ".join(machine.names[node] for node in near[:8])
            raise InputError(
                f"{flag}: {machine.label} has no link {_words([(u, v)], machine)}; "
                f"chip {machine.names[u]} is joined to {joined}"
                + (" and others" if len(near) > 8 else "")
            )
        found |= both
    return found


def _words(pairs: Pairs, machine: Machine) -> str:
    return ", ".join(f"{machine.names[u]}-{machine.names[v]}" for u, v in pairs)


def _without(shared: Sequence[Shared], kept: Sequence[int]) -> tuple[Shared, ...]:
    """Shared capacities of the links that stay, renumbered."""
    number = {link: at for at, link in enumerate(kept)}
    ports = (
        Shared(
            links=tuple(number[link] for link in port.links if link in number),
            capacity=port.capacity,
        )
        for port in shared
    )
    return tuple(port for port in ports if port.links)


def _changed(
    machine: Machine, network: Network, notes: Sequence[str], lane_bytes_per_s: float | None = None
) -> Machine:
    """The machine with another network, and those of its symmetries that still hold."""
    group = _group(machine.symmetries, network.nodes)
    return replace(
        machine,
        network=network,
        lane_bytes_per_s=lane_bytes_per_s or machine.lane_bytes_per_s,
        symmetries=tuple(p for p in group if maps_onto_itself(p, network)),
        notes=(*machine.notes, *notes),
    )


def _group(generators: Sequence[tuple[int, ...]], nodes: int) -> list[tuple[int, ...]]:
    """All that generators give by composition, without the identity; of a large group they alone.

    Every product is looked at because one may still hold where none of its factors does.
    """
    identity = tuple(range(nodes))
    known, new = {identity}, [identity]
    while new and len(known) <= _LARGEST_GROUP:
        new = sorted(
            {tuple(one[node] for node in other) for one in generators for other in new} - known
        )
        known |= set(new)
    return list(generators) if new else sorted(known - {identity})
