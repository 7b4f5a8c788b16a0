"""Phases, nodes that are down and ranges of batches on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner as package
from cli.command import planner, refused

JOB = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--chips", "16",
       "--batch-tokens", "512Ki")  # fmt: skip
FIRST, SECOND = "1e11,batch_tokens=256Ki", "2e10,seq_len=8192"
PHASES = ("--phases", FIRST, "--phases", SECOND)
PRICES = ("--prices", "aws-blocks-h100,eia-texas")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "plan.yaml"
    run = ("--train-tokens", "1e12", *PRICES)
    assert planner("solve", *JOB, *run, "-o", path, "--quiet").code == 0
    return path


def test_every_file_is_there_for_each_phase(tmp_path: Path) -> None:
    """Plan files evaluate to the days of the phases, and export; pictures and fronts too."""
    files = ("-o", tmp_path / "run.yaml", "--plot", tmp_path / "run.svg",
             "--pareto", tmp_path / "front.csv")  # fmt: skip
    found = planner("solve", *JOB, *PHASES, *files, "--json")
    assert found.code == 0, found.err
    document = found.document
    for number, phase in enumerate(document["phases"], start=1):
        again = planner("evaluate", tmp_path / f"run-{number}.yaml", "--json").document
        assert again["training_run"] == phase["training_run"]
        assert again["step_time_s"] == phase["step_time_s"]
        assert (tmp_path / f"run-{number}.svg").read_text().startswith("<svg")
        assert (tmp_path / f"front-{number}.csv").is_file()
    assert len(list(tmp_path.iterdir())) == 6
    target = ("--to", "megatron", "-o", tmp_path / "launch")
    assert planner("export", tmp_path / "run-2.yaml", *target).code == 0
    days = [phase["training_run"]["days"] for phase in document["phases"]]
    stops_s = document["total"]["stops_s"]
    assert stops_s > 600
    assert document["total"]["days"] == pytest.approx(sum(days) + stops_s / 86400)


def test_a_job_file_and_python_ask_the_same(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "model: gpt3-1.3b\nhardware: dgx-h100-ndr\nchips: 16\nbatch_tokens: 512Ki\nphases:\n"
        "  - {train_tokens: 1e11, batch_tokens: 256Ki}\n  - 2e10,seq_len=8192\n"
    )
    documents = [planner("solve", *words, "--json").document for words in ((job,), (*JOB, *PHASES))]
    documents.append(
        package.solve_phases(
            model="gpt3-1.3b", hardware="dgx-h100-ndr", chips=16, batch_tokens="512Ki",
            phases=[FIRST, SECOND],
        ).to_dict()
    )  # fmt: skip
    for document in documents:
        del document["seconds"]
        asked = document.pop("asked")  # as it was written
        assert (asked["chips"], len(asked["phases"])) == (16, 2)
    assert documents[0] == documents[1] == documents[2]
    line = planner("solve", job, "--quiet").out
    assert line.startswith("2 phases: ")


def test_a_run_without_a_plan_ends_with_3(tmp_path: Path) -> None:
    words = ("solve", "--model", "llama3-70b", "--hardware", "h100-sxm5-80", "--chips", "1")
    found = planner(*words, "--phases", "1e12", "-o", tmp_path / "run.yaml")
    assert found.code == 3
    assert "No plan fits phase 1 (proved)" in found.out
    assert list(tmp_path.iterdir()) == []


def test_nodes_are_down_of_the_plan_that_runs(plan: Path, tmp_path: Path) -> None:
    """The plan file says the job; what to run now is written as a plan file too."""
    now = tmp_path / "now.yaml"
    asked = ("solve", "--down", "1node", "--resume-from", plan, "--repair", "6h")
    found = planner(*asked, "-o", now, "--json")
    assert found.code == 0, found.err
    document = found.document
    way = document["ways"][document["now"]]
    assert (document["chips"], document["left"]) == (16, 8)
    again = planner("evaluate", now, "--json").document
    assert again["step_time_s"] == way["step_time_s"]
    assert again["training_run"] is None
    words = planner(*asked).out
    assert "1 node is down, 8 of 16 chips are left" in words
    assert planner(*asked, "--quiet").out.strip() in " ".join(words.split())
    spare = planner(*asked, "--spares", "1", "-o", tmp_path / "none.yaml", "--json")
    assert (spare.code, spare.document["covered"]) == (0, True)
    assert not (tmp_path / "none.yaml").exists()
    assert planner("solve", "--model", "gpt3-1.3b", *asked[1:], "--json").code == 0


@each(("words", "line"), [
    ((*JOB, *PHASES, "--show", "all"), "show: is about one answer; leave it out, or phases and"),
    ((*JOB, *PHASES, "--vary", "pes=66,132"), "phases: has no place beside vary, which asks"),
    ((*JOB, *PHASES, "--train-tokens", "1e12"), "train-tokens: each phase says its own"),
    ((*JOB, "--phases", "x"), "phases: phase 1: train_tokens: 'x' is not a number"),
    ((*JOB, *PHASES, "-o", "no/run.yaml"), "no/run-1.yaml: cannot be written"),
    ((*JOB, "--down", "1 node"), "down: has no effect without resume-from"),
    (("--down", "1 node", "--resume-from", "absent.yaml"), "absent.yaml: cannot be read"),
    (("--down", "1 node", "--resume-from", "dp=16"), "model: is missing; name one"),
    ((*JOB, "--batch-range", "1Mi..2Mi"), "batch-range: batch-tokens says the batch"),
    ((*JOB[:6], "--batch-range", "1Mi"), "batch-range: '1Mi' is one batch; give a range"),
    ((*JOB[:6], "--batch-range", "4Mi..1Mi"), "batch-tokens: '4Mi..1Mi' is not a range"),
    ((*JOB[:6], "--batch-range", "1Mi..2Mi", "--show", "all"), "show: is about one answer"),
])  # fmt: skip
def test_what_cannot_be_asked_is_one_line(words: tuple[str, ...], line: str) -> None:
    (found,) = refused("solve", *words)
    assert line in found


def test_a_range_of_batches_has_the_days_of_the_same_tokens() -> None:
    """Tokens are held; steps are tokens over the batch, days those of `solve` at each batch."""
    asked = (*JOB[:6], "--train-tokens", "1e12")
    by_name, by_other = (
        planner("solve", *asked, flag, "128Ki..256Ki", "--json").document["points"]
        for flag in ("--batch-range", "--batch-tokens")
    )
    for point, other, batch in zip(by_name, by_other, (2**17, 2**18), strict=True):
        run = point["answer"]["training_run"]
        assert run == other["answer"]["training_run"]
        assert run["steps"] == pytest.approx(1e12 / batch)
        alone = planner("solve", *asked, "--batch-tokens", batch, "--json").document
        assert run == alone["training_run"]
    words = planner("solve", *asked, "--batch-range", "128Ki..256Ki").out
    assert "steps  days" in words
    assert "a larger batch is not modelled" in " ".join(words.split())
    without = planner("solve", *JOB[:6], "--batch-range", "128Ki..256Ki").out
    assert "days" not in without


def test_days_are_the_same_wherever_they_stand(plan: Path, tmp_path: Path) -> None:
    """Of the same plan: evaluate, compare, phases and the smallest chip count of a deadline."""
    own: Any = planner("evaluate", plan, "--json").document["training_run"]
    run = ("--train-tokens", "1e12", *PRICES, "--json")
    solved = planner("solve", *JOB, *run).document["training_run"]
    (phase,) = planner("solve", *JOB, "--phases", "1e12", *PRICES, "--json").document["phases"]
    assert own == solved == phase["training_run"]
    other = tmp_path / "other.yaml"
    other.write_bytes(plan.read_bytes())
    costs = planner("compare", plan, other, "--json").document["costs"]
    compared = {one["name"]: one["values"] for one in costs}
    for name in ("days", "ideal_days", "energy_mwh"):
        assert compared[f"run_{name}"] == [own[name], own[name]]
    asked = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--batch-tokens", "512Ki")
    deadline = f"{own['days'] * 1.0001}d"
    found = planner("feasible", *asked, "--train-tokens", "1e12", "--deadline", deadline, "--json")
    (row,) = found.document["deadlines"]
    assert row["chips"] <= 16
    again = planner("solve", *asked, "--chips", row["chips"], "--no-clocks", "--train-tokens",
                    "1e12", "--json").document["training_run"]  # fmt: skip
    assert row["days"] == pytest.approx(again["days"], rel=1e-9)
    assert row["ideal_days"] == pytest.approx(again["ideal_days"], rel=1e-9)
    assert row["goodput"] == pytest.approx(again["goodput"]["share"], rel=1e-9)


def test_who_does_not_ask_sees_nothing_of_it() -> None:
    """Tokens of a run add a row to the screen and nothing else; without them nothing is there."""
    plain, run = (planner("solve", *JOB, *more).out for more in ((), ("--train-tokens", "1e12")))
    assert "goodput" not in plain
    lines = run.splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("run ")]
    end = next(n for n in range(at + 1, len(lines)) if not lines[n].startswith("  "))
    row = " ".join(" ".join(lines[at:end]).split())
    for words in ("days (80 %: ", " goodput, ", "checkpoint every ", "spare node"):
        assert words in row
    left = [
        line for line in lines[:at] + lines[end:] if not line.startswith(("proof", "next", "  "))
    ]
    kept = [line for line in plain.splitlines() if not line.startswith(("proof", "next", "  "))]
    assert left == kept
    documents = [
        planner("solve", *JOB, *more, "--json").document
        for more in ((), ("--train-tokens", "1e12"))
    ]
    assert documents[0]["training_run"] is None
    for name in ("best", "front", "diagnosis"):
        assert documents[0][name] == documents[1][name], name
    assert not {"phases", "down"} & {*documents[0], *documents[0]["question"]["asked"]}
