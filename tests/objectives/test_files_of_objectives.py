"""Pictures, pages, fronts and comparisons of answers that minimize money or mean power."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import planner
from cli.remembering import remembered
from support.cases import each


@pytest.fixture(scope="module", autouse=True)
def answers_are_remembered() -> Iterator[None]:
    """The search is asked each question once, whatever its answer is then written to."""
    with remembered():
        yield


JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "4", "--batch-tokens",
       "32Ki", "--fix", "micro_batch=1,4")  # fmt: skip
ASKED = {
    "money": ("--objective", "money", "--price-per-chip-hour", "4", "--train-tokens", "3e9"),
    "power": ("--objective", "power", "--max-step-time", "300ms"),
}


@each("name", ASKED)
def test_whatever_an_answer_is_written_to_names_its_objective(name: str, tmp_path: Path) -> None:
    front, picture, answer = (tmp_path / file for file in ("front.csv", "front.svg", "answer.json"))
    files = ("--pareto", front, "--plot", picture)
    outcome = planner("solve", *JOB, *ASKED[name], *files, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    answer.write_text(outcome.out, encoding="utf-8")
    plans = outcome.document["front"]["plans"]
    assert f"Exact Pareto front of time and {name}" in picture.read_text(encoding="utf-8")
    with front.open(encoding="utf-8") as file:
        written = [float(row[f"objectives.{name}"]) for row in csv.DictReader(file)]
    assert written == [plan["objectives"][name] for plan in plans]
    assert written == sorted(written, reverse=True)
    assert min(written) == outcome.document["certificate"]["objective"]

    assert planner("report", answer).code == 0
    assert name in answer.with_suffix(".html").read_text(encoding="utf-8")
    again = planner("evaluate", front, "--row", str(len(plans)), "--json").document
    assert again["step_time_s"] == plans[-1]["step_time_s"]


@each("name", ASKED)
def test_a_plan_is_explained_by_its_objective(name: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    outcome = planner("solve", *JOB, *ASKED[name], "-o", plan, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    explained = planner("explain", plan, "--objective", name, "--json")
    assert (explained.code, explained.err) == (0, "")
    assert explained.document["objective_name"] == name


def test_a_price_alone_is_enough_for_money(tmp_path: Path) -> None:
    """A plan file has no price without the tokens of the whole run, which it would be of."""
    plan = tmp_path / "plan.yaml"
    outcome = planner("solve", *JOB, *ASKED["money"][:4], "-o", plan)
    assert (outcome.code, outcome.err) == (0, "")
    assert "money per step" in outcome.out
    assert "price" not in plan.read_text(encoding="utf-8")
    for command in ("evaluate", "explain"):
        outcome = planner(command, plan)
        assert (outcome.code, outcome.err) == (0, ""), command


def test_a_price_at_which_all_is_free_is_refused_where_money_counts(tmp_path: Path) -> None:
    """Elsewhere it is a price like any other."""
    plan, free = tmp_path / "plan.yaml", ("--price-per-chip-hour", "0", "--train-tokens", "3e9")
    said = "at 0 no plan costs less than another; give a price above 0, or none to count chip-hours"
    for asked in (("--objective", "money"), ("--front", "time,money")):
        refused = planner("solve", *JOB, *free, *asked)
        assert (refused.code, refused.err) == (2, f"error: price-per-chip-hour: {said}\n")
    assert planner("solve", *JOB, *free, "-o", plan).code == 0
    assert planner("explain", plan).code == 0
    refused = planner("explain", plan, "--objective", "money")
    assert (refused.code, refused.err) == (2, f"error: price_per_chip_hour: {said}\n")
