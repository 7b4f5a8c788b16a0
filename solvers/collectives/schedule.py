"""A schedule: which chunk crosses which link in which step, and how long each step lasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple


class Send(NamedTuple):
    """One chunk over one link.

    Attributes:
        step: From 0.
        source, target: Ends of the link.
        chunk: Number of the chunk in the goal.
        reduces: The target adds what arrives to what it has (else it stores a copy).
    """

    step: int
    source: int
    target: int
    chunk: int
    reduces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Sends in steps, for C chunks of the buffer L of the collective.

    Attributes:
        collective: One of `solvers.collectives.problem.COLLECTIVES`.
        chunks: C, see `goal_of`.
        rounds: Rounds of each step, at least 1 each.
        sends: Sorted by step, then source, target, chunk.
        local_reduce: Copies of every member's contribution are gathered, and each member adds
            them up itself: the goal is that of an allgather of whole buffers, C chunks each.
    """

    collective: str
    chunks: int
    rounds: tuple[int, ...]
    sends: tuple[Send, ...] = field(repr=False)
    local_reduce: bool = False

    @property
    def steps(self) -> int:
        """S."""
        return len(self.rounds)

    @property
    def total_rounds(self) -> int:
        """R."""
        return sum(self.rounds)

    @property
    def load(self) -> Fraction:
        """R / C: rounds per buffer L."""
        return Fraction(self.total_rounds, self.chunks)
