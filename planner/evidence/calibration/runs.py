"""Training runs of a user: their predictions under changed constants, and what they teach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, Cluster, FrozenMap
from planner.assumptions.assumptions import calibrated
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.job import Job
from planner.evidence.calibration.answer import Errors
from planner.evidence.calibration.constants import IN_RUNS, path_of, prior_of
from planner.evidence.calibration.posterior import (
    Noise,
    Posterior,
    Prior,
    learnable,
    maximize,
    shrunk_median,
)
from planner.evidence.runs.rows import Run
from planner.plan import PlanTable

NOISE = Noise(usual=0.06)
"""Scatter of published runs of one installation about their common factor: 2 to 16 % where the
same plan was printed twice, about 6 % in most sources (docs/accuracy.md)."""
FEWEST = 3
"""Runs below which a site factor may well make predictions worse; docs/calibration.md."""
FEWEST_FOR_CONSTANTS = 6
"""Different runs below which nothing but the site factor is fitted."""
_BETTER = 0.95  # constants must bring the left-out error below this share of the site factor's


@dataclass(frozen=True, slots=True)
class _Batch:
    """Runs that share job and cluster."""

    job: Job
    cluster: Cluster
    plans: PlanTable
    at: IntArray


@dataclass(frozen=True, slots=True)
class RunSet:
    """Training runs ready to be predicted at once.

    Attributes:
        runs: n runs.
        batches: The same, by job and cluster.
    """

    runs: tuple[Run, ...]
    batches: tuple[_Batch, ...]

    @staticmethod
    def of(runs: Sequence[Run]) -> RunSet:
        """Groups runs that share job and cluster, which are costed in one call."""
        groups: list[tuple[Job, Cluster, list[int]]] = []
        for index, run in enumerate(runs):
            for job, cluster, members in groups:
                if job == run.job and cluster == run.cluster:
                    members.append(index)
                    break
            else:
                groups.append((run.job, run.cluster, [index]))
        batches = tuple(
            _Batch(job, cluster, PlanTable.from_plans([runs[i].plan for i in at]), np.array(at))
            for job, cluster, at in groups
        )
        return RunSet(tuple(runs), batches)

    @property
    def measured_s(self) -> FloatArray:
        """(n,) measured step times."""
        return np.array([run.measured_step_time_s for run in self.runs])

    def predicted_s(self, constants: Calibration) -> FloatArray:
        """(n,) step times under a calibration, without any site factor."""
        seconds = np.empty(len(self.runs))
        for batch in self.batches:
            job, chip = batch.job, batch.cluster.chip
            a = calibrated(chip, job.era, job.precision, constants, job.expert_software, job.recipe)
            model = CostModel.build(job, batch.cluster, replace(a, site_factor=1.0))
            seconds[batch.at] = evaluate_totals(model, batch.plans).step_time_s
        return seconds


def with_values(base: Calibration, values: Mapping[str, float]) -> Calibration:
    """A calibration with other numbers; paths that it does not have are left out."""
    known = {path: float(value) for path, value in values.items() if path in base.values}
    return replace(base, values=FrozenMap({**base.values, **known}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsFit:
    """What runs teach.

    Attributes:
        choice: `shipped`, `site-factor` or `constants`: the one with the least left-out error.
        errors: Of all choices that were tried.
        priors: The constants fitted, in order; the site factor first.
        values, sigma, learned: (k,) after; see `Posterior`.
        median_factor: The median of measured over predicted.
        noise: Scatter about the common factor.
        shipped_s, local_s, left_out_s: (n,) predicted step times.
    """

    choice: str
    errors: tuple[Errors, ...]
    priors: tuple[Prior, ...]
    values: FloatArray
    sigma: FloatArray
    learned: FloatArray
    median_factor: float
    noise: float
    shipped_s: FloatArray
    local_s: FloatArray
    left_out_s: FloatArray


def fit_runs(
    runs: RunSet, base: Calibration, known: Mapping[str, Prior], what: str = "auto"
) -> RunsFit:
    """The site factor of some runs and, where there are enough, constants.

    Args:
        runs: At least one run.
        base: The calibration to start from; constants measured otherwise are already in it.
        known: Priors that differ from those of `planner.evidence.calibration.constants`, by path.
        what: `auto` (the least left-out error), `site-factor` or `constants`.
    """
    shipped = _site_only(runs, base, known)
    tried = [shipped]
    if what != "site-factor" and (what == "constants" or enough_for_constants(runs)):
        tried.append(_constants(runs, base, known))
    return _chosen(tried, what, runs, base)


def enough_for_constants(runs: RunSet) -> bool:
    """Whether runs differ enough to tell constants apart."""
    different = {(run.plan, run.job.model.name, run.job.global_batch) for run in runs.runs}
    return len(different) >= FEWEST_FOR_CONSTANTS


def _site_prior(known: Mapping[str, Prior], runs: RunSet, base: Calibration) -> Prior:
    return known.get(SITE_FACTOR, prior_of(SITE_FACTOR, base, runs.runs[0].cluster.chip))


def _site_only(runs: RunSet, base: Calibration, known: Mapping[str, Prior]) -> RunsFit:
    """The shrunk median of measured over predicted."""
    prior = _site_prior(known, runs, base)
    predicted = runs.predicted_s(base)
    residuals = np.log(runs.measured_s / predicted)
    mean, sigma, scatter = shrunk_median(residuals, prior.sigma, NOISE)
    without = np.array(
        [
            shrunk_median(np.delete(residuals, index), prior.sigma, NOISE)[0]
            for index in range(len(residuals))
        ]
    )
    local, left_out = predicted * np.exp(mean), predicted * np.exp(without)
    return RunsFit(
        choice="site-factor",
        errors=(_errors("site-factor", runs, local, left_out),),
        priors=(prior,),
        values=np.array([np.exp(mean)]),
        sigma=np.array([sigma]),
        learned=np.array([1 - (sigma / prior.sigma) ** 2]),
        median_factor=float(np.exp(np.median(residuals))),
        noise=scatter,
        shipped_s=predicted,
        local_s=local,
        left_out_s=left_out,
    )


def _priors(runs: RunSet, base: Calibration, known: Mapping[str, Prior]) -> list[Prior]:
    """The constants that these runs may move, each once; links only where runs use them."""
    found = {SITE_FACTOR: _site_prior(known, runs, base)}
    for template in IN_RUNS[1:]:
        for run in runs.runs:
            if (
                template.startswith("network.scale_out")
                and run.plan.chips <= run.cluster.node_chips
            ):
                continue
            path = path_of(template, run.cluster.chip, run.job.era)
            own = prior_of(template, base, run.cluster.chip, run.job.era)
            found.setdefault(path, known.get(path, own))
    return list(found.values())


def _constants(runs: RunSet, base: Calibration, known: Mapping[str, Prior]) -> RunsFit:
    """Site factor and constants together; those that the runs do not move are left alone."""
    simple = _site_only(runs, base, known)
    priors = _priors(runs, base, known)

    def predict(values: FloatArray, chosen: Sequence[Prior]) -> FloatArray:
        numbers = {prior.path: value for prior, value in zip(chosen, values, strict=True)}
        seconds = runs.predicted_s(with_values(base, numbers))
        return np.asarray(seconds * numbers[SITE_FACTOR])

    teaches = learnable(lambda v: predict(v, priors), runs.measured_s, priors, simple.noise)
    moved = [p for p, learned in zip(priors, teaches, strict=True) if learned >= LEARNED]
    if not any(prior.path == SITE_FACTOR for prior in moved):
        moved.insert(0, priors[0])
    refit = maximize(lambda v: predict(v, moved), runs.measured_s, moved, NOISE)
    values, sigma = _spread(priors, moved, refit)
    local = runs.measured_s / np.exp(refit.after)
    left_out = runs.measured_s / np.exp(refit.left_out)
    return replace(
        simple,
        choice="constants",
        errors=(_errors("constants", runs, local, left_out),),
        priors=tuple(priors),
        values=values,
        sigma=sigma,
        learned=teaches,
        noise=refit.noise,
        local_s=local,
        left_out_s=left_out,
    )


LEARNED = 0.15
"""Share of a prior's variance that measurements must take away before the constant moves."""


def _spread(
    priors: Sequence[Prior], moved: Sequence[Prior], refit: Posterior
) -> tuple[FloatArray, FloatArray]:
    """Value and sigma of the fit where a constant moved; those of its prior where it did not."""
    at = {prior.path: index for index, prior in enumerate(moved)}
    values = [refit.values[at[p.path]] if p.path in at else p.value for p in priors]
    sigma = [refit.sigma[at[p.path]] if p.path in at else p.sigma for p in priors]
    return np.array(values), np.array(sigma)


def _errors(choice: str, runs: RunSet, local: FloatArray, left_out: FloatArray) -> Errors:
    measured = runs.measured_s
    enough = len(runs.runs) >= FEWEST
    return Errors(
        choice=choice,
        in_sample=float(np.abs(local / measured - 1).mean()),
        left_out=float(np.abs(left_out / measured - 1).mean()) if enough else None,
    )


def _chosen(tried: Sequence[RunsFit], what: str, runs: RunSet, base: Calibration) -> RunsFit:
    """The choice with the least left-out error; a simpler one where that is not clearly less."""
    site = tried[0]
    own = _errors("shipped", runs, site.shipped_s, site.shipped_s)
    errors = (own, *(error for fit in tried for error in fit.errors))
    if what != "auto":
        return replace(tried[-1], errors=errors)
    best, least = site, site.errors[0].left_out
    if least is not None:
        for fit in tried[1:]:
            left_out = fit.errors[0].left_out
            if left_out is not None and left_out < _BETTER * least:
                best, least = fit, left_out
        if own.left_out is not None and own.left_out <= least:
            return _untouched(replace(site, errors=errors))
    return replace(best, errors=errors)


def _untouched(fit: RunsFit) -> RunsFit:
    """The shipped constants, which predict the runs best."""
    return replace(
        fit,
        choice="shipped",
        values=np.ones_like(fit.values),
        local_s=fit.shipped_s,
        left_out_s=fit.shipped_s,
    )
