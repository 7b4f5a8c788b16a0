"""`planner goodput`: the worked figures of the design, what fields change, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

from planner import InputError, goodput

PAGE = (Path(__file__).parents[3] / "docs" / "goodput.md").read_text(encoding="utf-8")
RATE = "--chip-hours-per-failure 50700"
WARM = "--detection 1min --restart 2min"
ALONE = "--no-while-down"


def rows(line: str) -> list[dict[str, Any]]:
    """The rows of an answer."""
    outcome = planner("goodput", *line.split(), "--json")
    assert outcome.code == 0, outcome.err
    found: list[dict[str, Any]] = outcome.document["rows"]
    return found


@pytest.mark.parametrize(("line", "percent", "every"), [
    (f"--chips 16384 {RATE} --stall 60s --checkpoint-writes blocking {ALONE}", [84.5], [1117]),
    (f"--chips 512,16384,100000 {RATE} --stall 5s {ALONE}", [99.3, 91.1, 66.5],
     [None, 330, None]),
    (f"--chips 512,16384,100000 {RATE} --stall 5s", [99.3, 91.0, 62.5], [None, 330, None]),
    (f"--chips 16384,100000 {RATE} --stall 5s {WARM} {ALONE}", [95.5, 84.4], [330, None]),
])  # fmt: skip
def test_worked_figures_of_the_design(
    line: str, percent: list[float], every: list[int | None]
) -> None:
    """Each is printed by one command, which stands in docs/goodput.md."""
    assert f"planner goodput {line}\n" in PAGE
    found = rows(line)
    assert [100 * row["share"] for row in found] == pytest.approx(percent, abs=0.06)
    for row, seconds in zip(found, every, strict=True):
        assert seconds is None or round(row["checkpoint_every_s"]) == seconds


def test_worked_spares_of_the_design() -> None:
    line = f"--nodes 64,512,2048,12500 {RATE} --stall 5s"
    assert f"planner goodput {line}\n" in PAGE
    found = rows(line)
    assert [row["nodes"] for row in found] == [64, 512, 2048, 12_500]
    assert [row["chips"] for row in found] == [512, 4096, 16_384, 100_000]
    assert [row["spares_wanted"] for row in found] == [2, 8, 20, 91]
    (more,) = rows(f"--nodes 2048 {RATE} --stall 5s --spares-chance 99.9%")
    assert more["spares_wanted"] > 20
    (other,) = rows(f"--nodes 2048 --chips-per-node 4 {RATE} --stall 5s")
    assert (other["chips"], other["nodes"]) == (8192, 2048)


def test_shares_sum_to_one_and_each_field_counts() -> None:
    (base,) = rows(f"--chips 16384 {RATE} --stall 5s")
    parts = ("share", "stalls", "down", "lost", "stragglers", "waits", "maintenance")
    (slow,) = rows(
        f"--chips 16384 {RATE} --stall 5s --straggler-loss 5% --spares 12 --maintenance 2%"
    )
    for row in (base, slow):
        assert sum(row[part] for part in parts) == pytest.approx(1.0)
    assert base["low"] == base["high"] == base["share"], "a rate that is given is exact"
    assert slow["stragglers"] == pytest.approx(slow["share"] * 0.05 / 0.95)
    assert slow["waits"] > 0 == base["waits"]
    assert slow["maintenance"] == 0.02
    (soon,) = rows(f"--chips 16384 {RATE} --stall 5s --spares 12 --repair 1h")
    assert soon["waits"] < slow["waits"]
    (job,) = rows("--chips 16384 --mtbf 3h --stall 5s")
    assert job["mtbf_s"] == 10_800.0
    (whole,) = rows(f"--chips 16384 {RATE} --stall 5s --step-time 200s")
    assert whole["checkpoint_every_s"] == 400.0, "whole steps"


def test_a_checkpoint_of_so_many_bytes() -> None:
    job = f"--chips 16384 {RATE} --checkpoint-bytes 6TB --checkpoint-store 200GB/s"
    (blocking,) = rows(f"{job} --checkpoint-writes blocking")
    assert (blocking["checkpoint_stall_s"], blocking["checkpoint_write_s"]) == (30.0, 0.0)
    (beside,) = rows(f"{job} --stall 1s")
    assert (beside["checkpoint_stall_s"], beside["checkpoint_write_s"]) == (1.0, 30.0)
    few, many = rows(f"--chips 1024,2048 {RATE} --checkpoint-bytes 6TB --stall 1s")
    assert few["checkpoint_write_s"] == 2 * many["checkpoint_write_s"], "a store grows with chips"


def test_a_site_not_seen_is_the_default() -> None:
    document = planner("goodput", "--chips", "1024", "--stall", "5s", "--json").document
    assert document["rate"] == "that of a site not seen, from 4 of A100 and H100"
    assert document["chip_hours_low"] < 35_950 < document["chip_hours_high"]
    assert document["rows"][0]["low"] < document["rows"][0]["share"] < document["rows"][0]["high"]


def test_simulated_runs_stand_beside_the_closed_form(tmp_path: Path) -> None:
    (row,) = rows(f"--chips 16384 {RATE} --stall 5s --simulate exponential --runs 200")
    assert abs(row["difference"]) < 0.01
    assert 0 < row["simulated_error"] < 0.01
    (bursts,) = rows(f"--chips 100000 {RATE} --stall 5s --simulate weibull=0.7 --runs 100")
    assert bursts["difference"] < -0.04
    path = tmp_path / "gaps.txt"
    path.write_text("10min\n10min\n10min\n10min\n51600\n", encoding="utf-8")
    (listed,) = rows(f"--chips 4096 --stall 5s --simulate {path} --runs 50")
    assert listed["mtbf_s"] == 3 * 3600.0
    assert listed["simulated"] > listed["share"]
    path.write_text("10min\n", encoding="utf-8")
    (never,) = rows(f"--chips 4096 --stall 5s --simulate {path} --runs 50")
    assert never["simulated"] is None, "no gap is as long as detection and restart"


def test_a_restart_longer_than_the_time_between_failures_is_an_answer() -> None:
    outcome = planner("goodput", "--chips", "16384", "--mtbf", "5min", "--stall", "5s",
                      "--simulate", "exponential", "--runs", "10")  # fmt: skip
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    assert "Warning: goodput is below 50 % above " in text
    (row,) = rows("--chips 16384 --mtbf 0.5 --stall 5s")
    assert row["share"] == 0.0


@pytest.mark.parametrize(("line", "said"), [
    ("--stall 5s", "chips: is missing; say how many chips the job has, e.g. --chips 16384"),
    ("--chips 64", "stall: is missing; say for how long a checkpoint stops the job"),
    ("--chips 64 --nodes 8 --stall 5s", "nodes: chips says how large the job is"),
    ("--chips 0 --stall 5s", "chips: 0: must be at least 1"),
    ("--chips 1e12 --stall 5s", "chips: 1000000000000: must be at most 1,000,000,000"),
    ("--chips 512..64 --stall 5s", "chips: '512..64' is empty; write it from 64 to 512"),
    ("--chips many --stall 5s", "chips: "),
    ("--chips 64 --stall -5s", "stall: '-5s': must be at least 0, and finite"),
    ("--chips 64 --stall nan", "stall: "),
    ("--chips 64 --stall 5s --step-time 0", "step-time: '0': must be greater than 0"),
    ("--chips 64 --stall 5s --spares 9", "spares: 9 is more than the 8 nodes of the job"),
    ("--chips 64 --stall 5s --spares-chance 100%", "spares-chance: a chance of '100%' is none; "
     "allowed: above 0 and below 100 %"),
    ("--chips 64 --stall 5s --spares-chance sure", "spares-chance: 'sure' is not a chance; write"),
    ("--chips 64 --stall 5s --chip-hours-per-failure 0", "chip-hours-per-failure: 0: must be gr"),
    ("--chips 64 --stall 5s --failure-site meta", "failure-site: 'meta' is not one of llama-3"),
    ("--chips 64 --stall 5s --mtbf 1e-320", "mtbf: 1e-320: must be at least 1e-30"),
    ("--chips 64 --stall 5s --chip-hours-per-failure 1e-31", "chip-hours-per-failure: 1e-31: must"),
    ("--chips 64 --stall 5s --step-time 1e-320", "step-time: '1e-320': must be at least 1e-30"),
    ("--chips 64 --stall 5s --mtbf 3h --failure-site rsc-1", "failure-site: mtbf says how often"),
    ("--chips 64,128 --stall 5s --mtbf 3h", "mtbf: is of one job; of several numbers of chips"),
    ("--chips 64 --stall 5s --checkpoint-store 1GB/s", "checkpoint-store: has no effect without"),
    ("--chips 64 --stall 5s --checkpoint-store 0", "checkpoint-store: 0: must be greater than 0"),
    ("--chips 64 --stall 5s --checkpoint-bytes 1TB --checkpoint-writes blocking",
     "stall: of blocking writes it is checkpoint-bytes over checkpoint-store"),
    ("--chips 64 --stall 5s --checkpoint-writes peer-memory",
     "checkpoint-writes: peer-memory takes a plan, whose peers and network are known"),
    ("--chips 64 --stall 5s --simulate poisson", "simulate: 'poisson' is neither exponential, "),
    ("--chips 64 --stall 5s --simulate weibull=0", "simulate: weibull=0: the shape must be"),
    ("--chips 64 --stall 5s --runs 10", "runs: has no effect without simulate"),
    ("--chips 64 --stall 5s --plot run.gif", "plot: run.gif: pictures are written as .svg"),
])  # fmt: skip
def test_what_is_refused(line: str, said: str) -> None:
    (found,) = refused("goodput", *line.split())
    assert found.startswith(said), found


@pytest.mark.parametrize(("failures", "hours", "said"), [
    ("1", "1e-30", ""), ("1", "1e30", ""), ("1000000000000000", "1e-30", ""),
    ("1", "1e-320", "exposure_chip_hours: 1e-320: must be at least 1e-30"),
    ("1", "1e31", "exposure_chip_hours: 1e+31: must be at most 1e+30"),
    ("1e300", "1000", "failures: "), ("1" * 400, "1e300", "failures: "),
])  # fmt: skip
def test_what_a_site_may_say(failures: str, hours: str, said: str, tmp_path: Path) -> None:
    """Any number above 0 was taken, until a warning of numpy, or a defect, came of it."""
    site = tmp_path / "site.yaml"
    site.write_text(f"failures: {failures}\nexposure_chip_hours: {hours}\n", encoding="utf-8")
    asked = ("goodput", "--chips", "512", "--stall", "5s", "--failure-site", site)
    if said:
        assert said in refused(*asked)[0]
    else:
        assert planner(*asked, "--json").err == ""


def test_gaps_at_the_ends_of_their_range(tmp_path: Path) -> None:
    gaps = tmp_path / "gaps.txt"
    asked = ("goodput", "--chips", "512", "--stall", "5s", "--simulate", gaps, "--runs", "3")
    for text in ("1e-30\n", "1e30\n", "1e-30\n1h\n1e30\n"):
        gaps.write_text(text, encoding="utf-8")
        done = planner(*asked, "--json")
        assert (done.code, done.err) == (0, ""), text


def test_simulated_runs_lose_to_slow_chips_and_maintenance_too() -> None:
    found = goodput(chips=16_384, stall="5s", chip_hours_per_failure=50_700, simulate="exponential",
                    runs=40, straggler_loss="5%", maintenance="2%")  # fmt: skip
    (row,) = found.rows
    assert row.simulated_error is not None
    assert abs(row.difference or 1.0) < 0.005 + 4 * row.simulated_error


def test_from_python_it_answers_as_the_command_does() -> None:
    kept = {"spares": 4, "simulate": "weibull=0.7", "runs": 20, "while_down": False}
    found = goodput(chips=[512, 16_384], stall="5s", **kept)
    flags = "--spares 4 --simulate weibull=0.7 --runs 20 --no-while-down"
    line = ("goodput", "--chips", "512,16384", "--stall", "5s", *flags.split())
    assert found.to_dict() == planner(*line, "--json").document
    assert str(found).strip() == planner(*line).out.strip()
    with pytest.raises(InputError, match="goodput: 'chip' is not one of chips, nodes, "):
        goodput(chip=64, stall="5s")


def test_all_mistakes_are_said_at_once() -> None:
    found = refused("goodput", "--chips", "0", "--stall", "5", "--detection", "-1", "--runs", "x")
    assert [line.partition(":")[0] for line in found] == ["detection", "chips", "runs"]


def test_gaps_of_a_file_are_a_rate_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text("3h\n", encoding="utf-8")
    found = refused("goodput", "--chips", "64,128", "--stall", "5s", "--simulate", path,
                    "--failure-site", "rsc-1")  # fmt: skip
    assert found == [
        "failure-site: the gaps of simulate say how often the job fails; leave one of the two out",
        "simulate: gaps of a file are those of one job; give one number of chips",
    ]


NUMBERS = ("mtbf", "chip-hours-per-failure", "checkpoint-store", "detection", "restart", "repair",
           "stall", "checkpoint-bytes", "step-time")  # fmt: skip


@pytest.mark.filterwarnings("error")
@each("name", NUMBERS)
def test_a_number_is_large_and_small_enough_to_be_divided_by(name: str) -> None:
    """Beyond that one line says the limit; up to it no warning comes of Python."""
    beside = {"chips": "16384", "stall": "5s"}
    if name == "checkpoint-store":
        beside["checkpoint-bytes"] = "1TB"
    for text, limit in (("1e-300", "least 1e-30"), ("1e300", "most 1e+30")):
        (line,) = refused("goodput", *flags_of(beside | {name: text}))
        assert line.replace("'", "").replace("1e300", "1e+300") == (
            f"{name}: {float(text):g}: must be at {limit}"
        )
    assert (
        "greater than 0" in refused("goodput", *flags_of(beside | {name: "-1"}))[0]
        or name == "stall"
    )
    for text in ("1e-30", "1e30"):
        for more in ({}, {"spares": "0", "restart": "1e30"}, {"spares": "1", "repair": "1e30"}):
            done = planner("goodput", *flags_of(beside | more | {name: text}), "--json")
            assert (done.code, done.err) == (0, "")
            assert all(0.0 <= row["share"] <= 1.0 for row in done.document["rows"])


def flags_of(asked: dict[str, str]) -> list[str]:
    """Fields as flags."""
    return [word for name, value in asked.items() for word in (f"--{name}", value)]
