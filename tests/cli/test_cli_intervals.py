"""Intervals and ties in `solve`, `evaluate` and `feasible`: terminal, JSON and front files."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner as package
from cli.command import planner, solve

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")
ENDS = ("step_time_low_s", "step_time_high_s", "memory_low_bytes", "memory_high_bytes")


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """The JSON of a small question."""
    return solve(*JOB)


def test_every_plan_of_an_answer_has_its_interval(answer: dict[str, Any]) -> None:
    spread = answer["notes"]["interval"]
    for plan in (answer["best"], *answer["front"]["plans"], *answer["candidates"]["top"]):
        assert plan["step_time_low_s"] == pytest.approx(plan["step_time_s"] * spread["low"])
        assert plan["step_time_high_s"] == pytest.approx(plan["step_time_s"] * spread["high"])
        assert plan["memory_low_bytes"] < plan["memory_high_bytes"]
    assert spread["level"] == 0.8
    assert spread["situation"] == "dense.megatron-core"
    assert spread["rows"] > spread["sources"] > 1


def test_the_top_three(answer: dict[str, Any]) -> None:
    top, noise = answer["candidates"]["top"], answer["notes"]["interval"]["tie_factor"]
    assert answer["candidates"]["top_complete"]
    assert len(top) == 3
    assert {**top[0], "difference": 0.0, "tie": True} == top[0]
    facts = {"per_stage", "per_level", "memory_limit_bytes", "chip_memory_bytes", "collectives"}
    facts |= {"simulated_step_time_s", "not_simulated"}
    assert {name for name in answer["best"] if name not in top[0]} == facts
    assert all(top[0][name] == answer["best"][name] for name in answer["best"].keys() - facts)
    for plan in top:
        ratio = plan["step_time_s"] / answer["best"]["step_time_s"]
        assert plan["difference"] == pytest.approx(ratio - 1, abs=1e-12)
        assert plan["tie"] == (ratio <= noise)
    meshes = [
        (p["mesh"]["dp"] * p["mesh"]["fsdp"], p["mesh"]["tp"], p["mesh"]["cp"], p["mesh"]["pp"],
         p["micro_batch"])
        for p in top
    ]  # fmt: skip
    assert len(set(meshes)) == 3


def test_neighbors_say_whether_they_tie(answer: dict[str, Any]) -> None:
    noise = answer["notes"]["interval"]["tie_factor"]
    judged = 0
    for neighbor in answer["candidates"]["neighbors"]:
        if neighbor["tie"] is not None:
            ratio = neighbor["costs"]["step_time_s"] / answer["best"]["step_time_s"]
            share_all = neighbor["change"].startswith("clock")  # another clock shares its error
            assert neighbor["tie"] == (1 / noise <= ratio <= noise and not share_all)
            judged += 1
    assert judged


def test_a_bound_has_no_interval() -> None:
    asked = ("--model", "llama2-13b", "--chips", "64", "--assumptions", "roofline")
    answer = solve(*asked)
    assert answer["notes"]["interval"] is None
    assert [answer["best"][name] for name in ENDS] == [None] * 4
    assert {plan["tie"] for plan in answer["candidates"]["top"]} == {None}
    assert {neighbor["tie"] for neighbor in answer["candidates"]["neighbors"]} == {None}
    printed = planner("solve", *asked, "--show", "all").out
    assert "No interval: under these assumptions a time is a bound" in printed
    assert "80 %" not in printed.split("Exact Pareto front")[0].replace("80 % of", "")


def test_the_terminal_shows_the_interval_and_what_to_do(answer: dict[str, Any]) -> None:
    printed = " ".join(planner("solve", *JOB, "--show", "all").out.split())
    assert "(80 %: " in printed
    assert "no local runs" in printed
    assert "Best plans of different mesh or micro-batch" in printed
    top = answer["candidates"]["top"]
    measure = [f"#{number}" for number, plan in enumerate(top, start=1) if plan["measure"]]
    assert len(measure) == (3 if any(plan["tie"] for plan in top[1:3]) else 0)
    if measure:
        assert f"Measure {', '.join(measure[:-1])} and {measure[-1]} for a few" in printed


@each(("chip", "seen"), [("gaudi2", False), ("h100-sxm5-80", True)])
def test_the_screen_says_where_no_run_of_such_a_job_is_published(chip: str, seen: bool) -> None:
    asked = ("--model", "llama3-8b", "--hardware", chip, "--chips", "8", "--batch-tokens", "128Ki")
    printed = " ".join(planner("solve", *asked).out.split())
    assert "interval from " in printed
    assert (", none of such a job with this framework and chip" in printed) != seen


def test_no_ranking_by_memory() -> None:
    answer = solve(*JOB, "--objective", "memory")
    assert [plan["difference"] for plan in answer["candidates"]["top"]] == [0.0]
    assert not answer["candidates"]["top_complete"]
    assert "Best" not in planner("solve", *JOB, "--objective", "memory").out.split("Why")[
        0
    ].replace("Best plan", "")


def test_front_files_and_plan_files_carry_it(answer: dict[str, Any], tmp_path: Path) -> None:
    front = tmp_path / "front.csv"
    assert planner("solve", *JOB, "--pareto", front, "-o", tmp_path / "plan.yaml").code == 0
    with front.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, plan in zip(rows, answer["front"]["plans"], strict=True):
        assert [float(row[name]) for name in ENDS] == [plan[name] for name in ENDS]
    again = json.loads(planner("evaluate", front, "--row", "1", "--json").out)
    assert [again[name] for name in ENDS] == [answer["front"]["plans"][0][name] for name in ENDS]
    alone = planner("evaluate", tmp_path / "plan.yaml").out
    assert "(80 %: " in alone


def test_feasible_rows_have_it() -> None:
    asked = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8",
             "--batch-tokens", "1Mi", "--strategies", "zero1")  # fmt: skip
    (row,) = json.loads(planner("feasible", *asked, "--json").out)["rows"]
    assert row["step_time_low_s"] < row["step_time_s"] < row["step_time_high_s"]
    printed = planner("feasible", *asked).out
    assert "80 %" in printed


def test_python_objects() -> None:
    answer = package.solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8)
    assert answer.best is not None
    assert answer.notes.spread is not None
    assert answer.candidates.top[0].result == answer.best
    assert answer.best.step_time_low_s is not None
    assert answer.best.step_time_low_s < answer.best.step_time_s
