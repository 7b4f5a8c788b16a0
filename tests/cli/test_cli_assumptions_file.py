"""Assumptions from a file: what they change, and every mistake in them."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import hardware_db
from cli.command import planner, refused, solve
from cli.jobs import BASE, BASE_FLAGS
from planner import InputError
from planner.assumptions.assumptions import ORIGIN, calibrated
from planner.assumptions.overrides import overridden
from planner.assumptions.software import ERAS
from planner.question.defaults import precision_of


def test_assumptions_from_a_file(job: Any, tmp_path: Path) -> None:
    changes = tmp_path / "slow.yaml"
    changes.write_text("tp_overlap: 0.0\nscale_up_efficiency: 0.1\n", encoding="utf-8")
    path = job({**BASE, "fix": {"tp": [2]}})
    slow = solve(path, "--assumptions", changes)
    assert slow["certificate"]["objective"] > solve(path)["certificate"]["objective"]
    assert slow["question"]["job"]["assumptions"] == str(changes)


@each(("text", "words"), [
    ("tp_overlp: 0.5\n", "tp_overlap"),
    ("tp_overlap: high\n", "tp_overlap"),
    ("tp_overlap: .nan\n", "tp_overlap"),
    ("tp_overlap: 7\n", "tp_overlap"),
    ("scale_up_efficiency: 0\n", "scale_up_efficiency"),
    ("matmul_flop_per_s: -1\n", "matmul_flop_per_s"),
    ("fused_attention: 3\n", "fused_attention"),
    ("collective_algorithms: [rings]\n", "collective_algorithms"),
    ("collective_algorithms: []\n", "collective_algorithms"),
    ("micro_batch_s: 3e-6\n", None),
    ("{}\n", None),
    ("- a\n", "mapping"),
])  # fmt: skip
def test_assumptions_that_are_wrong(text: str, words: str | None, tmp_path: Path) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text(text, encoding="utf-8")
    outcome = planner("solve", *BASE_FLAGS, "--assumptions", changes, "--json")
    if words is None:
        assert outcome.code == 0
        return
    assert outcome.code == 2, outcome.document["certificate"]["objective"]
    assert words in outcome.mistakes[0]
    assert str(changes) in outcome.mistakes[0]


def test_all_wrong_assumptions_at_once(tmp_path: Path) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text("tp_overlp: 0.5\nstep_s: soon\ncp_overlap: .inf\n", encoding="utf-8")
    lines = refused("solve", *BASE_FLAGS, "--assumptions", changes)
    assert len(lines) == 3


def test_the_shipped_assumptions_are_in_range() -> None:
    """The ranges of a file of changes hold for every value that the calibration gives."""
    for name in hardware_db.list_clusters():
        chip = hardware_db.load_cluster(name).chip
        for era in (name for name, era in ERAS.items() if era.compiles_for(chip)):
            base = calibrated(chip, era, precision_of(None, chip, []))
            given = dataclasses.asdict(base)
            values = {name: value for name, value in given.items() if name not in ORIGIN}
            by_hand = overridden(base, values)
            assert base.are_fitted
            assert by_hand == dataclasses.replace(base, are_fitted=False)


def test_a_tile_needs_both_sides() -> None:
    base = calibrated(hardware_db.load_cluster("tpu-v5p").chip, "jax")
    with pytest.raises(InputError, match="tile_n"):
        overridden(base, {"tile_m": 128})


def test_constants_are_changed_by_the_names_that_explain_gives_them(tmp_path: Path) -> None:
    """Every constant that the answer leans on may be half as large; what it decides follows."""
    plan, file = tmp_path / "plan.yaml", tmp_path / "half.yaml"
    solve(*BASE_FLAGS, "-o", plan)
    found = planner("explain", plan, "--json").document
    constants = {
        one["number"]["path"]: one["number"]["value"]
        for one in found["elasticities"]
        if one["number"]["record"].startswith("calibration ") and abs(one["time"]) > 0.01
    }
    assert len(constants) >= 3
    for path, value in constants.items():
        file.write_text(f"{path}: {value / 2!r}\n", encoding="utf-8")
        changed = planner("evaluate", plan, "--assumptions", file, "--json").document
        assert changed["step_time_s"] != found["step_time_s"], path
        file.write_text(f"{path}: {value!r}\n", encoding="utf-8")
        same = planner("evaluate", plan, "--assumptions", file, "--json").document
        assert same["step_time_s"] == found["step_time_s"], path
    again = planner("explain", plan, "--assumptions", file, "--json").document
    assert [one["time"] for one in again["elasticities"]] == [
        one["time"] for one in found["elasticities"]
    ]


@each(("text", "words"), [
    ("memory_efficiency: -1\n", "memory_efficiency: -1: must be a number above 0"),
    ("memory_efficiency: much\n", "must be a number above 0"),
    ("memory_eficiency: 0.9\n", "did you mean 'memory_efficiency'?"),
    ("preset: roofline\nmemory_efficiency: 0.9\n", "roofline has no fitted constants"),
])  # fmt: skip
def test_constants_that_are_wrong(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "changes.yaml"
    file.write_text(text, encoding="utf-8")
    (line,) = refused("solve", *BASE_FLAGS, "--assumptions", file)
    assert words in line
