"""Where the time of a step goes, measured against the planner's own parts.

    multiplication and attention    compute
    attention alone                 what the attention of the cost model takes
    other kernels                   memory-bound work and the optimizer
    collectives that nothing hides  the exposed communication of every axis
    no kernel                       the host and the bubble

Rows are fitted together, each with its own noise; a part below 2 % of the step says nothing of a
constant and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import BoolArray, FloatArray
from planner.cost.breakdown import COMMUNICATION, time_parts
from planner.cost.context import CostModel
from planner.cost.evaluate import TimedPlans
from planner.evidence.calibration.constants import path_of
from planner.evidence.calibration.logs.trace import DeviceTime
from planner.evidence.calibration.posterior import Noise, Prior, maximize
from planner.evidence.calibration.runs import with_values
from planner.evidence.calibration.systematic import Learned
from planner.evidence.runs.rows import Run
from planner.plan import PlanTable

NOISE = Noise(usual=0.06)
"""Scatter of compute about its prediction, as that of multiplications."""
NOISES = {"compute": 0.06, "attention": 0.12, "other": 0.15, "exposed": 0.25, "idle": 0.30}
"""Expected scatter by part, standard deviations of the logarithm. Assumed: compute as
multiplications have it; the shorter a part, the more of it are kernels that no term counts."""
PARTS = tuple(NOISES)
TEMPLATES = (
    "gemm_efficiency.{gemm}",
    "attention_efficiency.{attention}",
    "era.{era}.elementwise",
    "era.{era}.host_s_per_layer",
    "era.{era}.fixed_s_per_layer",
    "network.scale_up_efficiency",
)
BETWEEN_NODES = "network.scale_out_efficiency"
_LEAST = 0.02
_ATTENTION = "attention_efficiency.{attention}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A run and where the time of its step goes, by its traces."""

    run: Run
    time: DeviceTime


def templates_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """The constants that traces of some runs teach."""
    between = any(run.plan.chips > run.cluster.node_chips for run in runs)
    return (*TEMPLATES, BETWEEN_NODES) if between else TEMPLATES


def predicted_parts(runs: Sequence[Run], constants: Calibration) -> FloatArray:
    """(n, 5) seconds of `PARTS` in a step of n runs, without any site factor.

    Attention is what doubling its efficiency would save, twice: its time is inverse to it.
    """
    found = np.empty((len(runs), len(PARTS)))
    for at in _alike(runs):
        some = [runs[index] for index in at]
        path = path_of(_ATTENTION, some[0].cluster.chip, some[0].job.era)
        doubled = with_values(constants, {path: 2 * constants.value(path)})
        parts = _time_parts(some, constants)
        attention = 2 * (parts["compute"] - _time_parts(some, doubled)["compute"])
        columns = (
            parts["compute"],
            attention,
            parts["memory_bound"] + parts["optimizer"],
            np.sum([parts[name] for name in COMMUNICATION], axis=0),
            parts["host"] + parts["bubble"],
        )
        found[at] = np.stack(columns, axis=1)
    return found


def _alike(runs: Sequence[Run]) -> list[list[int]]:
    """Runs that share the job but for its batch, and the cluster, which are costed in one call."""
    groups: dict[object, list[int]] = defaultdict(list)
    for index, run in enumerate(runs):
        groups[replace(run.job, global_batch=1), run.cluster].append(index)
    return list(groups.values())


def _time_parts(runs: Sequence[Run], constants: Calibration) -> dict[str, FloatArray]:
    """Seconds by cause of runs of `_alike`."""
    first = runs[0]
    job = first.job
    a = calibrated(first.cluster.chip, job.era, job.precision, constants, recipe=job.recipe)
    model = CostModel.build(first.job, first.cluster, a)
    plans = PlanTable.from_plans([run.plan for run in runs])
    batches = np.array([run.job.global_batch for run in runs])
    timed = TimedPlans(model, plans).at(np.arange(len(runs)), plans.micro_batch, batches)
    return time_parts(model, timed)


def measured_parts(time: DeviceTime) -> FloatArray:
    """(5,) the same of a trace."""
    compute = time.gemm_s + time.attention_s
    return np.array([compute, time.attention_s, time.other_s, time.exposed_s, time.idle_s])


def telling(parts: FloatArray) -> BoolArray:
    """(5,) which parts are long enough to say something; attention is part of compute."""
    whole = parts.sum() - parts[1]
    return np.asarray(parts >= _LEAST * whole)


def learn_parts(
    traced: Sequence[Traced], base: Calibration, priors: Sequence[Prior]
) -> Learned | None:
    """The constants of kernels, links and host under traces; None where no part is long enough.

    Args:
        traced: Runs with their traces.
        base: The calibration to start from.
        priors: Of `templates_of`.
    """
    measured = np.stack([measured_parts(one.time) for one in traced])
    runs = [one.run for one in traced]
    shipped = predicted_parts(runs, base)
    counts = np.stack([telling(m) & telling(p) for m, p in zip(measured, shipped, strict=True)])
    if not counts.any():
        return None

    def predict(values: FloatArray) -> FloatArray:
        numbers = {prior.path: value for prior, value in zip(priors, values, strict=True)}
        return predicted_parts(runs, with_values(base, numbers))[counts]

    weights = (NOISE.usual / np.array([NOISES[name] for name in PARTS])) ** 2
    rows = np.broadcast_to(weights, counts.shape)[counts]
    found = maximize(predict, measured[counts], list(priors), NOISE, rows)
    return Learned(
        priors=tuple(priors),
        values=found.values,
        sigma=found.sigma,
        learned=found.learned,
        noise=found.noise,
        before=found.before,
        after=found.after,
    )
