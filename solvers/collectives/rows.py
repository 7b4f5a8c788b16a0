"""The answer to "which C, S, R are worth having": rows of a front, and why it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from solvers.collectives.candidates import CHUNKS, SIZE, TIME, Gap
from solvers.collectives.schedule import Schedule

EXACT = "exact"
"""By the steps, by a cut, or by a linear program whose prices were checked in fractions."""
MIXED_INTEGER = "mixed-integer program"
"""By HiGHS in floating-point numbers, rounded up (`rounds.TOLERANCE`)."""
SEARCH = "search"
"""By CP-SAT, which found that no schedule has fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One schedule of a front.

    Attributes:
        schedule: The best found with so many steps.
        lower_bound: No schedule with this C and S has fewer rounds.
        load_bound: No schedule with S steps has a smaller R / C, whatever C.
        bound_by: What `lower_bound` rests on where it is more than `load_bound` gives:
            `MIXED_INTEGER` or `SEARCH`.
    """

    schedule: Schedule
    lower_bound: int
    load_bound: Fraction
    bound_by: str = EXACT

    @property
    def chunks(self) -> int:
        """C."""
        return self.schedule.chunks

    @property
    def steps(self) -> int:
        """S."""
        return self.schedule.steps

    @property
    def rounds(self) -> int:
        """R."""
        return self.schedule.total_rounds

    @property
    def load(self) -> Fraction:
        """R / C: rounds per buffer L."""
        return self.schedule.load

    @property
    def proved(self) -> bool:
        """Whether no schedule with this C and S has fewer rounds."""
        return self.rounds <= self.lower_bound

    @property
    def proof(self) -> str | None:
        """What proves it: `EXACT` where that suffices; None where nothing does."""
        if not self.proved:
            return None
        exact = max(self.steps, math.ceil(self.load_bound * self.chunks))
        return EXACT if self.rounds <= exact else self.bound_by

    @property
    def least_load(self) -> bool:
        """Whether no schedule with so many steps has a smaller R / C, whatever C."""
        return self.load <= self.load_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Schedules of which none has both no more steps and no more rounds per buffer than another.

    Attributes:
        collective: What they do.
        rows: S rising, R / C falling.
        least_steps: No schedule has fewer steps.
        limit: No schedule has a smaller R / C, however many steps and chunks.
        complete: Whether it is proved that no schedule is left out, whatever C.
        complete_to: Up to so many chunks it is proved that no schedule is left out, however many
            steps; None: no number of chunks, or all of them.
        ends: Why there are no more rows, in words.
        seconds: Wall time; not compared.
        gaps: Numbers of steps for which better schedules are not excluded.
        out_of_time: Whether the time ended before all steps were tried.
    """

    collective: str
    rows: tuple[Row, ...]
    least_steps: int
    limit: Fraction
    complete: bool
    ends: str
    seconds: float = field(compare=False)
    gaps: tuple[Gap, ...] = ()
    out_of_time: bool = False
    complete_to: int | None = None

    @property
    def ended_by(self) -> str:
        """`proof`, `time limit`, `size` (of programs), or what else was not tried.

        That is `chunks` or `steps`, no more of them, or of an all-reduce other `compositions`.
        """
        if self.complete:
            return "proof"
        reasons = {gap.reason for gap in self.gaps}
        if self.out_of_time or TIME in reasons:
            return TIME
        if self.collective == "allreduce":
            return "compositions"
        return SIZE if SIZE in reasons else CHUNKS if CHUNKS in reasons else "steps"
