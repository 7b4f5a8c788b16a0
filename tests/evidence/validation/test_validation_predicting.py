"""Predictions of runs are those of `planner evaluate`, with their defaults listed."""

from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from support.cases import each

from hardware_db import FrozenMap, load_calibration
from planner.answers.api import evaluate_plan
from planner.assumptions.assumptions import calibrated
from planner.cost.context import CostModel
from planner.evidence.csvfile import shipped
from planner.evidence.runs.reading import MeasuredRun, Reading, Skipped, read_runs
from planner.evidence.validation.predicting import Predictions, predict
from planner.question.kinds.runners import Runners
from planner.question.request import Request
from planner.question.resolved import Resolved


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read_runs()


@pytest.fixture(scope="module")
def both(reading: Reading) -> tuple[Predictions, tuple[Skipped, ...]]:
    return predict(reading)


@pytest.fixture(scope="module")
def every(both: tuple[Predictions, tuple[Skipped, ...]]) -> Predictions:
    return both[0]


def evaluated(measured: MeasuredRun, site_factor: float) -> tuple[float, float, float]:
    """Step time, memory and power by the function behind `planner evaluate`."""
    run = measured.run
    assumptions = calibrated(
        run.cluster.chip, run.job.era, run.job.precision, experts=run.job.expert_software
    )
    cost = CostModel.build(run.job, run.cluster, replace(assumptions, site_factor=site_factor))
    request = Request(model=run.job.model.name, chips=run.plan.chips)
    resolved = Resolved(
        request=request, chips=run.plan.chips, fewest_chips=run.plan.chips, cost=cost,
        batch_tokens=run.job.batch_tokens,
        seq_len=int(run.job.seq_len), defaults=(), runners=Runners(),
    )  # fmt: skip
    costs = evaluate_plan(resolved, run.plan).result
    return costs.step_time_s, costs.memory_per_chip_bytes, costs.power_per_chip_w


def test_sampled_rows_equal_evaluate(every: Predictions) -> None:
    sampled = list(range(0, len(every), 97))
    assert len(sampled) > 20
    for row in sampled:
        found = evaluated(every.runs[row], 1.0)
        expected = (every.step_time_s[row], every.memory_bytes[row], every.power_w[row])
        assert found == pytest.approx(expected, rel=1e-12)


def test_a_site_factor_is_that_of_the_assumptions(every: Predictions) -> None:
    with_site = np.flatnonzero(every.site_factor != 1)
    assert len(with_site) > 100
    for row in with_site[::40]:
        seconds, _, _ = evaluated(every.runs[row], float(every.site_factor[row]))
        assert seconds == pytest.approx(every.with_site_factors().step_time_s[row], rel=1e-12)


def test_all_complete_rows_are_predicted_or_named(
    reading: Reading, both: tuple[Predictions, tuple[Skipped, ...]]
) -> None:
    every, refused = both
    complete = {line.cells["id"] for line in shipped("runs") if line.cells["complete"] == "1"}
    assert len(complete) == 3311
    predicted = {measured.run.key for measured in every.runs}
    assert complete == predicted | {row.key for row in refused}
    assert len(refused) <= 1
    assert np.all(np.isfinite(every.step_time_s))
    assert np.all(every.low_s <= every.step_time_s)
    assert np.all(every.high_s >= every.step_time_s)
    # nothing that the file says complete is taken for a fault when it is read
    assert not [row for row in reading.skipped if row.is_fault]


def test_a_row_that_cannot_be_placed_takes_no_other_with_it(reading: Reading) -> None:
    good, other = (row for row in reading.runs if row.set_name == "simumax"), reading.runs[0]
    pair = [next(good), next(good)]
    bad = replace(pair[1], run=replace(pair[1].run, plan=replace(other.run.plan, pp=1000)))
    found, skipped = predict(Reading(name="x", runs=(pair[0], bad), skipped=()))
    assert [measured.run.key for measured in found.runs] == [pair[0].run.key]
    assert {row.key for row in skipped} == {bad.run.key}


def test_other_constants_change_the_predictions(reading: Reading) -> None:
    part = replace(reading, runs=tuple(r for r in reading.runs if r.set_name == "vtrain-multi"))
    default, _ = predict(part)
    shipped_constants = load_calibration()
    slower = FrozenMap({**shipped_constants.values, "gemm_efficiency.a100": 0.5})
    other, _ = predict(part, replace(shipped_constants, values=slower))
    assert not np.allclose(default.step_time_s, other.step_time_s)


def test_what_a_row_leaves_out_is_listed(every: Predictions) -> None:
    rows = {line.cells["id"]: line.cells for line in shipped("runs")}
    for measured in every.runs:
        cells = rows[measured.run.key]
        for column in ("sharding", "recompute", "micro_batch_seqs", "ep", "precision"):
            name = {"micro_batch_seqs": "micro_batch"}.get(column, column)
            said = cells[column] or (column == "recompute" and "recompute-modules" in cells["flags"])
            assert (name in measured.run.filled) == (not said), (measured.run.key, name)


@each("name", ["runs", "sets", "failed", "collectives", "microbench", "energy"])
def test_the_data_travel_in_the_package(name: str) -> None:
    assert (resources.files("planner.evidence") / "data" / f"{name}.csv.gz").is_file()
    lines = shipped(name)
    assert lines
    assert not [line for line in lines if line.problem]
