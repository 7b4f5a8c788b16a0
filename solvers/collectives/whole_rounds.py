"""Whole rounds for deliveries: the fewest for C chunks, the least R / C, and for all steps.

With the rounds of each step as whole numbers, the constraints of `deliveries` are a small
mixed-integer program for each C. Without a number of steps: the first steps of a schedule, all but
the last few, are one phase in which a chunk may cross any number of links, within the rounds of the
phase. That holds of any schedule with more steps than the last few, so the rounds are a bound for
all of them together.

Source: Fleischer, Skutella, SIAM J. Comput. 2007, doi:10.1137/S0097539703427215 (networks unrolled
over time).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import csr_array, hstack

from solvers.clock import OutOfTime, check_solved, left_s
from solvers.collectives.deliveries import Array, Deliveries, widened

_INFEASIBLE = 2
"""The status of a mixed-integer program without a solution."""
_UNBOUNDED = 3
"""The status of a linear program that falls without end."""
_TOLERANCE = 1e-6
"""By which a bound of HiGHS may exceed the truth; it is rounded up after taking this off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The least R / C over numbers of chunks, as far as deliveries bound it.

    Attributes:
        chunks: The fewest C that has it.
        rounds: Of each step.
    """

    chunks: int
    rounds: tuple[int, ...]

    @property
    def load(self) -> Fraction:
        """R / C."""
        return Fraction(sum(self.rounds), self.chunks)


def least_ratio(
    made: Deliveries,
    per_chunk: Array,
    most: int,
    *,
    limit: Fraction = Fraction(0),
    deadline: float = math.inf,
) -> Ratio:
    """The least R / C that whole rounds and at most so many chunks can have.

    No schedule with so many steps and at most so many chunks has a smaller one: every number of
    chunks with which a smaller one is not ruled out by the limit is tried.

    Args:
        made: The constraints, without a phase.
        per_chunk: (S,) rounds per chunk that meet them, to start from.
        most: The largest C.
        limit: No schedule has a smaller R / C with so many steps.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
    """

    def least(chunks: int) -> Fraction:
        return Fraction(max(made.steps, math.ceil(limit * chunks)), chunks)

    numbers = range(1, most + 1)
    best = min(
        (Ratio(chunks=chunks, rounds=_rounded(per_chunk * chunks)) for chunks in numbers),
        key=lambda one: (one.load, one.chunks),
    )
    for chunks in sorted(numbers, key=lambda chunks: (least(chunks), chunks)):
        if least(chunks) >= best.load:
            break
        fewer = math.ceil(best.load * chunks) - 1
        rounds = _fewest(made, chunks, (made.steps, fewer), deadline)[1]
        if rounds is not None:
            best = Ratio(chunks=chunks, rounds=rounds)
    load = best.load
    for chunks in range(load.denominator, best.chunks, load.denominator):
        rounds = _fewest(made, chunks, (made.steps, int(load * chunks)), deadline)[1]
        if rounds is not None:
            return Ratio(chunks=chunks, rounds=rounds)
    return best


def _a_round_a_step(made: Deliveries) -> Array:
    """Lower bounds of the columns with at least one round in every step."""
    low = made.low.copy()
    low[-made.steps :] = 1.0
    return low


def _rounded(rounds: Array) -> tuple[int, ...]:
    """At least one round a step, rounded up."""
    return tuple(np.maximum(1, np.ceil(rounds - 1e-9)).astype(np.int64).tolist())


def fewest_for(
    made: Deliveries, chunks: int, *, deadline: float = math.inf
) -> tuple[int, tuple[int, ...]]:
    """The fewest whole rounds for C chunks: no schedule has fewer, and those of each step.

    Args:
        made: The constraints, without a phase.
        chunks: C.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
    """
    lower, rounds = _fewest(made, chunks, (made.steps, math.inf), deadline)
    if rounds is None:
        raise OutOfTime
    return lower, rounds


def other_rounds(
    made: Deliveries, chunks: int, total: int, turn: int, *, deadline: float = math.inf
) -> tuple[int, ...] | None:
    """Rounds of each step for C chunks, as many in all, drawn by prices; None: there are none.

    Args:
        made: The constraints, without a phase.
        chunks: C.
        total: R.
        turn: Which prices are drawn.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
    """
    cost = np.random.default_rng(turn).random(made.steps)
    return _fewest(made, chunks, (total, total), deadline, cost)[1]


def _fewest(
    made: Deliveries,
    chunks: int,
    total: tuple[int, float],
    deadline: float,
    cost: Array | None = None,
) -> tuple[int, tuple[int, ...] | None]:
    """What R is at least for C chunks, and rounds of each step; None: R is more than allowed.

    Args:
        made: The constraints, without a phase.
        chunks: C.
        total: The least and the greatest R.
        deadline: On the clock of `time.perf_counter`.
        cost: (S,) of a round of each step, for the cheapest rounds; default: the fewest.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: The solver failed.
    """
    whole = np.zeros(len(made.low))
    whole[-made.steps :] = 1.0
    price = whole.copy()
    price[-made.steps :] = 1.0 if cost is None else cost
    demands = chunks * made.demands
    found: OptimizeResult = milp(
        price,
        integrality=whole,
        bounds=Bounds(_a_round_a_step(made), made.high),
        constraints=[
            LinearConstraint(made.balance, demands, demands),
            LinearConstraint(made.capacity, -np.inf, 0.0),
            LinearConstraint(whole[None], *total),
        ],
        options={"time_limit": left_s(deadline), "mip_rel_gap": 0.0},
    )
    if found.status == 1:
        raise OutOfTime
    if found.status == _INFEASIBLE:
        return total[0], None
    if found.x is None:
        raise RuntimeError(f"the mixed-integer program was not solved: {found.message}")
    rounds = np.rint(found.x[-made.steps :]).astype(np.int64).tolist()
    return math.ceil(found.mip_dual_bound - _TOLERANCE), tuple(rounds)


def excess(made: Deliveries, limit: Fraction, *, deadline: float = math.inf) -> Fraction:
    """What R is more than limit C, at least, for all numbers of chunks.

    With constraints that have a phase no schedule with at least as many steps has fewer rounds
    than limit C + excess. With chunks and rounds of at least 1 as fractions it is a linear program;
    it is rounded up to a fraction that R - limit C can be. Where it falls without end, as it may
    with several groups that share links, R is at least limit C all the same: the excess is 0.

    Args:
        made: The constraints.
        limit: No schedule has a smaller R / C.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: The solver failed.
    """
    rounds = np.zeros(len(made.low))
    rounds[-made.steps :] = 1.0
    low, high = np.append(_a_round_a_step(made), 1.0), np.append(made.high, np.inf)
    balance = hstack([made.balance, csr_array(-made.demands[:, None])]).tocsr()
    capacity = widened(made.capacity, 1)
    found = linprog(
        np.append(rounds, -float(limit)),
        A_ub=capacity, b_ub=np.zeros(capacity.shape[0]),
        A_eq=balance, b_eq=np.zeros(balance.shape[0]), bounds=np.stack([low, high], axis=1),
        method="highs", options={"time_limit": left_s(deadline)},
    )  # fmt: skip
    if found.status == _UNBOUNDED:
        return Fraction(0)
    check_solved(found.status, found.message)
    parts = math.ceil((found.fun - _TOLERANCE) * limit.denominator)
    return Fraction(parts, limit.denominator)
