"""The Pareto front of a collective: the fewest rounds per buffer for every number of steps.

For S = S_min, S_min + 1, ...: rho_S is the exact infimum of R / C with S steps, whatever C, so R
is at least max(S, ceil(rho_S C)). Numbers of chunks are tried in the order of the R / C that they
could reach, the first few before all others, until no other can beat the best schedule found.
Each takes no more than a part of the time of its S, and each S of what is left, so that a hard one
leaves time for the others. The front ends where rho_S, or what was found, meets the limit that
holds for any number of steps: more steps gain nothing then.

Source of the question and of the loop over S: Cai et al., Synthesizing Optimal Collective
Algorithms, PPoPP 2021, doi:10.1145/3437801.3441620, algorithm 1 (there with a bound by cuts of
single nodes, and without a proof for all C).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from solvers.collectives.allreduce import Members, allreduce_load, allreduce_rows
from solvers.collectives.clock import deadline_of, left_s
from solvers.collectives.commodities import commodities
from solvers.collectives.compose import reverse
from solvers.collectives.flows import LoadBound, load_bound
from solvers.collectives.problem import Network
from solvers.collectives.rows import MIXED_INTEGER, SEARCH, Front, Row
from solvers.collectives.searching import RAISED
from solvers.collectives.symmetry import Permutation
from solvers.collectives.synthesis import (
    Question,
    as_asked,
    fewest_rounds,
    question,
    round_bound,
    tree_schedule,
)

MAX_CHUNKS = 32
"""Chunks that are tried unless more are asked for."""
MORE_STEPS = 3
"""Steps beyond the fewest that are tried unless more are asked for."""
_FEW = 4
"""Numbers of chunks that are tried before more promising ones: their programs are small."""
_MORE = 8
"""And then up to these."""
_GRACE_S = 1.0
"""So much later what is made without a search may end, or by what trees would take instead."""
_SEND_S = 1e-5
"""About what it takes to write down and to replay one send."""
_SHARE = 0.5
"""Of the time of one number of chunks, what its bound may take."""
_STEPS_SHARE = 0.4
"""Of the time that is left, what one number of steps takes, if several follow."""
_BEST_FRACTION = 0.6
"""Of the time of one S that is left, what the most promising number of chunks takes."""
_FEW_FRACTION = 0.4
"""Of the time of one S that is left, what each of the first few numbers of chunks takes."""
_LEAST_S = 0.2
"""Less is of no use to a number of chunks."""
_FRACTION = 0.25
"""Of the time that is left, what the search for symmetries, a bound, one number of chunks take."""

OnRow = Callable[[Row], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far a front is followed.

    Attributes:
        max_chunks: The largest C tried.
        max_steps: The largest S tried; None: `MORE_STEPS` beyond the fewest.
        time_limit_s: When the search ends with what it has.
        seed: Of CP-SAT.
    """

    max_chunks: int = MAX_CHUNKS
    max_steps: int | None = None
    time_limit_s: float = 60.0
    seed: int = 0


def pareto(
    network: Network,
    collective: str,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    symmetries: Sequence[Permutation] = (),
    effort: Effort | None = None,
    on_row: OnRow | None = None,
) -> Front:
    """All C, S, R worth having: for each S the least R / C, as long as it falls.

    Args:
        network: Nodes, links, lanes, shared capacities.
        collective: Any; an allreduce is composed of a reduce-scatter and an allgather, or of an
            allgather and local sums.
        root: Of rooted collectives: its place within every group.
        groups: Members of each group; default: all nodes.
        symmetries: Known automorphisms; default: they are searched for.
        effort: Limits; default: those of `Effort`.
        on_row: Called with each row as it is found (of an allreduce: of its halves).

    Returns:
        The front; with a time limit it has at least its first row, proved or not.

    Raises:
        ValueError: A wrong collective, root or group, or nodes that cannot be reached.
    """
    effort = effort or Effort()
    started = time.perf_counter()
    if collective == "allreduce":
        return _composed(network, groups, symmetries, effort, on_row)
    deadline = deadline_of(effort.time_limit_s)
    asked = question(
        network, collective, root=root, groups=groups, symmetries=symmetries,
        time_limit_s=effort.time_limit_s * _FRACTION,
    )  # fmt: skip
    limit = load_bound(
        asked.forward, asked.copied(1), group=asked.group,
        time_limit_s=left_s(deadline) * _FRACTION,
    )  # fmt: skip
    walk = _Walk(asked=asked, limit=limit, effort=effort, deadline=deadline, sends=_sends(asked))
    ends = walk.run(on_row)
    return Front(
        collective=collective,
        rows=tuple(walk.rows),
        least_steps=asked.least_steps,
        limit=limit.load,
        complete=walk.complete and walk.met,
        ends=ends,
        seconds=time.perf_counter() - started,
    )


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The way along a front.

    Attributes:
        asked: The question.
        limit: Of R / C with any number of steps.
        effort: Limits.
        deadline: On the clock of `time.perf_counter`.
        sends: What one chunk of every part takes, about.
        rows: Found so far.
        complete: Whether no row can be missing so far.
    """

    asked: Question
    limit: LoadBound
    effort: Effort
    deadline: float
    sends: int
    rows: list[Row] = field(default_factory=list)
    complete: bool = True

    @property
    def met(self) -> bool:
        """Whether the last row has the least R / C of all."""
        return bool(self.rows) and self.rows[-1].load <= self.limit.load

    def run(self, on_row: OnRow | None) -> str:
        """Find row after row; returns why there are no more, in words.

        Each number of steps takes no more than a part of the time that is left.
        """
        first = self.asked.least_steps
        last = max(first, self.effort.max_steps or first + MORE_STEPS)
        for steps in range(first, last + 1):
            if self.rows and not left_s(self.deadline):
                return f"the time ended before {steps} steps"
            share = max(1 / (last + 1 - steps), _STEPS_SHARE)
            until = deadline_of(left_s(self.deadline) * share)
            row = self._row(steps, until)
            if row is not None:
                self.rows.append(row)
                if on_row is not None:
                    on_row(row)
            if self.met:
                return "no schedule with more steps has a smaller R/C"
        return f"more than {last} steps were not tried"

    def _row(self, steps: int, until: float) -> Row | None:
        """The least R / C with so many steps, if it is less than with fewer."""
        before = self.rows[-1].load if self.rows else None
        bound, exact = self._bound(steps, until)
        if before is not None and bound >= before:
            return None
        order = [chunks for _, chunks in _promising(bound, steps, self.effort.max_chunks)]
        few, more, others = (
            [chunks for chunks in order if low < chunks <= high]
            for low, high in ((0, _FEW), (_FEW, _MORE), (_MORE, self.effort.max_chunks))
        )
        of_step = _OfSteps(walk=self, steps=steps, bound=bound, until=until, before=before)
        # A bound that time cut short says little of what is promising; few chunks are quick.
        of_step.search(few if exact else sorted(few), _FEW_FRACTION)
        of_step.search(more, _FRACTION)
        of_step.search(others[:1], _BEST_FRACTION)
        of_step.along_trees()
        of_step.search(others[1:], _FRACTION)
        best = of_step.best
        self.complete &= best is not None and best.least_load
        return best

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


@dataclass(slots=True, kw_only=True)
class _OfSteps:
    """The way to the best row with a number of steps.

    Attributes:
        walk: Along the front.
        steps: S.
        bound: Of R / C.
        until: When it ends, on the clock of `time.perf_counter`.
        before: R / C of the last row, which is to be beaten; None: this is the first.
        best: The best row so far.
    """

    walk: _Walk
    steps: int
    bound: Fraction
    until: float
    before: Fraction | None
    best: Row | None = None

    @property
    def beaten(self) -> Fraction | None:
        """R / C of the best schedule so far, of fewer steps too."""
        return self.best.load if self.best else self.before

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
        return left_s(self.until) > _SEND_S * self.walk.sends * chunks

    def _better(self, chunks: int, seconds: float) -> None:
        """The best schedule of (C, S), if its R / C is less than the one to be beaten."""
        walk, known, until = self.walk, None, deadline_of(min(seconds, left_s(self.until)))
        if self.beaten is not None and self._least(chunks) > self.steps:
            known = round_bound(
                walk.asked, chunks, self.steps, limit=self.bound,
                time_limit_s=left_s(until) * _SHARE,
            )  # fmt: skip
            if known.lower_bound >= self.beaten * chunks:
                return
        first = not walk.rows and self.beaten is None
        found = fewest_rounds(
            walk.asked, chunks, self.steps, limit=self.bound, known=known,
            time_limit_s=left_s(until), seed=walk.effort.seed,
            ready_s=left_s(walk.deadline) + max(_GRACE_S, _SEND_S * walk.sends) if first else None,
        )  # fmt: skip
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
        asked, until = self.walk.asked, deadline_of(left_s(self.until) * _FRACTION)
        loads: dict[int, Fraction] = {}
        for chunks in range(1, self.walk.effort.max_chunks + 1):
            if left_s(until) <= _SEND_S * self.walk.sends * chunks:
                break
            loads[chunks] = Fraction(sum(tree_schedule(asked, chunks, self.steps)[1]), chunks)
        chunks = min(loads, key=lambda one: loads[one], default=0)
        if not chunks or (self.beaten is not None and loads[chunks] >= self.beaten):
            return
        schedule = as_asked(asked, chunks, *tree_schedule(asked, chunks, self.steps))
        self.best = Row(schedule=schedule, lower_bound=self._least(chunks), load_bound=self.bound)


def _sends(asked: Question) -> int:
    """Sends of one chunk of every part: one per destination, or along its way to a single one."""
    parts = commodities(asked.copied(1))
    return sum(
        len(ends) if len(ends) > 1 else asked.hops[source][ends[0]] for source, ends, _ in parts
    )


def _promising(bound: Fraction, steps: int, most: int) -> list[tuple[Fraction, int]]:
    """(least possible R / C, C) for each C up to the most, the smallest first."""
    return sorted(
        (Fraction(max(steps, math.ceil(bound * chunks)), chunks), chunks)
        for chunks in range(1, most + 1)
    )


def _composed(
    network: Network,
    groups: Sequence[Sequence[int]] | None,
    symmetries: Sequence[Permutation],
    effort: Effort,
    on_row: OnRow | None,
) -> Front:
    """The front of an all-reduce, of those of its halves."""
    started = time.perf_counter()
    half = replace(effort, time_limit_s=effort.time_limit_s * _SHARE)
    gathering = pareto(
        network, "allgather", groups=groups, symmetries=symmetries, effort=half, on_row=on_row
    )
    if same_backwards(network):
        scattering = tuple(reverse(row.schedule) for row in gathering.rows)
    else:
        scattered = pareto(
            network, "reduce-scatter", groups=groups, symmetries=symmetries, effort=half,
            on_row=on_row,
        )  # fmt: skip
        scattering = tuple(row.schedule for row in scattered.rows)
    among = Members(
        network=network,
        groups=None if groups is None else tuple(tuple(members) for members in groups),
    )
    rows = allreduce_rows(
        among, scattering, [row.schedule for row in gathering.rows], gathering.least_steps
    )
    limit = allreduce_load(network, among.sizes)
    met = rows[-1].load <= limit
    return Front(
        collective="allreduce",
        rows=rows,
        least_steps=gathering.least_steps,
        limit=limit,
        complete=False,
        ends="no schedule with more steps has a smaller R/C" if met else gathering.ends,
        seconds=time.perf_counter() - started,
    )


def same_backwards(network: Network) -> bool:
    """Whether a network and the one with all links turned round are the same."""
    there, back = (
        (
            set(zip(way.links, way.lanes, strict=True)),
            Counter(
                (frozenset(way.links[link] for link in port.links), port.capacity)
                for port in way.shared
            ),
        )
        for way in (network, network.reversed())
    )
    return there == back
