"""`planner validate --what goodput`: closed forms beside simulated and published runs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from cli.command import planner

from planner.base.units import HOUR_S
from planner.cost.goodput.goodput import Pace, goodput, usual_upkeep
from planner.cost.goodput.rates import rate_of_site
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.published import published_rows
from planner.evidence.goodput.recovery_cases import recoveries
from planner.evidence.goodput.said import runs_said
from planner.evidence.goodput.table import CASES, goodput_tables


def test_closed_forms_hold_where_their_assumptions_do() -> None:
    found = goodput_tables(runs=200)
    played = [job.words for job in recoveries()]
    assert [row.words for row in found.simulated] == [*(case.words for case in CASES), *played]
    for row in found.simulated:
        off = abs(row.difference)
        if row.words.startswith("as assumed") or row.words in played:
            assert off <= 0.01 + 4 * row.error
        elif row.chips == 100_000 or row.words.startswith("a failure pulls"):
            assert off > 0.04, "the table says how far off it is"
    page = (Path(__file__).parents[2] / "docs" / "json-evidence.md").read_text(encoding="utf-8")
    for part in ("simulated", "sites", "published"):
        assert all(f"`{key}`" in page for key in found.to_dict()[part][0])
    inside, of = found.coverage
    assert (inside, of) == (3, 4)
    assert found.to_dict()["coverage"] == {"inside": 3, "of": 4, "level": 0.8}


def test_effective_time_of_published_runs() -> None:
    rows = {row.run: row for row in published_rows()}
    llama = rows["Llama 3 405B"]
    assert llama.predicted is not None
    assert 0.90 < llama.predicted < 0.95, "over 90 %, with 419 failures of some 12 minutes"
    assert llama.share is llama.share_error is llama.closes_the_gap is None, "a bound has no error"
    robust = rows["ByteRobust"]
    assert robust.predicted is robust.share_error is None, "unknown: it does not say how it failed"
    assert robust.closes_the_gap == pytest.approx(63_000, rel=0.01)
    bloom = rows["BLOOM 176B"]
    assert bloom.predicted == pytest.approx(
        1 - 40 / 10_522 - (1.5 + 0.2) / (43_829 / 384), abs=2e-3
    )
    assert bloom.share == pytest.approx(0.922, abs=1e-3)
    opt = rows["OPT-175B"]
    assert opt.share == pytest.approx(34.1 / 56, abs=1e-3), "days of steps over days"
    assert opt.share_error == pytest.approx(0.376, abs=2e-3)


def test_effective_time_is_within_2_points_where_failures_and_restarts_are_published() -> None:
    """RSC-1 is said to one digit by the hour: half of that comes on top."""
    rows = {row.run: row for row in published_rows()}
    for name, rounding in (("hourly", 0.0005), ("every 5 min", 0.0)):
        row = rows[f"RSC-1, one job on all, saved {name}"]
        assert row.share_error is not None
        assert abs(row.share_error) < 0.02 + rounding
        nodes_per_s, every = 2000 * 6.5 / 1000 / 86400, 3600 if name == "hourly" else 300
        expected = 1 - nodes_per_s * (300 + every / 2)
        assert row.share == pytest.approx(expected, abs=0.02), "by the expression of the paper"
    large = rows["RSC-1, jobs of 2,048 to 4,096"]
    assert large.predicted is not None
    assert large.predicted > 0.90, "as it says"


def test_published_runs_are_said_as_they_are_counted() -> None:
    said = {one.key: one for one in runs_said()}
    llama, opt, bloom = (said[key] for key in ("llama-3-405b", "opt-175b", "bloom-176b"))
    assert llama.step_s == pytest.approx(6 * 405e9 * 2048 * 8192 / (16_384 * 400e12))
    assert llama.write_s == pytest.approx(405e9 * 14 / 2e12)
    step_s = 4.30e23 / 300e9 * opt.batch_tokens / (992 * 147e12)
    assert opt.step_s == pytest.approx(step_s, rel=1e-6)
    assert opt.share == pytest.approx(300e9 / opt.batch_tokens * step_s / (56 * 86400), rel=1e-5)
    steps = 94_767 - 12_695
    assert bloom.tokens == pytest.approx(steps * 2048 * 2048)
    assert bloom.share == pytest.approx(steps * 105.22 / (108.4 * 86400), rel=1e-5)
    for one, hours in ((llama, 30.84e6), (opt, 56 * 24 * 992), (bloom, 108.4 * 24 * 384)):
        assert one.chip_hours == pytest.approx(hours)


def test_what_gives_the_effective_time_that_a_run_says() -> None:
    rows = {row.run: row for row in published_rows()}
    usual = replace(usual_upkeep(), detection_s=0.0, restart_s=rows["OPT-175B"].closing_s or 0.0)
    pace = Pace(chips=992, step_time_s=1.0, steps=math.inf,
                saved=Checkpointing(stall_s=0.0, write_s=0.0))  # fmt: skip
    again = goodput(rate_of_site("opt-175b").theta_s, pace, usual).work
    assert float(again) == pytest.approx(rows["OPT-175B"].share)
    automatic, manual = (rows[f"HLAT, {how} restarts"] for how in ("automatic", "manual"))
    theta = (automatic.closes_the_gap or 0.0) * HOUR_S
    there = replace(pace, chips=4_096)
    assert float(goodput(theta, there, usual_upkeep()).work) == pytest.approx(0.9881, abs=1e-5)
    by_hand = replace(usual_upkeep(), detection_s=0.0, restart_s=manual.closing_s or 0.0)
    assert float(goodput(theta, there, by_hand).work) == pytest.approx(0.7783, abs=1e-5)


def test_steps_and_hours_of_published_runs() -> None:
    rows = {row.run: row for row in published_rows()}
    llama, deepseek = rows["Llama 3 405B"], rows["DeepSeek-V3"]
    assert llama.step_error is not None
    assert abs(llama.step_error) < 0.05
    assert deepseek.step_error is not None
    assert -0.1 < deepseek.step_error < 0.02, "its hours hold what failures took as well"
    ideal, real = llama.hours_errors
    assert ideal is not None
    assert real is not None
    assert abs(real) < abs(ideal), "what goodput adds"
    assert llama.hours_predicted == pytest.approx(
        (llama.hours_if_nothing_failed or 0.0) / (llama.predicted or 1.0)
    )
    assert deepseek.chip_hours == 2.664e6
    assert deepseek.hours_predicted is deepseek.hours_errors[1] is None, "unknown"
    steps = 14.8e12 / (15_360 * 4096)
    hours = steps * (deepseek.step_predicted_s or 0.0) * 2048 / 3600
    assert deepseek.hours_if_nothing_failed == pytest.approx(hours)


@pytest.mark.parametrize(("flags", "words"), [
    (("--data", "x.csv"), "what: --data is a file of one kind; give one of "),
    (("--source", "mpt"), "what: 'goodput' uses the shipped constants and all sources"),
    (("--calibration", "x.yaml"), "what: 'goodput' uses the shipped constants; "),
])  # fmt: skip
def test_what_has_no_effect_on_goodput(flags: tuple[str, ...], words: str) -> None:
    outcome = planner("validate", "--what", "goodput", *flags)
    assert outcome.code == 2
    assert words in outcome.err
