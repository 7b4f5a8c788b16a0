"""Constants and site factors come back from runs of a machine that is known."""

import numpy as np
import pytest
from support.cases import each

from evidence.calibration.synthetic import runs_under
from hardware_db import load_calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.arrays import FloatArray
from planner.evidence.calibration.constants import SITE_SIGMA
from planner.evidence.calibration.runs import (
    RunSet,
    RunsFit,
    enough_for_constants,
    fit_runs,
    with_values,
)

BASE = load_calibration()
GEMM, HOST = "gemm_efficiency.h100", "era.megatron-core.host_s_per_layer"
TRUTH = {GEMM: BASE.value(GEMM) * 0.85, HOST: BASE.value(HOST) * 2.2}


def predicted(fit: RunsFit, runs: RunSet) -> FloatArray:
    """Step times of other runs with what was found."""
    values = {p.path: float(v) for p, v in zip(fit.priors, fit.values, strict=True)}
    return runs.predicted_s(with_values(BASE, values)) * values[SITE_FACTOR]


def error(seconds: FloatArray, runs: RunSet) -> float:
    """Mean absolute error."""
    return float(np.abs(seconds / runs.measured_s - 1).mean())


def test_a_set_predicts_each_run_as_alone() -> None:
    runs = runs_under({}, 12)
    together = RunSet.of(runs)
    assert len(together.batches) < 12
    alone = [float(RunSet.of([run]).predicted_s(BASE)[0]) for run in runs]
    assert together.predicted_s(BASE) == pytest.approx(alone, rel=1e-12)


@each("factor", [0.8, 1.0, 1.3])
def test_a_site_factor_comes_back_shrunk(factor: float) -> None:
    runs = RunSet.of(runs_under({}, 5, factor=factor, noise=0.03))
    fit = fit_runs(runs, BASE, {}, "site-factor")
    found = float(fit.values[0])
    assert abs(np.log(found / factor)) < 0.05
    assert fit.sigma[0] < SITE_SIGMA
    assert fit.median_factor == pytest.approx(factor, rel=0.06)


def test_more_runs_bring_the_factor_nearer() -> None:
    away = []
    for count in (1, 3, 10, 40):
        runs = RunSet.of(runs_under({}, count, factor=1.4))
        away.append(abs(fit_runs(runs, BASE, {}, "site-factor").values[0] - 1.4))
    assert away == sorted(away, reverse=True)
    assert away[-1] < 0.01


def test_constants_come_back_and_predict_new_runs_better() -> None:
    every = runs_under(TRUTH, 40, noise=0.02)
    runs, others = RunSet.of(every[:14]), RunSet.of(every[14:])
    fit = fit_runs(runs, BASE, {})
    assert fit.choice == "constants"
    found = {p.path: float(v) for p, v in zip(fit.priors, fit.values, strict=True)}
    combined = found[GEMM] / found[SITE_FACTOR]  # large runs see the two as one
    assert combined == pytest.approx(TRUTH[GEMM], rel=0.06)
    assert abs(np.log(found[HOST] / TRUTH[HOST])) < abs(np.log(BASE.value(HOST) / TRUTH[HOST])) / 2
    shipped = error(others.predicted_s(BASE), others)
    assert error(predicted(fit, others), others) < 0.04 < 0.1 < shipped


def test_the_error_left_out_is_that_of_new_runs() -> None:
    every = runs_under(TRUTH, 40, noise=0.05, seed=2)
    runs, others = RunSet.of(every[:16]), RunSet.of(every[16:])
    fit = fit_runs(runs, BASE, {}, "constants")
    left_out = fit.errors[-1].left_out
    assert left_out is not None
    assert left_out == pytest.approx(error(predicted(fit, others), others), abs=0.025)
    assert left_out >= fit.errors[-1].in_sample


def test_left_out_times_of_the_site_factor_are_those_of_a_refit() -> None:
    every = runs_under({}, 6, factor=1.2, noise=0.06)
    fit = fit_runs(RunSet.of(every), BASE, {}, "site-factor")
    for left in range(6):
        rest = RunSet.of([run for index, run in enumerate(every) if index != left])
        factor = float(fit_runs(rest, BASE, {}, "site-factor").values[0])
        alone = float(RunSet.of([every[left]]).predicted_s(BASE)[0])
        assert fit.left_out_s[left] == pytest.approx(alone * factor)


def test_what_fits_already_is_left_alone() -> None:
    fit = fit_runs(RunSet.of(runs_under({}, 5, noise=0.08, seed=11)), BASE, {})
    shipped, site = fit.errors[:2]
    assert shipped.left_out is not None
    assert site.left_out is not None
    assert (fit.choice == "shipped") == (shipped.left_out <= site.left_out)
    assert fit.choice == "shipped"
    assert fit.values[0] == 1.0


def test_few_runs_fit_no_constants() -> None:
    runs = RunSet.of(runs_under(TRUTH, 5))
    assert not enough_for_constants(runs)
    assert fit_runs(runs, BASE, {}).choice == "site-factor"
    repeated = RunSet.of(runs_under(TRUTH, 1) * 9)
    assert not enough_for_constants(repeated)


def test_two_runs_have_no_error_left_out() -> None:
    fit = fit_runs(RunSet.of(runs_under({}, 2, factor=1.2)), BASE, {})
    assert [one.left_out for one in fit.errors] == [None, None]
    assert fit.choice == "site-factor"


def test_one_host_does_not_teach_the_network() -> None:
    runs = [run for run in runs_under(TRUTH, 48) if run.plan.chips == 8]
    fit = fit_runs(RunSet.of(runs), BASE, {}, "constants")
    assert "network.scale_out_efficiency" not in {prior.path for prior in fit.priors}
