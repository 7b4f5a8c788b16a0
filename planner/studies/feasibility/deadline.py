"""The smallest chip count that does a training run within a deadline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.base.units import (
    DAY_S,
    parse_count,
    parse_within,
    plain,
    show_count,
    show_percent,
    show_seconds,
)
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.cost.goodput.goodput import goodput
from planner.cost.goodput.runs import kept_by, run_costs, run_of, spent_of
from planner.cost.memory.state import trained_bytes
from planner.frameworks.targets import Target
from planner.objectives import DAYS, TIME
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.question.request import Request
from planner.question.run.running import failure_domain_of, pace_of, rate_of, upkeep_of
from planner.question.run.upkeep import SHRINK
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.uniform.engine import UniformSpace
from planner.studies.feasibility.answer import DeadlineRow
from planner.studies.feasibility.strategies import Strategy, with_batch
from planner.studies.feasibility.textbook.meshes import mesh_limits
from planner.studies.feasibility.textbook.roofline import step_times

_SAME = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A training run and how long it may take.

    Attributes:
        batch_tokens: Tokens per step.
        train_tokens: Tokens of the run.
        deadline_s: Seconds of the run.
        chance: That they are enough; None: the mean time is within them.
    """

    batch_tokens: float
    train_tokens: float
    deadline_s: float
    chance: float | None = None

    @property
    def step_s(self) -> float:
        """Longest step."""
        return self.deadline_s * self.batch_tokens / self.train_tokens

    def least_chips(self, model: CostModel) -> float:
        """Chips below which computing alone takes longer, each at its achieved rate.

        6 FLOP per token and parameter of a matrix; attention comes on top.
        """
        flop = 6.0 * model.shapes.matmul_parameters * self.train_tokens
        return flop / (model.assumptions.matmul_flop_per_s * self.deadline_s)


@dataclass(frozen=True, slots=True)
class _Fast:
    """A plan, with the share of the time that is work that counts; None: nobody knows.

    `late` is the time that the run stays within at the chance of the deadline, over its mean time;
    `unfailing` the share of the time that counts where nothing fails.
    """

    step_s: float
    plan: Plan
    goodput: float | None = None
    late: float = 1.0
    unfailing: float = 1.0

    @property
    def wall_s(self) -> float:
        """Seconds of wall time per step; if nothing fails where goodput is not known."""
        share = self.unfailing if self.goodput is None else self.goodput
        return self.step_s / share if share > 0.0 else np.inf

    def meets(self, goal: Goal) -> bool:
        """Whether it is within the deadline."""
        return self.wall_s * self.late <= goal.step_s * _SAME


def smallest_count(
    model: CostModel,
    strategies: Sequence[Strategy],
    counts: Iterable[int],
    limits: Limits,
    goal: Goal,
    on_progress: Progress | None = None,
    targets: tuple[Target, ...] = (),
    *,
    offload: bool = False,
    request: Request | None = None,
) -> DeadlineRow:
    """The smallest of some chip counts whose fastest plan meets a deadline, failures included.

    Under `roofline` the best plan is that of the whole meshes of the strategies; under the fitted
    model the ordinary search proves, count by count, which plan is the fastest, whatever the
    strategy.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        strategies: Those that may be used, under `roofline`.
        counts: Chip counts that the cluster gives.
        limits: Bytes per chip.
        goal: Batch, run and deadline.
        on_progress: Called with (what, done, of).
        targets: What has to run the plans, under the fitted model.
        offload: Whether state and activations may move to the host, under the fitted model.
        request: Says how the run is kept going; None, and under `roofline`: nothing fails.
    """
    if request is not None and request.on_failure == SHRINK:
        raise InputError(
            f"on-failure: {SHRINK} is worked out for one plan (planner solve, planner evaluate), "
            "not for counts of chips; allowed here: spare, wait"
        )
    if goal.chance is not None and model.run is None and request is not None:
        raise InputError(
            "checkpoint-writes: copies with peers are worked out for one plan, without a chance of "
            "a deadline; leave one of the two out"
        )
    least = goal.least_chips(model)
    possible = sorted(n for n in counts if n * _SAME >= least)
    roofline = model.assumptions.token_granularity
    if roofline:
        possible = [n for n in possible if n <= goal.batch_tokens]
    fastest: tuple[int, float] | None = None
    for tried, chips in enumerate(possible):
        if on_progress is not None:
            on_progress("chip counts", tried, len(possible))
        found = (
            _by_algebra(model, strategies, chips, limits, goal)
            if roofline
            else _by_search(model, chips, limits, goal, targets, offload=offload)
        )
        if found is None:
            continue
        if request is not None and model.run is None and not roofline:
            found = _with_failures(model, found, goal, request)
        if found.meets(goal):
            return _met(model, chips, found, goal, tried)
        if fastest is None or found.wall_s < fastest[1]:
            fastest = (chips, found.wall_s)
    return _missed(model, possible, least, fastest, goal)


def _by_algebra(
    model: CostModel, strategies: Sequence[Strategy], chips: int, limits: Limits, goal: Goal
) -> _Fast | None:
    """The fastest whole mesh of any strategy that fits."""
    best = None
    for strategy in strategies:
        meshes = mesh_limits(model, strategy, chips, limits.chip_bytes(model))
        if meshes is None:
            continue
        fits = np.flatnonzero(meshes.most >= goal.batch_tokens)
        if len(fits) == 0:
            continue
        plans: PlanTable = meshes.plans.take(fits)
        times = step_times(model, plans, chips, goal.batch_tokens)
        row = int(np.argmin(times))
        if best is None or float(times[row]) < best.step_s * (1 - 1e-12):
            best = _Fast(float(times[row]), plans.plan(row))
    return best


def _by_search(
    model: CostModel,
    chips: int,
    limits: Limits,
    goal: Goal,
    targets: tuple[Target, ...],
    *,
    offload: bool,
) -> _Fast | None:
    """The plan on so many chips whose run is the shortest, if its steps alone meet the deadline.

    Of a deadline with a chance another one where that meets it, and the shortest does not.
    """
    sized = with_batch(model, round(goal.batch_tokens / model.job.seq_len))
    bounded = replace(limits, step_time_s=goal.step_s)
    options = SpaceOptions(offload=offload, clocks=False, runnable_in=targets)
    space = UniformSpace(model=sized, options=options, limits=bounded, chips=(chips,))
    if model.run is None:
        found = Driver().run(space)
        if len(found.points) == 0:
            return None
        best = optimum(found.points, found.bound, found.status, TIME)
        return _Fast(best.value, found.plans.plan(best.row))
    shortest = _shortest(space)
    if shortest is None or shortest.meets(goal) or goal.chance is None:
        return shortest
    sure = replace(space, limits=replace(bounded, run_s=goal.deadline_s))
    return _shortest(sure) or shortest


def _shortest(space: UniformSpace) -> _Fast | None:
    """The plan of a space whose run takes the fewest days; None: none fits."""
    found = Driver().run(replace(space, columns=(DAYS,)))
    if len(found.points) == 0:
        return None
    model, plans = space.model, found.plans.take(np.array([0]))
    totals, needs = evaluate_totals(model, plans), kept_by(model, plans)
    costs = run_costs(model, needs, totals.step_time_s, totals.energy_j).row(0)
    run = run_of(model)
    share = float(spent_of(model, needs, totals.step_time_s).work[0]) if run.fails else None
    late = 1.0 if np.isnan(costs.late_s) else float(costs.late_s) / float(costs.time_s)
    step_s, unfailing = float(totals.step_time_s[0]), run.upkeep.share_unfailing
    return _Fast(step_s, plans.plan(0), share, late, unfailing)


def _with_failures(model: CostModel, found: _Fast, goal: Goal, request: Request) -> _Fast:
    """A plan with its goodput, where plans are not compared by it."""
    rate = rate_of(request, model, found.plan.chips)
    if rate is None:
        return replace(found, unfailing=upkeep_of(request).share_unfailing)
    sized = with_batch(model, round(goal.batch_tokens / model.job.seq_len))
    parts = evaluate_table(sized, PlanTable.from_plans([found.plan])).memory_parts
    copied = float(trained_bytes(sized.job, parts)[0])
    pace = pace_of(request, sized, found.plan.chips, found.step_s, copied)
    upkeep = upkeep_of(request, failure_domain_of(request, model, found.plan.chips))
    return replace(found, goodput=float(goodput(rate.theta_s, pace, upkeep).work))


def _met(model: CostModel, chips: int, found: _Fast, goal: Goal, tried: int) -> DeadlineRow:
    steps = goal.train_tokens / goal.batch_tokens
    days = found.wall_s * steps / DAY_S
    words = f"{chips:,} chips train {show_count(goal.train_tokens)} tokens in {plain(days)} days"
    if found.goodput is not None:
        words += f" at a goodput of {show_percent(found.goodput)}"
    if goal.chance is not None:
        late = plain(days * found.late)
        words += f", within {late} days with a chance of {show_percent(goal.chance)}"
    plan = found.plan
    mesh = {axis: size for axis, size in plan.mesh.items() if size > 1}
    return DeadlineRow(
        model=model.job.model.name,
        hardware=model.cluster.name,
        chips=chips,
        batch_tokens=goal.batch_tokens,
        train_tokens=goal.train_tokens,
        deadline_s=goal.deadline_s,
        step_time_s=found.step_s,
        days=days,
        ideal_days=found.step_s * steps / DAY_S,
        goodput=found.goodput,
        plan={"mesh": mesh, "sharding": plan.sharding, "recompute": plan.recompute},
        counts_tried=tried,
        words=words,
    )


def _missed(
    model: CostModel,
    possible: Sequence[int],
    least: float,
    fastest: tuple[int, float] | None,
    goal: Goal,
) -> DeadlineRow:
    run = f"{show_count(goal.train_tokens)} tokens within {show_seconds(goal.deadline_s)}"
    need = f"computing alone takes {least:,.0f} chips of {model.chip.name}"
    batch = f"{show_count(goal.batch_tokens)} tokens per step"
    if not possible:
        words = f"{run}: {need}, and none of the counts looked at has so many at {batch}"
    else:
        words = (
            f"{run}: none of the {len(possible):,} counts from {possible[0]:,} to "
            f"{possible[-1]:,} chips meets it at {batch} ({need})"
        )
    if fastest is not None:
        days = fastest[1] * goal.train_tokens / goal.batch_tokens / DAY_S
        words += f"; the nearest is {plain(days)} days on {fastest[0]:,} chips"
    return DeadlineRow(
        model=model.job.model.name,
        hardware=model.cluster.name,
        chips=None,
        batch_tokens=goal.batch_tokens,
        train_tokens=goal.train_tokens,
        deadline_s=goal.deadline_s,
        counts_tried=len(possible),
        words=words,
    )


def goal_of(deadline: Any, train_tokens: Any) -> tuple[tuple[float, float | None], float] | None:
    """Seconds of a run with the chance that they are enough, and its tokens; None: no deadline.

    Raises:
        InputError: One is given without the other, or is not positive.
    """
    if deadline is None and train_tokens is None:
        return None
    if deadline is None:
        raise InputError("train-tokens: has no effect without a deadline, e.g. --deadline 30d")
    if train_tokens is None:
        raise InputError("train-tokens: is missing; a deadline is for a run, e.g. 2e12 tokens")
    seconds, chance = parse_within(str(deadline), "deadline")
    tokens = parse_count(str(train_tokens), "train-tokens")
    for name, value in (("deadline", seconds), ("train-tokens", tokens)):
        if not value > 0:
            raise InputError(f"{name}: {value:.15g}: must be greater than 0")
    return (seconds, chance), tokens
