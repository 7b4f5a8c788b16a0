"""Failure rates at which another choice would be better, where nobody published one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cli.command import planner

from planner.answers.run.thresholds import another_of, equal_days_s
from planner.cost.goodput.goodput import Pace, Upkeep, goodput
from planner.cost.goodput.segments import Checkpointing

UPKEEP = Upkeep(
    detection_s=120.0, restart_s=600.0, spares=None, straggler_loss=0.0, node_share=0.5,
    repair_s=72 * 3600.0,
)  # fmt: skip
PACE = Pace(
    chips=4096, step_time_s=2.0, steps=1e6, saved=Checkpointing(stall_s=20.0, write_s=0.0)
)  # fmt: skip


def speed(theta_s: float, pace: Pace) -> float:
    return float(goodput(theta_s, pace, UPKEEP).work) / float(pace.step_time_s)


def test_at_the_rate_both_take_as_long_and_below_it_the_other_is_faster() -> None:
    half = replace(PACE, chips=2048, step_time_s=3.6)
    light = replace(PACE, step_time_s=2.05, saved=Checkpointing(stall_s=1.0, write_s=0.0))
    edges = []
    for other in (half, light):
        edge = equal_days_s(PACE, other, UPKEEP)
        assert edge is not None
        edges.append(edge)
        assert speed(edge, PACE) == pytest.approx(speed(edge, other), rel=1e-3)
        assert speed(edge * 2, PACE) > speed(edge * 2, other)
        assert speed(edge / 2, PACE) < speed(edge / 2, other)
    found = another_of(PACE, [half, light], UPKEEP)
    assert found == max(edges) / 3600.0, "the first that is faster as chips fail more often"
    assert max(edges) > 1.1 * min(edges)


def test_a_plan_that_is_worse_in_all_is_faster_at_no_rate() -> None:
    worse = replace(PACE, step_time_s=2.1)
    assert equal_days_s(PACE, worse, UPKEEP) is None
    assert another_of(PACE, [worse], UPKEEP) is None
    assert another_of(PACE, [], UPKEEP) is None


def test_an_answer_without_a_rate_says_where_half_of_the_chips_are_as_fast() -> None:
    job = ("solve", "--model", "gpt3-1.3b", "--hardware", "tpu-v5e", "--chips", "64",
           "--framework", "jax", "--train-tokens", "1e12")  # fmt: skip
    run = planner(*job, "--json").document["training_run"]
    half = run["half_chips"]
    assert half["chips"] == 32
    assert 0.0 < half["chip_hours"] < run["break_even_chip_hours"]
    known = planner(*job, "--mtbf", "3h", "--json").document["training_run"]
    assert (known["half_chips"], known["another_plan_chip_hours"]) == (None, None)
    text = " ".join(planner(*job, "--show", "run").out.split())
    assert "32 chips are as fast where one comes in" in text
    slow = planner(*job, "--straggler-loss", "15%", "--maintenance", "2%").out
    assert "if nothing fails, slow chips and maintenance take 16.7 %" in " ".join(slow.split())
    assert "below 90 % at any rate" in " ".join(slow.split())
