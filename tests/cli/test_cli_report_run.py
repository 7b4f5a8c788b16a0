"""`planner report` of answers about a run: its phases, and nodes that are down."""

import json
import re
from pathlib import Path

import pytest

from cli.command import planner, refused

JOB = ("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80")
ASKED = {
    "phases": (*JOB, "--chips", 4, "--batch-tokens", 65536, "--phases", "1e9",
               "--phases", "2e9,batch_tokens=131072", "--json"),
    "down": (*JOB, "--batch-tokens", 65536, "--down", "2chips", "--resume-from", "dp=4", "--json"),
}  # fmt: skip
SECTIONS = {
    "phases": ["phases", "run", "passages", "phase-1", "phase-2", "provenance"],
    "down": ["standing", "ways", "notes", "provenance"],
}


@pytest.fixture(params=ASKED)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_about_a_run_becomes_a_page(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(planner(*ASKED[kind]).out, "utf-8")
    outcome = planner("report", path, "--json")
    assert (outcome.code, outcome.err, outcome.document["kind"]) == (0, "", "run")
    page = path.with_suffix(".html").read_text("utf-8")
    assert re.findall(r'<section id="([\w-]+)"', page) == SECTIONS[kind]
    shown = planner(*ASKED[kind][:-1]).out.splitlines()
    assert f"<h1>{shown[0]}</h1>" in page
    for other in ("evaluate", "explain"):
        (mistake,) = refused(other, path)
        assert f"is the answer of planner solve --{kind}" in mistake


def test_what_does_not_come_out_again_is_refused(kind: str, tmp_path: Path) -> None:
    answer = planner(*ASKED[kind]).document
    path = tmp_path / "answer.json"
    part = answer["phases"][0] if kind == "phases" else answer["running"]
    for record, name, words in (
        (part, "step_time_s", "step_time_s: the file says 9, its plan gives"),
        (answer, "asked", "asked: is missing"),
        (answer, "versions", "versions: is missing"),
    ):
        kept = record.pop(name)
        if name == "step_time_s":
            record[name] = 9
        path.write_text(json.dumps(answer), "utf-8")
        (mistake,) = refused("report", path)
        assert words in mistake
        record[name] = kept
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize(("line", "words"), [
    ("goodput --chips 64 --stall 5s", "the answer of planner goodput"),
    ("calibrate --failures log.csv", "the answer of planner calibrate --failures"),
])  # fmt: skip
def test_answers_without_a_report_are_named(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where calibrate writes site.yaml
    path = tmp_path / "answer.json"
    log = tmp_path / "log.csv"
    log.write_text("start,end,chips,cause\n0,5,64,gpu\n", "utf-8")
    line = line.replace(log.name, str(log))
    path.write_text(planner(*line.split(), "--json").out, "utf-8")
    (mistake,) = refused("report", path)
    assert words in mistake
