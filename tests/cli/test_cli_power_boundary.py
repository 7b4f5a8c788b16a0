"""The boundary of `--max-power` on the command line: words, one line in the answer, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused, solve
from planner.base.vocabulary import BOUNDARIES, OTHER_WORDS
from planner.cost.energy.boundaries import MEASURED

JOB = [
    "--model",
    "gpt3-125m",
    "--hardware",
    "h100-sxm5-80",
    "--chips",
    "8",
    "--batch-tokens",
    "64Ki",
]


def power_w(plan: dict[str, dict[str, float]], boundary: str) -> float:
    return plan["power_by_boundary_w"][boundary] * plan["chips"]  # type: ignore[no-any-return]


@each("boundary", BOUNDARIES)
def test_the_answer_says_where_the_limit_holds_and_what_the_plan_draws_there(boundary: str) -> None:
    answer = solve(*JOB, "--max-power", "5.5kW", "--power-boundary", boundary)
    line = answer["notes"]["caveats"][-1]
    drawn = power_w(answer["best"], boundary)
    assert drawn <= 5500
    assert line == (
        f"It draws {drawn / 1e3:.3g} kW {MEASURED[boundary]}, where --max-power allows 5.5 kW "
        f"(--power-boundary {boundary})."
    )
    assert answer["question"]["asked"]["power_boundary"] == boundary


def test_without_a_boundary_it_is_the_facility() -> None:
    answer = solve(*JOB, "--max-power", "5.5kW")
    assert answer["question"]["asked"]["power_boundary"] == "facility"
    assert "at the facility" in answer["notes"]["caveats"][-1]
    assert power_w(answer["best"], "facility") <= 5500
    free = solve(*JOB)
    assert not any("draws" in line for line in free["notes"]["caveats"])
    assert "power_boundary" not in free["question"]["asked"]


@each(("word", "meant"), OTHER_WORDS["power_boundary"].items())
def test_other_words_mean_the_same(word: str, meant: str) -> None:
    limit = ("--max-power", "5.5kW", "--power-boundary")
    one, other = (solve(*JOB, *limit, name) for name in (word, meant))
    assert one["question"] == other["question"]
    assert one["best"] == other["best"]


def test_an_unknown_word_and_a_boundary_alone_are_refused() -> None:
    line = refused("solve", *JOB, "--max-power", "5kW", "--power-boundary", "rack")[0]
    assert "power-boundary: 'rack' is not one of chip, node, node_and_fabric, facility" in line
    line = refused("solve", *JOB, "--power-boundary", "node")[0]
    assert "power-boundary: node has no effect without max-power" in line


def test_an_answer_is_asked_again_and_read_again(tmp_path: Path) -> None:
    flags = (*JOB, "--max-power", "5.5kW", "--power-boundary", "chips", "--train-tokens", "1e9")
    answer = solve(*flags)
    job, result = tmp_path / "job.json", tmp_path / "answer.json"
    job.write_text(json.dumps(answer["question"]["asked"]), encoding="utf-8")
    assert solve(job)["best"] == answer["best"]
    result.write_text(planner("solve", *flags, "--json").out, encoding="utf-8")
    assert planner("report", result).code == 0
    plan = tmp_path / "plan.yaml"
    assert planner("solve", *flags, "-o", plan).code == 0
    again = planner("evaluate", plan, "--json").document
    assert again["power_by_boundary_w"] == answer["best"]["power_by_boundary_w"]


def test_carbon_is_that_of_the_facility_and_energy_per_token_that_of_its_machines() -> None:
    run = ("--train-tokens", "1e12", "--carbon-intensity", "400", "--pue", "1.5")
    unknown = {"h100-sxm5-80": "h200-sxm5-141"}  # whose failures nobody published: nothing fails
    answer = solve(*(unknown.get(str(word), word) for word in JOB), *run)
    best, whole = answer["best"], answer["training_run"]
    assert whole["facility_energy_mwh"] == pytest.approx(1.5 * whole["energy_mwh"])
    assert whole["co2_t"] == pytest.approx(0.4 * whole["facility_energy_mwh"])
    assert best["energy_per_token_j"] == pytest.approx(best["energy_per_step_j"] / 2**16)
    assert best["energy_per_token_j"] * 1e12 == pytest.approx(whole["energy_mwh"] * 3.6e9)
