"""Which numbers of chunks a front tries for S steps, and what it leaves open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_CHUNKS = 32
"""Chunks that are tried unless more are asked for or the least R / C needs more."""
_MOST_NEEDED = 128
"""The largest number of chunks that is tried because the least R / C needs it."""
_MOST_SENDS = 4_000
"""Sends of a schedule above which it is not tried for that alone."""

CHUNKS, TIME, SIZE, STEPS = "chunks", "time limit", "size", "steps"
"""Why something is left open: no more chunks were tried; the time ended; beyond the solver; or so
many steps and more were not searched."""


def needed(bound: Fraction, steps: int) -> int:
    """The fewest chunks with which R / C can be a bound: R is whole and at least S."""
    return math.ceil(Fraction(steps, bound.numerator)) * bound.denominator


def promising(bound: Fraction, steps: int, most: int | None, sends: int) -> list[int]:
    """The numbers of chunks that are tried, the least possible R / C first.

    Args:
        bound: No schedule with so many steps has a smaller R / C.
        steps: S.
        most: The largest C; None: `MAX_CHUNKS`, and the fewest with which the bound can be met
            where they are not too many.
        sends: What a schedule of one chunk takes, about.
    """
    numbers = list(range(1, (most or MAX_CHUNKS) + 1))
    least = needed(bound, steps)
    if most is None and MAX_CHUNKS < least <= _MOST_NEEDED and least * sends <= _MOST_SENDS:
        numbers.append(least)
    return sorted(numbers, key=lambda c: (Fraction(max(steps, math.ceil(bound * c)), c), c))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A number of steps for which schedules better than those found are not excluded.

    Attributes:
        steps: S.
        load: No schedule with so many steps has a smaller R / C; less than the best found has.
        chunks: The largest C that was tried.
        reason: `CHUNKS`, `TIME`, `SIZE` or `STEPS`.
        beyond: Whether more steps than these are left open too.
    """

    steps: int
    load: Fraction
    chunks: int
    reason: str
    beyond: bool = False


LONGEST_FRACTION = 12
"""Characters of a fraction above which its decimal stands alone."""


def short_fraction(load: Fraction) -> str:
    """`7/6`; a decimal of four digits where the fraction is too long to read."""
    text = str(load)
    return text if len(text) <= LONGEST_FRACTION else f"{float(load):.4g}"


_WORDS = {
    CHUNKS: "no more than {chunks} chunks were tried",
    TIME: "the time limit ended the search",
    SIZE: "their programs are too large for the solver",
    STEPS: "so many were not searched",
}


def gap_words(gaps: Sequence[Gap]) -> str:
    """`2 steps may have R/C down to 1/29: no more than 32 chunks were tried`."""
    parts = []
    for reason in dict.fromkeys(gap.reason for gap in gaps):
        of_reason = [gap for gap in gaps if gap.reason == reason]
        loads = ", ".join(
            f"{gap.steps}{' or more' * gap.beyond} steps down to {short_fraction(gap.load)}"
            for gap in of_reason
        )
        loads = (
            loads.replace("1 steps", "1 step")
            if of_reason[0].steps == 1 and not of_reason[0].beyond
            else loads
        )
        why = _WORDS[reason].format(chunks=max(gap.chunks for gap in of_reason))
        parts.append(f"a smaller R/C is not excluded, with {loads}: {why}")
    return "; ".join(parts)
