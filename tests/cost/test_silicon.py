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
from planner.cost.energy.silicon import DRAM_J_PER_BYTE, Followed, follow
from planner.cost.energy.standing import J_PER_BIT, SRAM_BYTES_PER_M2, leakage_w, link_w
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


def test_leakage_goes_with_silicon_and_links_with_rate_and_kind(base: CostModel) -> None:
    chip = base.chip
    assert chip.die_area_m2
    same, twice = changed(base), changed(base, die_area_m2=2 * chip.die_area_m2)
    idle, busy = leakage_w(chip.process, chip.die_area_m2)
    assert same.before.watts["leakage"] == pytest.approx(busy - idle)
    assert twice.after.watts == pytest.approx({**same.before.watts, "leakage": 2 * (busy - idle)})
    assert twice.model.chip.idle_w == pytest.approx(chip.idle_w + idle)
    more = changed(base, l2_bytes=2 * (chip.l2_bytes or 0.0))
    added = (chip.l2_bytes or 0.0) / SRAM_BYTES_PER_M2
    leaks = (busy - idle) * (1 + added / chip.die_area_m2)
    assert more.after.watts["leakage"] == pytest.approx(leaks)
    serdes, package = (J_PER_BIT[kind] for kind in ("SerDes", "package"))
    assert same.before.watts["links"] == pytest.approx(8 * 450e9 * serdes)
    short = changed(base, scale_up_generation="in a package")
    assert short.after.watts["links"] == pytest.approx(8 * 450e9 * package)
    per_area = [sum(leakage_w(node, 1.0)) for node in ("TSMC 12FFN", "TSMC N7", "TSMC 4N")]
    assert per_area == sorted({*per_area})
    assert leakage_w("not published", 1.0) == leakage_w("TSMC 4N", None) == (0.0, 0.0)


def test_a_kind_of_memory_has_its_joules(base: CostModel) -> None:
    assert base.chip.memory_type == "HBM3"
    first = changed(base)
    for kind, joules in DRAM_J_PER_BYTE.items():
        other = changed(base, memory_type=f"{kind}e")
        times = joules / DRAM_J_PER_BYTE["HBM3"]
        assert other.after.watts["memory"] == pytest.approx(times * first.after.watts["memory"])
        given = changed(base, memory_type=kind, memory_j_per_byte=8e-11)
        assert given.model.chip.memory_j_per_byte == 8e-11
    assert changed(base, memory_type="LPDDR5").model.chip == replace(
        first.model.chip, memory_type="LPDDR5"
    )


def test_newer_memory_takes_fewer_joules() -> None:
    """From 93 to 124 pJ a byte, as the sources have it."""
    assert sorted(DRAM_J_PER_BYTE, key=DRAM_J_PER_BYTE.__getitem__) == ["HBM3", "HBM2", "GDDR6"]
    assert all(5e-11 < joules < 2e-10 for joules in DRAM_J_PER_BYTE.values())


def test_ports_draw_as_their_level_carries() -> None:
    def machine(*texts: str) -> Any:
        asked = {"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 16, "set": texts}
        return resolve(request_from(asked)).cost.cluster

    record, half = machine(), machine("levels.leaf.bandwidth=0.5x")
    leaf, nvlink = record.levels[1], record.levels[0]
    assert half.levels[1].switch_power_w_per_chip == leaf.switch_power_w_per_chip / 2
    saved = record.chip.host_w - half.chip.host_w
    assert saved == pytest.approx(leaf.nic_power_w_per_chip / 2)
    assert half.chip.busy_w == pytest.approx(record.chip.busy_w)
    kept = machine("levels.leaf.bandwidth=0.5x", "levels.leaf.switch_power=1x", "power.host=1x")
    assert kept.levels[1].switch_power_w_per_chip == leaf.switch_power_w_per_chip
    assert kept.chip.host_w == record.chip.host_w
    given = machine("levels.leaf.bandwidth=0.5x", "levels.leaf.switch_power=20W")
    assert given.levels[1].switch_power_w_per_chip == 20
    fast = machine("levels.nvlink.bandwidth=2x")
    inside = nvlink.switch_power_in_host_w_per_chip
    assert fast.chip.host_w == pytest.approx(record.chip.host_w + inside)
    links = link_w(record)
    assert fast.chip.busy_w == pytest.approx(record.chip.busy_w + links)
    assert machine("levels.leaf.latency=20us").chip == record.chip


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
    squared = volts**2
    moved = {"arithmetic": squared, "sram": squared, "memory": 1.0, "links": 1.0, "leakage": volts}
    for name, times in moved.items():
        assert fast.after.watts[name] == pytest.approx(times * wide.after.watts[name]), name


def test_power_follows_on_every_chip() -> None:
    for name in list_chips():
        asked = {"model": "llama3-8b", "hardware": name, "chips": 4, "set": ["memory.bandwidth=2x"]}
        chip = resolve(request_from(asked)).cost.chip
        assert chip.base is not None
        assert chip.base.busy_w < chip.busy_w, name
