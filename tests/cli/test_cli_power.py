"""Boundaries, PUE, cooling and power caps on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.cases import each

from cli.command import planner
from hardware_db import load_chip
from planner.cost.energy.clock import clock_under_cap

H100 = load_chip("h100-sxm5-80")
CLOCK_450W = float(clock_under_cap(H100, np.array(450.0)))
SOLVE = "solve --model llama3-8b --hardware dgx-h100-ndr --chips 16 --axes tp,dp"


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("power") / "plan.yaml"
    assert planner(*SOLVE.split(), "--no-clocks", "-o", str(path)).code == 0
    return path


def evaluated(path: Path, *flags: str) -> dict[str, object]:
    outcome = planner("evaluate", str(path), "--json", *flags)
    assert outcome.code == 0, outcome.err
    answer: dict[str, object] = json.loads(outcome.out)
    return answer


def test_boundaries_grow_and_the_middle_one_is_the_headline(plan_file: Path) -> None:
    answer = evaluated(plan_file, "--pue", "1.25")
    power, energy = answer["power_by_boundary_w"], answer["energy_by_boundary_j"]
    names = ["chip", "node", "node_and_fabric", "facility"]
    assert isinstance(power, dict)
    assert isinstance(energy, dict)
    assert list(power) == list(energy) == names
    assert list(power.values()) == sorted(power.values())
    assert power["node_and_fabric"] == pytest.approx(answer["power_per_chip_w"])
    assert energy["node_and_fabric"] == answer["energy_per_step_j"]
    assert energy["facility"] == pytest.approx(1.25 * energy["node_and_fabric"])
    intervals = answer["power_interval_by_boundary_w"]
    assert isinstance(intervals, dict)
    assert all(intervals[name]["low"] < power[name] < intervals[name]["high"] for name in names)


def test_liquid_cooling_takes_a_hundred_watts_from_the_host(plan_file: Path) -> None:
    air = evaluated(plan_file)["power_by_boundary_w"]
    liquid = evaluated(plan_file, "--cooling", "liquid")["power_by_boundary_w"]
    assert isinstance(air, dict)
    assert isinstance(liquid, dict)
    assert air["chip"] == pytest.approx(liquid["chip"])
    assert air["node"] - liquid["node"] == pytest.approx(100)


def test_a_cap_slows_the_plan_and_bounds_its_chips(plan_file: Path) -> None:
    free = evaluated(plan_file)
    capped = evaluated(plan_file, "--power-cap", "450W")
    power = capped["power_by_boundary_w"]
    assert isinstance(power, dict)
    assert power["chip"] <= 450
    assert capped["step_time_s"] > free["step_time_s"]  # type: ignore[operator]
    assert capped["clock"] == pytest.approx(CLOCK_450W)
    assert capped["warnings"] == free["warnings"]
    defaults = capped["defaults"]
    assert isinstance(defaults, list)
    assert "power-cap" in [taken["name"] for taken in defaults]


def test_a_capped_search_gives_what_its_plan_costs_again(tmp_path: Path) -> None:
    path = tmp_path / "capped.yaml"
    flags = "--power-cap 450W --pue 1.3 --cooling liquid --json -o"
    solved = planner(*SOLVE.split(), *flags.split(), str(path))
    best = json.loads(solved.out)["best"]
    assert best["clock"] <= CLOCK_450W + 1e-9
    again = evaluated(path)
    for name in ("step_time_s", "energy_per_step_j", "power_by_boundary_w", "clock"):
        assert again[name] == best[name]
    assert again["warnings"] == []


@each("layout", ["uniform", "uneven"])
def test_a_plan_below_the_lowest_clock_can_be_run(layout: str, tmp_path: Path) -> None:
    """Half of an A100's rated power is 0.55 of its clock, which nobody sets; it has 0.6 to 1."""
    path = tmp_path / "half.yaml"
    asked = "solve --model llama3-8b --hardware dgx-a100-80-hdr --chips 8 --batch-tokens 256Ki"
    fixed = "--fix tp=4 --fix pp=2 --fix micro_batch=1 --power-cap 200W --json --layout"
    few = () if layout == "uniform" else ("--front-points", "1")
    solved = planner(*asked.split(), *fixed.split(), layout, *few, "-o", str(path))
    answer = json.loads(solved.out)
    assert answer["certificate"]["status"] == "optimal"
    assert "megatron" in answer["notes"]["runs_in"]
    again = evaluated(path)
    for name in ("step_time_s", "energy_per_step_j", "clock"):
        assert again[name] == answer["best"][name]
    assert again["clock"] == pytest.approx(0.551, rel=1e-3)
    assert "outside" not in str(again["warnings"])


def test_no_clocks_means_the_clock_of_the_cap() -> None:
    outcome = planner(*SOLVE.split(), *["--power-cap", "450W", "--no-clocks", "--json"])
    answer = json.loads(outcome.out)
    clocks = [point["clock"] for point in answer["front"]["plans"]]
    assert clocks == pytest.approx([CLOCK_450W] * len(clocks))
    assert not any("--no-clocks" in near["verdict"] and "clock" not in near["change"]
                   for near in answer["candidates"]["neighbors"])  # fmt: skip


@each(
    ("flags", "words"),
    [
        ("--pue 0.9", "must be at least 1"),
        ("--pue 4", "must be at most 3"),
        ("--pue high", "must be a number"),
        ("--power-cap 200W", "350 W to 700 W"),
        ("--power-cap 1kW", "nearest: 700 W"),
        ("--power-cap 1e-31", "350 W to 700 W"),
        ("--power-cap 1e31", "nearest: 700 W"),
        ("--cooling water", "not one of air, liquid"),
        ("--hardware tpu-v5p --power-cap 200W", "cannot be set"),
        ("--hardware tpu-v5p --cooling liquid", "leave it out"),
    ],
)
def test_bad_values_are_refused_in_one_line(plan_file: Path, flags: str, words: str) -> None:
    outcome = planner("evaluate", str(plan_file), *flags.split())
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.err.strip().splitlines()) == 1
    assert words in outcome.err
