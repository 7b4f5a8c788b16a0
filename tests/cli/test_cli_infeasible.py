"""No plan fits: exit code 3, what binds, by how much, and remedies that work when they are run."""

import functools
import re
import shlex
from typing import Any

import pytest
from support.cases import each

from cli.command import Outcome, planner, replaced

H100 = ("--hardware", "h100-sxm5-80")
TOO_SOON = (("d", "1e12", "1d"), ("h", "1e11", "1h"), ("s", "1e9", "9s"))
CASES: dict[str, tuple[str, ...]] = {
    "too few chips": ("--model", "gpt3-175b", *H100, "--chips", "8"),
    "one chip": ("--model", "llama2-13b", *H100, "--chips", "1"),
    "a torus": ("--model", "gpt3-175b", "--chips", "16"),
    "memory limit": ("--model", "llama2-13b", *H100, "--chips", "16", "--max-memory", "4GB"),
    "fixed recompute": (
        "--model", "llama2-13b", *H100, "--chips", "8", "--fix", "recompute=none",
        "--fix", "tp=1", "--fix", "pp=1", "--fix", "sharding=ddp",
    ),
    "fixed product": ("--model", "gpt3-125m", *H100, "--chips", "64", "--fix", "tp=3"),
    "axes": ("--model", "llama2-13b", *H100, "--chips", "64", "--axes", "pp"),
    "batch": ("--model", "gpt3-125m", *H100, "--chips", "8", "--batch-tokens", "2048",
              "--axes", "dp"),
    "prime": ("--model", "gpt3-125m", "--hardware", "gh200-ndr", "--chips", "8191",
              "--batch-tokens", "8388608"),
    "step time": ("--model", "gpt3-125m", *H100, "--chips", "8", "--max-step-time", "1ms"),
    "step time, close": ("--model", "gpt3-125m", *H100, "--chips", "8", "--max-step-time", "1.17s"),
    "mfu": ("--model", "gpt3-125m", *H100, "--chips", "8", "--min-mfu", "0.9"),
    "mfu on a torus": ("--model", "llama2-13b", "--chips", "64", "--min-mfu", "0.99"),
    "power": ("--model", "gpt3-125m", *H100, "--chips", "8", "--max-power", "1kW"),
    "power, close": ("--model", "gpt3-125m", *H100, "--chips", "16", "--max-power", "6.8kW"),
    "two limits, each possible": (
        "--model", "gpt3-125m", *H100, "--chips", "8", "--max-step-time", "1.4s",
        "--max-power", "6.4kW",
    ),
    "two limits": ("--model", "gpt3-125m", *H100, "--chips", "8", "--max-step-time", "1.4s",
                   "--max-power", "5kW"),
    **{f"deadline in {unit}": (
        "--model", "gpt3-125m", *H100, "--chips", "8", "--axes", "dp", "--train-tokens", tokens,
        "--deadline", deadline)
       for unit, tokens, deadline in TOO_SOON},
    "money": (
        "--model", "gpt3-125m", *H100, "--chips", "8", "--axes", "dp", "--train-tokens", "1e9",
        "--budget", "1", "--price-per-chip-hour", "2"),
}  # fmt: skip


def exactly(*flags: object) -> Outcome:
    """What solve says of all the chips that are asked for; else it would take fewer."""
    return planner("solve", *flags, "--chips-exact")


@functools.cache
def answer_to(name: str) -> Any:
    """The JSON answer of a case."""
    outcome = exactly(*CASES[name], "--json")
    assert (outcome.code, outcome.err) == (3, ""), (outcome.code, outcome.err)
    return outcome.document


@each("name", CASES)
def test_the_document(name: str) -> None:
    answer = answer_to(name)
    assert answer["schema_version"] == 2
    assert answer["certificate"]["status"] == "infeasible"
    assert answer["best"] is None
    assert answer["front"]["plans"] == []
    assert {"objective", "bound", "gap"} <= set(answer["certificate"])
    assert answer["candidates"]["counts"]
    assert answer["diagnosis"]["explanation"]
    assert answer["diagnosis"]["constraint"]


def changed(flags: tuple[str, ...], remedy: str) -> list[str]:
    """The command line with a remedy applied as a person reads it."""
    words = [word for word in shlex.split(re.sub(r"\s*\(.*?\)", "", remedy))]
    flags_now = list(flags)
    if words[0] == "without":
        given = [words[1], words[2]] if len(words) > 2 else [words[1]]
        at = next(i for i in range(len(flags_now)) if flags_now[i : i + len(given)] == given)
        size = 2 if flags_now[at] in ("--fix", "--axes") else 1
        return flags_now[:at] + flags_now[at + size :]
    return list(map(str, replaced(flags, *words)))


@each("unit", ["d", "h", "s"])
def test_a_later_deadline_is_named_in_the_unit_of_its_size(unit: str) -> None:
    found = answer_to(f"deadline in {unit}")["diagnosis"]
    (words,) = [one for one in found["remedies"] if one.startswith("--deadline")]
    size = float(words.removeprefix("--deadline ").removesuffix(unit))
    seconds = size * {"d": 86400, "h": 3600, "s": 1}[unit]
    assert size >= 1
    assert found["needed"] <= seconds <= 1.01 * found["needed"]


@each("name", CASES)
def test_every_remedy_works(name: str) -> None:
    failed = []
    for remedy in answer_to(name)["diagnosis"]["remedies"]:
        flags = replaced(changed(CASES[name], remedy), "--json")
        outcome = exactly(*flags)
        if outcome.code != 0:
            failed.append((remedy, outcome.code, outcome.err))
    assert not failed, f"{name}: these do not help: {failed}"


def test_the_batch_that_is_named_is_the_nearest() -> None:
    """12 heads leave tp 1, 2 and 4 of 40 chips, so that 10 data ranks must divide the batch."""
    flags = ("--model", "gpt3-125m", *H100, "--chips", "40", "--axes", "dp,tp")
    for sequences, nearest in ((64, 60), (66, 70), (4, 10), (99, 100)):
        outcome = exactly(*flags, "--batch-tokens", sequences * 2048, "--json")
        assert outcome.code == 3
        assert f"--batch-tokens {nearest * 2048}" in outcome.document["diagnosis"]["remedies"]


def test_the_batch_that_is_named_holds_the_micro_batches_that_were_asked_for() -> None:
    """Of 64 chips 1 to 64 data ranks run micro-batches of 7 sequences: 98 is next to 100."""
    job = ("--model", "llama3-8b", *H100, "--chips", "64", "--fix", "micro_batch=7")
    outcome = exactly(*job, "--batch-tokens", 100 * 8192, "--json")
    assert f"--batch-tokens {98 * 8192}" in outcome.document["diagnosis"]["remedies"]


def test_a_rule_of_a_framework_is_named_with_its_source() -> None:
    job = ("--model", "mixtral-8x7b", *H100, "--chips", "64", "--framework", "torchtitan")
    outcome = exactly(*job, "--fix", "ep=8", "--fix", "dp=16", "--json")
    assert outcome.code == 3
    said = outcome.document["diagnosis"]["explanation"]
    assert "by the rule torchtitan-experts (torchtitan distributed/parallel_dims.py: " in said


@each("name", CASES)
def test_there_is_a_remedy(name: str) -> None:
    assert answer_to(name)["diagnosis"]["remedies"], answer_to(name)["diagnosis"]["explanation"]


@each("name", CASES)
def test_no_stage_drops_more_than_it_considers(name: str) -> None:
    passed = ("considered", "searched", "evaluated")
    for stage, counts in answer_to(name)["candidates"]["counts"].items():
        rest = sum(n for key, n in counts.items() if key not in passed)
        assert rest <= counts.get("considered", 0), (stage, counts)


@each("name", CASES)
def test_the_terminal_says_the_same(name: str) -> None:
    outcome = exactly(*CASES[name])
    assert (outcome.code, outcome.err) == (3, "")
    said = " ".join(outcome.out.split())
    diagnosis = answer_to(name)["diagnosis"]
    assert " ".join(diagnosis["explanation"].split()) in said
    for remedy in diagnosis["remedies"]:
        assert remedy in said


@each("name", CASES)
def test_the_figures_conflict(name: str) -> None:
    """What is needed is more than what there is; else it is not the binding constraint."""
    diagnosis = answer_to(name)["diagnosis"]
    if diagnosis["needed"] is not None and diagnosis["available"] is not None:
        assert diagnosis["needed"] > diagnosis["available"], diagnosis["explanation"]


def test_nothing_is_written(tmp_path: Any) -> None:
    outcome = exactly(*CASES["one chip"], "-o", tmp_path / "p.yaml", "--pareto", tmp_path / "f.csv")
    assert outcome.code == 3
    assert not list(tmp_path.iterdir())


def test_memory_is_short_by_the_difference() -> None:
    diagnosis = answer_to("memory limit")["diagnosis"]
    assert diagnosis["constraint"] == "memory"
    assert diagnosis["available"] == 4e9
    assert diagnosis["needed"] > 4e9
    needed, available = diagnosis["needed"] / 1e9, diagnosis["available"] / 1e9
    assert f"{needed - available:.3g} GB too much" in diagnosis["explanation"]


def test_the_memory_needed_is_the_least() -> None:
    """A limit at the stated need is enough; one just below it is not."""
    needed = answer_to("memory limit")["diagnosis"]["needed"]
    flags = ("--model", "llama2-13b", *H100, "--chips", "16")
    assert exactly(*flags, "--max-memory", needed * 1.000001).code == 0
    assert exactly(*flags, "--max-memory", needed * 0.999999).code == 3


def test_more_chips_are_the_fewest_that_help() -> None:
    """No smaller count of whole nodes than the one suggested holds GPT-3 175B."""
    remedies = " ".join(answer_to("too few chips")["diagnosis"]["remedies"])
    suggested = int(re.search(r"--chips (\d+)", remedies)[1])  # type: ignore[index]
    for chips in range(16, suggested, 8):
        outcome = exactly(
            "--model", "gpt3-175b", *H100, "--chips", chips,
            "--no-clocks", "--json",
        )  # fmt: skip
        assert outcome.code == 3, f"{chips} chips are enough, {suggested} were suggested"


def test_the_fastest_plan_is_the_one_without_the_limit() -> None:
    diagnosis = answer_to("step time")["diagnosis"]
    assert diagnosis["constraint"] == "max-step-time"
    assert diagnosis["available"] == 1e-3
    free = exactly("--model", "gpt3-125m", *H100, "--chips", "8", "--json").document
    assert diagnosis["needed"] == pytest.approx(free["best"]["step_time_s"], rel=1e-12)


def test_the_least_power_is_the_least_of_all_plans() -> None:
    """The need that is stated is reachable, and nothing below it is."""
    needed = answer_to("power")["diagnosis"]["needed"]
    flags = ("--model", "gpt3-125m", *H100, "--chips", "8")
    assert exactly(*flags, "--max-power", needed * 1.000001).code == 0
    assert exactly(*flags, "--max-power", needed * 0.999).code == 3


def test_the_best_utilization_is_the_one_without_the_limit() -> None:
    diagnosis = answer_to("mfu")["diagnosis"]
    free = exactly("--model", "gpt3-125m", *H100, "--chips", "8", "--json").document
    assert diagnosis["available"] == pytest.approx(free["best"]["mfu"], rel=1e-12)


def test_a_time_limit_without_a_plan_is_exit_code_4() -> None:
    outcome = exactly("--model", "llama2-13b", "--chips", "4096", "--time-limit", "1ms", "--json")
    assert outcome.code == 4
    assert outcome.document["certificate"]["status"] == "time_limit"
    assert outcome.document["best"] is None
    assert outcome.document["diagnosis"] is None
