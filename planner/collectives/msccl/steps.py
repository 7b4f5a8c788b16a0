"""The steps and rounds of transfers of which only the order is known.

A chunk leaves a step after it arrived, a connection keeps its order, and what a transfer changes
is read in the same step at the latest. The steps are the fewest that this allows. Rounds say how
many chunks of a connection fit into each step; the least total for the order of the connections
is looked for.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from planner.base.arrays import IntArray
from planner.collectives.msccl.run import Transfer

Connection = tuple[int, int, int]
"""Sender, receiver, channel."""
_TRIES = 300
_WORK = 5 * 10**5
"""Transfers placed in all of these tries."""
_MOST_STEPS = 200
"""Steps up to which the least total of rounds is looked for."""


class _Row(NamedTuple):
    """A transfer: the number of its connection, that one's width, and what it must follow."""

    lane: int
    width: int
    behind: tuple[int, ...]
    not_before: tuple[int, ...]


def placed(
    transfers: tuple[Transfer, ...],
    widths: Mapping[Connection, int],
    noted: tuple[int, ...] = (),
) -> tuple[list[int], tuple[int, ...]] | None:
    """The step of each transfer, and the rounds of each step; None: no order in steps is right.

    Args:
        transfers: At least one, in the order in which they were sent.
        widths: Chunks that each connection carries in a round.
        noted: Rounds of each step that are tried first; empty: none are known.
    """
    lanes = {one: at for at, one in enumerate(sorted({connection(one) for one in transfers}))}
    rows = [
        _Row(
            lanes[connection(one)], widths[connection(one)], tuple(one.after | one.replaces),
            tuple(one.not_before),
        )
        for one in transfers
    ]  # fmt: skip
    if noted and (steps := _earliest(rows, noted)) is not None:
        return steps, noted
    if (earliest := _earliest(rows, None)) is None:
        return None
    least = max(earliest) + 1
    loads = Counter((step, row.lane, row.width) for step, row in zip(earliest, rows, strict=True))
    counted = [1] * least
    for (step, _, width), number in loads.items():
        counted[step] = max(counted[step], -(-number // width))
    if least > _MOST_STEPS:
        return earliest, tuple(counted)
    needed = _needed(rows, earliest, _latest(transfers, least))
    tries = min(_TRIES, _WORK // (len(rows) + least**2))
    for rounds in itertools.islice(_vectors(needed, sum(counted) - 1), tries):
        if (steps := _earliest(rows, rounds)) is not None:
            return steps, rounds
    return earliest, tuple(counted)


def _needed(rows: list[_Row], earliest: list[int], latest: list[int]) -> IntArray:
    """[b, a]: rounds that steps a to b need for what can be nowhere else; at least 1 each."""
    steps = max(earliest) + 1
    at = np.arange(steps)
    needed = at[:, None] - at[None, :] + 1
    lane = np.array([row.lane for row in rows])
    width = np.array([row.width for row in rows])
    windows = np.array([latest, earliest])
    for one in range(int(lane.max()) + 1):
        mine = lane == one
        inside = np.zeros((steps, steps), dtype=np.int64)
        np.add.at(inside, tuple(windows[:, mine]), 1)
        inside = np.cumsum(np.cumsum(inside, axis=0)[:, ::-1], axis=1)[:, ::-1]
        needed = np.maximum(needed, -(-inside // width[mine][0]))
    return needed


def _vectors(needed: IntArray, most: int) -> Iterator[tuple[int, ...]]:
    """Rounds of each step that allow for what is needed, the smallest total first.

    Rounds up to the end are at least those of the longest way there, so none is begun in vain.
    """
    need = needed.tolist()
    steps = len(need)
    ahead = [0] * (steps + 1)
    for a in reversed(range(steps)):
        ahead[a] = max(need[b][a] + ahead[b + 1] for b in range(a, steps))

    def extend(ends: tuple[int, ...], total: int) -> Iterator[tuple[int, ...]]:
        """Continues the rounds up to each step."""
        step = len(ends) - 1
        if step == steps:
            yield tuple(np.diff(ends).tolist())
            return
        least = max(end + need[step][a] for a, end in enumerate(ends))
        last = total - ahead[step + 1]
        for end in range(least if step < steps - 1 else total, last + 1):
            yield from extend((*ends, end), total)

    for total in range(ahead[0], most + 1):
        yield from extend((0,), total)


def connection(one: Transfer) -> Connection:
    """What a transfer crosses."""
    return one.source, one.target, one.channel


def _earliest(rows: list[_Row], rounds: tuple[int, ...] | None) -> list[int] | None:
    """The earliest step of each transfer that all rules allow; None: there are too few steps.

    As many steps as transfers are too few only where one must come both before and after another.

    Every rule only ever moves a transfer to a later step, so moving them until no rule is broken
    ends at the earliest steps.

    Args:
        rows: In the order in which they were sent.
        rounds: Of each step; None: as many as it takes.
    """
    lanes = max(row.lane for row in rows) + 1
    most = len(rows) if rounds is None else len(rounds)
    steps = [0] * len(rows)
    moved = True
    while moved:
        moved = False
        last, filled = [0] * lanes, [0] * lanes
        for number, (lane, width, behind, not_before) in enumerate(rows):
            step = max(steps[number], last[lane])
            for other in behind:
                step = max(step, steps[other] + 1)
            for other in not_before:
                step = max(step, steps[other])
            used = filled[lane] if step == last[lane] else 0
            if rounds is not None:
                while step < len(rounds) and rounds[step] * width <= used:
                    step, used = step + 1, 0
            if step >= most:
                return None
            last[lane], filled[lane] = step, used + 1
            moved = moved or step != steps[number]
            steps[number] = step
    return steps


def _latest(transfers: tuple[Transfer, ...], steps: int) -> list[int]:
    """The latest step of each transfer, whatever a connection carries."""
    latest = [steps - 1] * len(transfers)
    moved = True
    while moved:
        moved = False
        behind: dict[Connection, int] = {}
        for number, one in reversed(list(enumerate(transfers))):
            step = min(latest[number], behind.get(connection(one), steps))
            behind[connection(one)] = step
            moved = moved or step != latest[number]
            latest[number] = step
            for others, apart in ((one.after, 1), (one.not_before, 0), (one.replaces, 1)):
                for other in others:
                    moved = moved or latest[other] > step - apart
                    latest[other] = min(latest[other], step - apart)
    return latest
