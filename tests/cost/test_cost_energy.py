"""Boundaries, intervals, and the clock that a power cap allows, against closed forms."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from cost.cases import case_of
from hardware_db import list_chips, load_chip
from planner.base.errors import InputError
from planner.base.vocabulary import BOUNDARIES
from planner.cost.energy.clock import busy_w, check_cap, clock_at, clock_under_cap
from planner.cost.energy.energy import Z_80
from planner.cost.energy.facility import Facility, default_facility
from planner.cost.evaluate import evaluate_table
from planner.plan import Plan, PlanTable

H100 = load_chip("h100-sxm5-80")
SETTABLE = [name for name in list_chips() if load_chip(name).clock_settable]


def test_boundaries_differ_by_what_they_add() -> None:
    """Node: host; fabric: switches of the levels in use; facility: the PUE."""
    case = case_of("llama3-8b", "dgx-h100-ndr", batch=64)
    found = case.run([Plan(dp=16, tp=4, sharding="zero1")])
    joules = {name: float(found.energy.boundaries[name][0]) for name in BOUNDARIES}
    seconds = 64 * float(found.step_time_s[0])
    fabric = sum(level.switch_power_w_per_chip for level in case.cluster.scale(64).levels)
    assert fabric > 0
    assert math.isclose(joules["node"] - joules["chip"], seconds * H100.host_w, rel_tol=1e-9)
    added = joules["node_and_fabric"] - joules["node"]
    assert math.isclose(added, seconds * fabric, rel_tol=1e-9)
    assert joules["node_and_fabric"] == found.energy.total[0]
    assert math.isclose(joules["facility"], 1.1 * joules["node_and_fabric"], rel_tol=1e-12)
    share = (joules["chip"] / seconds - H100.wait_w) / (H100.busy_w - H100.wait_w)
    assert 0 < share < 1


def test_tensor_parallel_collectives_draw_busy_power() -> None:
    """They lie microseconds apart between kernels: only the rest of the step waits."""
    case = case_of("llama3-8b", batch=64)
    found = case.run([Plan(dp=2, tp=8, sharding="zero1")])
    parts = {name: float(part[0]) for name, part in found.time_parts.items()}
    assert parts["tensor_parallel"] > 0
    names = ("compute", "memory_bound", "tensor_parallel", "optimizer")
    busy, time = sum(parts[name] for name in names), float(found.step_time_s[0])
    chip = case.cluster.chip
    joules = 16 * (busy * chip.busy_w + (time - busy) * chip.wait_w)
    assert math.isclose(found.energy.boundaries["chip"][0], joules, rel_tol=1e-9)


def test_the_quantile_is_that_of_an_80_percent_interval() -> None:
    assert math.isclose(Z_80, NormalDist().inv_cdf(0.9), rel_tol=1e-12)


def test_intervals_add_independent_errors() -> None:
    """Powers of chip and host; the fabric to 30 %; the PUE unless given; the step time."""
    case = case_of("llama3-8b", "dgx-h100-ndr", batch=64)
    plans = PlanTable.from_plans([Plan(dp=16, tp=4, sharding="zero1")])
    sure = replace(case.model, facility=Facility.of(1.3))
    energy = evaluate_table(sure, plans).energy
    both = energy.sigma["node_and_fabric"]
    assert math.isclose(energy.sigma["facility"][0], 1.3 * both[0], rel_tol=1e-12)
    unsure = evaluate_table(case.model, plans).energy
    pue = default_facility()
    around = math.hypot(pue.pue * both[0], pue.pue_sigma * energy.total[0])
    assert math.isclose(unsure.sigma["facility"][0], around, rel_tol=1e-12)

    total = float(energy.total[0])
    low, high = (float(end[0]) for end in energy.interval("node_and_fabric", 0.9, 1.2))
    half = Z_80 * float(both[0])
    assert math.isclose(total - low, math.hypot(half, 0.1 * total), rel_tol=1e-9)
    assert math.isclose(high - total, math.hypot(half, 0.2 * total), rel_tol=1e-9)
    assert math.isclose(energy.high[0] - total, half, rel_tol=1e-9)


@settings(deadline=None)
@given(
    name=st.sampled_from(SETTABLE),
    share=st.floats(0.5, 1.0),
    slope=st.floats(0, 1),
    floor=st.floats(0.3, 1),
)
def test_a_capped_chip_draws_its_cap(name: str, share: float, slope: float, floor: float) -> None:
    """The inverse of P(f): busy power at the clock found is the cap, or the cap does not bind."""
    chip = replace(load_chip(name), voltage_slope=slope, voltage_floor=floor)
    cap = share * chip.tdp_w
    clock = clock_under_cap(chip, np.array([cap]))
    if cap >= chip.busy_w:
        assert clock[0] == 1
    else:
        assert 0 < clock[0] < 1
        assert math.isclose(busy_w(chip, clock)[0], cap, rel_tol=1e-9)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1), st.floats(0.3, 1))
def test_the_clock_rises_with_the_activity_it_may_have(
    activity: list[float], slope: float, floor: float
) -> None:
    wanted = np.sort(np.array(activity))
    clock = clock_at(slope, floor, wanted)
    assert np.all((clock >= 0) & (clock <= 1 + 1e-12))
    assert np.all(np.diff(clock) >= -1e-9)


@each("scale", [1.0, 1e-4])
def test_the_cap_of_a_linear_law(scale: float) -> None:
    """Without a slope V is 1 and the clock is the share of the dynamic power, however little."""
    chip = replace(H100, voltage_slope=0.0, idle_w=70.0 * scale, busy_w=655.0 * scale)
    clock = clock_under_cap(chip, scale * np.array([70.0, 362.5, 655.0, 700.0]))
    assert np.allclose(clock, [0.0, 0.5, 1.0, 1.0], rtol=1e-12)


def test_on_the_voltage_floor_the_law_is_linear() -> None:
    chip = replace(H100, voltage_slope=1.0, voltage_floor=0.9)
    cap = 70 + 585 * 0.5 * 0.81
    assert math.isclose(clock_under_cap(chip, np.array([cap]))[0], 0.5, rel_tol=1e-12)


def test_busy_power_never_exceeds_the_rated_power() -> None:
    chip = replace(H100, busy_w=750.0)
    assert busy_w(chip, np.array([1.0]))[0] == chip.tdp_w


@each(
    ("name", "cap", "words"),
    [
        ("h100-sxm5-80", 349.0, "350 W to 700 W"),
        ("h100-sxm5-80", 701.0, "nearest: 700 W"),
        ("tpu-v5p", 300.0, "cannot be set"),
    ],
)
def test_caps_that_no_law_describes_are_refused(name: str, cap: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_cap(load_chip(name), cap)


def test_a_clock_limit_holds_for_every_plan() -> None:
    """Plans at full clock cost what they do at the limit; those below it keep their clock."""
    case = case_of("llama3-8b", batch=64)
    plan = Plan(dp=2, tp=8, sharding="zero1")
    limited = replace(case.model, clock_limit=0.85)
    table = PlanTable.from_plans([plan, replace(plan, clock=0.7)])
    found = evaluate_table(limited, table)
    alone = evaluate_table(
        case.model, PlanTable.from_plans([replace(plan, clock=0.85), replace(plan, clock=0.7)])
    )
    assert np.array_equal(found.step_time_s, alone.step_time_s)
    assert np.array_equal(found.energy.total, alone.energy.total)
    assert limited.clocks(wanted=True).tolist() == [0.85, 0.8, 0.7, 0.6]
    assert limited.clocks(wanted=False).tolist() == [0.85]
    assert case.model.clocks(wanted=True).tolist() == [1.0, 0.9, 0.8, 0.7, 0.6]
