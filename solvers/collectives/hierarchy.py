"""All-gathers in phases, and along packed trees: for networks larger than a search can hold.

In phases: the nodes stand in a grid, and each phase gathers along one of its dimensions, among
all groups of nodes that differ in that dimension alone. What a node has gathered is what it
contributes to the next phase, so steps add up, and so do the rounds. With two phases and
`pieces` parts of the buffer the second phase of one part runs beside the first of the next.

Source of the composition: Cho et al., BlueConnect: Decomposing All-Reduce for Deep Learning on
Heterogeneous Network Hierarchy, IBM Journal of Research and Development, 2019 (a collective in
phases over the levels of a network).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.collectives.compose import split
from solvers.collectives.greedy import rounds_of
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send


def grid_groups(sizes: Sequence[int], axis: int) -> tuple[tuple[int, ...], ...]:
    """The lines of a grid along a dimension, nodes in C order; each line rising.

    Args:
        sizes: Nodes along every dimension.
        axis: The dimension.
    """
    numbers = np.arange(int(np.prod(sizes))).reshape(tuple(sizes))
    lines = np.moveaxis(numbers, axis, -1).reshape(-1, sizes[axis])
    return tuple(tuple(line) for line in lines.tolist())


def in_phases(
    network: Network, sizes: Sequence[int], phases: Sequence[tuple[int, Schedule]], pieces: int = 1
) -> Schedule:
    """The all-gather of all nodes that all-gathers along the dimensions of a grid are.

    Args:
        network: On which it runs; rounds are counted again.
        sizes: Nodes along every dimension of the grid, C order.
        phases: (axis, all-gather among `grid_groups(sizes, axis)`), each axis once, in order. The
            chunks of a phase are cut so that they fit what the phases before have gathered.
        pieces: Parts of the buffer, each of which starts one phase after the one before.

    Raises:
        ValueError: An axis is missing or stands twice, or chunks of a later phase do not divide
            what was gathered before.
    """
    if sorted(axis for axis, _ in phases) != list(range(len(sizes))):
        raise ValueError("every dimension of the grid needs one phase")
    nodes = int(np.prod(sizes))
    chunks = _chunks(sizes, phases)
    coordinate = np.stack(np.unravel_index(np.arange(nodes), tuple(sizes)), axis=1)
    made: list[list[tuple[int, int, int, int]]] = []
    done: list[int] = []
    for axis, phase in phases:
        gathered = int(np.prod([sizes[before] for before in done], dtype=np.int64))
        fine = split(phase, gathered * chunks // phase.chunks)
        groups = grid_groups(sizes, axis)
        owner = [node for group in groups for node in group]
        steps: list[list[tuple[int, int, int]]] = [[] for _ in range(fine.steps)]
        for send in fine.sends:
            node, at = owner[send.chunk // fine.chunks], send.chunk % fine.chunks
            origin = _origin(coordinate[node], sizes, done, at // chunks)
            steps[send.step].append((send.source, send.target, origin * chunks + at % chunks))
        made.append([(step, *one) for step, sends in enumerate(steps) for one in sends])
        done.append(axis)
    lengths = [phase.steps for _, phase in phases]
    return _overlapped(network, _each_once(made, chunks), lengths, chunks, pieces)


def _each_once(
    phases: Sequence[Sequence[tuple[int, int, int, int]]], chunks: int
) -> list[list[tuple[int, int, int, int]]]:
    """The phases without sends to nodes that have the chunk already, or get it in the same step.

    The schedule of a line may lead through nodes of other lines, to which a later phase would
    bring the same chunks again. Run backwards, they would be added up twice.
    """
    has: set[tuple[int, int]] = set()
    kept = []
    for phase in phases:
        rows = []
        for row in sorted(phase):
            _, _, target, chunk = row
            if chunk // chunks != target and (target, chunk) not in has:
                has.add((target, chunk))
                rows.append(row)
        kept.append(rows)
    return kept


def _chunks(sizes: Sequence[int], phases: Sequence[tuple[int, Schedule]]) -> int:
    """Chunks per node into which all phases can be cut."""
    gathered, chunks = 1, 1
    for axis, phase in phases:
        chunks = int(np.lcm(chunks, phase.chunks // int(np.gcd(phase.chunks, gathered))))
        gathered *= sizes[axis]
    return chunks


def _origin(at: np.ndarray, sizes: Sequence[int], done: Sequence[int], number: int) -> int:
    """The node that the `number`-th part gathered by a node along the dimensions done is from."""
    place = at.copy()
    for axis in reversed(done):
        number, place[axis] = divmod(number, sizes[axis])
    return int(np.ravel_multi_index(tuple(place.tolist()), tuple(sizes)))


def _overlapped(
    network: Network,
    phases: Sequence[Sequence[tuple[int, int, int, int]]],
    lengths: Sequence[int],
    chunks: int,
    pieces: int,
) -> Schedule:
    """Every piece starts `max(lengths)` steps after the one before, so phases run side by side."""
    apart = max(lengths)
    sends: list[Send] = []
    for piece in range(pieces):
        first = piece * apart
        for length, phase in zip(lengths, phases, strict=True):
            for step, source, target, chunk in phase:
                node, at = divmod(chunk, chunks)
                number = (node * pieces + piece) * chunks + at
                sends.append(Send(first + step, source, target, number))
            first += apart if pieces > 1 else length
    steps = 1 + max(send.step for send in sends)
    return Schedule(
        collective="allgather",
        chunks=chunks * pieces,
        rounds=rounds_of(network, sends, steps),
        sends=tuple(sorted(sends)),
    )
