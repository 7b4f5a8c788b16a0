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

from frozen_records import dataclass
from planner.answers.whole_run.sizes import Smaller, smaller_sizes
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
from planner.cost.goodput.rates import HOUR_S, Rate
from planner.cost.goodput.shrinking import shrinking
from planner.cost.goodput.spares import CHANCE, spares_for
from planner.question.kinds.running import (
    failure_domain_of,
    no_peers,
    pace_of,
    peer_bytes,
    rate_of,
    upkeep_of,
)
from planner.question.kinds.upkeep import PEER_MEMORY, SHRINK
from planner.question.request import Request
from planner.results.parts import PeerRecovery, Recovery, RunGoodput, TrainingRun
from planner.results.plan import PlanResult

_DAY_S = 86400.0
WANTED, HALF = 0.9, 0.5
"""Goodput of the break-even rate, and below which a run is warned of."""


def whole_run(request: Request, result: PlanResult, model: CostModel | None) -> TrainingRun:
    """The run whose tokens a question has.

    Args:
        request: The question.
        result: The plan.
        model: Its job and machine; None: it is on chips of several kinds, whose failures nobody
            published.
    """
    ideal = _ideal(request, result)
    if model is None:
        return ideal
    held = result.memory_bytes["weights"] + result.memory_bytes["optimizer"]
    pace = pace_of(request, model, result.chips, result.step_time_s, held)
    domain = failure_domain_of(request, model, result.chips)
    upkeep, rate = upkeep_of(request, domain), rate_of(request, model, result.chips)
    if rate is None:
        edge = break_even_s(WANTED, pace, upkeep)
        return replace(ideal, break_even_chip_hours=None if edge is None else edge / HOUR_S)
    smaller = smaller_sizes(model, result.plan, domain) if request.on_failure == SHRINK else None
    kept = _Kept(request, pace, upkeep, rate, domain, held, smaller)
    return _with_failures(request, result, model, ideal, kept)


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
    held_bytes: float
    smaller: Smaller | str | None

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
    days = seconds / _DAY_S
    return _priced(
        TrainingRun(
            tokens=tokens,
            steps=steps,
            days=days,
            days_low=None if share is None else days * share[0],
            days_high=None if share is None else days * share[1],
            ideal_days=days,
            energy_mwh=steps * result.energy_per_step_j / 3.6e9,
            facility_energy_mwh=steps * result.boundaries[-1].energy_j / 3.6e9,
            cost=None,
            electricity_cost=None,
            co2_t=None,
        ),
        request,
        result,
    )


def _priced(run: TrainingRun, request: Request, result: PlanResult) -> TrainingRun:
    """With what its days and energy cost."""
    price, per_kwh = request.price_per_chip_hour, request.electricity_price
    carbon = request.carbon_intensity
    days, mwh = run.days or 0.0, run.facility_energy_mwh or 0.0
    return replace(
        run,
        cost=None if price is None else price * result.chips * days * 24.0,
        electricity_cost=None if per_kwh is None else per_kwh * mwh * 1e3,
        co2_t=None if carbon is None else carbon * mwh * 1e-3,
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
    days = ideal.ideal_days / share
    low, high = _interval(result, kept, share)
    energy = _energy_over_ideal(result, model, spent)
    run = replace(
        ideal,
        days=days,
        days_low=days * low,
        days_high=days * high if math.isfinite(high) else None,
        energy_mwh=(ideal.energy_mwh or 0.0) * energy,
        facility_energy_mwh=(ideal.facility_energy_mwh or 0.0) * energy,
        goodput=_record(spent, kept, model, days * _DAY_S),
    )
    return _priced(run, request, result)


def _interval(result: PlanResult, kept: _Kept, share: float) -> tuple[float, float]:
    """Ends of the 80 % interval of the days over the days; the high one may be infinite."""
    ends = []
    steps = _step_interval(result) or (1.0, 1.0)
    for of_step, theta in zip(steps, (kept.rate.high_s, kept.rate.low_s), strict=True):
        there = float(kept.spent(theta).work)
        of_rate = share / there if there > 0.0 else math.inf
        width = math.hypot(math.log(of_step), math.log(of_rate))
        ends.append(math.exp(width if of_step >= 1.0 and of_rate >= 1.0 else -width))
    return ends[0], ends[1]


def _energy_over_ideal(result: PlanResult, model: CostModel, spent: Goodput) -> float:
    """Energy of the run over that of its steps alone."""
    step_w = result.energy_per_step_j / result.step_time_s
    waits = standing_w(model, result.chips) * result.chips / step_w
    useful = float(spent.work / (spent.work + spent.stragglers))
    busy = float(spent.work + spent.lost * useful)
    return (busy + (1.0 - busy) * waits) / float(spent.work)


def _record(spent: Goodput, kept: _Kept, model: CostModel, wall_s: float) -> RunGoodput:
    rate, pace, chips = kept.rate, kept.pace, int(kept.pace.chips)
    domains = kept.upkeep.pulled(rate.theta_s, chips)
    slow = float(pace.step_time_s) / (1.0 - kept.upkeep.straggler_loss)
    low, high = (float(kept.spent(at).work) for at in (rate.low_s, rate.high_s))
    share = float(spent.work)
    return RunGoodput(
        share=share,
        low=low,
        high=high,
        stalls=float(spent.stalls),
        down=float(spent.down),
        lost=float(spent.lost),
        stragglers=float(spent.stragglers),
        waits=float(spent.waits),
        smaller=float(spent.smaller),
        maintenance=float(spent.maintenance),
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
        peers=_peers(kept, model),
        no_peers=no_peers(asked, model, chips, kept.held_bytes) if wanted else "",
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
        host_bytes=peer_bytes(model, kept.held_bytes),
    )
