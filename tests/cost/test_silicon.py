"""A changed chip: what it draws follows from the measured one, component by component."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hardware_db import Chip, FrozenMap
from planner.assumptions.assumptions import calibrated, peak_flop_per_s
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
    if limited.clock < 1:
        assert float(busy_w(base.chip, limited.clock)) == pytest.approx(limited.model.chip.busy_w)
