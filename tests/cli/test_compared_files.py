"""`planner compare` of files: told by what they hold, whatever they are called, each read once."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused, solve

ASKED = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp,tp",
         "--batch-tokens", "512Ki")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two answers with a plan of each."""
    path = tmp_path_factory.mktemp("compared")
    for name, more in (("a", ()), ("b", ("--fix", "tp=2"))):
        answer = solve(*ASKED, *more, "-o", path / f"{name}.yaml")
        (path / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")
    return path


@pytest.fixture
def named(folder: Path, tmp_path: Path) -> Iterator[Any]:
    """A file under another name, or a pipe that holds it once."""
    ends = []

    def other(file: str, name: str) -> Path:
        content, path = (folder / file).read_bytes(), tmp_path / name
        if name != "pipe":
            path.write_bytes(content)
            return path
        assert len(content) < 2**16, "more than a pipe holds"
        ours, theirs = os.pipe()
        ends.append(ours)
        os.write(theirs, content)
        os.close(theirs)
        return Path(f"/dev/fd/{ours}")

    yield other
    for end in ends:
        os.close(end)


@each("name", ["new", "new.txt", "new.yaml", "pipe"])
def test_answers_are_told_by_what_they_hold(name: str, folder: Path, named: Any) -> None:
    wanted = planner("compare", folder / "a.json", folder / "b.json", "--json").document
    found = planner("compare", folder / "a.json", named("b.json", name), "--json")
    assert (found.code, found.err) == (0, "")
    assert {**found.document, "files": None} == {**wanted, "files": None}


@each("name", ["new", "pipe"])
def test_plans_are_read_once_too(name: str, folder: Path, named: Any) -> None:
    wanted = planner("compare", folder / "a.yaml", folder / "b.yaml", "--json").document
    found = planner("compare", folder / "a.yaml", named("b.yaml", name), "--json")
    assert (found.code, found.err) == (0, "")
    assert [one["step_time_s"] for one in found.document["plans"]] == [
        one["step_time_s"] for one in wanted["plans"]
    ]


def test_an_explanation_of_a_pipe_has_the_rivals_of_its_file(folder: Path, named: Any) -> None:
    wanted = planner("explain", folder / "a.json", "--row", "1", "--json").document
    found = planner("explain", named("a.json", "pipe"), "--row", "1", "--json")
    assert (found.code, found.err) == (0, "")
    assert found.document["overtakings"] == wanted["overtakings"]


def test_three_answers(folder: Path, named: Any) -> None:
    files = (folder / "a.json", folder / "b.json", named("b.json", "c"))
    assert refused("compare", *files) == [
        "plans: 3 answers of planner solve are given; give two, the older first, or name a row of "
        f"each, such as {files[0]}:1"
    ]


def test_one_file_under_two_names(folder: Path, tmp_path: Path) -> None:
    one, link = folder / "a.json", tmp_path / "l.json"
    link.symlink_to(one)
    assert refused("compare", one, link) == [
        f"plans: {one} and {link} are one file; give an older and a newer answer"
    ]
    assert refused("compare", one, one) == [
        f"plans: {one} is named twice; give an older and a newer answer"
    ]


def test_an_answer_beside_a_plan_needs_a_row(folder: Path) -> None:
    (line,) = refused("compare", folder / "a.json", folder / "b.yaml")
    assert line.startswith(f"row: {folder / 'a.json'} holds plans 1 to ")
    assert planner("compare", f"{folder / 'a.json'}:1", folder / "b.yaml").code == 0


@each("name", ["front.json", "front.csv"])
def test_a_whole_front_beside_an_answer(name: str, folder: Path, tmp_path: Path) -> None:
    """It is what is said, whichever comes first; a row of each is compared."""
    front, answer = tmp_path / name, folder / "a.json"
    solve(*ASKED, "--pareto", front)
    for pair in ((answer, front), (front, answer)):
        assert refused("compare", *pair) == [
            f"{front}: is a front, not an answer of planner solve: name a row of it, such as "
            f"{front}:1, and one of the answer"
        ]
    assert planner("compare", f"{answer}:1", f"{front}:1").code == 0


@each(("text", "words"), [
    ('{"model": "gpt3-125m", "chips": 8}', "is a job file, not an answer of planner solve or a "
     "plan: planner solve takes it"),
    ("model: gpt3-125m", "is a job file, not an answer of planner solve or a plan: planner solve "
     "takes it"),
    ("{'a': 1}", "line 1: not valid JSON"), ("a: 1", "is neither an answer of planner solve nor a"),
    ('{"certificate": {"gap": NaN}}', "NaN is no number that JSON has"),
    ("", "is empty"), ("a: [", "line 1: not valid YAML"),
])  # fmt: skip
def test_what_is_no_plan_beside_an_answer(
    text: str, words: str, folder: Path, tmp_path: Path
) -> None:
    """It alone is told: the row of the answer is not what is missing."""
    path = tmp_path / "other"
    path.write_text(text, encoding="utf-8")
    for pair in ((folder / "a.json", path), (path, folder / "a.json")):
        (line,) = refused("compare", *pair)
        assert line.startswith(f"{path}: {words}")
