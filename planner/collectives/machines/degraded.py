"""Machines with slow or failed links.

A slow link keeps its exact share in `Machine.wires`, by which all times go. The lanes in which
rounds are counted are cut so that it has a whole number of them, rounded down to quarters: a finer
cut needs as many more chunks to make use of it, and hardly any search comes that far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner.base.errors import InputError
from planner.base.messages import did_you_mean
from planner.base.numerals import is_digits
from planner.base.units import plain
from planner.collectives.machines.lanes import MOST_LANES
from planner.collectives.machines.machine import Machine, Wires
from planner.collectives.machines.machines import maps_onto_itself
from solvers.collectives.problem import Network, Shared

PARTS = 4
"""Parts of a lane to which slow links are rounded down where rounds are counted."""
_LARGEST_GROUP = 1024
_EXACT = 1e-9

Pairs = Sequence[tuple[int, int]]


def degrade(machine: Machine, pairs: Pairs, factor: float) -> Machine:
    """A machine whose links between some pairs of nodes have a fraction of their bandwidth.

    See `degraded`.
    """
    return degraded(machine, dict.fromkeys(pairs, factor))


def degraded(machine: Machine, shares: Mapping[tuple[int, int], float]) -> Machine:
    """A machine with slow links.

    Every cable of a slow link is slow, both ways. Shared capacities, of ports and trunks, stay as
    they are.

    Args:
        machine: The healthy one.
        shares: Of pairs of nodes, what is left of the bandwidth: above 0, at most 1.

    Raises:
        InputError: A pair has no link, or a share is out of range.
    """
    share = np.ones(len(machine.wires.network.links))
    for pair, left in shares.items():
        if not 0 < left <= 1:
            raise InputError(
                f"degrade: {left:g}: must be above 0 and at most 1; a link that carries nothing "
                "has failed"
            )
        share[sorted(_links_of(machine, [pair], "degrade"))] *= left
    wires = replace(machine.wires, bytes_per_s=machine.wires.bytes_per_s * share)
    at = dict(zip(wires.network.links, share.tolist(), strict=True))
    kept, lanes, parts = _whole(machine.network, [at[ends] for ends in machine.network.links])
    cut = _part(machine.network, kept, parts)
    return _changed(
        machine,
        replace(cut, lanes=tuple(lanes[link] for link in kept)),
        _said(machine, shares, lanes, parts),
        kept,
        wires=wires,
        lane_bytes_per_s=machine.lane_bytes_per_s / parts,
    )


def _said(
    machine: Machine, shares: Mapping[tuple[int, int], float], lanes: Sequence[int], parts: int
) -> list[str]:
    """What is slow, and how rounds count it where lanes leave some of it out."""
    network, notes = machine.network, []
    for left in sorted(set(shares.values())):
        pairs = [pair for pair, each in shares.items() if each == left]
        words = f"links {_words(pairs, machine)} at {_share_words(left)} of their bandwidth"
        link = next(at for at, (u, v) in enumerate(network.links)
                    if (u, v) in pairs or (v, u) in pairs)  # fmt: skip
        counted = Fraction(lanes[link], network.lanes[link] * parts)
        if float(counted) < left * (1.0 - _EXACT):
            as_what = f"at {counted}" if counted else "as failed"
            words += f"; counted {as_what} where rounds are, in full where times are"
        notes.append(words)
    return notes


def _share_words(share: float) -> str:
    """`1/4`, or `0.96` where it is no small fraction."""
    near = Fraction(share).limit_denominator(16)
    return str(near) if abs(float(near) - share) <= _EXACT else plain(share)


def _whole(network: Network, shares: Sequence[float]) -> tuple[list[int], list[int], int]:
    """The links that have lanes, the lanes of all, and the parts that each lane was cut into.

    Links that are too slow for a lane are left out where others lead to their ends; else lanes are
    cut as finely as these need, and faster links have at most `MOST_LANES`.
    """
    near = [Fraction(math.floor(share * PARTS * (1 + _EXACT)), PARTS) for share in shares]
    parts = math.lcm(*(share.denominator for share in near))
    lanes = [int(count * parts * share) for count, share in zip(network.lanes, near, strict=True)]
    kept = [link for link, count in enumerate(lanes) if count]
    if _joined(network, kept):
        return kept, lanes, parts
    parts = math.ceil((1 - _EXACT) / min(shares))
    most = max(MOST_LANES, *network.lanes)
    lanes = [
        min(math.floor(count * parts * share * (1 + _EXACT)), most)
        for count, share in zip(network.lanes, shares, strict=True)
    ]
    return list(range(len(lanes))), lanes, parts


def fail(machine: Machine, pairs: Pairs) -> Machine:
    """A machine without the links between some pairs of nodes, in both directions.

    Raises:
        InputError: A pair has no link, or some node can no longer be reached from another.
    """
    wires = machine.wires
    gone = {wires.network.links[link] for link in _links_of(machine, pairs, "fail")}
    left = [link for link, ends in enumerate(wires.network.links) if ends not in gone]
    kept = [link for link, ends in enumerate(machine.network.links) if ends not in gone]
    if not _joined(machine.network, kept):
        raise InputError(
            f"fail: without {_words(pairs, machine)} some chips of {machine.label} cannot be "
            "reached from others"
        )
    ports = [at for at, port in enumerate(wires.network.shared) if set(port.links) & set(left)]
    still = Wires(
        network=_part(wires.network, left),
        latency_s=wires.latency_s[left],
        bytes_per_s=wires.bytes_per_s[left],
        port_bytes_per_s=wires.port_bytes_per_s[ports],
    )
    notes = [f"links {_words(pairs, machine)} have failed"]
    return _changed(machine, _part(machine.network, kept), notes, kept, wires=still)


def _joined(network: Network, kept: Sequence[int]) -> bool:
    """Whether some links lead from every node to every other."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    graph.add_edges_from(network.links[link] for link in kept)
    return bool(nx.is_strongly_connected(graph))


def _part(network: Network, kept: Sequence[int], parts: int = 1) -> Network:
    """The network of some links, each unit of a shared capacity cut into parts."""
    ports = _without(network.shared, kept)
    return Network(
        nodes=network.nodes,
        links=tuple(network.links[link] for link in kept),
        lanes=tuple(network.lanes[link] for link in kept),
        shared=tuple(replace(port, capacity=port.capacity * parts) for port in ports),
    )


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
    if is_digits(name) and int(name) < machine.network.nodes:
        return int(name)
    return None


def _links_of(machine: Machine, pairs: Pairs, flag: str) -> set[int]:
    """Links between pairs, among the wires; both directions."""
    index = {ends: at for at, ends in enumerate(machine.wires.network.links)}
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
    machine: Machine,
    network: Network,
    notes: Sequence[str],
    kept: Sequence[int],
    *,
    wires: Wires,
    lane_bytes_per_s: float | None = None,
) -> Machine:
    """The machine with some of its links, and those of its symmetries that still hold."""
    group = _group(machine.symmetries, network.nodes)
    lane = lane_bytes_per_s or machine.lane_bytes_per_s
    even = wires.alike and network == wires.network and float(wires.bytes_per_s[0]) == lane
    return replace(
        machine,
        network=network,
        lane_bytes_per_s=lane,
        latency_s=machine.latency_s[list(kept)],
        symmetries=tuple(p for p in group if maps_onto_itself(p, network)),
        notes=(*machine.notes, *notes),
        uneven=None if even else wires,
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
