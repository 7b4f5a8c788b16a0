"""The best schedule for a number of steps, over many numbers of chunks, in limited time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from solvers.clock import OutOfTime, deadline_of, left_s
from solvers.collectives.candidates import CHUNKS, MAX_CHUNKS, SIZE, TIME, Gap, promising
from solvers.collectives.deliveries import Array, Deliveries
from solvers.collectives.model import parts_of
from solvers.collectives.pipelines import row_at_once
from solvers.collectives.rounds import RoundBound
from solvers.collectives.rows import MIXED_INTEGER, SEARCH, Row
from solvers.collectives.searching import RAISED, many_sends
from solvers.collectives.synthesis import (
    Question,
    as_asked,
    fewest_rounds,
    round_bound,
    tree_schedule,
)
from solvers.collectives.whole_rounds import least_ratio
from solvers.solution import Status

_SEND_S = 1e-5
"""About what it takes to write down and to replay one send."""
_GRACE_S = 1.0
"""So much later what is made without a search may end, or by what trees would take instead."""
_ENDED = 0.05
"""More of its time is left where a search ended by itself."""
_LEAST_S = 0.2
"""Less is of no use to a number of chunks."""
_SHARE = 0.5
"""Of the time of one number of chunks, what its bound may take."""
_TOGETHER = 0.9
"""Of the time of one S that is left, what the best number of chunks of all takes."""
FRACTION = 0.25
"""Of the time that is left, what the search for symmetries, a bound, one number of chunks take."""

OnSearch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far a front is followed.

    Attributes:
        max_chunks: The largest C tried; None: see `candidates.promising`.
        max_steps: The largest S tried; None: `walk.MORE_STEPS` beyond the fewest, and more where
            all numbers of chunks are settled at once and every step gains.
        time_limit_s: When the search ends with what it has.
        seed: Of CP-SAT.
        on_search: Called with S and C before each search.
    """

    max_chunks: int | None = None
    max_steps: int | None = None
    time_limit_s: float = 60.0
    seed: int = 0
    on_search: OnSearch | None = None


@dataclass(slots=True, kw_only=True)
class StepSearch:
    """The way to the best row with a number of steps.

    Attributes:
        asked: The question.
        effort: Limits.
        deadline: Of the front, on the clock of `time.perf_counter`.
        sends: What one chunk of every part takes, about.
        steps: S.
        bound: Of R / C.
        until: When it ends, on the clock of `time.perf_counter`.
        before: R / C of the last row, which is to be beaten; None: this is the first.
        order: The numbers of chunks to be tried, the most promising first.
        best: The best row so far.
        least_of: What R is at least with numbers of chunks that were tried.
        in_time: Numbers of chunks that were tried until the search ended by itself.
        settled: Whether no number of chunks up to the largest has a smaller R / C than the best.
    """

    asked: Question
    effort: Effort
    deadline: float
    sends: int
    steps: int
    bound: Fraction
    until: float
    before: Fraction | None
    order: list[int]
    best: Row | None = None
    least_of: dict[int, int] = field(default_factory=dict)
    in_time: set[int] = field(default_factory=set)
    settled: bool = False

    @property
    def beaten(self) -> Fraction | None:
        """R / C of the best schedule so far, of fewer steps too."""
        return self.best.load if self.best else self.before

    @property
    def open(self) -> list[int]:
        """Numbers of chunks with which a better schedule is not excluded."""
        if self.settled:
            return []
        return [
            chunks for chunks in self.order
            if self.beaten is None
            or self.least_of.get(chunks, self._least(chunks)) < self.beaten * chunks
        ]  # fmt: skip

    @property
    def cut_short(self) -> list[int]:
        """Those of them whose search was ended, or that were not tried at all."""
        return [chunks for chunks in self.open if chunks not in self.in_time]

    def gap(self) -> Gap | None:
        """What is left open, if anything is."""
        if self.beaten is not None and self.beaten <= self.bound:
            return None
        reason = TIME if self.cut_short else SIZE if self.open else CHUNKS
        return Gap(steps=self.steps, load=self.bound, chunks=max(self.order), reason=reason)

    def raised(self, bound: Fraction) -> None:
        """No schedule with so many steps has a smaller R / C than a bound."""
        if bound <= self.bound:
            return
        self.bound = bound
        self.order = promising(bound, self.steps, self.effort.max_chunks, self.sends)
        if self.best is not None:
            lower = max(self.best.lower_bound, self._least(self.best.chunks))
            self.best = replace(self.best, load_bound=bound, lower_bound=lower)

    def at_once(self) -> None:
        """The best schedule along ways, of collectives with a root."""
        made = row_at_once(
            self.asked, self.steps, self.bound, before=self.beaten,
            most=self.effort.max_chunks, until=deadline_of(left_s(self.until) * FRACTION),
        )  # fmt: skip
        self.best = made or self.best
        if made is None or self.best is None or self.best.proved:
            return
        known = round_bound(
            self.asked, self.best.chunks, self.steps, limit=self.bound,
            time_limit_s=left_s(self.until) * FRACTION / 2,
        )  # fmt: skip
        if known.lower_bound > self.best.lower_bound:
            self.best = replace(self.best, lower_bound=known.lower_bound, bound_by=MIXED_INTEGER)

    def together(self, made: Deliveries, per_chunk: Array) -> None:
        """All numbers of chunks at once: the least R / C by deliveries, and a schedule for it.

        Args:
            made: The constraints with so many steps.
            per_chunk: (S,) rounds per chunk that meet them, chunks split at will.
        """
        until = deadline_of(left_s(self.until) * FRACTION)
        try:
            least = least_ratio(made, per_chunk, max(self.order), limit=self.bound, deadline=until)
        except OutOfTime:
            return
        if self.beaten is None or least.load < self.beaten:
            parts = parts_of(self.asked.copied(least.chunks))
            known = RoundBound(
                lower_bound=sum(least.rounds), rounds=least.rounds, status=Status.OPTIMAL,
                seconds=0.0,
            )  # fmt: skip
            many = many_sends(self.asked, parts, self.steps)
            seconds = left_s(self.until) * _TOGETHER
            self._better(least.chunks, seconds, known if many else None)
        self.settled = self.beaten is not None and self.beaten <= least.load

    def search(self, numbers: Sequence[int], fraction: float) -> None:
        """One number of chunks after the other, each in a part of the time that is left."""
        least_s = max(left_s(self.until) * fraction / 2, _LEAST_S)
        for chunks in numbers:
            if self.beaten is not None:
                if self._least(chunks) >= self.beaten * chunks:
                    continue
                if not self._worth(chunks):
                    break
            self._better(chunks, max(left_s(self.until) * fraction, least_s))

    def _least(self, chunks: int) -> int:
        return max(self.steps, math.ceil(self.bound * chunks))

    def _worth(self, chunks: int) -> bool:
        """Whether there is time to write down a schedule of so many chunks at all."""
        return left_s(self.until) > _SEND_S * self.sends * chunks

    def _better(self, chunks: int, seconds: float, known: RoundBound | None = None) -> None:
        """The best schedule of (C, S), if its R / C is less than the one to be beaten."""
        until = deadline_of(min(seconds, left_s(self.until)))
        if self.effort.on_search is not None:
            self.effort.on_search(self.steps, chunks)
        if known is None and self.beaten is not None and self._least(chunks) > self.steps:
            known = round_bound(
                self.asked, chunks, self.steps, limit=self.bound,
                time_limit_s=left_s(until) * _SHARE,
            )  # fmt: skip
            self.least_of[chunks] = known.lower_bound
            if known.lower_bound >= self.beaten * chunks:
                return
        first = self.before is None and self.best is None
        found = fewest_rounds(
            self.asked, chunks, self.steps, limit=self.bound, known=known,
            time_limit_s=left_s(until), seed=self.effort.seed, along_ways=False,
            ready_s=left_s(self.deadline) + max(_GRACE_S, _SEND_S * self.sends) if first else None,
        )  # fmt: skip
        self.least_of[chunks] = int(found.bound)
        if left_s(until) > _ENDED * seconds:
            self.in_time.add(chunks)
        schedule = found.decision
        if schedule is None or (self.beaten is not None and schedule.load >= self.beaten):
            return
        self.best = Row(
            schedule=schedule, lower_bound=int(found.bound), load_bound=self.bound,
            bound_by=SEARCH if RAISED in found.counts else MIXED_INTEGER,
        )  # fmt: skip

    def along_trees(self) -> None:
        """The best schedule by shortest trees over all numbers of chunks, if it is better."""
        if self.best is not None and self.best.least_load:
            return
        asked, until = self.asked, deadline_of(left_s(self.until) * FRACTION)
        loads: dict[int, Fraction] = {}
        for chunks in range(1, (self.effort.max_chunks or MAX_CHUNKS) + 1):
            if left_s(until) <= _SEND_S * self.sends * chunks:
                break
            loads[chunks] = Fraction(sum(tree_schedule(asked, chunks, self.steps)[1]), chunks)
        chunks = min(loads, key=lambda one: loads[one], default=0)
        if not chunks or (self.beaten is not None and loads[chunks] >= self.beaten):
            return
        schedule = as_asked(asked, chunks, *tree_schedule(asked, chunks, self.steps))
        self.best = Row(schedule=schedule, lower_bound=self._least(chunks), load_bound=self.bound)
