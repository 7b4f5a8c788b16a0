"""Files of answers with clocks per operation: traces, fronts, and answers read back."""

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused
from planner.answers.spaces import operations
from planner.base.jsonfile import sealed
from planner.search.deadline import Deadline
from planner.search.operations import ahead

ASKED = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 4,
         "--batch-tokens", 8192, "--seq-len", 1024, "--clocks", "per-operation")  # fmt: skip
FIXED = ("pp=2", "schedule=1f1b", "micro_batch=1", "recompute=none")
SOLVE = ("solve", *ASKED, *(word for one in FIXED for word in ("--fix", one)), "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of one answer, for which a change of the clock takes no time."""
    here = tmp_path_factory.mktemp("clocks")
    names = ("--trace", here / "trace.json", "--pareto", here / "front.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "SWITCHING_S", 0.0)
        done = planner(*SOLVE, *names, "-o", here / "best.yaml")
    (here / "answer.json").write_text(done.out, encoding="utf-8")
    return here


def events(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["traceEvents"]


def test_the_trace_of_solve_is_that_of_evaluate(folder: Path, tmp_path: Path) -> None:
    """At the clocks that the answer uses."""
    again = tmp_path / "again.json"
    some = ("--clocks", "per-operation", "--switching-time", "0s")
    assert planner("evaluate", folder / "best.yaml", *some, "--trace", again).code == 0
    drawn = events(folder / "trace.json")
    assert json.loads((folder / "answer.json").read_text())["operation_clocks"]["points"][0]["used"]
    assert len({e["args"]["clock"] for e in drawn if "clock" in e.get("args", {})}) > 1
    assert drawn == events(again)


def test_a_point_of_a_front_has_its_clocks(folder: Path) -> None:
    """They need no more than what the answer says of the point, where its plan is that one."""
    answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    some = ("--row", 2, "--clocks", "per-operation", "--switching-time", "0s", "--json")
    found = planner("evaluate", folder / "front.json", *some).document
    assert found["step_time_s"] == answer["front"]["plans"][1]["step_time_s"]
    assert found["operation_clocks"]["operations"] > 0


def test_a_report_shows_the_clocks_of_an_answer(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "answer.html"
    assert planner("report", folder / "answer.json", "-o", page).code == 0
    assert "Clocks per operation within the step times of the front" in page.read_text("utf-8")


def test_a_report_shows_the_clocks_of_a_plan(folder: Path, tmp_path: Path) -> None:
    some = ("--clocks", "per-operation", "--switching-time", "0s", "--json")
    result = tmp_path / "plan.json"
    result.write_text(planner("evaluate", folder / "best.yaml", *some).out, encoding="utf-8")
    assert planner("report", result).code == 0
    page = result.with_suffix(".html").read_text(encoding="utf-8")
    assert "Clocks per operation in the same simulated time" in page


def with_point(name: str, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(answer: dict[str, Any]) -> None:
        point = answer["operation_clocks"]["points"][0]
        point[name] *= factor

    return change


@each(
    ("change", "words"),
    [
        (lambda a: a["operation_clocks"]["points"].pop(0), "the front has 4 points, 1 not among"),
        (lambda a: a["operation_clocks"]["points"].reverse(), "do not ascend in step time"),
        (
            lambda a: a["operation_clocks"]["points"].insert(0, a["operation_clocks"]["points"][0]),
            "do not ascend in step time",
        ),
        (with_point("energy_j", 0.5), "energy_j: is not between bound_j and one_clock_j"),
        (with_point("bound_j", 2.0), "mixed_j: is not between bound_j and one_clock_j"),
        (with_point("one_clock_j", 1.1), "points.1: is no point of the front"),
        (with_point("saved", 2.0), "operation_clocks.points.1.saved: the file says"),
        (lambda a: a.pop("operation_clocks"), "caveats"),
        (lambda a: a["question"]["asked"].update(clocks=True), "is not of this answer"),
        (lambda a: a["operation_clocks"]["points"][0]["plan"].update(clock="x"), "clock"),
    ],
)
def test_clocks_that_contradict_themselves_are_refused(
    folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    answer = copy.deepcopy(json.loads((folder / "answer.json").read_text(encoding="utf-8")))
    change(answer)
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(sealed(answer)), encoding="utf-8")
    assert words in " ".join(refused("report", edited))


def test_an_answer_whose_time_ended_before_clocks_can_be_reported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise operations.OutOfTime

    monkeypatch.setattr(operations, "front_ahead", late)
    result = tmp_path / "late.json"
    result.write_text(planner(*SOLVE, "--gap", 0.003).out, encoding="utf-8")
    assert planner("report", result).code == 0
    page = result.with_suffix(".html").read_text(encoding="utf-8")
    assert "Time ended before clocks per-operation" in page


def test_time_that_ends_while_clocks_are_sought_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that are known stay; no plan is said to be better than it is."""
    exact = planner(*SOLVE, "--gap", 0.001).document["operation_clocks"]
    passed = Deadline(time.perf_counter())
    monkeypatch.setattr(ahead, "Deadline", lambda _: passed)
    found = planner(*SOLVE, "--gap", 0.0011).document["operation_clocks"]  # asked anew
    assert (exact["in_time"], found["in_time"]) == (True, False)
    for one, other in zip(exact["points"], found["points"], strict=True):
        assert other["bound_j"] <= one["bound_j"]
        assert other["energy_j"] == other["mixed_j"] == other["one_clock_j"]
        assert not other["all_sought"]
    text = " ".join(planner(*SOLVE[:-1], "--gap", 0.0011, "--show", "clocks").out.split())
    assert "whose bound is further away" in text
    assert "Time ended before all plans were looked at" in text
