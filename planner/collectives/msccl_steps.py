"""The steps and rounds of transfers of which only the order is known.

A chunk leaves a step after it arrived, a connection keeps its order, and what a transfer changes
is read in the same step at the latest. The steps are the fewest that this allows. Rounds say how
many chunks of a connection fit into each step; the least total for the order of the connections
is looked for.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from planner.collectives.msccl_run import Transfer

Connection = tuple[int, int, int]
"""Sender, receiver, channel."""
_TRIES = 300
_WORK = 10**6
"""Transfers placed in all of these tries."""


def placed(
    transfers: tuple[Transfer, ...],
    widths: Mapping[Connection, int],
    noted: tuple[int, ...] = (),
) -> tuple[list[int], tuple[int, ...]]:
    """The step of each transfer, and the rounds of each step.

    Args:
        transfers: At least one, in the order in which they were sent.
        widths: Chunks that each connection carries in a round.
        noted: Rounds of each step that are tried first; empty: none are known.
    """
    if noted and (steps := _earliest(transfers, widths, noted)) is not None:
        return steps, noted
    earliest = _earliest(transfers, widths, None) or [0]
    least = max(earliest) + 1
    loads = Counter((step, connection(one)) for step, one in zip(earliest, transfers, strict=True))
    counted = [1] * least
    for (step, one), number in loads.items():
        counted[step] = max(counted[step], -(-number // widths[one]))
    needed = _needed(transfers, widths, earliest, _latest(transfers, least))
    tries = min(_TRIES, _WORK // len(transfers))
    for rounds in itertools.islice(_vectors(needed, sum(counted) - 1), tries):
        if (steps := _earliest(transfers, widths, rounds)) is not None:
            return steps, rounds
    return earliest, tuple(counted)


def _needed(
    transfers: tuple[Transfer, ...],
    widths: Mapping[Connection, int],
    earliest: list[int],
    latest: list[int],
) -> list[list[int]]:
    """needed[b][a]: rounds that steps a to b need for what can be nowhere else; at least 1 each."""
    steps = range(max(earliest) + 1)
    lanes: dict[Connection, list[int]] = defaultdict(list)
    for number, one in enumerate(transfers):
        lanes[connection(one)].append(number)
    windows = [
        (widths[one], [(earliest[n], latest[n]) for n in numbers]) for one, numbers in lanes.items()
    ]

    def need(a: int, b: int) -> int:
        bound = (
            -(-sum(first >= a and last <= b for first, last in rows) // width)
            for width, rows in windows
        )
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


def connection(one: Transfer) -> Connection:
    """What a transfer crosses."""
    return one.source, one.target, one.channel


def _earliest(
    transfers: tuple[Transfer, ...],
    widths: Mapping[Connection, int],
    rounds: tuple[int, ...] | None,
) -> list[int] | None:
    """The earliest step of each transfer that all rules allow; None: there are too few steps.

    Every rule only ever moves a transfer to a later step, so moving them until no rule is broken
    ends at the earliest steps.

    Args:
        transfers: In the order in which they were sent.
        widths: Chunks that each connection carries in a round.
        rounds: Of each step; None: as many as it takes.
    """
    queues: dict[Connection, list[int]] = defaultdict(list)
    steps = [0] * len(transfers)
    moved = True
    while moved:
        moved = False
        queues.clear()
        for number, one in enumerate(transfers):
            queue = queues[connection(one)]
            step = max(
                steps[number],
                max((steps[a] + 1 for a in one.after), default=0),
                max((steps[a] for a in one.not_before), default=0),
                max((steps[a] + 1 for a in one.replaces), default=0),
                steps[queue[-1]] if queue else 0,
            )
            if rounds is not None:
                width = widths[connection(one)]
                while step < len(rounds) and rounds[step] * width <= _in_step(steps, queue, step):
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


def _in_step(steps: list[int], queue: list[int], step: int) -> int:
    """Transfers at the end of a queue that are in a step."""
    return sum(1 for _ in itertools.takewhile(lambda a: steps[a] == step, reversed(queue)))
