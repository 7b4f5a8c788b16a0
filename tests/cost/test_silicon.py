"""A changed chip: what it draws follows from the measured one, component by component."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hardware_db import Chip, FrozenMap, list_chips
from planner.assumptions.assumptions import calibrated, peak_flop_per_s
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.energy.clock import busy_w
from planner.cost.energy.silicon import Followed, follow
from planner.question.request import request_from
from planner.question.resolved import resolve


@pytest.fixture(scope="module")
def base() -> CostModel:
    return resolve(
        request_from({"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 8})
    ).cost


def changed(base: CostModel, given: tuple[str, ...] = (), **fields: Any) -> Followed:
    chip: Chip = replace(base.chip, **fields)
    constants = calibrated(chip, base.job.era, base.job.precision)
    cluster = replace(base.cluster, chip=chip)
    return follow(base, replace(base, cluster=cluster, assumptions=constants), given)


def test_an_unchanged_chip_keeps_its_powers(base: CostModel) -> None:
    same = changed(base)
    assert same.before == same.after
    assert same.before.total == pytest.approx(base.chip.busy_w - base.chip.idle_w, rel=1e-12)
    for name in ("idle_w", "wait_w", "busy_w", "tdp_w", "busy_sigma_w", "wait_sigma_w"):
        assert getattr(same.model.chip, name) == pytest.approx(getattr(base.chip, name), rel=1e-12)
    assert same.model.assumptions == base.assumptions


def test_a_component_moves_alone(base: CostModel) -> None:
    twice = changed(base, memory_j_per_byte=2 * base.chip.memory_j_per_byte)
    added = twice.before.watts["memory"]
    assert twice.after.watts == pytest.approx({**twice.before.watts, "memory": 2 * added})
    assert twice.model.chip.busy_w == pytest.approx(base.chip.busy_w + added)
    spread = math.hypot(base.chip.busy_sigma_w, 0.3 * added)
    assert twice.model.chip.busy_sigma_w == pytest.approx(spread)


def test_each_change_moves_power_as_physics_has_it(base: CostModel) -> None:
    chip = base.chip
    assert chip.l2_bytes
    assert chip.sram_bytes_per_pe
    halved = FrozenMap({name: joules / 2 for name, joules in chip.flop_j.items()})
    quiet = changed(base, flop_j=halved)
    assert quiet.after.watts["arithmetic"] == pytest.approx(quiet.before.watts["arithmetic"] / 2)
    wide = changed(base, memory_bandwidth_bytes_per_s=2 * chip.memory_bandwidth_bytes_per_s)
    assert wide.model.chip.busy_w > chip.busy_w
    assert wide.model.chip.idle_w > chip.idle_w
    small = changed(base, l2_bytes=chip.l2_bytes / 4)
    assert small.after.watts["memory"] > small.before.watts["memory"]
    assert small.after.watts["sram"] < small.before.watts["sram"]
    blocks = changed(base, sram_bytes_per_pe=4 * chip.sram_bytes_per_pe)
    assert blocks.after.watts["sram"] < blocks.before.watts["sram"]


@pytest.mark.parametrize("tdp_w", [500.0, 1000.0])
def test_a_given_power_limit_sets_the_clock(base: CostModel, tdp_w: float) -> None:
    limited = changed(base, ("tdp_w",), tdp_w=tdp_w)
    assert limited.model.chip.busy_w == pytest.approx(base.chip.busy_w * tdp_w / base.chip.tdp_w)
    volts = max(base.chip.voltage_floor, 1 + base.chip.voltage_slope * (limited.clock - 1))
    dynamic = limited.before.total * limited.clock * volts**2
    assert limited.model.chip.busy_w == pytest.approx(base.chip.idle_w + dynamic)
    rate = limited.model.assumptions.matmul_flop_per_s
    most = peak_flop_per_s(base.chip, base.job.precision)
    assert rate == pytest.approx(min(base.assumptions.matmul_flop_per_s * limited.clock, most))
    assert rate == pytest.approx(base.assumptions.matmul_flop_per_s * limited.clock)
    if limited.clock < 1:
        assert float(busy_w(base.chip, limited.clock)) == pytest.approx(limited.model.chip.busy_w)


def test_power_and_arithmetic_rise_no_further_than_the_peak(base: CostModel) -> None:
    twice, many = (changed(base, ("tdp_w",), tdp_w=times * base.chip.tdp_w) for times in (2, 10))
    assert twice.model.chip.busy_w == many.model.chip.busy_w
    assert twice.model.chip.busy_w < 2 * base.chip.busy_w
    peak = peak_flop_per_s(base.chip, base.job.precision)
    assert many.model.assumptions.matmul_flop_per_s == pytest.approx(peak)
    with pytest.raises(InputError, match=r"below half of the 700 W .* nearest: 350 W"):
        changed(base, ("tdp_w",), tdp_w=0.49 * base.chip.tdp_w)


def test_voltage_follows_the_clock(base: CostModel) -> None:
    assert base.chip.clock_hz
    rates = FrozenMap({name: 1.2 * rate for name, rate in base.chip.peak_flop_per_s.items()})
    wide = changed(base, peak_flop_per_s=rates)
    fast = changed(base, peak_flop_per_s=rates, clock_hz=1.2 * base.chip.clock_hz)
    volts = 1 + 0.2 * base.chip.voltage_slope
    for name, times in (("arithmetic", volts**2), ("sram", volts**2), ("memory", 1.0)):
        assert fast.after.watts[name] == pytest.approx(times * wide.after.watts[name]), name


def test_power_follows_on_every_chip() -> None:
    for name in list_chips():
        asked = {"model": "llama3-8b", "hardware": name, "chips": 4, "set": ["memory.bandwidth=2x"]}
        chip = resolve(request_from(asked)).cost.chip
        assert chip.base is not None
        assert chip.base.busy_w < chip.busy_w, name
