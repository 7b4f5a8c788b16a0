"""Intervals and ties of predictions: the rule that chooses the class, and what it gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import each
from support.jobs import cost_model, dense_model, moe_model, roofline_model

from cost.cases import case_of
from hardware_db import FrozenMap, load_calibration, load_chip
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.intervals import (
    is_prediction,
    is_seen,
    memory_interval,
    situation,
    step_time_interval,
    tie_noise,
    ties,
)
from planner.cost.memory.risk import SLOWDOWN, memory_risks
from planner.machine.scaling import with_pes
from planner.plan import Plan, PlanTable
from planner.results.plan import plan_results

DENSE = dense_model(layers=8, hidden=1024, heads=8, kv_heads=8, width=4096)
TIMES = np.array([0.1, 1.0, 1.5, 40.0])


def job(hardware: str = "dgx-h100-ndr", **fields: str) -> CostModel:
    return cost_model(DENSE, hardware, global_batch=8, **fields)  # type: ignore[arg-type]


def table(rows: int) -> PlanTable:
    return PlanTable.from_plans([Plan(dp=8)] * rows)


def test_intervals_are_positive_and_grow_with_the_prediction() -> None:
    model = job()
    low, high = step_time_interval(model.job, model.cluster, table(4), TIMES)
    assert (low > 0).all()
    assert (low < high).all()
    assert (np.diff(low) > 0).all()
    assert (np.diff(high) > 0).all()


def test_many_plans_at_once_have_the_intervals_of_each() -> None:
    model = job()
    held = np.array([0.2, 0.9, 0.5, 0.95]) * model.chip.memory_bytes
    both = step_time_interval(model.job, model.cluster, table(4), TIMES, memory_bytes=held)
    for row in range(4):
        one = step_time_interval(
            model.job, model.cluster, table(1), TIMES[[row]], memory_bytes=held[[row]]
        )
        assert [end[0] for end in one] == [end[row] for end in both]


def test_a_time_for_every_plan_is_required() -> None:
    model = job()
    with pytest.raises(ValueError, match="one step time per plan"):
        step_time_interval(model.job, model.cluster, table(3), TIMES)


def test_full_memory_lengthens_the_upper_end_where_runs_were_slow() -> None:
    slow, other = job(framework="nanotron"), job()
    held = np.array([0.87, 0.89]) * slow.chip.memory_bytes
    for model, factor in ((slow, SLOWDOWN.value), (other, 1.0)):
        found = situation(model.job, model.cluster)
        low, high = step_time_interval(
            model.job, model.cluster, table(2), np.ones(2), memory_bytes=held
        )
        assert low.tolist() == [found.low, found.low]
        assert high.tolist() == [found.high, found.high * factor]


def test_the_rule_names_the_class() -> None:
    assert situation(job().job, job().cluster).name == "dense.megatron-core"
    assert situation(job(framework="nanotron").job, job().cluster).name == "dense.any"
    assert situation(job(kind="lora").job, job().cluster).name == "adapters"
    mixed = cost_model(moe_model(6, 8), "dgx-h100-ndr", global_batch=8)
    assert situation(mixed.job, mixed.cluster).name == "experts"
    amd = job("mi300x-8way")
    assert situation(amd.job, amd.cluster).name == "dense.megatron-core, other_chips, unseen"
    words = situation(amd.job, amd.cluster).words
    assert "no published run of such a job with megatron on mi300x" in words


def test_what_no_run_was_published_of_has_a_wider_interval() -> None:
    assert is_seen(job().job, load_chip("h100-sxm5-80"), load_calibration())
    assert not is_seen(job().job, load_chip("mi300x"), load_calibration())
    known = situation(job().job, job().cluster)
    unknown = situation(job("mi300x-8way").job, job("mi300x-8way").cluster)
    assert unknown.low <= known.low
    assert unknown.high > known.high


def test_no_fitted_run_has_recurrences() -> None:
    """The published runs of a hybrid, 1.17 to 1.39 times as long as predicted, are inside."""
    unseen = load_calibration().group("intervals.time.unseen")
    for name in ("nemotron-h-8b", "nemotron-3-nano-30b-a3b"):
        case = case_of(name, "dgx-h100-ndr", layers=52)
        found = situation(case.job, case.cluster)
        assert found.name.endswith(", unseen")
        assert "no fitted run has layers with recurrences" in found.words
        assert (found.rows, found.sources) == (unseen["rows"], unseen["sources"])
        assert found.low <= 1.0 < 1.40 < found.high


def test_a_scaled_chip_is_outside_the_fit_and_knows_no_local_runs() -> None:
    """No published run is of a chip that does not exist."""
    h100 = job()
    known, unseen = (
        situation(h100.job, h100.cluster),
        load_calibration().group("intervals.time.unseen"),
    )
    assert situation(h100.job, with_pes(h100.cluster, 132)) == situation(h100.job, h100.cluster)
    scaled = with_pes(h100.cluster, 264)
    for runs in (0, 3):
        found = situation(h100.job, scaled, local_runs=runs)
        assert found.low == min(known.low, unseen["low"])
        assert found.high == max(known.high, unseen["high"])
        assert found.rows == unseen["rows"]
        assert found.name == "dense.megatron-core, unseen"
        assert "h100-sxm5-80 scaled to 264 SMs (record: 132) does not exist" in found.words
    twice = with_pes(with_pes(h100.cluster, 66), 264).chip
    assert (twice.name, twice.record_pe_count) == (scaled.chip.name, 132)
    again = with_pes(scaled, 132)
    assert (again.chip.name, again.chip.record_pe_count) == ("h100-sxm5-80", None)
    assert situation(h100.job, again) == situation(h100.job, h100.cluster)


def test_a_local_calibration_counts_from_three_runs() -> None:
    model = job(framework="nanotron")
    shipped = situation(model.job, model.cluster)
    few = situation(model.job, model.cluster, local_runs=2)
    assert replace(few, words=shipped.words) == shipped
    assert few.words.endswith("2 local runs: too few to count")
    found = situation(model.job, model.cluster, local_runs=3)
    assert found.name == f"local.dense.{model.job.era}"
    assert found.high / found.low < shipped.high / shipped.low
    agreed = job()  # whose sources agree better than runs of one site: never wider
    one, three = (situation(agreed.job, agreed.cluster, local_runs=n) for n in (0, 3))
    assert three.high / three.low <= one.high / one.low


def test_a_calibration_without_intervals_has_the_shipped_ones() -> None:
    model, shipped = job(), load_calibration()
    rest = {path: v for path, v in shipped.values.items() if not path.startswith("intervals")}
    old = replace(shipped, values=FrozenMap(rest))
    assert situation(model.job, model.cluster, old) == situation(model.job, model.cluster)
    assert tie_noise(model.job, old) == tie_noise(model.job)


@each("framework", ["megatron", "nanotron", "jax"])
def test_memory_and_the_chance_to_run_out_rest_on_one_spread(framework: str) -> None:
    model, plans = job(framework=framework), table(2)
    held = np.array([0.7, 0.9]) * model.allocatable_bytes
    low, high = memory_interval(model.framework, model.job.era, plans, held)
    chance, _ = memory_risks(model, plans, held)
    assert (low < held).all()
    assert (held < high).all()
    assert ((high > model.allocatable_bytes) == (chance > 0.1)).all()


def test_the_energy_of_a_plan_is_as_unsure_as_its_time_and_its_power_together() -> None:
    model, plans = job(), table(2)
    costs = evaluate_table(model, plans)
    for found in plan_results(model, plans, costs):
        assert found.step_time_high_s is not None
        time = found.step_time_high_s / found.step_time_s - 1
        for inside in found.boundaries:
            power = inside.power_high_w / inside.power_w - 1
            both = inside.energy_high_j / inside.energy_j - 1
            assert both == pytest.approx(np.hypot(time, power))
        assert found.energy_high_j == found.boundaries[2].energy_high_j
        assert found.energy_low_j == found.boundaries[2].energy_low_j


def test_the_shipped_numbers_say_what_they_rest_on() -> None:
    shipped = load_calibration()
    found = {path: q for path, q in shipped.quantities.items() if path.startswith("intervals.")}
    for path, quantity in found.items():
        assert quantity.kind == "derived", path
        assert quantity.sources, path
        assert quantity.number > 0, path
    for path in found:
        if path.endswith(".low"):
            base = path.removesuffix(".low")
            assert found[f"{base}.low"].number < found[f"{base}.high"].number
            assert found[f"{base}.rows"].number >= found[f"{base}.sources"].number >= 1


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_ties_are_the_same_either_way_round(one: float, other: float) -> None:
    assert ties(one, other, 0.1) == ties(other, one, 0.1)
    assert ties(one, one, 0.0)


def test_ties_end_at_the_noise() -> None:
    noise = tie_noise(job().job)
    assert 0 < noise < np.log(situation(job().job, job().cluster).high / 0.8)
    times = np.exp(np.array([-1.01, -0.99, 0.99, 1.01]) * noise)
    assert ties(times, 1.0, noise).tolist() == [False, True, True, False]
    mixed = cost_model(moe_model(6, 8), "dgx-h100-ndr", global_batch=8)
    assert tie_noise(mixed.job) >= noise


def test_bounds_are_no_predictions() -> None:
    textbook = roofline_model(DENSE, "tpu-v5p", 64, 2.0**20)
    assert not is_prediction(textbook.assumptions)
    assert is_prediction(job().assumptions)
