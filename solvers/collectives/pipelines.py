"""Rows of a front that are made at once: broadcasts and reduces along ways, in any number of steps.

With many steps a search is beyond reach, and not needed: pieces follow each other down packed
trees, and R / C comes near its limit (`rooted`). The numbers of steps grow by a share of what they
are, for a step more or less changes little then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from solvers.clock import OutOfTime, deadline_of, left_s
from solvers.collectives.candidates import MAX_CHUNKS
from solvers.collectives.greedy import rounds_of
from solvers.collectives.model import parts_of
from solvers.collectives.problem import ROOTED
from solvers.collectives.rooted import GROWN_STEPS, MOST_CELLS, pipeline, rooted_sends, ways_of
from solvers.collectives.rows import Row
from solvers.collectives.synthesis import Question, as_asked

MOST_STEPS = 64
"""The most steps of a pipeline that is made unasked."""
MOST_CHUNKS = 128
"""The most chunks of one, unless more are asked for."""
MOST_PIPED = 320
"""The most chunks down packed trees, which take no search."""
MOST_SENDS = 4_000
"""The most sends of a schedule that is made unasked."""
MOST_S = 1.5
"""Of the programs of one number of steps."""
NEAR = Fraction(21, 20)
"""R / C within so much of its limit ends them."""
_GROWTH = 1.3
"""Of the steps, from one pipeline to the next."""
_TRIED = 3
"""Numbers of chunks that are tried for each number of steps."""
_LEAST_ROUNDS_S = 0.3
"""Less time is of no use to one of them."""
_SLACK = 1e-6


def has_pipelines(asked: Question) -> bool:
    """Whether rows are made at once for a collective: those with a root."""
    return asked.collective in ROOTED


def further_steps(last: int) -> Iterator[int]:
    """Numbers of steps of pipelines after the last that was searched."""
    steps = last
    while (steps := max(steps + 1, math.ceil(steps * _GROWTH))) <= MOST_STEPS:
        yield steps


def row_at_once(
    asked: Question,
    steps: int,
    bound: Fraction,
    *,
    before: Fraction | None,
    most: int | None,
    until: float,
) -> Row | None:
    """The best schedule along ways with so many steps, if its R / C is less than before.

    Args:
        asked: The question.
        steps: S.
        bound: No schedule with so many steps has a smaller R / C.
        before: R / C to be beaten; None: any will do.
        most: The largest C; None: `MOST_CHUNKS`, fewer where that is more than `MOST_SENDS`.
        until: On the clock of `time.perf_counter`; at most `MOST_S` from now.
    """
    if not has_pipelines(asked) or len(asked.forward.links) * steps > MOST_CELLS:
        return None
    until = min(until, deadline_of(MOST_S))
    fits = max(MAX_CHUNKS, MOST_SENDS // asked.forward.nodes)
    best = _plain(asked, steps, bound, before, most or min(MOST_PIPED, fits))
    searched = steps <= asked.least_steps + GROWN_STEPS
    if best is not None and (not searched or best.load <= NEAR * bound):
        return best
    try:
        load = ways_of(asked, steps, deadline_of(left_s(until) / 2)).load
    except OutOfTime:
        return best
    numbers = _numbers(load, steps, most or min(MOST_CHUNKS, fits))
    for place, chunks in enumerate(numbers):
        if (best is not None and load >= best.load) or left_s(until) < _LEAST_ROUNDS_S * place:
            break
        share = deadline_of(left_s(until) / (len(numbers) - place))
        row = _row(asked, chunks, steps, bound, share)
        if row is None:
            break
        if (best is None or row.load < best.load) and (before is None or row.load < before):
            best = row
    return best if best is None else _coarser(asked, best, until)


def plain_row(
    asked: Question, steps: int, bound: Fraction, *, before: Fraction, most: int | None
) -> Row | None:
    """The pipeline down packed trees with so many steps: no search, no program.

    Args:
        asked: The question.
        steps: S.
        bound: No schedule with so many steps has a smaller R / C.
        before: R / C to be beaten.
        most: The largest C; None: as for `row_at_once`.
    """
    if len(asked.forward.links) * steps > MOST_CELLS:
        return None
    fits = max(MAX_CHUNKS, MOST_SENDS // asked.forward.nodes)
    return _plain(asked, steps, bound, before, most or min(MOST_PIPED, fits))


def _plain(
    asked: Question, steps: int, bound: Fraction, before: Fraction | None, most: int
) -> Row | None:
    """The pipeline down packed trees, if it is better than before."""
    made = pipeline(asked, steps)
    if made is None or made[0] > most:
        return None
    chunks, sends = made
    rounds = rounds_of(asked.forward, sends, steps)
    if before is not None and sum(rounds) >= before * chunks:
        return None
    schedule = as_asked(asked, chunks, sends, rounds)
    least = max(steps, math.ceil(bound * chunks))
    return Row(schedule=schedule, lower_bound=least, load_bound=bound)


def _row(asked: Question, chunks: int, steps: int, bound: Fraction, until: float) -> Row | None:
    """The schedule along ways with C chunks; None: time ended."""
    least = max(steps, math.ceil(bound * chunks))
    sends = rooted_sends(asked, parts_of(asked.copied(chunks)), steps, least, until)
    if sends is None:
        return None
    schedule = as_asked(asked, chunks, sends, rounds_of(asked.forward, sends, steps))
    return Row(schedule=schedule, lower_bound=least, load_bound=bound)


def _coarser(asked: Question, row: Row, until: float) -> Row:
    """The same R / C with fewer chunks, if that is found in time."""
    for chunks in range(row.load.denominator, row.chunks, row.load.denominator):
        if left_s(until) < _LEAST_ROUNDS_S:
            break
        if row.load * chunks < row.steps:
            continue
        found = _row(asked, chunks, row.steps, row.load_bound, deadline_of(left_s(until) / 2))
        if found is not None and found.load <= row.load:
            return found
    return row


def _numbers(load: float, steps: int, most: int) -> Sequence[int]:
    """Numbers of chunks to try: with one round a step, then those that lose least to rounding."""

    def least(chunks: int) -> float:
        return max(steps, math.ceil(load * chunks - _SLACK)) / chunks

    even = min(most, max(1, int(steps / load + _SLACK)))
    others = sorted(range(1, most + 1), key=lambda chunks: (round(least(chunks), 9), -chunks))
    return list(dict.fromkeys([even, *others]))[:_TRIED]
