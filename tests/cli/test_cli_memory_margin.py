"""`--memory-margin`: the share of a chip that a plan may fill, and the chance that it runs out."""

from pathlib import Path

import pytest
from support.cases import each

from cli.answers import SMALL, answer_to
from cli.command import planner, solve
from cli.jobs import H100
from hardware_db import load_cluster
from planner.frameworks.profiles import FRAMEWORKS

GPU = "dense, GPU, clocks"


def allocatable_bytes() -> float:
    """Capacity of the chip of `SMALL` less the reserve of its framework."""
    job = answer_to(GPU)["question"]["job"]
    reserve = FRAMEWORKS[job["framework"]].reserve_bytes
    return load_cluster(job["hardware"]).chip.memory_bytes - reserve


def test_a_margin_prunes_as_the_same_bytes_do() -> None:
    half = answer_to(GPU)["best"]["memory_per_chip_bytes"] / 2
    by_share = solve(*SMALL, "--memory-margin", repr(half / allocatable_bytes()))
    by_bytes = solve(*SMALL, "--max-memory", half * (1 + 1e-12))
    limits = [answer["best"].pop("memory_limit_bytes") for answer in (by_share, by_bytes)]
    assert limits == [half, half * (1 + 1e-12)]
    for part in ("certificate", "front", "best"):
        assert by_share[part] == by_bytes[part]
    assert by_share["candidates"]["counts"] == by_bytes["candidates"]["counts"]
    assert by_share["question"]["job"]["memory_margin"] == half / allocatable_bytes()
    assert by_share["question"]["plan_job"]["memory_margin"] == half / allocatable_bytes()


def test_the_default_is_the_share_of_the_framework() -> None:
    share = FRAMEWORKS[answer_to(GPU)["question"]["job"]["framework"]].usable_share
    answer = solve(*SMALL, "--memory-margin", share)
    free = solve(*SMALL, "--max-oom-risk", "100%")
    assert answer["candidates"]["counts"] == free["candidates"]["counts"]
    assert answer["best"] == free["best"]
    assert "memory_margin" not in answer_to(GPU)["question"]["job"]


def test_the_smaller_of_two_limits_counts() -> None:
    half = answer_to(GPU)["best"]["memory_per_chip_bytes"] / 2
    both = solve(*SMALL, "--memory-margin", "90%", "--max-memory", half)
    assert both["best"]["memory_per_chip_bytes"] <= half


def test_job_and_plan_files_hold_it(tmp_path: Path) -> None:
    job, plan = tmp_path / "job.yaml", tmp_path / "plan.yaml"
    job.write_text(
        "model: llama2-7b\nhardware: dgx-h100-ndr\nchips: 8\n"
        "batch_tokens: 256Ki\nmemory_margin: 70%\n",
        encoding="utf-8",
    )
    answer = planner("solve", str(job), "-o", str(plan), "--json").document
    assert "memory_margin: 0.7" in plan.read_text(encoding="utf-8")
    again = planner("evaluate", str(plan), "--json").document
    assert again["memory_limit_bytes"] == pytest.approx(0.7 * allocatable_bytes())
    wider = planner("evaluate", str(plan), "--memory-margin", "1", "--json").document
    assert wider["memory_limit_bytes"] == pytest.approx(allocatable_bytes())
    for name in ("out_of_memory_probability", "memory_risk", "lacks_headroom"):
        assert wider[name] == again[name] == answer["best"][name]
    assert answer["best"]["memory_risk"] == "safe"


def test_what_is_nearly_full_is_risky_and_has_no_headroom(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema_version: 1\njob:\n  model: llama2-7b\n  hardware: dgx-h100-ndr\n"
        "  batch_tokens: 2Mi\n  framework: nanotron\n"
        "plan:\n  mesh: {dp: 4, tp: 2}\n  micro_batch: 8\n  sharding: zero1\n",
        encoding="utf-8",
    )
    found = planner("evaluate", str(plan), "--json").document
    assert found["out_of_memory_probability"] >= 0.05
    assert found["memory_risk"] in ("risky", "does not fit")
    assert found["lacks_headroom"]
    assert any(line.startswith("headroom: little headroom: ") for line in found["warnings"])
    printed = planner("evaluate", str(plan)).out
    assert found["memory_risk"] in printed


@each(
    ("value", "said"),
    [
        ("0", "must be greater than 0"),
        ("-0.5", "must be greater than 0"),
        ("1.1", "must be at most 1"),
        ("101%", "must be at most 1"),
        ("nan", "finite"),
        ("much", "number"),
    ],
)
@each("command", ["solve", "feasible"])
def test_bad_margins_are_refused_in_a_line(command: str, value: str, said: str) -> None:
    flags = ("--model", "llama2-7b", *H100, "--chips", "8")
    outcome = planner(command, *flags, f"--memory-margin={value}")
    assert outcome.code == 2
    assert outcome.out == ""
    (line,) = outcome.mistakes
    assert line.startswith("memory-margin: ")
    assert said in line


def test_an_answer_without_a_plan_names_the_least_margin() -> None:
    flags = ("--model", "llama2-13b", *H100, "--chips", "8")
    answer = planner("solve", *flags, "--memory-margin", "0.05", "--json").document
    assert answer["certificate"]["status"] == "infeasible"
    (remedy,) = [line for line in answer["diagnosis"]["remedies"] if "--memory-margin" in line]
    margin = remedy.split()[-1]
    assert 0.05 < float(margin) < 0.9
    freed = planner("solve", *flags, "--memory-margin", margin, "--json").document
    assert freed["certificate"]["status"] == "optimal"
