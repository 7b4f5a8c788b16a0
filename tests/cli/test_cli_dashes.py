"""Commands that are printed take files whatever they are called: `-p.yaml` is no option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studies.sweep.stand_in import Here, known
from support.cases import each

from cli.command import planner
from planner.answers import sweeping
from planner.base.commands import path_typed, path_word
from planner.question.asked.flags import flags_of
from planner.studies.sweep.running import workers

ROOT = Path(__file__).parents[2]
PLAN = (ROOT / "tests/formats/plan-1.yaml").read_bytes()
CLUSTER = (ROOT / "hardware_db/data/examples/my-cluster.yaml").read_bytes()
STUDY = "job: {model: gpt3-125m, hardware: h100-sxm5-80}\ncross: {chips: [8, 16]}\n"
SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that begin with a dash, which is the current one."""
    for name, content in (("-p x.yaml", PLAN), ("-c.yaml", CLUSTER),
                          ("-s.yaml", STUDY.encode())):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweeping, "solve_in_order", known)
    monkeypatch.setattr(workers, "LocalWorkers", lambda count: Here(threads=count or 1))
    return tmp_path


def printed(text: str) -> Iterator[list[str]]:
    """The commands in a text, as a shell splits them."""
    whole = re.sub(r"\\\\\n\s*", "", text)
    for found in re.finditer(r"\bplanner (?=[a-z])[^\n;]*", whole):
        yield shlex.split(found[0].removesuffix(" prints it whole").removesuffix(" reports it"))


@each(("words", "name"), [
    (("solve", *SMALL, "-o", "./-q.yaml"), "-q.yaml"),
    (("solve", "--model", "gpt3-125m", "--hardware", "./-c.yaml", "--chips", "8"), "-c.yaml"),
    (("evaluate", "./-p x.yaml"), "-p x.yaml"),
    (("report", "./-p x.yaml"), "-p x.yaml"),
    (("sweep", "run", "./-s.yaml", "-o", "./-x y.db"), "-x y.db"),
    (("sweep", "status", "./-x y.db"), "-x y.db"),
    (("hardware", "new", "--like", "h100-sxm5-80", "--name", "mine", "--set",
      "memory.bandwidth=2x", "-o", "./-h.yaml"), "-h.yaml"),
    (("calibrate", "--measurements", "./-none"), "-none"),
])  # fmt: skip
def test_a_printed_command_names_a_file(words: tuple[str, ...], name: str) -> None:
    outcome = planner(*words)
    commands = [*printed(outcome.out + outcome.err)]
    named = [word for command in commands for word in command if word.endswith(name)]
    assert named, outcome
    assert {*named} == {f"./{name}"}


def test_a_plan_file_says_how_it_is_read(here: Path) -> None:
    planner("solve", *SMALL, "-o", "./-q.yaml")
    assert "with: planner evaluate ./-q.yaml\n" in (here / "-q.yaml").read_text(encoding="utf-8")


def test_flags_and_words() -> None:
    fields: dict[str, Any] = {"model": "-m.yaml", "resume_from": "-r", "chips": 8}
    assert flags_of(fields) == ["--model", "./-m.yaml", "--chips", "8", "--resume-from", "./-r"]
    assert flags_of({"pools": {"-c.yaml": 8}}) == ["--pools", "./-c.yaml=8"]
    assert [path_word(one) for one in ("-", "a-b", Path("-a"))] == ["-", "a-b", "./-a"]
    assert path_typed("-a b") == "'./-a b'"
