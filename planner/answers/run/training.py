"""The whole training run of a plan: days, energy, money and CO2, with the time that failures take.

Days are those of the steps over the goodput. Work, also work that is lost, draws the power of the
plan's steps; all other time draws that of chips that wait, their hosts and the network.

The 80 % interval of the days adds those of the step time and of the failure rate, as independent
errors of the logarithm: each end is the root of the sum of squares. A run at another rate saves
its checkpoints as often as is best there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from frozen_records import dataclass
from planner.answers.run.sizes import Smaller, smaller_sizes
from planner.answers.run.thresholds import another_of, half_of
from planner.answers.run.writing import writing
from planner.base.units import DAY_S, HOUR_S
from planner.base.vocabulary import ON_FAILURE
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.cost.goodput.domains import Domain
from planner.cost.goodput.goodput import (
    Goodput,
    Pace,
    Upkeep,
    break_even_s,
    chips_at,
    goodput,
)
from planner.cost.goodput.rates import Z_90, Rate
from planner.cost.goodput.runs import (
    kept_of,
    money_of_chips,
    money_of_energy,
    run_costs,
    spread_of_time,
    unfailing,
)
from planner.cost.goodput.shrinking import shrinking
from planner.cost.goodput.spares import CHANCE, spares_for
from planner.cost.memory.state import trained_bytes
from planner.objectives import RunCosts
from planner.plan import PlanTable
from planner.question.request import Request
from planner.question.run.prices import prices
from planner.question.run.running import (
    failure_domain_of,
    no_peers,
    pace_of,
    peer_bytes,
    rate_of,
    running_of,
    upkeep_of,
)
from planner.question.run.upkeep import PEER_MEMORY, SHRINK, deadline_of
from planner.results.parts import RunGoodput, TrainingRun
from planner.results.plan import PlanResult
from planner.results.recovery import PeerRecovery, Recovery, Writing

_KWH_J, _MWH_J = 3.6e6, 3.6e9
WANTED, HALF = 0.9, 0.5
"""Goodput of the break-even rate, and below which a run is warned of."""


def whole_run(
    request: Request,
    result: PlanResult,
    model: CostModel | None,
    rivals: Sequence[PlanResult] = (),
) -> TrainingRun:
    """The run whose tokens a question has.

    Args:
        request: The question.
        result: The plan.
        model: Its job and machine; None: it is on chips of several kinds, whose failures nobody
            published.
        rivals: Other plans that were found.
    """
    ideal = _ideal(request, result)
    if model is None:
        return _against_deadline(ideal, request)
    if model.run is None:  # plans are not compared by it
        model = replace(model, run=running_of(request, model))
    copied, pace = _copied(result, model), _pace(request, result, model)
    domain = failure_domain_of(request, model, result.chips)
    upkeep, rate = upkeep_of(request, domain), rate_of(request, model, result.chips)
    if rate is None:
        edge = break_even_s(WANTED, pace, upkeep)
        others = [_pace(request, one, model) for one in rivals if one.chips == result.chips]
        unsure = replace(
            _unfailing(request, result, model, ideal, upkeep),
            break_even_chip_hours=None if edge is None else edge / HOUR_S,
            half_chips=half_of(model, result.plan, pace, upkeep),
            another_plan_chip_hours=another_of(pace, others, upkeep),
        )
        return _against_deadline(unsure, request)
    smaller = smaller_sizes(model, result.plan, domain) if request.on_failure == SHRINK else None
    form = writing(model, result.plan, copied, result.host_memory_bytes, request.checkpoint)
    kept = _Kept(request, pace, upkeep, rate, domain, copied, smaller, form)
    run = _with_failures(request, result, model, ideal, kept)
    return _against_deadline(run, request)


def _copied(result: PlanResult, model: CostModel) -> float:
    """What a checkpoint takes of its fullest chip."""
    return float(trained_bytes(model.job, result.memory_bytes))


def _pace(request: Request, result: PlanResult, model: CostModel) -> Pace:
    return pace_of(request, model, result.chips, result.step_time_s, _copied(result, model))


@dataclass(frozen=True, slots=True)
class _Kept:
    """How the run of a plan is kept going.

    Attributes:
        smaller: What it shrinks to; a string: why it does not; None: it was not asked to.
    """

    request: Request
    pace: Pace
    upkeep: Upkeep
    rate: Rate
    domain: Domain
    copied_bytes: float
    smaller: Smaller | str | None
    writing: Writing | None

    def spent(self, theta_s: float) -> Goodput:
        """Where its time goes at so many chip-seconds per failure."""
        if isinstance(self.smaller, Smaller):
            return shrinking(theta_s, self.pace, self.upkeep, self.smaller.sizes)
        return goodput(theta_s, self.pace, self.upkeep)


def _ideal(request: Request, result: PlanResult) -> TrainingRun:
    """The run if nothing failed."""
    tokens = request.train_tokens or 0.0
    seconds = tokens / result.tokens_per_s
    steps = seconds / result.step_time_s
    share = _step_interval(result)
    days = seconds / DAY_S
    run = TrainingRun(
        tokens=tokens,
        steps=steps,
        days=days,
        days_low=None if share is None else days * share[0],
        days_high=None if share is None else days * share[1],
        ideal_days=days,
        energy_mwh=None,
        facility_energy_mwh=None,
        cost=None,
        electricity_cost=None,
        co2_t=None,
    )
    return priced(run, request, result, seconds, steps * result.energy_per_step_j)


def _unfailing(
    request: Request, result: PlanResult, model: CostModel, ideal: TrainingRun, upkeep: Upkeep
) -> TrainingRun:
    """The run if nothing failed, with what slow chips and planned maintenance take."""
    share = upkeep.share_unfailing
    if share == 1.0:
        return ideal
    work = ideal.steps * np.array([result.step_time_s, result.energy_per_step_j])
    standing = result.chips * standing_w(model, result.chips)
    time_s, joules = map(float, unfailing(upkeep, standing, *work))
    days = (ideal.days, ideal.days_low, ideal.days_high)
    mean, low, high = (None if one is None else one / share for one in days)
    run = replace(ideal, days=mean, days_low=low, days_high=high)
    return priced(run, request, result, time_s, joules)


def priced(
    run: TrainingRun, request: Request, result: PlanResult, time_s: float, joules: float
) -> TrainingRun:
    """A run with its energy, and what days and energy cost.

    Args:
        run: The run.
        request: The question, with its prices.
        result: The plan.
        time_s, joules: Wall time; energy of nodes and fabric.
    """
    price, per_kwh = request.price_per_chip_hour, request.electricity_price
    carbon = request.carbon_intensity
    facility_j = joules * result.boundaries[-1].energy_j / result.energy_per_step_j
    cost = None if price is None else money_of_chips(price / HOUR_S, result.chips, time_s)
    electricity = None if per_kwh is None else money_of_energy(per_kwh / _KWH_J, facility_j)
    return replace(
        run,
        energy_mwh=joules / _MWH_J,
        facility_energy_mwh=facility_j / _MWH_J,
        cost=None if cost is None else float(cost),
        electricity_cost=None if electricity is None else float(electricity),
        co2_t=None if carbon is None else carbon * facility_j / _KWH_J * 1e-6,
        prices=tuple(prices()[name].words for name in request.prices or ()),
    )


def _step_interval(result: PlanResult) -> tuple[float, float] | None:
    """Ends of the 80 % interval of the step time over it; None of bounds."""
    low, high = result.step_time_low_s, result.step_time_high_s
    if low is None or high is None:
        return None
    return low / result.step_time_s, high / result.step_time_s


def _with_failures(
    request: Request, result: PlanResult, model: CostModel, ideal: TrainingRun, kept: _Kept
) -> TrainingRun:
    spent = kept.spent(kept.rate.theta_s)
    share = float(spent.work)
    if not share > 0.0:  # a cycle that hardly ever ends: no number of days
        return replace(ideal, days=None, days_low=None, days_high=None, energy_mwh=None,
                       facility_energy_mwh=None, cost=None, electricity_cost=None, co2_t=None,
                       goodput=_record(spent, kept, model, math.inf))  # fmt: skip
    costs = _costs(result, model, kept, spent)
    time_s, (low, high) = float(costs.time_s), _interval(result, kept, share)
    days = time_s / DAY_S
    run = replace(
        ideal,
        days=days,
        days_low=days * low,
        days_high=days * high if math.isfinite(high) else None,
        goodput=_record(spent, kept, model, time_s),
    )
    return priced(run, request, result, time_s, float(costs.energy_j))


def _against_deadline(run: TrainingRun, request: Request) -> TrainingRun:
    """With the chance to be within the deadline, where one is asked for."""
    if request.deadline is None:
        return run
    most = deadline_of(request)[0] / DAY_S
    run = replace(run, deadline_days=most)
    if run.days is None or run.days_low is None:
        return run
    later = most >= run.days
    end = run.days_high if later else run.days_low
    wide = math.inf if end is None else abs(math.log(end / run.days))
    if not wide:
        return replace(run, deadline_chance=1.0 if later else 0.0)
    chance = NormalDist().cdf(Z_90 * math.log(most / run.days) / wide)
    return replace(run, deadline_chance=chance)


def _costs(result: PlanResult, model: CostModel, kept: _Kept, spent: Goodput) -> RunCosts:
    """What the run takes, as objectives have it."""
    held = np.array([kept.copied_bytes]), np.array([result.memory_per_chip_bytes])
    needs = kept_of(model, PlanTable.from_plans([result.plan]), *held)
    step = np.array([result.step_time_s]), np.array([result.energy_per_step_j])
    return run_costs(model, needs, *step, spent).row(0)


def _interval(result: PlanResult, kept: _Kept, share: float) -> tuple[float, float]:
    """Ends of the 80 % interval of the days over the days; the high one may be infinite."""
    ends = []
    steps = _step_interval(result) or (1.0, 1.0)
    sides = zip(steps, (kept.rate.high_s, kept.rate.low_s), (-1.0, 1.0), strict=True)
    for of_step, theta, sign in sides:
        there = float(kept.spent(theta).work)
        wide = float(spread_of_time(of_step, share, there)) if there > 0.0 else math.inf
        ends.append(math.exp(sign * wide))
    return ends[0], ends[1]


def _record(spent: Goodput, kept: _Kept, model: CostModel, wall_s: float) -> RunGoodput:
    rate, pace, chips = kept.rate, kept.pace, int(kept.pace.chips)
    domains = float(kept.upkeep.pulled(rate.theta_s, chips))
    slow = float(pace.step_time_s) / (1.0 - kept.upkeep.straggler_loss)
    low, high = (float(kept.spent(at).work) for at in (rate.low_s, rate.high_s))
    share = float(spent.work)
    return RunGoodput(
        share=share,
        low=low,
        high=high,
        **spent.parts(),
        chip_hours_per_failure=rate.theta_s / HOUR_S,
        chip_hours_low=rate.low_s / HOUR_S,
        chip_hours_high=rate.high_s / HOUR_S,
        rate=rate.words,
        mtbf_s=rate.theta_s / chips,
        failures=None if math.isinf(wall_s) else float(spent.failures_per_s) * wall_s,
        checkpoint_bytes=checkpoint_bytes(model.job),
        checkpoint_stall_s=float(pace.saved.stall_s),
        checkpoint_write_s=float(pace.saved.write_s),
        checkpoint_steps=int(spent.steps_between),
        checkpoint_every_s=float(spent.steps_between) * slow,
        recovery=_recovery(spent, kept, model),
        spares=kept.upkeep.spares,
        spares_wanted=spares_for(domains) * kept.domain.nodes,
        spares_chance=CHANCE,
        chips_at_half=_at_half(kept) if share < HALF else None,
    )


def _recovery(spent: Goodput, kept: _Kept, model: CostModel) -> Recovery:
    asked, smaller, chips = kept.request, kept.smaller, int(kept.pace.chips)
    wanted = asked.checkpoint_writes == PEER_MEMORY
    return Recovery(
        domain=kept.domain.name,
        domain_nodes=kept.domain.nodes,
        store_steps=int(spent.steps_between * spent.store_every),
        writing=kept.writing,
        peers=_peers(kept, model),
        no_peers=no_peers(asked, model, chips, kept.copied_bytes) if wanted else "",
        on_failure=asked.on_failure or ON_FAILURE[0],
        ranks=smaller.ranks if isinstance(smaller, Smaller) else (),
        not_shrunk=smaller if isinstance(smaller, str) else "",
    )


def _at_half(kept: _Kept) -> float | None:
    """Chips at which failures alone take a half; None: more than the job has."""
    chips = chips_at(HALF, kept.rate.theta_s, kept.pace, kept.upkeep)
    return chips if chips < kept.pace.chips else None


def _peers(kept: _Kept, model: CostModel) -> PeerRecovery | None:
    found = kept.pace.peers
    if found is None:
        return None
    return PeerRecovery(
        covered=float(found.covered),
        restart_s=float(found.restart_s),
        write_s=float(found.write_s),
        host_bytes=peer_bytes(kept.copied_bytes),
    )
