"""How far a measurement may lie from its prediction: 80 % intervals, and what is too close to call.

The interval of a step time is data: measured over predicted time of the published runs, its 10 %
and 90 % quantiles for each class of situation (`planner.evidence.left_out.interval_fit` makes
them and says how). A rule with four questions chooses the class; its words are part of every
answer:

    local calibration from 3 runs or more?  -> `local`: what is left within one installation,
                                               dense models by era
    adapters, experts or a dense model?     -> `adapters`, `experts`, or the dense class of the era
    V100, or a chip of AMD, Intel, Huawei,
    one that nobody measured, or constants
    changed by hand?                        -> the wider end of that class and `other_chips`
    no published run of such a kind of job
    with this framework on such a chip, or
    a model with recurrences?               -> the wider end of that class and `unseen`: sources
                                               of which the others had none like it

A chip scaled to another number of processing elements does not exist, so no run is of it: neither
those in the fit nor local ones count. Of a chip or a network whose numbers are those of no record
only local runs can be, and of one that a question changes none: it has no `local_runs`.

Constants that a user or a question changes are those of no run, and widen it alike.

Where published runs of a framework were slow without headroom in memory, the upper end is longer
there (`planner.cost.memory.risk.headroom_factor`). Presets that
state a bound, such as `roofline`, have no interval. Intervals of power and energy are those of
`planner.cost.energy.energy.Energy.interval`, which takes the ends of the step time from here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, Chip, Cluster, load_calibration
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.breakdown import Breakdown
from planner.cost.context import CostModel
from planner.cost.energy.energy import Z_80
from planner.cost.job import Job
from planner.cost.memory.risk import headroom_factor, memory_spread
from planner.plan import PlanTable

LEVEL = 0.8
"""Share of measurements that an interval is made to contain."""

RUNS_FOR_SITE = 3
"""Runs from which a local calibration counts: one or two may make a prediction worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The class of a prediction and its interval.

    Attributes:
        name: Its path below `intervals.time`, such as `dense.megatron-core`.
        words: The rule that chose it, for the answer.
        low, high: Quantile factors: 10 % and 90 % of measured over predicted step time.
        rows, sources: Published runs and their sources that they rest on.
    """

    name: str
    words: str
    low: float
    high: float
    rows: int
    sources: int

    def bounds(
        self, step_time_s: FloatArray, stretch: FloatArray | float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) low and high ends in seconds.

        Args:
            step_time_s: (n,) predictions.
            stretch: (n,) what the upper end is multiplied by for want of memory.
        """
        time = np.asarray(step_time_s, dtype=np.float64)
        return time * self.low, time * self.high * stretch


def is_prediction(assumptions: Assumptions) -> bool:
    """Whether times are predictions; those of a textbook's simplifications are bounds."""
    bound = assumptions.token_granularity or assumptions.perfect_overlap
    return not (bound or assumptions.component_energy)


def seen_path(kind: str, framework: str, chip: Chip) -> str:
    """The constant that counts published sources of a kind of job, a framework and a chip.

    Args:
        kind: Of `kind_of`.
        framework: Name of the profile.
        chip: Chips with the same key of `gemm_efficiency` count together.
    """
    return f"{_SEEN}.{kind}.{framework}.{chip.calibration_gemm}"


def kind_of(job: Job) -> str:
    """`adapters`, `experts` or `dense`: kinds of jobs whose errors differ."""
    return "adapters" if job.kind == "lora" else "experts" if job.model.moe else "dense"


def is_other_chip(chip: Chip) -> bool:
    """Whether little is published of a chip and its like: other vendors' GPUs and NPUs, and V100.

    TPUs and Trainium are left out: their few sources are by those who make them.
    """
    return chip.vendor not in _WELL_KNOWN or chip.name.startswith("v100")


def is_measured(cluster: Cluster) -> bool:
    """Whether runs on such machines can have been measured by others.

    Chips, nodes and network are those of a record, neither rewired nor with slow links.
    """
    degraded = any(level.degraded for level in cluster.levels)
    as_wired = cluster.is_record and not cluster.changed and cluster.record_name is None
    return cluster.chip.is_record and as_wired and not degraded


def is_seen(job: Job, chip: Chip, calibration: Calibration) -> bool:
    """Whether a published run is of such a job with its framework on such a chip.

    Never of a chip that is scaled from its record, nor of a model with recurrences: no row that
    constants or intervals rest on has such layers.
    """
    if job.model.recurrence is not None:
        return False
    path = seen_path(kind_of(job), job.framework.name, chip)
    return chip.record_pe_count is None and path in calibration.values


def situation(
    job: Job,
    cluster: Cluster,
    calibration: Calibration | None = None,
    local_runs: int = 0,
    *,
    fitted: bool = True,
) -> Situation:
    """The class of all plans of a job on a cluster; see the module for the rule.

    Args:
        job: The job.
        cluster: The cluster.
        calibration: The constants in use; default the shipped ones. The shipped intervals stand
            in for a calibration without its own.
        local_runs: Runs of this installation that the constants rest on
            (`Assumptions.local_runs`).
        fitted: Whether the constants are those of runs (`Assumptions.are_fitted`).
    """
    known = _with_intervals(calibration)
    entries = known.group(_TIME)
    kind = kind_of(job)
    measured = is_measured(cluster)
    seen = measured and fitted and is_seen(job, cluster.chip, known)
    local = fitted and local_runs >= RUNS_FOR_SITE and cluster.chip.record_pe_count is None
    name = _narrowest(kind, job.era, entries, local=local)
    low, high = entries[f"{name}.low"], entries[f"{name}.high"]
    rows, sources = entries[f"{name}.rows"], entries[f"{name}.sources"]
    other = not (measured and fitted) or is_other_chip(cluster.chip)
    wider = () if local else ("other_chips",) * other + (UNSEEN,) * (not seen)
    for one in wider:
        low, high = min(low, entries[f"{one}.low"]), max(high, entries[f"{one}.high"])
        rows, sources = entries[f"{one}.rows"], entries[f"{one}.sources"]
    return Situation(
        name=", ".join((name, *wider, *(UNMEASURED,) * (not measured), *(BY_HAND,) * (not fitted))),
        words=_words(job, cluster, seen=seen, runs=local_runs, fitted=fitted),
        low=low,
        high=high,
        rows=int(rows),
        sources=int(sources),
    )


UNSEEN = "unseen"
"""In the name of a class: no run of such a job with its framework on its chip is published."""
UNMEASURED = "unmeasured"
"""In the name of a class: chip or network are not as any record has them."""
BY_HAND = "by-hand"
"""In the name of a class: constants are changed by hand, so that no run is of them."""
_TIME, _ANY, _SEEN = "intervals.time", "dense.any", "intervals.seen"
_WELL_KNOWN = ("NVIDIA", "Google", "AWS", "none")  # none: of textbooks and reports
_KINDS = {"adapters": "adapters", "experts": "mixture of experts", "dense": "dense model"}


def _narrowest(kind: str, era: str, entries: Mapping[str, float], *, local: bool) -> str:
    """The class of a kind of job; that after a local calibration where it is the narrower one.

    Where the sources of an era agree better than runs of one site, three runs add nothing.
    """
    names = [kind, *(["local.experts" if kind == "experts" else "local.dense"] if local else [])]
    of_era = [
        name + (f".{era}" if f"{name}.{era}.low" in entries else ".any")
        if name.endswith("dense")
        else name
        for name in names
    ]
    return min(of_era, key=lambda name: entries[f"{name}.high"] / entries[f"{name}.low"])


def _with_intervals(calibration: Calibration | None) -> Calibration:
    """The calibration if it has intervals, else the shipped one."""
    has = calibration is not None and f"{_TIME}.{_ANY}.low" in calibration.values
    return calibration if calibration is not None and has else load_calibration()


def _words(job: Job, cluster: Cluster, *, seen: bool, runs: int, fitted: bool) -> str:
    """The answers to the questions of the rule."""
    name, framework = cluster.chip.name, job.framework.name
    which = f"{framework} on {name} is published"
    if job.model.recurrence is not None:
        which = "no fitted run has layers with recurrences"
    elif not seen:
        which = f"no published run of such a job with {framework} on {name}"
    if not fitted:
        which = "constants changed by hand, of which no run is"
    if not is_measured(cluster):
        what = cluster.name if cluster.chip.is_record else name
        which = f"{what} is not measured: it is as no record has it"
    if cluster.chip.record_pe_count is not None:
        which = f"{name} does not exist: no published run"
    site = "no local runs"
    if runs:
        site = f"{runs} local runs" + ("" if runs >= RUNS_FOR_SITE else ": too few to count")
    return f"{_KINDS[kind_of(job)]}, {job.era} software, {which}, {site}"


def step_time_interval(
    job: Job,
    cluster: Cluster,
    plans: PlanTable,
    step_time_s: FloatArray,
    calibration: Calibration | None = None,
    *,
    memory_bytes: FloatArray | None = None,
    local_runs: int = 0,
    fitted: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """(n,) low and high ends of the 80 % intervals of step times, in seconds.

    Args:
        job: The job of all plans.
        cluster: Where they run.
        plans: n plans.
        step_time_s: (n,) their predicted step times.
        calibration: The constants in use; default the shipped ones.
        memory_bytes: (n,) predicted bytes per chip; None: no plan counts as tight.
        local_runs, fitted: As in `situation`.

    Raises:
        ValueError: There is not one time per plan.
    """
    times = np.asarray(step_time_s, dtype=np.float64)
    if times.shape != (len(plans),):
        raise ValueError(f"one step time per plan is required: {times.shape} for {len(plans)}")
    stretch: FloatArray | float = 1.0
    if memory_bytes is not None:
        stretch = headroom_factor(job.framework, memory_bytes, cluster.chip.memory_bytes)
    found = situation(job, cluster, calibration, local_runs, fitted=fitted)
    return found.bounds(times, stretch)


def memory_interval(
    framework: FrameworkProfile, era: str, plans: PlanTable, memory_bytes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n,) low and high ends of the 80 % intervals of bytes per chip.

    held exp(-z s), held exp(z s) with z = 1.2816 and the spread s on which the chance of running
    out of memory rests, so that the two cannot disagree.

    Args:
        framework: Its memory profile.
        era: Software era of the job.
        plans: n plans.
        memory_bytes: (n,) predicted bytes per chip.
    """
    held = np.asarray(memory_bytes, dtype=np.float64)
    factor = np.exp(Z_80 * memory_spread(framework, era, plans))
    return held / factor, held * factor


def ends_of(model: CostModel, plans: PlanTable, costs: Breakdown) -> dict[str, FloatArray]:
    """(n,) ends of the intervals of time and memory by name; nothing where times are bounds.

    Args:
        model: Job, cluster, assumptions.
        plans: n plans.
        costs: What they cost.
    """
    if not is_prediction(model.assumptions):
        return {}
    held, a = costs.memory_per_chip_bytes, model.assumptions
    low, high = step_time_interval(
        model.job,
        model.cluster,
        plans,
        costs.step_time_s,
        memory_bytes=held,
        local_runs=a.local_runs,
        fitted=a.are_fitted,
    )
    least, most = memory_interval(model.framework, model.job.era, plans, held)
    return {
        "step_time_low_s": low,
        "step_time_high_s": high,
        "memory_low_bytes": least,
        "memory_high_bytes": most,
    }


def tie_noise(job: Job, calibration: Calibration | None = None) -> float:
    """Natural logarithm of the ratio below which two step times of a job cannot be told apart.

    80 % of the ratios of published pairs came out no further from the prediction. Two plans of
    one job share most of their error, so this is less than the interval of one.
    """
    known = _with_intervals(calibration)
    return float(np.log(known.value(f"intervals.tie.{_tie_kind(job)}.factor")))


def _tie_kind(job: Job) -> str:
    return "experts" if job.model.moe else "dense"


def error_covariance(
    job: Job, plans: PlanTable, calibration: Calibration | None = None
) -> FloatArray:
    """(n, n) covariance of the errors of log step times of plans of a job, less that of the first.

    The variance of the error of a ratio grows with the number of choices in which two plans
    differ (`choices_of`), so

        cov(i, j) = s^2 (d(i, 0) + d(j, 0) - d(i, j)) / 2

    with s^2 the variance per choice of the published pairs.

    Args:
        job: The job of all plans.
        plans: n plans, n at least one.
        calibration: The constants in use; default the shipped ones.
    """
    sigma = _with_intervals(calibration).value(f"intervals.tie.{_tie_kind(job)}.sigma_per_choice")
    found = choices_of(plans)
    apart = (found[:, None, :] != found[None, :, :]).sum(axis=2)
    covariance = (apart[:, :1] + apart[:1, :] - apart) / 2
    return np.asarray(sigma**2 * covariance)


def choices_of(plans: PlanTable) -> IntArray:
    """(n, k) choices in which plans of a job on the same chips may differ."""
    columns = (plans.tp, plans.cp, plans.ep, plans.etp, plans.pp, plans.micro_batch,
               plans.interleave, plans.sharding, plans.recompute)  # fmt: skip
    return np.stack(columns, axis=1)


def ties(step_time_s: FloatArray | float, other_s: FloatArray | float, noise: float) -> BoolArray:
    """Which step times cannot be told apart from others; the same either way round.

    Args:
        step_time_s, other_s: (n,) or one, seconds.
        noise: Of `tie_noise`.
    """
    return np.asarray(np.abs(np.log(np.divide(step_time_s, other_s))) <= noise)
