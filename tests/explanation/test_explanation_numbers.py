"""What an answer leans on: elasticities against other ways to the same figures."""

from dataclasses import fields, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import each

import planner
from explanation.cases import JOB, PLAN, answer, resolved
from hardware_db import FrozenMap
from planner.assumptions.assumptions import Assumptions
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.intervals import tie_noise
from planner.explanation.contenders import rivals_of
from planner.explanation.sensitivity.elasticities import (
    ASSUMED,
    LARGEST,
    NEAREST,
    elasticities,
    largest_of_time,
    leanings,
)
from planner.explanation.sensitivity.numbers import SETTINGS, Lever, faster_level, for_time, levers
from planner.explanation.sensitivity.profile import of_framework
from planner.explanation.sensitivity.rebuilding import rebuilding
from planner.objectives import TIME
from planner.plan import Plan, PlanTable

PRESETS = ("calibrated", "roofline", "rack-zero", "rack-energy")


def time_of(model: CostModel, plan: Plan = PLAN) -> float:
    """Seconds of a step."""
    return float(evaluate_totals(model, PlanTable.from_plans([plan])).step_time_s[0])


def levers_of(**changes: Any) -> list[Lever]:
    """The numbers of the job, with changes."""
    return levers(rebuilding(resolved(**changes)), PLAN.chips)[0]


def in_half_the_time(model: CostModel) -> CostModel:
    """Every rate twice as high and every second half as long."""
    chip, constants = model.chip, model.assumptions
    rates = FrozenMap({name: 2 * rate for name, rate in chip.peak_flop_per_s.items()})
    names = [f.name for f in fields(Assumptions)]
    twice = {n: 2 * getattr(constants, n) for n in names if n.endswith("_per_s")}
    half = {n: getattr(constants, n) / 2 for n in names if n.endswith("_s") and n not in twice}
    half |= {n: getattr(constants, n) / 2 for n in ("host_s_per_layer", "host_s_per_tp_rank",
                                                    "fixed_s_per_layer")}  # fmt: skip
    faster = replace(
        chip,
        peak_flop_per_s=rates,
        memory_bandwidth_bytes_per_s=2 * chip.memory_bandwidth_bytes_per_s,
        host_link_bandwidth_bytes_per_s=2 * chip.host_link_bandwidth_bytes_per_s,
        host_memory_bandwidth_bytes_per_s=2 * chip.host_memory_bandwidth_bytes_per_s,
    )
    levels = tuple(
        replace(faster_level(level, 2), latency_s=level.latency_s / 2)
        for level in model.cluster.levels
    )
    cluster = replace(model.cluster, chip=faster, levels=levels)
    return replace(model, cluster=cluster, assumptions=replace(constants, **twice, **half))


@each("preset", PRESETS)
def test_twice_the_rates_and_half_the_latencies_halve_the_time(preset: str) -> None:
    model = resolved(assumptions=preset).cost.on(PLAN.chips)
    assert time_of(in_half_the_time(model)) == pytest.approx(time_of(model) / 2, rel=1e-12)


@each("preset", PRESETS)
def test_elasticities_of_rates_less_those_of_seconds_sum_to_minus_one(preset: str) -> None:
    """Euler's theorem for the scaling above: nothing that time depends on is forgotten."""
    made = rebuilding(resolved(assumptions=preset))
    made = replace(made, model=made.model.on(PLAN.chips))
    found, _ = levers(made, PLAN.chips)
    rates = seconds = 0.0
    for leaning in leanings(made.model, found, [PLAN]):
        unit, path = leaning.lever.number.unit, leaning.lever.number.path
        if unit.endswith("/s"):
            rates += leaning.elasticity.time
        elif unit == "s" or path.endswith("_s"):
            seconds += leaning.elasticity.time
    assert rates - seconds == pytest.approx(-1.0, abs=2e-3)


@each(
    ("field", "path"),
    [
        ("scale_up_efficiency", "network.scale_up_efficiency"),
        ("half_mn", "gemm.half_mn"),
        ("micro_batch_s", "micro_batch_overhead_s"),
        ("elementwise_backward", "elementwise_backward"),
    ],
)
def test_an_elasticity_is_that_of_evaluations_with_a_file(
    field: str, path: str, tmp_path: Path
) -> None:
    """Another step width, and the way of the user: a file of assumptions."""
    value = getattr(resolved().cost.assumptions, field)
    times = []
    for factor in (0.999, 1.001):
        file = tmp_path / f"{factor}.yaml"
        file.write_text(f"{field}: {value * factor!r}\n", encoding="utf-8")
        times.append(planner.evaluate(PLAN, **JOB, assumptions=str(file)).result.step_time_s)
    expected = log(times[1] / times[0]) / log(1.001 / 0.999)
    (found,) = [one for one in answer().explained.elasticities if one.number.path == path]
    assert abs(expected) > 1e-3
    assert found.time == pytest.approx(expected, rel=0.02)


def test_the_numbers_are_those_of_the_records() -> None:
    chip, cluster = resolved().cost.chip, resolved().cost.cluster
    known = {one.number.path: one.number for one in levers_of()}
    for path in ("peak.bf16", "memory.bandwidth", "power.busy"):
        number, quantity = known[path], chip.quantities[path]
        assert (number.value, number.unit, number.kind) == (
            quantity.value, quantity.unit, quantity.kind,
        )  # fmt: skip
    assert known["levels.nvlink.bandwidth"].value == cluster.levels[0].bandwidth_bytes_per_s
    assert known["levels.nvlink.energy"].is_assumed
    assert known["memory_efficiency"].is_assumed
    assert not known["gemm_efficiency.h100"].is_assumed
    assert known["gemm_efficiency.h100"].source


@each("preset", PRESETS)
def test_a_lever_at_one_changes_nothing_and_elsewhere_only_its_own(preset: str) -> None:
    base = resolved(assumptions=preset).cost
    found = levers_of(assumptions=preset)
    assert len({(one.number.record, one.number.path) for one in found}) == len(found)
    for lever in found:
        same = lever.times(1.0)
        assert (same.assumptions, same.cluster) == (base.assumptions, base.cluster), lever.number
        other = lever.times(0.9)
        assert (other.assumptions, other.cluster) != (base.assumptions, base.cluster), lever.number


def test_what_software_sets_is_left_out_unless_a_file_gives_it(tmp_path: Path) -> None:
    found, left_out = levers(rebuilding(resolved()), PLAN.chips)
    paths = {lever.number.path for lever in found}
    assert not paths & set(SETTINGS)
    assert {"bucket_bytes", "tile_m", "latencies"} <= set(left_out)
    file = tmp_path / "given.yaml"
    file.write_text("bucket_bytes: 1.0e+8\nscale_up_efficiency: 0.8\n", encoding="utf-8")
    given, _ = levers(rebuilding(resolved(assumptions=str(file))), PLAN.chips)
    known = {lever.number.path: lever.number for lever in given}
    assert known["bucket_bytes"].kind == known["scale_up_efficiency"].kind == "given"
    assert "network.scale_up_efficiency" not in known


def test_a_share_never_exceeds_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "full.yaml"
    file.write_text("scale_up_efficiency: 1.0\n", encoding="utf-8")
    found = levers_of(assumptions=str(file))
    (lever,) = [one for one in found if one.number.path == "scale_up_efficiency"]
    (leaning,) = leanings(resolved(assumptions=str(file)).cost, [lever], [PLAN])
    assert leaning.high == 1.0
    assert leaning.elasticity.time < 0


def test_the_short_list_is_the_head_of_the_long_one() -> None:
    """Looked at on one side first, evaluated on both: the same figures."""
    made = rebuilding(resolved())
    found = levers(made, PLAN.chips)[0]
    short = largest_of_time(made.model, for_time(found), PLAN, 4)
    long = sorted(answer().explained.elasticities, key=lambda one: -abs(one.time))
    for assumed in (False, True):
        expected = [one.time for one in long if one.number.is_assumed == assumed][:4]
        assert [one.time for one in short if one.number.is_assumed == assumed] == expected
    moved = {one.number.path for one in long if one.time}
    assert moved <= {one.number.path for one in [*for_time(found), *of_framework(made)]}


def test_memory_leans_on_the_profile_of_the_framework() -> None:
    """Bytes per parameter: 1 % more of them is 1 % of that part of the fullest chip."""
    held, parts = answer().result.memory_per_chip_bytes, answer().result.memory_bytes
    slopes = {one.number.path: one.memory for one in answer().explained.elasticities}
    for path, part in (("gradient_bytes", "gradients"), ("constant_bytes", "constant"),
                       ("optimizer_bytes", "optimizer")):  # fmt: skip
        assert slopes[f"framework.{path}"] == pytest.approx(parts[part] / held, rel=1e-3)
    assert {path for path, slope in slopes.items() if slope} == {
        f"framework.{name}" for name in (
            "weight_bytes", "gradient_bytes", "optimizer_bytes", "plain_saved",
            "weight_gradient_buffer", "constant_bytes",
        )
    }  # fmt: skip


def test_a_number_without_effect_is_not_listed() -> None:
    shown = {one.number.path for one in answer().explained.elasticities}
    assert "energy.memory" not in shown
    assert all(one.largest >= 5e-4 for one in answer().explained.elasticities)
    sizes = [one.largest for one in answer().explained.elasticities]
    assert sizes == sorted(sizes, reverse=True)
    assert elasticities([]) == []


def test_where_another_plan_overtakes_it_does() -> None:
    """Just beyond the value found some other plan is faster, just before it none is."""
    explained = answer().explained
    known = {(one.number.record, one.number.path): one for one in levers_of()}
    plans = {
        step.change: step.result.plan
        for step in explained.steps
        if step.direction == "plan" and step.result is not None and step.refusal is None
    }
    behind = [p for p in plans.values() if time_of(resolved().cost, p) > 1.0001 * time_of(
        resolved().cost)]  # fmt: skip
    table = PlanTable.from_plans([PLAN, *behind])
    seen = 0
    for one in explained.overtakings:
        lever = known[one.number.record, one.number.path]
        for value in (one.low, one.high):
            if value is None:
                continue
            seen += 1
            factor = value / one.number.value
            beyond = evaluate_totals(lever.times(factor), table).step_time_s
            assert int(np.argmin(beyond)) > 0
            before = evaluate_totals(lever.times(1 + (factor - 1) * 0.95), table).step_time_s
            assert int(np.argmin(before)) == 0, one
    assert len(explained.overtakings) >= 3
    assert seen >= 1


def test_what_is_assumed_is_tried_too() -> None:
    """Of the numbers that nobody measured those that close the distance first, if not all."""
    explained = answer().explained
    moved = [one for one in explained.elasticities if one.number.is_assumed and one.time]
    tried = [one for one in explained.overtakings if one.number.is_assumed]
    assert len(tried) >= min(ASSUMED, len(moved)) > 0
    assert len(explained.overtakings) <= LARGEST + NEAREST + ASSUMED


def is_tied(model: CostModel, plan: Plan, other: Plan) -> bool:
    """As `planner compare` says it of two plans that differ in more than the clock."""
    return abs(log(time_of(model, other) / time_of(model, plan))) <= tie_noise(model.job)


def test_a_plan_that_overtakes_is_marked_where_it_ties_now() -> None:
    explained, model = answer().explained, resolved().cost
    plans = {step.change: step.result.plan for step in explained.steps if step.result}
    seen = [
        (tie, is_tied(model, PLAN, plans[change]))
        for one in explained.overtakings
        for change, tie in ((one.low_plan, one.low_tie), (one.high_plan, one.high_tie))
        if change
    ]
    assert seen
    assert all(said == is_so for said, is_so in seen)
    assert {one.low_tie for one in explained.overtakings if one.low is None} <= {None}


def test_plans_that_are_better_already_are_named_the_best_first() -> None:
    """Of a plan that recomputes for nothing: what is faster, and no other value for it."""
    slow = replace(PLAN, recompute="full")
    found = planner.explain(slow, **JOB)
    faster = {
        step.change: step
        for step in found.explained.steps
        if step.direction == "plan" and step.refusal is None and step.time and step.time < -1e-4
    }
    named = {one.change: one for one in found.explained.better}
    assert set(named) == set(faster)
    assert named["recompute none"].tie is False
    for change, one in named.items():
        assert one.relative == pytest.approx(faster[change].time, rel=1e-9)
        assert one.tie == faster[change].tie
    sizes = [one.relative for one in found.explained.better]
    assert sizes == sorted(sizes)
    overtaking = {one.low_plan for one in found.explained.overtakings}
    overtaking |= {one.high_plan for one in found.explained.overtakings}
    assert not overtaking & set(named)
    printed = " ".join(str(found).split())
    first = found.explained.better[0]
    assert f"Already better in time, as the values are: {first.change} (-" in printed
    count = f"{len(found.explained.overtakings)} of {found.explained.numbers} numbers"
    assert f"Tried: these {count}" in printed
    assert found.to_dict()["better"][0]["change"] == first.change


def test_a_plan_of_another_clock_ties_with_none() -> None:
    found = {
        one.change: one
        for one in rivals_of(
            resolved().cost, PLAN, [("slow", replace(PLAN, clock=0.95)), ("same", PLAN)], TIME
        )
    }
    assert (found["slow"].tie, found["slow"].is_worse) == (False, True)
    assert (found["same"].tie, found["same"].is_worse, found["same"].is_better) == (
        True, False, False,
    )  # fmt: skip
