"""Operators on one chip: golden numbers of two engines, laws, and refused input."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import each

from hardware_db import FrozenMap, load_chip, load_cluster
from planner.base.errors import InputError
from planner.cost.chip.within_chip import (
    ChipArray,
    OnChipCost,
    chip_array,
    convolution,
    gemm,
    joined,
    on_chip_cost,
)
from planner.machine.scaling import with_pes

DATA = Path(__file__).parent / "data"
ENGINE = json.loads((DATA / "accelforge.json").read_text(encoding="utf-8"))
TIMELOOP = json.loads((DATA / "timeloop.json").read_text(encoding="utf-8"))
REPORT = load_chip("report1-gpu")


def array_of(case: dict[str, Any]) -> ChipArray:
    """The array of a golden case; without registers, those of the report's GPU."""
    constants = ENGINE["constants"]
    return ChipArray(
        rows=case["rows"],
        columns=case["columns"],
        macs_per_pe_per_cycle=1.0,
        clock_hz=1e9,
        word_bytes=constants["word_bytes"],
        sram_bytes=case["sram_bytes"],
        register_bytes_per_pe=case["register_bytes"] or 384,
        dram_bytes_per_cycle=1e9,
        sram_bytes_per_cycle=1e9,
        mac_j=constants["mac_j"],
        dram_j_per_byte=constants["dram_j_per_byte"],
        sram_j_per_byte=constants["sram_j_per_byte"],
        register_j_per_byte=constants["register_j_per_byte"],
    )


def cost_of(case: dict[str, Any]) -> OnChipCost:
    return on_chip_cost(gemm(case["m"], case["n"], case["k"]), array_of(case))


def cases(**wanted: Any) -> list[Any]:
    found = [
        case
        for case in ENGINE["cases"]
        if all(case[name] == value for name, value in wanted.items())
    ]
    assert found
    return [
        pytest.param(case, id=f"{case['m']}x{case['n']}x{case['k']}-{case['columns']}")
        for case in found
    ]


@each("case", cases(case="fc", metric="LATENCY"))
def test_cycles_of_the_fully_connected_layer(case: dict[str, Any]) -> None:
    """96 -> 80 on 4 rows: 1920 cycles on one column, 96 on twenty."""
    assert cost_of(case).cycles[0] == case["cycles"] == 7680 / 4 / case["columns"]


def test_cycles_and_energy_of_timeloop() -> None:
    """Equal cycles; energy inside the range of its mappings, equal for all columns to 0.1 %."""
    golden = TIMELOOP["fully_connected"]
    array = chip_array(REPORT, "int8", pes=4 * np.array(golden["columns"]))
    found = on_chip_cost(gemm(1, golden["outputs"], np.full(9, golden["inputs"])), array)
    assert found.cycles.tolist() == golden["cycles"]
    low, high = golden["energy_range_j"]
    assert np.all((low <= found.total_j) & (found.total_j <= high))
    assert np.ptp(found.total_j) <= 1e-3 * found.total_j[0]
    assert np.allclose(found.total_j, golden["energy_j"], rtol=0.02)


@each("case", cases(case="fc", metric="ENERGY"))
def test_energy_of_the_fully_connected_layer(case: dict[str, Any]) -> None:
    """Within 2 % of the engine, which has no registers here."""
    assert cost_of(case).total_j[0] == pytest.approx(case["energy_j"], rel=0.02)


@each("case", cases(case="fc-registers"))
def test_energy_of_the_fully_connected_layer_with_registers(case: dict[str, Any]) -> None:
    assert cost_of(case).total_j[0] == pytest.approx(case["energy_j"], rel=1e-4)


@each("case", cases(case="three-level", sram_bytes=2**20, metric="LATENCY"))
def test_cycles_of_16_x_16_pes(case: dict[str, Any]) -> None:
    assert cost_of(case).cycles[0] == case["cycles"]


@each(
    "case",
    cases(case="three-level", sram_bytes=2**20, metric="ENERGY_DELAY_PRODUCT")
    + cases(case="three-level", sram_bytes=2**20, metric="ENERGY"),
)
def test_energy_of_three_levels(case: dict[str, Any]) -> None:
    """1 MiB and 512 B per PE: energy within 1.5 %, DRAM equal, registers within 0.5 %."""
    found = cost_of(case)
    assert found.total_j[0] == pytest.approx(case["energy_j"], rel=0.015)
    assert found.dram_bytes[0] == sum(case["dram_accesses"].values())
    assert found.register_bytes[0] == pytest.approx(
        sum(case["register_accesses"].values()), rel=0.005
    )


@each("case", cases(case="three-level", sram_bytes=2**17))
def test_energy_of_three_levels_with_a_small_sram(case: dict[str, Any]) -> None:
    """Integer tiles that do not divide save up to 11 %; the engine has none, so never more."""
    found = cost_of(case)
    assert 0.88 * case["energy_j"] < found.total_j[0] <= case["energy_j"]


@each("golden", TIMELOOP["convolutions"])
def test_convolutions_do_no_worse_than_a_random_mapper(golden: dict[str, Any]) -> None:
    """Its mappings are not optimal: their cycles and joules bound the model's from above."""
    operators = convolution(
        width_out=golden["height_out"],
        **{name: golden[name] for name in ("channels_in", "channels_out", "kernel", "height_out")},
    )
    assert operators.n[0] * operators.k[0] == golden["weights"]
    found = on_chip_cost(operators, chip_array(REPORT, "int8"))
    assert found.cycles[0] <= golden["cycles"]
    assert found.total_j[0] <= golden["energy_j"]
    if golden["channels_in"] >= 64:  # the mapper fills the array there
        assert found.cycles[0] == golden["cycles"] == operators.macs[0] / 16


@each("name", ["c2c-gpu", "h100-sxm5-80", "a100-sxm4-80"])
def test_a_chip_at_full_rate_draws_less_than_its_limit(name: str) -> None:
    """Arithmetic and memories together, as the parts are added: below the power limit."""
    chip = load_chip(name)
    for precision in chip.mac_j:
        array = chip_array(chip, precision)
        found = on_chip_cost(
            gemm([8192, 4096, 8192], [14336, 4096, 8192], [4096, 4096, 8192]), array
        )
        assert np.all(found.cycles == found.compute_cycles)
        assert np.allclose(
            found.energy_j["mac"],
            found.time_s
            * array.clock_hz
            * array.pes
            * array.macs_per_pe_per_cycle
            * chip.mac_j[precision],
            rtol=0.05,
        )
        assert np.all(found.total_j / found.time_s < chip.tdp_w)
        assert np.all(found.total_j / found.time_s + chip.idle_w < chip.tdp_w)


def test_without_the_arithmetic_alone_two_flop_stand_for_it() -> None:
    chip = load_chip("h100-sxm5-80")
    assert chip_array(chip, "bf16").mac_j == chip.mac_j["bf16"] < 2 * chip.flop_j["bf16"]
    assert chip_array(replace(chip, mac_j=FrozenMap({})), "bf16").mac_j == 2 * chip.flop_j["bf16"]
    assert REPORT.mac_j == {}
    assert chip_array(REPORT, "int8").mac_j == 2 * REPORT.flop_j["int8"] == pytest.approx(0.315e-12)


SIZE = st.integers(1, 2000)


@given(m=SIZE, n=SIZE, k=SIZE, copies=st.integers(1, 50))
def test_laws(m: int, n: int, k: int, copies: int) -> None:
    """Copies multiply all; parts add up; no rate is exceeded; operands move at least once."""
    array = chip_array(load_chip("c2c-gpu"), "bf16")
    one, many = (on_chip_cost(gemm(m, n, k, count), array) for count in (1, copies))
    for name in ("cycles", "dram_bytes", "sram_bytes", "register_bytes", "total_j"):
        assert getattr(many, name)[0] == pytest.approx(copies * getattr(one, name)[0], rel=1e-12)
    assert many.total_j[0] == pytest.approx(
        sum(part[0] for part in many.access_j.values()) + many.energy_j["mac"][0], rel=1e-12
    )
    peak = array.macs_per_pe_per_cycle * array.pes
    assert one.cycles[0] >= m * n * k / peak * (1 - 1e-12)
    assert one.cycles[0] >= one.dram_bytes[0] / array.dram_bytes_per_cycle * (1 - 1e-12)
    assert one.dram_write_bytes[0] >= 2 * m * n
    assert one.dram_read_bytes[0] >= 2 * (m * k + k * n) * (1 - 1e-12)


def test_a_batch_costs_what_its_operators_cost() -> None:
    """Arrays per operator, shapes and PEs alike, give what single calls give."""
    pes = np.array([4, 16, 80])
    parts = [gemm(7, 80, 96), convolution(
        channels_in=3, channels_out=8, kernel=3, height_out=20, width_out=10, stride=2, batch=2
    ), gemm(300, 5, 1000, 3)]  # fmt: skip
    together = on_chip_cost(joined(parts), chip_array(REPORT, "int8", pes=pes))
    for row, part in enumerate(parts):
        alone = on_chip_cost(part, chip_array(REPORT, "int8", pes=int(pes[row])))
        for field in fields(OnChipCost):
            if field.name not in ("energy_j", "access_j"):
                assert getattr(together, field.name)[row] == getattr(alone, field.name)[0]


def test_windows_of_a_convolution_share_their_input() -> None:
    """3 x 3 windows read each pixel from DRAM once, not nine times; a stride of 4 skips some."""
    near = convolution(channels_in=4, channels_out=4, kernel=3, height_out=30, width_out=30)
    assert near.input_elements[0] == 4 * 32 * 32 < near.m[0] * near.k[0]
    far = convolution(channels_in=4, channels_out=4, kernel=3, height_out=8, width_out=8, stride=4)
    assert far.input_elements[0] == 4 * 64 * 9
    found = on_chip_cost(near, chip_array(REPORT, "int8"))
    assert found.dram_read_bytes[0] == near.input_elements[0] + near.n[0] * near.k[0]


@each(
    ("pes", "nearest"),
    [(18, "16 or 20"), (2, "4"), (0, "4"), (math.nan, "4"), (15.5, "12 or 16"), (-5, "4")],
)
def test_pes_that_do_not_fill_the_rows(pes: float, nearest: str) -> None:
    with pytest.raises(InputError) as raised:
        chip_array(REPORT, "int8", pes=pes)
    (line,) = str(raised.value).splitlines()
    assert line == f"pes: {pes:g} do not fill the 4 rows of report1-gpu; nearest: {nearest}"


@each(
    ("field", "value", "words"),
    [
        ("sram_bytes", 2.0, "sram: 2 B cannot hold one tile"),
        ("register_bytes_per_pe", 0.1, "registers: 1.6 B cannot hold one tile"),
        ("dram_bytes_per_cycle", 0.0, "dram bytes per cycle: 0; a positive number"),
        ("dram_j_per_byte", -1e-12, "dram j per byte: -1e-12 J; 0 or more"),
        ("clock_hz", math.nan, "clock hz: nan; a positive number"),
    ],
)
def test_arrays_that_no_chip_has(field: str, value: float, words: str) -> None:
    with pytest.raises(InputError) as raised:
        replace(chip_array(REPORT, "int8"), **{field: value})
    (line,) = str(raised.value).splitlines()
    assert words in line


@each("size", [0, -1, math.nan, math.inf])
def test_sizes_that_no_operator_has(size: float) -> None:
    with pytest.raises(InputError, match=r"^operator: n: \S+; a positive number is needed$"):
        gemm(2, size, 3)
    with pytest.raises(InputError, match=r"^operator: m: \S+; a positive number is needed$"):
        gemm(size, 2, 3)


@each("name", ["report1-gpu", "c2c-gpu", "h100-sxm5-80", "a100-sxm4-80"])
@each("times", [0.5, 2, 4])
def test_both_ways_to_more_pes_give_one_chip(name: str, times: float) -> None:
    """The array with other PEs is the array of the chip that the joint search builds with them."""
    chip = load_chip(name)
    cluster = replace(load_cluster("dgx-h100-ndr"), chip=chip)
    pes = int(times * chip.pe_count)
    precision = sorted(chip.flop_j)[0]
    asked = chip_array(chip, precision, pes=pes)
    built = chip_array(with_pes(cluster, pes).chip, precision)
    for field in fields(asked):
        assert getattr(asked, field.name) == pytest.approx(getattr(built, field.name), rel=1e-12)
    alone = chip_array(chip, precision)
    assert asked.sram_bytes == pytest.approx(times * alone.sram_bytes)
    assert asked.sram_bytes_per_cycle == pytest.approx(times * alone.sram_bytes_per_cycle)


def test_chips_and_precisions_without_figures() -> None:
    with pytest.raises(InputError, match="tpu-v2: no SRAM energy in its record"):
        chip_array(load_chip("tpu-v2"), "bf16")
    with pytest.raises(InputError, match="report1-gpu has no rate and energy at 'bf16'"):
        chip_array(REPORT, "bf16")
    with pytest.raises(InputError, match="operators: none given"):
        joined([])
