"""Schedules made of schedules: run backwards, one after another, with local sums, split finer.

Reversal: a schedule that copies a chunk along a tree, run backwards over reversed links, adds up
along the same tree, in as many steps and rounds; so reduce-scatter is the reverse of allgather.
An all-reduce is a reduce-scatter and then an allgather.

Source: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, section 3.5 (combining collectives).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from solvers.collectives.checking import GATHERED
from solvers.collectives.problem import COMBINING
from solvers.collectives.schedule import Schedule, Send

DUAL = {
    "allgather": "reduce-scatter", "reduce-scatter": "allgather", "broadcast": "reduce",
    "reduce": "broadcast", "gather": "scatter", "scatter": "gather", "alltoall": "alltoall",
}  # fmt: skip
"""Each collective and what its schedules are when they run backwards on reversed links."""


def reverse(schedule: Schedule, *, group_sizes: Sequence[int] = ()) -> Schedule:
    """The schedule of the dual collective on the reversed network.

    Args:
        schedule: Each node receives (of sums: gives away) each chunk at most once.
        group_sizes: Of an alltoall, whose parts change places: the members of each group.

    Raises:
        ValueError: An all-reduce, or an alltoall without the sizes of its groups.
    """
    if schedule.collective not in DUAL:
        raise ValueError(f"{schedule.collective} is its own composition and is not reversed")
    dual = DUAL[schedule.collective]
    number = _transposed(schedule.chunks, group_sizes) if dual == "alltoall" else _same
    last = schedule.steps - 1
    sends = [
        Send(last - s.step, s.target, s.source, number(s.chunk), dual in COMBINING)
        for s in schedule.sends
    ]
    return Schedule(
        collective=dual,
        chunks=schedule.chunks,
        rounds=schedule.rounds[::-1],
        sends=tuple(sorted(sends)),
    )


def _same(chunk: int) -> int:
    return chunk


def _transposed(chunks: int, group_sizes: Sequence[int]) -> Callable[[int], int]:
    """Chunk (u, v, i) of an alltoall becomes (v, u, i), group by group."""
    if not group_sizes:
        raise ValueError("the parts of an alltoall change places; say the sizes of its groups")
    numbers: list[int] = []
    for size in group_sizes:
        start = len(numbers)
        numbers += [
            start + (v * size + u) * chunks + i
            for u in range(size)
            for v in range(size)
            for i in range(chunks)
        ]
    return numbers.__getitem__


def split(schedule: Schedule, pieces: int) -> Schedule:
    """Every chunk cut into equal pieces that travel together; steps last `pieces` times the rounds.

    R / C stays as it is, so the time does too.
    """
    if pieces < 1:
        raise ValueError(f"{pieces} pieces; at least 1")
    return replace(
        schedule,
        chunks=schedule.chunks * pieces,
        rounds=tuple(rounds * pieces for rounds in schedule.rounds),
        sends=tuple(
            send._replace(chunk=send.chunk * pieces + piece)
            for send in schedule.sends
            for piece in range(pieces)
        ),
    )


def in_turn(first: Schedule, second: Schedule, *, members: int) -> Schedule:
    """The all-reduce that a reduce-scatter and then an allgather are.

    With c chunks per part (the least common multiple of both; the coarser one is split), chunk
    k c + i of either is the same chunk of the all-reduce, of C = members * c in all.

    Args:
        first: The reduce-scatter.
        second: The allgather, among the same members in the same order.
        members: Of each group, the same for all groups.

    Raises:
        ValueError: Other collectives.
    """
    if (first.collective, second.collective) != ("reduce-scatter", "allgather"):
        raise ValueError(
            f"an all-reduce is a reduce-scatter and then an allgather, not {first.collective} "
            f"and {second.collective}"
        )
    chunks = math.lcm(first.chunks, second.chunks)
    first, second = (split(half, chunks // half.chunks) for half in (first, second))
    later = (send._replace(step=send.step + first.steps) for send in second.sends)
    return Schedule(
        collective="allreduce",
        chunks=members * chunks,
        rounds=first.rounds + second.rounds,
        sends=tuple(sorted((*first.sends, *later))),
    )


def local_reduce(gathered: Schedule) -> Schedule:
    """The combining collective in which members add up what they gathered whole.

    Args:
        gathered: An allgather (makes an all-reduce), a gather (a reduce) or an alltoall (a
            reduce-scatter) of whole contributions.

    Raises:
        ValueError: Another collective.
    """
    made = {plain: combining for combining, plain in GATHERED.items()}
    if gathered.collective not in made or gathered.local_reduce:
        allowed = ", ".join(sorted(made))
        raise ValueError(f"{gathered.collective} gathers nothing whole; {allowed} do")
    return replace(gathered, collective=made[gathered.collective], local_reduce=True)
