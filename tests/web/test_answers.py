"""What a page gets: the answers of `planner.solve`, as parts; what it cannot have, it is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner
from planner.base.jsonfile import sealed
from planner.web.answers import Answers, fields_in

ASKED = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": "8"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    kept = Answers(tmp_path_factory.mktemp("question"))
    assert kept.ask(ASKED)["answer"] == 1
    return kept


def without_run(document: dict[str, Any]) -> Any:
    rest = {name: part for name, part in document.items() if name not in ("digest", "candidates")}
    return json.loads(json.dumps(sealed(rest)))


def test_an_answer_is_that_of_python(answers: Answers) -> None:
    known = planner.solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8)
    kept = json.loads(answers.document(1)["json"])
    assert without_run(kept) == without_run(known.to_dict())


def test_the_page_is_that_of_report(answers: Answers) -> None:
    page = answers.page(1)["page"]
    assert page.startswith("<!doctype html>")
    assert "gpt3-125m on 8 x h100-sxm5-80" in page


def test_files_of_a_plan(answers: Answers) -> None:
    found = answers.files(1, 1, "megatron", "slurm")
    assert "--tensor-model-parallel-size" in "".join(found["files"].values())


@each(
    "row, target, said",
    [(99, "megatron", "row: the front has no plan 99"), (1, "megatrn", "did you mean 'megatron'")],
)
def test_files_that_there_are_not(answers: Answers, row: int, target: str, said: str) -> None:
    assert said in answers.files(1, row, target)["errors"][0]


def test_an_answer_that_is_gone(answers: Answers) -> None:
    assert "ask the question again" in answers.page(77)["errors"][0]


def test_a_mistake_is_said_with_its_command(answers: Answers) -> None:
    found = answers.ask(ASKED | {"model": "llama3-70x"})
    assert "llama3-70b" in found["errors"][0]
    assert "answer" not in found
    assert found["command"] == (
        "planner solve --model llama3-70x --hardware h100-sxm5-80 --chips 8"
    )


@each(
    "field, text, said",
    [
        ("modle", "x", "modle: unknown field; did you mean 'model'?"),
        ("set", "memory.bandwidth", "set: 'memory.bandwidth' is not PATH=VALUE"),
        ("fix", "foo", "fix: 'foo' is not of the form FIELD=VALUES"),
        ("phases", "0.5T:batch=4Mi", "phases: this page does not ask it; the command line does"),
        ("model", 'a: [1\nb: "<script>"', "model.yaml: line 2: not valid YAML"),
        ("chips", "9" * 1_000_000, "chips: a number of 1,000,000 digits is too long"),
        ("model", "x" * 1_000_000, "model: unknown model 'xxx"),
    ],
)
def test_what_an_address_may_say(answers: Answers, field: str, text: str, said: str) -> None:
    """One line, no traceback, and nothing of where the page keeps files."""
    found = answers.ask(ASKED | {field: text})
    assert found["errors"][0].startswith(said), found["errors"]
    assert max(map(len, found["errors"])) < 2000
    assert "answer" not in found


def test_names_are_text_in_the_page(answers: Answers) -> None:
    found = answers.ask(ASKED | {"hardware": "like: h100-sxm5-80\nname: <img src=x>\n"})
    assert "&lt;img" in found["html"]
    assert "<img" not in found["html"] + answers.page(found["answer"])["page"]


def test_what_takes_a_package_that_is_not_there(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solve(*_: Any) -> Any:
        raise ModuleNotFoundError("No module named 'ortools'", name="ortools.sat")

    monkeypatch.setattr("planner.answers.api.solve_request", solve)
    found = answers.ask(ASKED | {"layout": "uneven"})
    assert found["lacks"] == "ortools"
    assert "--layout uneven" in found["command"]


def test_texts_of_files_are_written_beside_the_question(tmp_path: Path) -> None:
    text = "  like: h100-sxm5-80\n  name: mine\n"  # the first spaces are part of it
    found = fields_in({"hardware": text, "model": '{"a": 1}', "chips": " 8 "}, tmp_path)
    assert found == {
        "hardware": str(tmp_path / "hardware.yaml"),
        "model": str(tmp_path / "model.json"),
        "chips": "8",
    }
    assert (tmp_path / "hardware.yaml").read_text() == text


@each(
    "texts, fields",
    [
        ({"fix": "pp=8,16\n tp=2"}, {"fix": {"pp": ["8", "16"], "tp": ["2"]}}),
        ({"set": "memory.bandwidth=2x\n"}, {"set": ["memory.bandwidth=2x"]}),
        ({"clocks": "false", "gap": "0.01"}, {"clocks": False, "gap": 0.01}),
        ({"front": "time, memory", "chips": ""}, {"front": ["time", "memory"]}),
    ],
)
def test_texts_as_fields(texts: dict[str, str], fields: dict[str, Any], tmp_path: Path) -> None:
    assert fields_in(texts, tmp_path) == fields
