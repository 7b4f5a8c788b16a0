"""The way along a Pareto front: one number of steps after the other, and what is left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

from solvers.clock import OutOfTime, deadline_of, left_s
from solvers.collectives.candidates import (
    CHUNKS,
    MAX_CHUNKS,
    STEPS,
    TIME,
    Gap,
    gap_words,
    promising,
)
from solvers.collectives.commodities import commodities
from solvers.collectives.deliveries import steps_bound
from solvers.collectives.flows import LoadBound, load_bound
from solvers.collectives.pipelines import NEAR, further_steps, has_pipelines, plain_row
from solvers.collectives.rows import Row
from solvers.collectives.step_search import FRACTION, Effort, StepSearch
from solvers.collectives.synthesis import Question, deliveries_of
from solvers.collectives.whole_rounds import excess

MORE_STEPS = 3
"""Steps beyond the fewest that are tried unless more are asked for."""
_FEW = 4
"""Numbers of chunks that are tried before more promising ones: their programs are small."""
_MORE = 8
"""And then up to these."""
_SHARE = 0.5
"""Of the time of one number of chunks, what its bound may take."""
_STEPS_SHARE = 0.4
"""Of the time that is left, what one number of steps takes, if several follow."""
_BEST_FRACTION = 0.6
"""Of the time of one S that is left, what the most promising number of chunks takes."""
_FEW_FRACTION = 0.4
"""Of the time of one S that is left, what each of the first few numbers of chunks takes."""

_PIPED_SHARE = 0.1
"""Of all time, what rows with many more steps may take."""
_QUICK_SENDS = 1000
"""Sends up to which a search is quicker than schedules along ways, and goes before them."""
MET = "no schedule with more steps has a smaller R/C"
_OF_CHUNKS = "no schedule of at most {chunks} chunks is left out, however many steps it takes"

OnRow = Callable[[Row], None]


@dataclass(slots=True, kw_only=True)
class Walk:
    """The way along a front.

    Attributes:
        asked: The question.
        limit: Of R / C with any number of steps.
        effort: Limits.
        deadline: On the clock of `time.perf_counter`.
        sends: What one chunk of every part takes, about.
        tried: What was found with each number of steps, that fewer do not rule out.
        out_of_time: Whether the time ended before all steps were tried.
        piped: Rows with more steps than are searched.
        beyond: The fewest steps that were not searched.
        complete_to: Chunks up to which nothing is left out, however many steps; None: no number.
        excess: No schedule has fewer rounds than limit C + excess; None: not asked for so far.
    """

    asked: Question
    limit: LoadBound
    effort: Effort
    deadline: float
    sends: int
    tried: list[StepSearch] = field(default_factory=list)
    out_of_time: bool = False
    piped: list[Row] = field(default_factory=list)
    beyond: int = 0
    complete_to: int | None = None
    excess: Fraction | None = None

    @property
    def rows(self) -> list[Row]:
        """Found so far: S rising, R / C falling."""
        rows: list[Row] = []
        for one in self.tried:
            if one.best is not None and (not rows or one.best.load < rows[-1].load):
                rows.append(one.best)
        for row in sorted(self.piped, key=lambda row: (row.steps, row.load)):
            if row.load < rows[-1].load:
                rows.append(row)
        return rows

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What is left open."""
        gaps = [gap for one in self.tried if (gap := one.gap()) is not None]
        if self.beyond and not self.met:
            gaps.append(Gap(
                steps=self.beyond, load=self.limit.load,
                chunks=self.complete_to or self.effort.max_chunks or MAX_CHUNKS,
                reason=TIME if self.out_of_time else CHUNKS if self.complete_to else STEPS,
                beyond=True,
            ))  # fmt: skip
        return tuple(gaps)

    @property
    def met(self) -> bool:
        """Whether the last row has the least R / C of all."""
        rows = self.rows
        return bool(rows) and rows[-1].load <= self.limit.load

    def run(self, on_row: OnRow | None) -> str:
        """Find row after row; returns why there are no more, in words."""
        until = self.deadline
        piped = has_pipelines(self.asked) and self.effort.max_steps is None
        if piped:
            self.deadline = deadline_of(left_s(until) * (1 - _PIPED_SHARE))
        ends = self._walk(on_row)
        self._again(on_row)
        self.deadline = until
        if piped and not self.met:
            ends = "; ".join((ends, *self._piped(on_row)))
        if self.met:
            ends = MET
        return "; ".join(words for words in (ends, gap_words(self.gaps)) if words)

    def _walk(self, on_row: OnRow | None) -> str:
        """One number of steps after the other.

        Each number of steps takes no more than a part of the time that is left.
        """
        first = self.asked.least_steps
        last = max(first, self.effort.max_steps or first + MORE_STEPS)
        for steps in count(first):
            if steps > last and not self._gaining:
                break
            if self.rows and not left_s(self.deadline):
                self.out_of_time, self.beyond = True, steps
                return f"the time ended before {steps} steps"
            share = max(1 / max(last + 1 - steps, 1), _STEPS_SHARE)
            until = deadline_of(left_s(self.deadline) * share)
            of_step = self._row(steps, until)
            if of_step is not None and of_step.best is not None and on_row is not None:
                on_row(of_step.best)
            if self.met:
                return MET
            self.complete_to = self._complete_to()
            if self.complete_to:
                self.beyond = steps + 1
                return _OF_CHUNKS.format(chunks=self.complete_to)
        self.beyond = steps
        return f"more than {steps - 1} steps were not tried"

    @property
    def _gaining(self) -> bool:
        """Whether it is worth while to go on to more steps than are tried otherwise."""
        gained = self._settled and self.tried[-1].best is not None
        return gained and bool(self.excess) and self.effort.max_steps is None

    @property
    def _settled(self) -> bool:
        """Whether nothing but more chunks can do better, with each number of steps so far.

        The last one for all numbers of chunks at once, so that with more steps it is as quick.
        """
        return (
            bool(self.tried)
            and self.tried[-1].settled
            and all(gap.reason == CHUNKS for one in self.tried if (gap := one.gap()) is not None)
        )

    def _complete_to(self) -> int | None:
        """Numbers of chunks up to which no number of steps has a smaller R / C than the last row.

        R is at least limit C + excess, so R / C at least limit + excess / C.
        """
        most = min((max(one.order) for one in self.tried), default=0)
        if not (self.rows and self._settled):
            return None
        if self.excess is None:
            self.excess = self._excess()
        least = self.limit.load + self.excess / most
        return most if self.rows[-1].load <= least else None

    def _excess(self) -> Fraction:
        """The least of R - limit C over all schedules; 0 where it is not known."""
        made = deliveries_of(self.asked, self.asked.least_steps, phase=True)
        if made is None:
            return Fraction(0)
        try:
            return excess(
                made, self.limit.load, deadline=deadline_of(left_s(self.deadline) * FRACTION)
            )
        except OutOfTime:
            return Fraction(0)

    def _again(self, on_row: OnRow | None) -> None:
        """Searches that only their share of the time ended, in the time that is left."""
        again = [one for one in self.tried if one.gap() is not None and one.cut_short]
        for at, one in enumerate(again):
            before = one.best
            one.until = deadline_of(left_s(self.deadline) / (len(again) - at))
            one.search(one.cut_short, _SHARE)
            if on_row is not None and one.best is not None and one.best is not before:
                on_row(one.best)

    def _piped(self, on_row: OnRow | None) -> list[str]:
        """Rows with many more steps, along known trees; says up to how many steps.

        They take no program, so what is found does not depend on how fast the machine is.
        """
        asked, most = self.asked, self.effort.max_chunks
        further = list(further_steps(asked.least_steps + MORE_STEPS))
        for steps in further:
            before = self.rows[-1].load
            if not left_s(self.deadline) or before <= NEAR * self.limit.load:
                break
            row = plain_row(asked, steps, self.limit.load, before=before, most=most)
            if row is not None:
                self.piped.append(row)
        self.piped = _ever_best(self.rows, self.piped)
        rows = [row for row in self.rows if row in self.piped]
        if on_row is not None:
            for row in rows:
                on_row(row)
        return [f"up to {rows[-1].steps} steps only along known trees"] if rows else []

    def _row(self, steps: int, until: float) -> StepSearch | None:
        """The least R / C with so many steps, if it can be less than with fewer."""
        of_step = self._delivered(steps, until)
        if of_step is None or (not of_step.settled and of_step.gap() is not None):
            bound, exact = self._bound(steps, until)
            of_step = of_step or self._step(steps, until, bound)
            of_step.raised(bound)
            if of_step.gap() is not None:
                self._one_by_one(of_step, exact)
        if of_step.best is None and of_step.gap() is None:
            return None
        self.tried.append(of_step)
        return of_step

    def _step(self, steps: int, until: float, bound: Fraction) -> StepSearch:
        """What is about to be found with so many steps."""
        rows = self.rows
        return StepSearch(
            asked=self.asked, effort=self.effort, deadline=self.deadline, sends=self.sends,
            steps=steps, bound=bound, until=until, before=rows[-1].load if rows else None,
            order=promising(bound, steps, self.effort.max_chunks, self.sends),
        )  # fmt: skip

    def _delivered(self, steps: int, until: float) -> StepSearch | None:
        """The least R / C by deliveries, over all numbers of chunks at once; None: by none."""
        asked = self.asked
        made = deliveries_of(asked, steps)
        if made is None:
            return None
        try:
            bound, per_chunk = steps_bound(
                asked.forward, asked.copied(1), made, group=asked.group,
                deadline=deadline_of(left_s(until) * FRACTION),
            )  # fmt: skip
        except OutOfTime:
            return None
        of_step = self._step(steps, until, max(bound, self.limit.load))
        if of_step.gap() is not None:
            of_step.together(made, per_chunk)
        return of_step

    def _one_by_one(self, of_step: StepSearch, exact: bool) -> None:
        """One number of chunks after the other.

        Args:
            of_step: Is searched.
            exact: Its bound is the infimum.
        """
        most = self.effort.max_chunks or MAX_CHUNKS
        order = of_step.order
        few, more, others, beyond = (
            [chunks for chunks in order if low < chunks <= high]
            for low, high in ((0, _FEW), (_FEW, _MORE), (_MORE, most), (most, max(order)))
        )
        quick = self.sends * max(order) <= _QUICK_SENDS
        if not quick:
            of_step.at_once()
        # A bound that time cut short says little of what is promising; few chunks are quick.
        of_step.search(few if exact else sorted(few), _FEW_FRACTION)
        of_step.search(more, FRACTION)
        of_step.search(others[:1], _BEST_FRACTION)
        if quick and of_step.gap() is not None:
            of_step.at_once()
        of_step.along_trees()
        of_step.search(others[1:], FRACTION)
        of_step.search(beyond, FRACTION * 2)

    def _bound(self, steps: int, until: float) -> tuple[Fraction, bool]:
        """rho_S, or the limit of all S where the program is too large or time is short.

        Also whether it is known to be the infimum.
        """
        asked = self.asked
        found = load_bound(
            asked.forward, asked.copied(1), steps, group=asked.group,
            time_limit_s=left_s(until) * _SHARE,
        )  # fmt: skip
        if found.load > self.limit.load:
            return found.load, found.exact
        return self.limit.load, self.limit.exact


def _ever_best(rows: Sequence[Row], weak: Sequence[Row]) -> list[Row]:
    """Of weak rows those that are the fastest for some size: on the lower envelope, or proved."""
    envelope: list[Row] = []
    for row in rows:
        while len(envelope) > 1 and _above(envelope[-2], envelope[-1], row):
            envelope.pop()
        envelope.append(row)
    return [row for row in weak if row.proved or row in envelope]


def _above(left: Row, middle: Row, right: Row) -> bool:
    """Whether a row lies on or above the line between two others, R / C over S."""
    falls = (left.load - middle.load) * (right.steps - left.steps)
    return falls <= (left.load - right.load) * (middle.steps - left.steps)


def sends_of(asked: Question) -> int:
    """Sends of one chunk of every part: one per destination, or along its way to a single one."""
    parts = commodities(asked.copied(1))
    return sum(
        len(ends) if len(ends) > 1 else asked.hops[source][ends[0]] for source, ends, _ in parts
    )
