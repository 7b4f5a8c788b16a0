"""The Pareto front of a collective: the fewest rounds per buffer for every number of steps.

For S = S_min, S_min + 1, ...: rho_S is the exact infimum of R / C with S steps, whatever C, so R
is at least max(S, ceil(rho_S C)). Numbers of chunks are tried in the order of the R / C that they
could reach, until no other can beat the best schedule found. The front ends where rho_S, or what
was found, meets the limit that holds for any number of steps: more steps gain nothing then.

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
from solvers.collectives.compose import reverse
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import Network
from solvers.collectives.rows import Front, Row
from solvers.collectives.symmetry import Permutation
from solvers.collectives.synthesis import Question, fewest_rounds, question, round_bound

MAX_CHUNKS = 32
"""Chunks that are tried unless more are asked for."""
MORE_STEPS = 3
"""Steps beyond the fewest that are tried unless more are asked for."""
_SHARE = 0.5
"""Of the time that is left, what the bound of one number of chunks, and then its search, take."""

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
    asked = question(network, collective, root=root, groups=groups, symmetries=symmetries)
    limit = load_bound(asked.forward, asked.copied(1), group=asked.group).load
    walk = _Walk(asked=asked, limit=limit, effort=effort, deadline=started + effort.time_limit_s)
    ends = walk.run(on_row)
    return Front(
        collective=collective,
        rows=tuple(walk.rows),
        least_steps=asked.least_steps,
        limit=limit,
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
        rows: Found so far.
        complete: Whether no row can be missing so far.
    """

    asked: Question
    limit: Fraction
    effort: Effort
    deadline: float
    rows: list[Row] = field(default_factory=list)
    complete: bool = True

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.perf_counter()

    @property
    def met(self) -> bool:
        """Whether the last row has the least R / C of all."""
        return bool(self.rows) and self.rows[-1].load <= self.limit

    def run(self, on_row: OnRow | None) -> str:
        """Find row after row; returns why there are no more, in words."""
        first = self.asked.least_steps
        last = max(first, self.effort.max_steps or first + MORE_STEPS)
        for steps in range(first, last + 1):
            if self.rows and self.left_s <= 0:
                return f"the time ended before {steps} steps"
            row = self._row(steps)
            if row is not None:
                self.rows.append(row)
                if on_row is not None:
                    on_row(row)
            if self.met:
                return "no schedule with more steps has a smaller R/C"
        return f"more than {last} steps were not tried"

    def _row(self, steps: int) -> Row | None:
        """The least R / C with so many steps, if it is less than with fewer."""
        before = self.rows[-1].load if self.rows else None
        bound = self._bound(steps)
        if before is not None and bound >= before:
            return None
        best: Row | None = None
        for possible, chunks in _promising(bound, steps, self.effort.max_chunks):
            beaten = best.load if best else before
            if beaten is not None and (possible >= beaten or self.left_s <= 0):
                break
            best = self._better(steps, chunks, bound, beaten) or best
        self.complete &= best is not None and best.least_load
        return best

    def _bound(self, steps: int) -> Fraction:
        """rho_S, or the limit of all S where the program is too large or time is short."""
        if not self.rows and self.left_s <= 0:
            return self.limit
        asked = self.asked
        found = load_bound(asked.forward, asked.copied(1), steps, group=asked.group)
        return max(self.limit, found.load)

    def _better(
        self, steps: int, chunks: int, bound: Fraction, beaten: Fraction | None
    ) -> Row | None:
        """The best schedule of (C, S), if its R / C is less than the one to be beaten."""
        asked = self.asked
        seconds = max(self.left_s, 0.0) * _SHARE
        known = round_bound(asked, chunks, steps, limit=bound, time_limit_s=seconds)
        if beaten is not None and Fraction(known.lower_bound, chunks) >= beaten:
            return None
        found = fewest_rounds(
            asked, chunks, steps, limit=bound, known=known,
            time_limit_s=max(self.left_s, 0.0) * _SHARE, seed=self.effort.seed,
        )  # fmt: skip
        schedule = found.decision
        if schedule is None or (beaten is not None and schedule.load >= beaten):
            return None
        return Row(schedule=schedule, lower_bound=int(found.bound), load_bound=bound)


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
    if _same_backwards(network):
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


def _same_backwards(network: Network) -> bool:
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
