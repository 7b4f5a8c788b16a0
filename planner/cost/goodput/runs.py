r"""What whole runs of plans take, failures included: wall time, energy and money; bounds of them.

A run of n steps of t seconds, each t' = t / (1 - s) with stragglers, takes

    wall   = n t / goodput = n t' f(T) / (1 - w) / (1 - m)      f(T) = E(T) / T of `segments`
    energy = n b (E_step - P t) + P wall                b = (f(T) (1 - idle) T - C) / T
    money  = chips wall price + PUE energy price of electricity

Where nobody knows how often chips fail f is 1 and w is 0: slow chips and maintenance remain.

P are the watts that all chips, hosts and the network draw whatever happens, so that E_step - P t is
what kernels add; work is done b times in the mean, once and again where it is lost, and draws that;
all other time draws P alone. T is a whole number of steps.

Lower bounds. A plan's T is at least one step and, where the run is long enough, one write:
T >= L = max(t', min(W, n t')), and over all real T >= L no f(T) is below f(max(T*, L)), since f
falls up to T* and grows after it. f grows with C and W at every T, and L, T* and n t' grow with t,
C and W, so that lower bounds of t, C and W in their place, with the exact number of chips, give a
wall time that no plan goes below. As exp(x + c) - 1 >= exp(x) - 1 + c, b is at least
exp(W / M) M (exp(L / M) - 1) / L, so that the energy is at least that of lower bounds of b, of what
kernels add, and of the wall time; money grows with both.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import memory_table
from planner.cost.goodput.checkpoints import checkpointing
from planner.cost.goodput.domains import domain_of
from planner.cost.goodput.goodput import Goodput, Known, Pace, Upkeep, goodput
from planner.cost.goodput.rates import Z_90, Rate
from planner.cost.goodput.segments import wall_time_s
from planner.cost.intervals import is_prediction, step_time_interval
from planner.cost.memory.state import trained_bytes
from planner.objectives import RunCosts
from planner.plan import PlanTable

_ROUNDED_DOWN = 1.0 - 1e-11
_MIDDLE = 0.5
_AT_A_TIME = 8192  # plans: what their memory needs stays in the cache
COLUMN = (slice(None), None)
"""Rows as a column, beside the clocks of plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A whole run, whatever its plan.

    Attributes:
        tokens: Of the run.
        rate: How often chips fail; None: nobody knows, so that nothing does.
        mtbf_s: Of the whole job, in place of a rate, however many chips it has.
        upkeep: What failures cost, and what is kept ready for them.
        domain: What one failure takes out, as of `domains`.
        store_bytes_per_s: What the store of checkpoints takes in; None: `store_per_chip` each.
        store_per_chip: Bytes per second and chip.
        beside: Whether checkpoints are written beside the work.
        price_per_chip_s: Money per chip and second; None: not known.
        price_per_j: Money per joule at the facility; None: not known.
        chance: That the run ends within a deadline; None: its mean time has to.
    """

    tokens: float
    rate: Rate | None
    mtbf_s: float | None
    upkeep: Upkeep
    domain: str
    store_bytes_per_s: float | None
    store_per_chip: float
    beside: bool
    price_per_chip_s: float | None = None
    price_per_j: float | None = None
    chance: float | None = None

    @property
    def fails(self) -> bool:
        """Whether it is known how often it fails."""
        return self.rate is not None or self.mtbf_s is not None

    def mtbf_of(self, chips: FloatArray, end: str = "theta_s") -> FloatArray:
        """(n,) mean seconds between failures of jobs, at an end of the interval of the rate."""
        if self.mtbf_s is not None:
            return np.full(np.shape(chips), self.mtbf_s)
        return getattr(self.rate, end) / chips if self.rate else np.full(np.shape(chips), np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the runs of plans need beside time and energy of a step; (n,) each.

    Attributes:
        pace: Their chips, steps and checkpoints; its step time is not read.
        known: What of their goodput does not depend on steps.
        standing_w: Watts of all chips that flow whatever happens.
        late: The same at the rate that the chance of a deadline asks for; None: none is asked for.
        late_step: What the step time is then, over what it is in the mean.
    """

    pace: Pace
    known: Known
    standing_w: FloatArray
    late: Known | None = None
    late_step: FloatArray | float = 1.0

    def at(self, rows: IntArray | tuple[slice, None]) -> Kept:
        """Those of some plans, or all as a column beside their clocks."""
        saved = self.pace.saved
        stall, write = np.broadcast_arrays(saved.stall_s, saved.write_s)
        return Kept(
            pace=replace(
                self.pace,
                chips=np.asarray(self.pace.chips)[rows],
                saved=replace(saved, stall_s=stall[rows], write_s=write[rows]),
            ),
            known=_rows(self.known, rows),
            standing_w=self.standing_w[rows],
            late=None if self.late is None else _rows(self.late, rows),
            late_step=self.late_step if self.late is None else np.asarray(self.late_step)[rows],
        )


def _rows(known: Known, rows: IntArray | tuple[slice, None]) -> Known:
    return Known(
        mtbf_s=known.mtbf_s[rows], free_work_s=known.free_work_s[rows], waits=known.waits[rows]
    )


def kept_of(
    model: CostModel, plans: PlanTable, copied_bytes: FloatArray, peak_bytes: FloatArray
) -> Kept:
    """What the runs of plans need.

    Args:
        model: Job, machine and run.
        plans: n plans.
        copied_bytes: (n,) what a checkpoint takes of the fullest chip, from `trained_bytes`.
        peak_bytes: (n,) all that it holds.
    """
    run = run_of(model)
    kept = _kept(model, plans.chips.astype(np.float64), copied_bytes)
    if run.chance is None or run.chance == _MIDDLE:
        return kept
    later = run.chance > _MIDDLE
    chips = np.asarray(kept.pace.chips)
    mtbf = run.mtbf_of(chips, "low_s" if later else "high_s")
    late_step: FloatArray = np.ones(len(plans))
    a = model.assumptions
    if is_prediction(a):
        ends = step_time_interval(
            model.job, model.cluster, plans, late_step, memory_bytes=peak_bytes,
            local_runs=a.local_runs, fitted=a.are_fitted,
        )  # fmt: skip
        late_step = ends[1] if later else ends[0]
    late = Known.of(mtbf, kept.pace.saved, _waits(model, chips, mtbf))
    return replace(kept, late=late, late_step=late_step)


def kept_by(model: CostModel, plans: PlanTable) -> Kept:
    """What the runs of plans need, from their memory; some plans at a time."""
    copied, peak = np.empty(len(plans)), np.empty(len(plans))
    for start in range(0, len(plans), _AT_A_TIME):
        at = np.arange(start, min(start + _AT_A_TIME, len(plans)))
        held = memory_table(model, plans.take(at))
        copied[at], peak[at] = trained_bytes(model.job, held.fullest), held.peak
    return kept_of(model, plans, copied, peak)


def least_kept(model: CostModel, chips: IntArray | FloatArray) -> Kept:
    """No more than any plans on so many chips need: nothing is copied before a write."""
    return _kept(model, chips.astype(np.float64), np.zeros(len(chips)))


def _kept(model: CostModel, chips: FloatArray, copied_bytes: FloatArray) -> Kept:
    run = run_of(model)
    store = run.store_bytes_per_s or run.store_per_chip * chips
    saved = checkpointing(model, copied_bytes, store + np.zeros(len(chips)), beside=run.beside)
    counts, which = np.unique(chips, return_inverse=True)
    standing = np.array([count * standing_w(model, int(count)) for count in counts])
    steps, mtbf = run.tokens / model.job.batch_tokens, run.mtbf_of(chips)
    return Kept(
        pace=Pace(chips=chips, step_time_s=np.nan, steps=steps, saved=saved),
        known=Known.of(mtbf, saved, _waits(model, chips, mtbf)),
        standing_w=standing[which.ravel()],
    )


def _waits(model: CostModel, chips: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """(n,) share of the time in which jobs wait for spares."""
    run = run_of(model)
    if run.upkeep.spares is None:
        return np.zeros(len(chips))
    counts, first, which = np.unique(chips, return_index=True, return_inverse=True)
    waits = np.empty(len(counts))
    for at, count in enumerate(counts):
        nodes = domain_of(model.cluster, run.domain, int(count)).nodes
        upkeep = replace(run.upkeep, domain_nodes=nodes)
        waits[at] = upkeep.waits(mtbf_s[first[at]], 1.0)
    return waits[which.ravel()]


def run_of(model: CostModel) -> Running:
    """The run of a job.

    Raises:
        ValueError: Its tokens are not known.
    """
    if model.run is None:
        raise ValueError("the tokens of the whole run are not known")
    return model.run


def spent_of(model: CostModel, kept: Kept, step_time_s: FloatArray | float) -> Goodput:
    """Where the time of runs goes whose failures are known, in the shape of the step times."""
    pace = replace(kept.pace, step_time_s=step_time_s)
    return goodput(np.nan, pace, run_of(model).upkeep, kept.known)


def run_costs(
    model: CostModel,
    kept: Kept,
    step_time_s: FloatArray,
    energy_j: FloatArray,
    spent: Goodput | None = None,
) -> RunCosts:
    """What the runs of plans take.

    Args:
        model: Job, machine and run.
        kept: What they need beside the next two, of the same shape or with one column.
        step_time_s: Of a step.
        energy_j: Of a step, all chips together, nodes and fabric.
        spent: Where their time goes, where that was made before.
    """
    run, steps = run_of(model), kept.pace.steps
    if not run.fails:
        work = steps * step_time_s, steps * energy_j
        time_s, joules = unfailing(run.upkeep, kept.standing_w, *work)
        late = _late_s(run, kept, time_s, 1.0, 1.0)
        return RunCosts(time_s=time_s, energy_j=joules, money=_money(model, kept, time_s, joules),
                        late_s=late)  # fmt: skip
    spent = spent_of(model, kept, step_time_s) if spent is None else spent
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        time_s = np.divide(steps * step_time_s, spent.work)
        kernels = energy_j - kept.standing_w * step_time_s
        joules = steps * _times(spent) * kernels + kept.standing_w * time_s
    joules = np.where(np.isfinite(time_s), joules, np.inf)
    late = np.full(time_s.shape, np.nan)
    if kept.late is not None:
        pace = replace(kept.pace, step_time_s=step_time_s)
        there = goodput(np.nan, pace, run.upkeep, kept.late).work
        late = _late_s(run, kept, time_s, spent.work, there)
    elif run.chance is not None:
        late = time_s
    money = _money(model, kept, time_s, joules)
    return RunCosts(time_s=time_s, energy_j=joules, money=money, late_s=late)


def unfailing(
    upkeep: Upkeep,
    standing_w: FloatArray | float,
    time_s: FloatArray,
    energy_j: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Wall time and energy of runs that never fail: slow chips and maintenance take theirs.

    Args:
        upkeep: What these take.
        standing_w: Watts of all chips that flow whatever happens.
        time_s, energy_j: Of all steps.
    """
    if upkeep.share_unfailing == 1.0:
        return time_s, energy_j
    wall_s = time_s / upkeep.share_unfailing
    return wall_s, energy_j + standing_w * (wall_s - time_s)


def _times(spent: Goodput) -> FloatArray:
    """How often work is done in the mean."""
    if spent.times is not None:
        return spent.times
    return 1.0 + spent.lost / (spent.work + spent.stragglers)


def _late_s(
    run: Running,
    kept: Kept,
    time_s: FloatArray,
    share: FloatArray | float,
    there: FloatArray | float,
) -> FloatArray:
    """What the wall time stays within at the chance of the deadline; NaN where none is asked for.

    The logarithm of the time is taken as normal on each side of its middle, with the 80 % interval
    that days have: of that, z of the chance over z of 90 %.

    Args:
        run, kept: With the chance, and the step time there.
        time_s: In the middle.
        share, there: Goodput in the middle, and at the rate of that end.
    """
    if run.chance is None:
        return np.full(time_s.shape, np.nan)
    if kept.late is None:
        return time_s
    part = abs(NormalDist().inv_cdf(run.chance)) / Z_90
    wide = spread_of_time(kept.late_step, share, there)
    sign = 1.0 if run.chance > _MIDDLE else -1.0
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(time_s), time_s * np.exp(sign * part * wide), np.inf)


def spread_of_time(
    step: FloatArray | float, share: FloatArray | float, there: FloatArray | float
) -> FloatArray:
    """Logarithm of the days at an end of their 80 % interval over the days, without its sign.

    Step time and rate are independent errors of the logarithm: the root of the sum of squares.

    Args:
        step: Step time at that end over the step time.
        share, there: Goodput, and at that end of the rate.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.hypot(np.log(step), np.log(np.divide(share, there)))


def money_of_chips(
    price_per_chip_s: float, chips: FloatArray | float, time_s: FloatArray | float
) -> FloatArray:
    """Money of chips that a run has for so long."""
    return _priced(price_per_chip_s, chips, time_s)


def money_of_energy(price_per_j: float, facility_j: FloatArray | float) -> FloatArray:
    """Money of the electricity of a run."""
    return _priced(price_per_j, facility_j)


def _priced(price: float, *amounts: FloatArray | float) -> FloatArray:
    """Money; what is free costs nothing, also of a run that never ends."""
    if price == 0.0:
        return np.zeros(np.broadcast_shapes(*map(np.shape, amounts)))
    return np.asarray(functools.reduce(operator.mul, amounts, price))


def _money(model: CostModel, kept: Kept, time_s: FloatArray, energy_j: FloatArray) -> FloatArray:
    """Money of runs, what is priced of it; NaN without a price of chip-hours."""
    run = run_of(model)
    if run.price_per_chip_s is None:
        return np.full(time_s.shape, np.nan)
    money = money_of_chips(run.price_per_chip_s, kept.pace.chips, time_s)
    if run.price_per_j is None:
        return money
    return money + money_of_energy(run.price_per_j, model.facility.pue * energy_j)


def least_run_costs(
    model: CostModel, kept: Kept, step_time_s: FloatArray, energy_j: FloatArray
) -> RunCosts:
    """What no runs of plans go below; the docstring of the module proves it.

    Args:
        model: Job, machine and run.
        kept: No more than the plans need, on exactly their chips.
        step_time_s, energy_j: Lower bounds, in one shape; what the kernels of a plan take is at
            least the difference of these and of what stands.
    """
    run, steps = run_of(model), kept.pace.steps
    kernels = np.maximum(energy_j * _ROUNDED_DOWN - kept.standing_w * step_time_s, 0.0)
    if not run.fails:
        time_s = steps * step_time_s / run.upkeep.share_unfailing
        times = np.ones_like(step_time_s)
    else:
        saved, known = kept.pace.saved, kept.known
        step = step_time_s / (1.0 - run.upkeep.straggler_loss)
        least = np.maximum(step, np.minimum(saved.write_s, np.maximum(steps, 1.0) * step))
        work = np.maximum(known.free_work_s, least)
        down = run.upkeep.interruptions(known.mtbf_s)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rise = wall_time_s(work, down, saved) / work / (1.0 - known.waits)
            rise = rise / (1.0 - run.upkeep.maintenance)
            of_m = least / known.mtbf_s
            times = np.exp(saved.write_s / known.mtbf_s) * np.expm1(of_m) / of_m
        time_s = steps * step * np.where(np.isnan(rise), 1.0, rise)
        times = np.where(np.isfinite(times) & np.isfinite(time_s), times, 1.0)
    time_s = time_s * _ROUNDED_DOWN
    with np.errstate(over="ignore"):
        joules = steps * times * kernels * _ROUNDED_DOWN + kept.standing_w * time_s
        money = _ROUNDED_DOWN * _money(model, kept, time_s, joules)
    return RunCosts(time_s=time_s, energy_j=joules, money=money)
