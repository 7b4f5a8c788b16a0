"""Whole runs with failures on the command line: days, goodput, what is refused."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from cli.command import planner, refused

JOB = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--chips", "64")
RUN = ("--train-tokens", "1e12")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan file, with the tokens of its run."""
    path = tmp_path_factory.mktemp("goodput") / "plan.yaml"
    assert planner("solve", *JOB, *RUN, "-o", path, "--quiet").code == 0
    return path


def run_of(plan: Path, *flags: object) -> dict[str, Any]:
    """The whole run of an evaluated plan."""
    outcome = planner("evaluate", plan, *flags, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = outcome.document["training_run"]
    return found


def test_days_are_those_of_the_steps_over_the_goodput(plan: Path) -> None:
    run = run_of(plan)
    kept = run["goodput"]
    assert run["days"] == pytest.approx(run["ideal_days"] / kept["share"])
    assert run["days_low"] < run["days"] < run["days_high"]
    parts = ("share", "stalls", "down", "lost", "stragglers", "waits")
    assert sum(kept[name] for name in parts) == pytest.approx(1.0)
    assert kept["mtbf_s"] == pytest.approx(kept["chip_hours_per_failure"] * 3600 / 64)
    assert kept["rate"] == "that of a site not seen, from 4 of A100 and H100"
    assert kept["failures"] == pytest.approx(run["days"] * 86400 / kept["mtbf_s"])
    assert kept["checkpoint_bytes"] == pytest.approx(14 * 1.3e9, rel=0.05)
    assert run["break_even_chip_hours"] is None


def test_interval_adds_step_and_rate_as_logarithms(plan: Path) -> None:
    run, exact = run_of(plan), run_of(plan, "--chip-hours-per-failure", "35950.06")
    kept = run["goodput"]
    of_rate = math.log(kept["share"] / kept["low"])
    of_step = math.log(exact["days_high"] / exact["days"])
    assert math.log(run["days_high"] / run["days"]) == pytest.approx(
        math.hypot(of_rate, of_step), rel=1e-4
    )
    assert exact["goodput"]["low"] == exact["goodput"]["high"] == exact["goodput"]["share"]


def test_energy_has_lost_and_idle_time(plan: Path) -> None:
    often, never = run_of(plan, "--mtbf", "1h"), run_of(plan, "--mtbf", "1e12")
    longer, kept = often["days"] / never["days"], often["goodput"]
    energy = often["energy_mwh"] / never["energy_mwh"]
    assert (kept["share"] + kept["lost"]) / kept["share"] < energy < longer, "waiting takes less"
    assert often["facility_energy_mwh"] / often["energy_mwh"] == pytest.approx(1.1)
    assert never["days"] == pytest.approx(never["ideal_days"], rel=1e-4)


def test_money_is_that_of_the_whole_time(plan: Path) -> None:
    run = run_of(plan, "--mtbf", "1h", "--price-per-chip-hour", "2", "--carbon-intensity", "100")
    assert run["cost"] == pytest.approx(2 * 64 * 24 * run["days"])
    assert run["co2_t"] == pytest.approx(0.1 * run["facility_energy_mwh"])


def test_what_the_fields_change(plan: Path) -> None:
    base = run_of(plan, "--mtbf", "3h")["goodput"]
    blocking = run_of(plan, "--mtbf", "3h", "--checkpoint-writes", "blocking",
                      "--checkpoint-store", "1GB/s")["goodput"]  # fmt: skip
    assert blocking["checkpoint_stall_s"] == pytest.approx(base["checkpoint_bytes"] / 1e9)
    assert blocking["checkpoint_write_s"] == 0.0 < base["checkpoint_write_s"]
    assert blocking["share"] < base["share"]
    slow = run_of(plan, "--mtbf", "3h", "--straggler-loss", "5%")["goodput"]
    assert slow["share"] == pytest.approx(0.95 * base["share"], rel=1e-3)
    for flag in ("--detection", "--restart"):
        assert run_of(plan, "--mtbf", "3h", flag, "1h")["goodput"]["down"] > 2 * base["down"]
    few = run_of(plan, "--mtbf", "3h", "--spares", "0")["goodput"]
    assert few["waits"] > 0.9, "every second failure waits three days for a repair"
    assert few["spares"] == 0 < few["spares_wanted"]
    soon = run_of(plan, "--mtbf", "3h", "--spares", "0", "--repair", "1h")["goodput"]
    assert soon["waits"] < 0.2
    named = run_of(plan, "--failure-site", "opt-175b")["goodput"]
    assert named["chip_hours_per_failure"] == pytest.approx(13_606, rel=1e-3)


def test_a_rate_replaces_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "named.yaml"
    flags = (*RUN, "--failure-site", "llama-3", "--restart", "5min", "-o", path, "--quiet")
    assert planner("solve", *JOB, *flags).code == 0
    assert run_of(path)["goodput"]["rate"].startswith("that of llama-3")
    given = run_of(path, "--mtbf", "3h")["goodput"]
    assert (given["rate"], given["mtbf_s"]) == ("as given", pytest.approx(10800.0))
    assert given["down"] < run_of(path, "--mtbf", "3h", "--restart", "10min")["goodput"]["down"]


def test_chips_that_nobody_published_failures_of(plan: Path) -> None:
    run = run_of(plan, "--hardware", "tpu-v5p", "--framework", "jax")
    assert run["goodput"] is None
    assert run["days"] == run["ideal_days"]
    edge = run["break_even_chip_hours"]
    flags = ("--hardware", "tpu-v5p", "--framework", "jax", "--chip-hours-per-failure", edge)
    assert run_of(plan, *flags)["goodput"]["share"] == pytest.approx(0.9, abs=1e-3)
    text = planner("evaluate", plan, "--hardware", "tpu-v5p", "--framework", "jax").out
    assert "goodput unknown: nobody published how often" in " ".join(text.split())


def test_failures_that_leave_no_time_are_an_answer(plan: Path) -> None:
    run = run_of(plan, "--mtbf", "5min")
    assert run["goodput"]["share"] < 0.5
    assert run["goodput"]["chips_at_half"] < 64
    screen = planner("evaluate", plan, "--mtbf", "5min").out
    assert re.search(r"\n +Warning: goodput is below 50 % above [\d.]+ chips\.\n", screen)
    never = run_of(plan, "--mtbf", "0.5")
    assert never["days"] is never["energy_mwh"] is never["cost"] is None
    outcome = planner("evaluate", plan, "--mtbf", "0.5")
    assert outcome.code == 0
    assert "hardly ever ends" in outcome.out
    assert "Warning: goodput is below 50 % on any number of chips." in outcome.out
    long = planner("evaluate", plan, "--mtbf", "1h", "--restart", "2d").out
    assert re.search(r"\nrun +\S+e\+\d+ days ", long)  # not a hundred digits
    said = long.partition("\nrun ")[2].partition("\n\n")[0]  # paths of files may be longer
    assert max(map(len, said.split())) < 60


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mtbf", ["1.02s", "1.1s", "1.5s", "9s"])
def test_a_run_that_is_nearly_endless_has_no_days_and_no_price(plan: Path, mtbf: str) -> None:
    flags = ("--mtbf", mtbf, "--price-per-chip-hour", "2")
    run = run_of(plan, *flags)
    assert run["days"] is run["days_high"] is run["energy_mwh"] is run["cost"] is None
    assert (run["goodput"]["share"], run["goodput"]["failures"]) == (0.0, None)
    shown = planner("evaluate", plan, *flags, "--show", "run")
    assert (shown.code, shown.err) == (0, "")
    assert "hardly ever ends" in shown.out
    assert not re.search(r"\b(inf|nan)\b", shown.out, re.IGNORECASE)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("asked", [("--deadline", "100d"), ("--objective", "days")])
@pytest.mark.parametrize("rate", [("--chip-hours-per-failure", "1e-9"), ("--mtbf", "1s")])
def test_where_no_run_ends_that_is_the_reason(rate: tuple[str], asked: tuple[str]) -> None:
    outcome = planner("solve", *JOB, *RUN, *rate, *asked)
    assert outcome.code == 3, outcome.err
    assert "the run: none ever ends on 64 chips" in outcome.out


@pytest.mark.parametrize("objective", ["days", "run-energy"])
def test_the_chips_that_are_asked_for_are_named_where_no_run_ends(objective: str) -> None:
    """Bounds alone prove it: nothing is costed that could be seen not to end."""
    job = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "32", "--no-clocks")
    outcome = planner("solve", *job, *RUN, "--mtbf", "1s", "--objective", objective)
    assert outcome.code == 3, outcome.err
    assert "the run: none ever ends on 32 chips" in outcome.out


def test_one_line_on_the_screen_and_the_rest_on_request(plan: Path) -> None:
    priced = ("--prices", "aws-blocks-h100", "--carbon-intensity", "400")
    screen = planner("evaluate", plan, "--mtbf", "3h", *priced).out.split("\nrun ")[1]
    days, size, *rest = [line.strip() for line in screen.splitlines()]
    assert re.fullmatch(
        r"[\d.]+ days \(80 %: [\d.]+ to [\d.]+\), [\d.]+ % goodput, checkpoint every [\d.]+ s, "
        r"\d+ spare nodes",
        days,
    )
    assert size.startswith("a failure every 3 h (the rate is as given), 1 T tokens, ")
    assert rest[0].endswith(" t of CO2")
    assert re.fullmatch(r"price [\d,]+ \(80 %: [\d,]+ to [\d,]+\) of chip-hours", rest[1])
    assert rest[2].endswith("US East, 2024-12")
    assert "if nothing failed" not in screen
    whole = " ".join(planner("evaluate", plan, "--mtbf", "3h", "--show", "run").out.split())
    for words in ("if nothing failed", "detection and restart", "beside the work", "as given"):
        assert words in whole


@pytest.mark.parametrize(("flags", "line"), [
    (("--mtbf", "0"), "mtbf: 0: must be greater than 0"),
    (("--mtbf", "-3h"), "mtbf: '-3h': must be greater than 0"),
    (("--straggler-loss", "-5%"), "straggler-loss: -5 %: must be at least 0 and less than 100 %"),
    (("--maintenance", "800h"), "maintenance: '800h': must be at least 0 and less than a month"),
    (("--checkpoint-store", "-1GB/s"), "checkpoint-store: '-1GB/s': must be greater than 0"),
    (("--chip-hours-per-failure", "nan"), "chip-hours-per-failure: "),
    (("--checkpoint-store", "0GB/s"), "checkpoint-store: 0: must be greater than 0"),
    (("--checkpoint-writes", "asynch"), "checkpoint-writes: 'asynch' is not one of async, "),
    (("--straggler-loss", "1"), "straggler-loss: 1: must be less than 1"),
    (("--spares", "9"), "spares: 9 is more than the 8 nodes of the job"),
    (("--spares", "1.5"), "spares: "),
    (("--failure-site", "llama"), "failure-site: 'llama' is not one of llama-3, "),
    (("--mtbf", "3h", "--failure-site", "rsc-1"), "failure-site: mtbf says how often the job "),
])  # fmt: skip
def test_what_is_refused(flags: tuple[str, ...], line: str) -> None:
    (said,) = refused("solve", *JOB, *RUN, *flags)
    assert said.startswith(line)


def test_fields_of_a_run_have_no_effect_without_one() -> None:
    lines = refused("solve", *JOB, "--mtbf", "3h", "--spares", "2", "--detection", "1min")
    assert [line.split(":")[0] for line in lines] == ["mtbf", "detection", "spares"]
    assert all("has no effect without train-tokens" in line for line in lines)


def test_a_deadline_with_a_chance_means_the_same_to_feasible_and_solve() -> None:
    job = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--batch-tokens", "1Mi",
           "--train-tokens", "1e12", "--failure-site", "rsc-1")  # fmt: skip
    asked = ("--chips", "16,32", "--deadline")
    (mean,) = planner("feasible", *job, *asked, "60d", "--json").document["deadlines"]
    assert mean["chips"] == 16
    tight = f"{1.02 * mean['days']:.4f}d@90%"
    (sure,) = planner("feasible", *job, *asked, tight, "--json").document["deadlines"]
    assert sure["chips"] == 32
    assert "with a chance of 90 %" in sure["words"]
    solve = ("solve", *job, "--no-clocks", "--chips-exact", "--deadline", tight, "--json")
    missed = planner(*solve, "--chips", "16")
    assert (missed.code, missed.document["diagnosis"]["constraint"]) == (3, "deadline")
    run = planner(*solve, "--chips", "32").document["training_run"]
    assert run["days"] == pytest.approx(sure["days"], rel=1e-9)
    assert run["deadline_chance"] >= 0.9
    roofline = ("--assumptions", "roofline", "--train-tokens", "1e12", *asked, "60d@90%")
    (said,) = refused("feasible", *job[:4], *roofline)
    assert said.startswith("deadline: has no chance under roofline")


def test_a_deadline_counts_failures() -> None:
    job = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--chips", "32,64",
           "--deadline", "60d", "--train-tokens", "1e12")  # fmt: skip
    (row,) = planner("feasible", *job, "--mtbf", "3h", "--json").document["deadlines"]
    assert row["chips"] == 32
    assert row["ideal_days"] / row["goodput"] == pytest.approx(row["days"])
    assert f"at a goodput of {100 * row['goodput']:.3g} %" in row["words"]
    between = f"{0.5 * (row['ideal_days'] + row['days'])}d"
    later = planner("feasible", *job[:6], "--deadline", between, *RUN, "--mtbf", "3h", "--json")
    assert later.document["deadlines"][0]["chips"] == 64
    (said,) = refused("feasible", *job[:6], "--assumptions", "roofline", *job[6:], "--mtbf", "3h")
    assert said.startswith("mtbf: has no effect under roofline, where nothing fails")


def test_a_report_has_the_picture_of_its_run(plan: Path, tmp_path: Path) -> None:
    def sections(*flags: object) -> list[str]:
        outcome = planner("evaluate", plan, *flags, "--json")
        path = tmp_path / "answer.json"
        path.write_text(outcome.out, encoding="utf-8")
        found = planner("report", path, "-o", tmp_path / "page.html", "--json").document
        return [one["id"] for one in found["sections"]]

    assert "goodput" in sections("--mtbf", "3h")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "One simulated day, an hour a line" in page
    assert "goodput" not in sections("--hardware", "tpu-v5p", "--framework", "jax"), "unknown"
    assert "goodput" not in sections("--mtbf", "3h", "--on-failure", "shrink")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [
    "train-tokens", "deadline", "max-run-energy", "budget", "mtbf", "chip-hours-per-failure",
    "checkpoint-store", "detection", "restart", "repair", "max-step-time", "max-power",
])  # fmt: skip
def test_numbers_of_runs_are_large_enough_to_be_divided_by(name: str) -> None:
    job = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp",
           "--no-clocks", "--quiet")  # fmt: skip
    run = () if name == "train-tokens" else ("--train-tokens", "1e9")
    (line,) = refused("solve", *job, *run, f"--{name}", "1e-300")
    assert line.startswith(f"{name}: ")
    assert "1e-30" in line.removeprefix(f"{name}: 1e-300")
    free = ("--price-per-chip-hour", "0", "--electricity-price", "0")
    done = planner("solve", *job, *run, f"--{name}", "1e-30", *free)
    assert done.code in (0, 3), done
    assert done.err == ""
