"""The fewest rounds of a schedule with C chunks and S steps: a bound, and how to deal them out.

Only the rounds of each step are whole; chunks are split at will, as in `expansion`. So no
schedule takes fewer rounds, and the rounds found are what a synthesis tries first.

Source of the solver: Huangfu, Hall, Math. Prog. Comp. 2018, doi:10.1007/s12532-017-0130-5 (HiGHS).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from solvers.clock import OutOfTime, deadline_of, keep_time, left_s
from solvers.collectives.distances import least_steps
from solvers.collectives.expansion import (
    expand,
    flows_of,
    oriented,
    representatives,
    send_count,
)
from solvers.collectives.folding import Folded, folded
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import Permutation
from solvers.solution import Status

MOST_SENDS = 400_000
"""Flows x links x steps above which only the given bound is returned."""
TOLERANCE = 1e-6
"""By which a bound of HiGHS may exceed the truth; it is rounded up after taking this off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBound:
    """What is known about the rounds of all schedules with so many chunks and steps.

    Attributes:
        lower_bound: No schedule has fewer rounds; 0 if there is no schedule at all.
        rounds: Of each step, of a solution with split chunks; None if none was found.
        status: OPTIMAL: `rounds` add up to the lower bound. INFEASIBLE: too few steps.
        seconds: Wall time.
    """

    lower_bound: int
    rounds: tuple[int, ...] | None
    status: Status
    seconds: float


def least_rounds(
    network: Network,
    goal: Goal,
    chunks: int,
    steps: int,
    *,
    group: Sequence[Permutation] = (),
    at_least: Fraction = Fraction(0),
    time_limit_s: float = 60.0,
    nodes: int | None = None,
) -> RoundBound:
    """The fewest rounds R that schedules with C chunks and S steps can have.

    Args:
        network: Nodes and links.
        goal: With one chunk per part, e.g. `goal_of(collective, nodes, 1)`; every part is cut
            into `chunks`.
        chunks: C.
        steps: S.
        group: Symmetries of network and goal, all of them (see `symmetry.free_subgroup`).
        at_least: A known lower bound of R / C with S steps.
        time_limit_s: When the search ends with the bound it has.
        nodes: The most nodes of its tree; None: any number.

    Raises:
        ValueError: A destination cannot be reached, or fewer than 1 chunk.
    """
    if chunks < 1:
        raise ValueError(f"{chunks} chunks; at least 1")
    started, deadline = time.perf_counter(), deadline_of(time_limit_s)
    if steps < least_steps(network, goal):
        return RoundBound(lower_bound=0, rounds=None, status=Status.INFEASIBLE, seconds=0.0)
    known = max(steps, math.ceil(chunks * at_least))
    facing = oriented(network, goal)
    elements = tuple(group)
    flows = flows_of(facing.parts, representatives(facing.network, elements))
    if send_count(facing.network, flows, steps) > MOST_SENDS:
        return _bound(known, None, started)
    try:
        keep_time(deadline)
        expansion = expand(facing.network, flows, steps, elements)
        model = folded(expansion, facing, time_limit_s=left_s(deadline))
        keep_time(deadline)
    except OutOfTime:
        return _bound(known, None, started)
    found = _solve(model, steps, chunks, known, left_s(deadline), nodes)
    lower = known
    if found.mip_dual_bound is not None and math.isfinite(found.mip_dual_bound):
        lower = max(known, math.ceil(found.mip_dual_bound - TOLERANCE))
    if found.x is None:
        return _bound(lower, None, started)
    rounds = tuple(round(value) for value in found.x[-steps:])
    return _bound(lower, rounds[::-1] if facing.backwards else rounds, started)


def _bound(lower: int, rounds: tuple[int, ...] | None, started: float) -> RoundBound:
    """What was found, and whether it is proved."""
    status = Status.TIME_LIMIT
    if rounds is not None:
        status = Status.OPTIMAL if sum(rounds) <= lower else Status.FEASIBLE
    return RoundBound(
        lower_bound=lower, rounds=rounds, status=status, seconds=time.perf_counter() - started
    )


def _solve(
    model: Folded, steps: int, chunks: int, known: int, time_limit_s: float, nodes: int | None
) -> OptimizeResult:
    """The mixed-integer program: at least one round per step, `known` in all."""
    whole = np.zeros(model.columns)
    whole[-steps:] = 1
    demands = chunks * model.demands
    return milp(
        whole,
        integrality=whole,
        bounds=Bounds(whole, np.full(model.columns, np.inf)),
        constraints=[
            LinearConstraint(model.balance, demands, demands),
            LinearConstraint(model.copies, -np.inf, 0.0),
            LinearConstraint(model.capacity, -np.inf, 0.0),
            LinearConstraint(whole[None], known, np.inf),
        ],
        options={"time_limit": time_limit_s, "mip_rel_gap": 0.0}
        | ({} if nodes is None else {"node_limit": nodes}),
    )
