"""`planner report`: answers become pages, and what is no answer of this planner is refused."""

import copy
import functools
import io
import json
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL, answer_to
from cli.command import planner, refused, solve
from cli.jobs import JOBS
from cli.remembering import anew
from planner.answers.files.result_file import read_result
from planner.base.jsonfile import sealed
from planner.report.charts.front import front_chart
from planner.report.drawing.chart import Dot
from planner.results.result import SolveResult

FRONT = "dense, GPU, clocks"
Change = Callable[[dict[str, Any]], None]


def document() -> dict[str, Any]:
    """An answer with a front, to be changed at will."""
    return copy.deepcopy(answer_to(FRONT))


def written(folder: Path, content: Any, name: str = "result.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def resealed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that was changed by somebody who knows how its digest is made."""
    return sealed(answer) if "digest" in answer else answer


def page_of(path: Path, *flags: object) -> str:
    """The page that the command writes beside a result."""
    outcome = planner("report", path, *flags)
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return path.with_suffix(".html").read_text(encoding="utf-8")


@functools.cache
def infeasible() -> str:
    outcome = planner("solve", "--model", "gpt3-175b", "--hardware", "h100-sxm5-80", "--chips", 8,
                      "--json")  # fmt: skip
    assert outcome.code == 3
    return outcome.out


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', page)


def test_an_answer_becomes_one_page_that_loads_nothing(tmp_path: Path) -> None:
    answer = copy.deepcopy(answer_to("mixture of experts, GPU"))
    page = page_of(written(tmp_path, answer))
    assert sections(page) == [
        "plan", "breakdown", "binds", "front", "steps", "leaning", "memory", "timeline",
        "ridgeline", "mesh", "search", "provenance",
    ]  # fmt: skip
    assert not re.search(r"""(?:src|href)=["'](?!#)|@import|url\((?!#)""", page)
    assert "default-src 'none'" in unescape(page)
    assert len(re.findall(r'data-key="front-\d+"', page)) == len(answer["front"]["plans"]) > 2
    for name, version in answer["versions"].items():
        assert f"{name} {version}" in page
    for line in answer["notes"]["sources"].values():
        assert line.split("&")[0][:20] in page
    assert {path.name for path in tmp_path.iterdir()} == {"result.html", "result.json"}


def test_the_page_is_the_same_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, document())
    with anew():
        assert page_of(path) == page_of(path)


def test_json_says_what_was_written(tmp_path: Path) -> None:
    target = tmp_path / "other.html"
    outcome = planner("report", written(tmp_path, document()), "-o", target, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.document
    assert found["path"] == str(target)
    assert found["bytes"] == target.stat().st_size
    assert found["kind"] == "solve"
    page = target.read_text(encoding="utf-8")
    assert [part["id"] for part in found["sections"]] == sections(page)
    assert found["versions"]["planner"] == document()["versions"]["planner"]


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = json.dumps(document()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert planner("report", "-").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == page_of(written(tmp_path, document()))


def test_no_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("report", "-", "-o", tmp_path / "r.html") == [
        "standard input: is closed; name a file"
    ]


def test_a_front_and_an_evaluation_are_answers_too(tmp_path: Path) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "front.json"
    solve(*SMALL, "-o", plan, "--pareto", front)
    page = page_of(front)
    assert {"front", "plan", "breakdown", "provenance"} <= set(sections(page))
    assert "The fastest plan" in page
    evaluated = planner("evaluate", plan, "--json").out
    page = page_of(written(tmp_path, evaluated))
    assert "front" not in sections(page)
    assert "The plan fits" in page


def test_an_explanation_is_reported_by_its_objective(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", plan)
    explained = planner("explain", plan, "--objective", "energy", "--json").document
    path = written(tmp_path, explained)
    assert read_result(path).objective == "energy"
    page = page_of(path)
    assert {"binds", "steps", "leaning"} <= set(sections(page))
    assert explained["steps"][0]["change"] in unescape(page)


def test_plans_one_step_away_are_drawn_beside_the_front(tmp_path: Path) -> None:
    answer = document()
    read = read_result(written(tmp_path, answer)).answer
    assert isinstance(read, SolveResult)
    assert [one.to_dict() for one in read.candidates.neighbors] == answer["candidates"]["neighbors"]
    chart = front_chart(read)
    near = [mark for mark in chart.marks if isinstance(mark, Dot) and not mark.key]
    assert near
    assert all("One step away (" in mark.detail for mark in near)
    assert "one step" in " ".join(key.words for key in chart.legend)


def test_an_answer_without_a_plan_is_reported(tmp_path: Path) -> None:
    page = page_of(written(tmp_path, infeasible()))
    assert sections(page) == ["binds", "search", "provenance"]
    diagnosis = json.loads(infeasible())["diagnosis"]
    assert diagnosis["explanation"].split("'")[0] in page
    assert all(remedy.split("'")[0] in page for remedy in diagnosis["remedies"])


def test_plans_on_several_machines(tmp_path: Path) -> None:
    answer = solve("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--total-pes", "16x132",
                   "--pes", "64,132", "--topology", "ring", "--no-clocks")  # fmt: skip
    page = page_of(written(tmp_path, answer))
    assert f"{answer['best']['machine']['pes']} SMs" in page
    changed = copy.deepcopy(answer)
    changed["front"]["plans"][0]["job"]["pes"] = [100]
    assert "front.plans.1" in refused("report", written(tmp_path, resealed(changed)))[0]
    changed = copy.deepcopy(answer)
    changed["notes"]["why"][-1] = "total-pes: 1 of 2,112 (0.05 %)"
    assert "why." in refused("report", written(tmp_path, resealed(changed)))[0]


def test_a_field_of_the_question_is_named_as_it_stands_in_the_file(tmp_path: Path) -> None:
    solved = document()
    plan = tmp_path / "plan.yaml"
    assert planner("solve", *JOBS[FRONT], "-o", plan).code == 0
    evaluated = planner("evaluate", plan, "--json").document
    for answer, question, where in (
        (solved, solved["question"], "question.asked"), (evaluated, evaluated, "asked")
    ):  # fmt: skip
        question["asked"]["framework"] = "nemotron-x"
        (mistake,) = refused("report", written(tmp_path, resealed(answer)))
        assert f"result.json: {where}.framework: 'nemotron-x' is not one of" in mistake


def test_a_whole_training_run(tmp_path: Path) -> None:
    answer = solve(*SMALL, "--train-tokens", "1e9", "--prices", "aws-blocks-h100,eia-texas")
    assert "run" in sections(page_of(written(tmp_path, answer)))


OTHERS: dict[str, tuple[Any, str]] = {
    "nothing": ("", "is empty"),
    "blanks": (" \n", "is empty"),
    "words": ("a plan", "line 1: not valid JSON: "),
    "a list": ([1, 2], "must be one JSON object"),
    "a number": ("3", "must be one JSON object"),
    "bytes": (b"\x89PNG\r\n\xff", "not a text file"),
    "another encoding": (json.dumps({"a": 1}).encode("utf-16"), "not a text file"),
    "too large": (b" " * (10 * 2**20 + 1), "larger than 10 MiB"),
    "nan": ('{"status": NaN}', "NaN is no number"),
    "infinity": ('{"status": -Infinity}', "-Infinity is no number"),
    "a number that is too large": ('{"status": 1e999}', "is too large"),
    "a number that is too long": ('{"status": ' + "9" * 5000 + "}", "5,000 digits"),
    "a name twice": ('{"a": 1, "a": 2}', "the name 'a' appears twice"),
    "deep": ("[" * 100_000, "nested deeper"),
    "not so deep": ('{"a": ' + "[" * 50 + "]" * 50 + "}", "nested deeper"),
    "two documents": ('{"a": 1}\n{"b": 2}', "line 2: not valid JSON: extra data"),
    "something else": ({"answer": 42}, "is no answer of this planner; a report needs"),
}


@each("other", OTHERS)
def test_what_is_no_answer_is_refused(tmp_path: Path, other: str) -> None:
    content, words = OTHERS[other]
    mistakes = refused("report", written(tmp_path, content))
    assert len(mistakes) == 1
    assert words in mistakes[0], mistakes
    assert not (tmp_path / "result.html").exists()


KINDS = {
    "ridgeline --case mlp-4096 --batches 16,512": "the answer of planner ridgeline, not an answer",
    "feasible --model llama2-13b --chips 64 --batch-tokens 1e6 --assumptions roofline":
        "the answer of planner feasible, not an answer",
    "rack zero --figure 3 --gpus 2": "the answer of planner rack zero",
    "rack parallelism --figure 2": "the answer of planner rack parallelism",
    "rack solve --gpus 2 --pes 4 --topology ring --strategy dp": "the answer of planner rack solve",
    "rack topology ring:8": "the answer of planner rack topology",
}  # fmt: skip


@each("line", KINDS)
def test_answers_of_other_commands_are_named(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, planner(*line.split(), "--json").out)
    command = " ".join(word for word in line.split()[:2] if not word.startswith("-"))
    mistakes = refused("report", path)
    assert len(mistakes) == 1
    assert KINDS[line] in mistakes[0]
    assert f"planner {command} --plot draws it" in mistakes[0]
    assert KINDS[line].split(",")[0] in refused("evaluate", path)[0]


def test_a_plan_and_a_comparison_are_no_answers_but_named(tmp_path: Path) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "front.csv"
    solve(*SMALL, "-o", plan, "--pareto", front)
    mistakes = refused("report", plan)
    assert len(mistakes) == 1
    assert "is a plan, not an answer: planner evaluate takes it" in mistakes[0]
    assert f"planner evaluate {plan} --plot report.html reports it" in mistakes[0]
    assert "is a front, not an answer" in refused("report", front)[0]
    both = planner("compare", plan, plan, "--hardware", "h100-sxm5-80,a100-sxm4-80", "--json")
    mistakes = refused("report", written(tmp_path, both.out))
    assert "is the answer of planner compare, not an answer" in mistakes[0]


@each("share", [0.1, 0.5, 0.9, 0.9999])
def test_an_answer_that_is_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    text = json.dumps(answer_to(FRONT), indent=2)
    mistakes = refused("report", written(tmp_path, text[: int(share * len(text))]))
    assert len(mistakes) == 1
    assert "is cut off" in mistakes[0] or "not valid JSON" in mistakes[0]


def test_answers_of_other_commands_are_refused(tmp_path: Path) -> None:
    for arguments in (("models", "list"), ("schema", "plan")):
        out = planner(*arguments, "--json").out
        assert "a report needs" in " ".join(refused("report", written(tmp_path, out)))


def test_a_machine_of_ones_own_that_has_changed(tmp_path: Path) -> None:
    own = tmp_path / "local.yaml"
    text = (Path(__file__).parent / "local.yaml").read_text(encoding="utf-8")
    own.write_text(text, encoding="utf-8")
    answer = solve(*SMALL, "--calibration", own)
    path = written(tmp_path, answer)
    page_of(path)
    assert "value: 0.5" in text
    own.write_text(text.replace("value: 0.5", "value: 0.4"), encoding="utf-8")
    mistakes = refused("report", path)
    assert mistakes[0].endswith("or a file that it names changed; solve again")


@each(
    ("output", "words"),
    [
        ("result.json", "a report is written as .html"),
        ("report.pdf", "a report is written as .html"),
        ("report", "a report is written as .html"),
        ("missing/report.html", "cannot be written"),
        (".", "a report is written as .html"),
    ],
)
def test_pages_that_cannot_be_written(tmp_path: Path, output: str, words: str) -> None:
    path = written(tmp_path, document())
    before = path.read_text(encoding="utf-8")
    mistakes = refused("report", path, "-o", tmp_path / output)
    assert len(mistakes) == 1
    assert words in mistakes[0]
    assert path.read_text(encoding="utf-8") == before


def test_the_result_is_not_written_over(tmp_path: Path) -> None:
    path = written(tmp_path, document(), "result.html")
    assert "is the result file that is read" in refused("report", path)[0]
    assert "is the result file that is read" in refused("report", path, "-o", path)[0]
    assert json.loads(path.read_text(encoding="utf-8")) == document()


@each("name", ["nothing.json", ".", "..", "a\nb.json"])
def test_results_that_are_not_there(tmp_path: Path, name: str) -> None:
    mistakes = refused("report", tmp_path / name, "-o", tmp_path / "r.html")
    assert len(mistakes) == 1
    assert "cannot be read" in mistakes[0]
