"""The whole training run of a plan: days, energy, money and CO2, with the time that failures take.

Days are those of the steps over the goodput. Work, also work that is lost, draws the power of the
plan's steps; all other time draws that of chips that wait, their hosts and the network.

The 80 % interval of the days adds those of the step time and of the failure rate, as independent
errors of the logarithm: each end is the root of the sum of squares. A run at another rate saves
its checkpoints as often as is best there.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.cost.goodput.goodput import (
    Goodput,
    Pace,
    Upkeep,
    break_even_s,
    chips_at,
    goodput,
)
from planner.cost.goodput.rates import HOUR_S, Rate
from planner.cost.goodput.runs import kept_of, money_of_chips, money_of_energy, spread_of_time
from planner.cost.goodput.spares import CHANCE, spares_for
from planner.objectives import RunCosts
from planner.plan import PlanTable
from planner.question.kinds.running import rate_of, upkeep_of
from planner.question.request import Request
from planner.results.parts import RunGoodput, TrainingRun
from planner.results.plan import PlanResult

_DAY_S, _MWH_J, _KWH_J = 86400.0, 3.6e9, 3.6e6
WANTED, HALF = 0.9, 0.5
"""Goodput of the break-even rate, and below which a run is warned of."""


def whole_run(request: Request, result: PlanResult, model: CostModel | None) -> TrainingRun:
    """The run whose tokens a question has.

    Args:
        request: The question.
        result: The plan.
        model: Its job, machine and run; None: it is on chips of several kinds, whose failures
            nobody published.
    """
    run = _taken(request, result)
    if model is None:
        return run
    held = result.memory_bytes["weights"] + result.memory_bytes["optimizer"]
    of_plan = np.array([held]), np.array([result.memory_per_chip_bytes])
    kept = kept_of(model, PlanTable.from_plans([result.plan]), *of_plan)
    pace = replace(kept.pace, step_time_s=np.array([result.step_time_s]))
    upkeep, rate = upkeep_of(request), rate_of(request, model, result.chips)
    if rate is None:
        edge = break_even_s(WANTED, _alone(pace), upkeep)
        return replace(run, break_even_chip_hours=None if edge is None else edge / HOUR_S)
    return _with_failures(run, result, model, _Kept(pace, upkeep, rate))


@dataclass(frozen=True, slots=True)
class _Kept:
    pace: Pace
    upkeep: Upkeep
    rate: Rate

    def spent(self, theta_s: float) -> Goodput:
        """Where the time goes at a rate."""
        return goodput(theta_s, self.pace, self.upkeep)


def _alone(pace: Pace) -> Pace:
    """The pace of one plan as numbers."""
    saved = pace.saved
    return replace(
        pace,
        chips=_number(pace.chips),
        step_time_s=_number(pace.step_time_s),
        saved=replace(saved, stall_s=_number(saved.stall_s), write_s=_number(saved.write_s)),
    )


def _number(figure: FloatArray | float) -> float:
    return float(np.asarray(figure).ravel()[0])


def _taken(request: Request, result: PlanResult) -> TrainingRun:
    """What the run takes: as objectives have it, else as if nothing failed."""
    tokens = request.train_tokens or 0.0
    ideal_s = tokens / result.tokens_per_s
    steps = ideal_s / result.step_time_s
    costs = result.run or RunCosts(time_s=ideal_s, energy_j=steps * result.energy_per_step_j)
    time_s, joules = float(costs.time_s), float(costs.energy_j)
    ends, days = _step_interval(result), time_s / _DAY_S
    run = TrainingRun(
        tokens=tokens,
        steps=steps,
        days=days,
        days_low=None if ends is None else days * ends[0],
        days_high=None if ends is None else days * ends[1],
        ideal_days=ideal_s / _DAY_S,
        energy_mwh=joules / _MWH_J,
        facility_energy_mwh=joules / _MWH_J * _facility(result),
        cost=None,
        electricity_cost=None,
        co2_t=None,
    )
    if math.isinf(time_s):  # a cycle that hardly ever ends: no number of days
        return replace(run, days=None, days_low=None, days_high=None, energy_mwh=None,
                       facility_energy_mwh=None)  # fmt: skip
    return _priced(run, request, result, time_s, joules)


def _facility(result: PlanResult) -> float:
    """Energy at the facility over that of nodes and fabric."""
    return result.boundaries[-1].energy_j / result.energy_per_step_j


def _priced(
    run: TrainingRun, request: Request, result: PlanResult, time_s: float, joules: float
) -> TrainingRun:
    """With what its days and energy cost."""
    price, per_kwh = request.price_per_chip_hour, request.electricity_price
    carbon, facility_j = request.carbon_intensity, joules * _facility(result)
    return replace(
        run,
        cost=None if price is None else money_of_chips(price / HOUR_S, result.chips, time_s),
        electricity_cost=None if per_kwh is None else money_of_energy(per_kwh / _KWH_J, facility_j),
        co2_t=None if carbon is None else carbon * facility_j / _MWH_J * 1e-3,
    )


def _step_interval(result: PlanResult) -> tuple[float, float] | None:
    """Ends of the 80 % interval of the step time over it; None of bounds."""
    low, high = result.step_time_low_s, result.step_time_high_s
    if low is None or high is None:
        return None
    return low / result.step_time_s, high / result.step_time_s


def _with_failures(
    run: TrainingRun, result: PlanResult, model: CostModel, kept: _Kept
) -> TrainingRun:
    """The run with where its time goes, and how sure its days are."""
    spent = kept.spent(kept.rate.theta_s)
    if run.days is None:
        return replace(run, goodput=_record(spent, kept, model, math.inf))
    low, high = _interval(result, kept, _number(spent.work))
    return replace(
        run,
        days_low=run.days * low,
        days_high=run.days * high if math.isfinite(high) else None,
        goodput=_record(spent, kept, model, run.days * _DAY_S),
    )


def _interval(result: PlanResult, kept: _Kept, share: float) -> tuple[float, float]:
    """Ends of the 80 % interval of the days over the days; the high one may be infinite."""
    ends = []
    steps = _step_interval(result) or (1.0, 1.0)
    sides = zip(steps, (kept.rate.high_s, kept.rate.low_s), (-1.0, 1.0), strict=True)
    for of_step, theta, sign in sides:
        there = _number(kept.spent(theta).work)
        wide = float(spread_of_time(of_step, share, there)) if there > 0.0 else math.inf
        ends.append(math.exp(sign * wide))
    return ends[0], ends[1]


def _record(spent: Goodput, kept: _Kept, model: CostModel, wall_s: float) -> RunGoodput:
    rate, pace, chips = kept.rate, _alone(kept.pace), int(_number(kept.pace.chips))
    nodes = float(kept.upkeep.pulled(rate.theta_s, chips))
    slow = pace.step_time_s / (1.0 - kept.upkeep.straggler_loss)
    low, high = (_number(kept.spent(at).work) for at in (rate.low_s, rate.high_s))
    share = _number(spent.work)
    return RunGoodput(
        share=share,
        low=low,
        high=high,
        stalls=_number(spent.stalls),
        down=_number(spent.down),
        lost=_number(spent.lost),
        stragglers=_number(spent.stragglers),
        waits=_number(spent.waits),
        chip_hours_per_failure=rate.theta_s / HOUR_S,
        chip_hours_low=rate.low_s / HOUR_S,
        chip_hours_high=rate.high_s / HOUR_S,
        rate=rate.words,
        mtbf_s=rate.theta_s / chips,
        failures=None if math.isinf(wall_s) else _number(spent.failures_per_s) * wall_s,
        checkpoint_bytes=checkpoint_bytes(model.job),
        checkpoint_stall_s=float(pace.saved.stall_s),
        checkpoint_write_s=float(pace.saved.write_s),
        checkpoint_steps=int(_number(spent.steps_between)),
        checkpoint_every_s=_number(spent.steps_between) * slow,
        spares=kept.upkeep.spares,
        spares_wanted=spares_for(nodes),
        spares_chance=CHANCE,
        chips_at_half=chips_at(HALF, rate.theta_s, pace, kept.upkeep) if share < HALF else None,
    )
