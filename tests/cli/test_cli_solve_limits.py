"""Limits of `planner solve`: what they exclude, and what a time limit leaves proved."""

from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL, answer_to
from cli.command import planner, solve
from cli.jobs import H100


def rows(answer: Any) -> list[Any]:
    """The best plan and the front."""
    return [answer["best"], *answer["front"]["plans"]]


def test_max_memory() -> None:
    free = answer_to("dense, GPU, clocks")["best"]["memory_per_chip_bytes"]
    answer = solve(*SMALL, "--max-memory", free / 2)
    assert all(row["memory_per_chip_bytes"] <= free / 2 for row in rows(answer))
    assert (
        answer["certificate"]["objective"]
        > answer_to("dense, GPU, clocks")["certificate"]["objective"]
    )
    assert sum("may be filled" in line for line in answer["notes"]["why"]) == 1


def test_max_power() -> None:
    answer = solve(*SMALL, "--max-power", "5.5kW")
    assert all(row["power_per_chip_w"] * row["chips"] <= 5500 for row in rows(answer))
    assert (
        answer["certificate"]["objective"]
        > answer_to("dense, GPU, clocks")["certificate"]["objective"]
    )


def test_max_step_time_and_min_mfu() -> None:
    best = answer_to("dense, GPU, clocks")["best"]
    answer = solve(*SMALL, "--objective", "energy", "--max-step-time", best["step_time_s"] * 1.05)
    assert all(row["step_time_s"] <= best["step_time_s"] * 1.05 for row in rows(answer))
    answer = solve(*SMALL, "--objective", "energy", "--min-mfu", best["mfu"] * 0.95)
    assert all(row["mfu"] >= best["mfu"] * 0.95 for row in rows(answer))


@each("limit", [("--max-power", "5.5kW"), ("--max-memory", "9GB")])
def test_no_neighbor_is_called_faster_when_it_breaks_a_limit(limit: tuple[str, str]) -> None:
    """The neighbor table must say which limit a faster plan breaks."""
    answer = solve(*SMALL, *limit)
    faster = [
        row for row in answer["candidates"]["neighbors"] if row["verdict"].startswith("faster")
    ]
    assert not faster, faster


def test_a_limit_that_does_not_bind_changes_nothing() -> None:
    free = answer_to("dense, GPU, clocks")
    answer = solve(*SMALL, "--max-power", "1MW", "--max-step-time", "1h", "--min-mfu", "0.0001")
    assert answer["best"] == free["best"]
    assert answer["front"]["plans"] == free["front"]["plans"]


def test_a_time_limit_keeps_the_bound_valid() -> None:
    flags = (
        "--model",
        "llama2-70b",
        *H100,
        "--chips",
        "512",
        "--placement",
        "all",
    )
    proved = solve(*flags)
    assert proved["certificate"]["status"] == "optimal"
    statuses = set()
    for limit in ("30ms", "100ms", "200ms", "400ms", "800ms", "30s"):
        outcome = planner("solve", *flags, "--time-limit", limit, "--json")
        answer = outcome.document
        statuses.add(answer["certificate"]["status"])
        if outcome.code == 4:
            assert answer["certificate"]["status"] == "time_limit"
            assert answer["best"] is None
            continue
        assert outcome.code == 0
        assert answer["certificate"]["bound"] <= proved["certificate"]["objective"] * (1 + 1e-12)
        assert answer["certificate"]["objective"] >= proved["certificate"]["objective"] * (
            1 - 1e-12
        )
        gap = (answer["certificate"]["objective"] - answer["certificate"]["bound"]) / answer[
            "certificate"
        ]["objective"]
        assert answer["certificate"]["gap"] == pytest.approx(gap, abs=1e-12)
        if answer["certificate"]["status"] == "feasible":
            assert "incomplete" in answer["front"]["note"]
        else:
            assert answer["certificate"]["objective"] == proved["certificate"]["objective"]
    assert "optimal" in statuses
    assert statuses & {"feasible", "time_limit"}


@each("form", ["--json", "--no-clocks"])
def test_a_time_limit_on_memory_has_a_bound_too(form: str) -> None:
    """A bound of minus infinity is neither JSON nor a bound; memory is at least nothing."""
    flags = ("--model", "llama3.1-405b", *H100, "--chips", "8192",
             "--objective", "memory", form)  # fmt: skip
    for limit in ("300ms", "500ms", "800ms", "1200ms", "2s", "1min"):
        outcome = planner("solve", *flags, "--time-limit", limit)
        if outcome.code == 4:
            continue
        assert outcome.code == 0
        assert "inf" not in outcome.out.replace("infeasible", "").replace("infini", "")
        if form == "--json":
            answer = outcome.document
            assert 0 <= answer["certificate"]["bound"] <= answer["certificate"]["objective"]
            assert 0 <= answer["certificate"]["gap"] <= 1
        break
    else:
        pytest.fail("no plan within a minute")


_OF_SPACES = {
    "uniform": (*H100, "--chips", "8"),
    "uneven": (*H100, "--chips", "8", "--layout", "uneven"),
    "machines": (*H100, "--total-pes", "1056", "--pes", "66,132"),
    "pools": ("--pools", "dgx-h100-ndr=4,dgx-a100-80-hdr=4", "--layout", "uneven"),
}


@each("space", list(_OF_SPACES))
def test_a_gap_and_a_time_limit_give_the_bound_in_every_space(space: str) -> None:
    flags = ("--model", "gpt3-125m", "--batch-tokens", "64Ki", *_OF_SPACES[space])
    outcome = planner("solve", *flags, "--gap", "1%", "--time-limit", "5min", "--json")
    known = outcome.document["certificate"]
    assert outcome.code == 0
    assert known["status"] in ("optimal", "feasible")
    assert 0 <= known["gap"] <= 0.01
    assert known["gap"] == pytest.approx(1 - known["bound"] / known["objective"], abs=1e-12)
