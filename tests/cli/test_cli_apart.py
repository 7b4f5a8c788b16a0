"""No command writes over a file that its question is read from, by whichever name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer
from support.campaigns import campaigns
from support.engines import BENCHMARKS

from cli.command import planner
from planner.cli.main import app

with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(str(BENCHMARKS))
    WRITERS = campaigns("writers")
INPUTS = WRITERS.INPUTS


APART = {
    "ridgeline csv": "is read",
    "sweep status": "writes nothing",
    "sweep table store": "is read",
    "sweep plot store": "is read",
    "verify": "writes nothing",
    "collective bounds": "writes nothing",
    "reproduce": "reads no file of a user",
    "web": "writes nothing",
}
"""Commands with a file that are not in the table, and why."""
READ = frozenset({
    "plan_file", "job_file", "log", "file", "study", "cluster", "plan", "result", "folder", "data",
    "runs", "nccl", "measurements", "gemm", "failures", "graph", "schedule", "topo", "files",
    "saved", "path",
})  # fmt: skip
"""Parameters of commands that are files which are read."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the inputs are."""
    monkeypatch.chdir(tmp_path)
    for name, content in INPUTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def _read(one: Any) -> list[str]:
    """The files that a command reads."""
    words = {part for word in one.words for part in word.replace("=", ",").split(",")}
    return sorted({*(words & INPUTS.keys()), *one.others})


@pytest.mark.parametrize("one", WRITERS.COMMANDS, ids=lambda one: one.command)
def test_no_command_replaces_what_it_reads(one: Any, folder: Path) -> None:
    read = _read(one)
    assert read
    for flag, ending in one.flags.items():
        for name in read:
            target, word = Path(f"link{ending}"), f"link{ending}"
            if not ending.startswith("."):
                target, word = Path("new", ending), "new"
                target.parent.mkdir()
            target.symlink_to(folder / name)
            done = planner(*one.command.split(), *one.words, flag, word)
            assert {path: Path(path).read_bytes() for path in INPUTS} == INPUTS, (flag, name)
            assert done.code == 2, (flag, name, done)
            assert done.err.endswith("file that is read; name another\n"), (flag, name, done.err)
            assert str(target) in done.err
            target.unlink()
            if word == "new":
                target.parent.rmdir()


def test_another_name_of_a_file_is_that_file(folder: Path) -> None:
    os.link(folder / "cluster.yaml", folder / "same.yaml")
    done = planner("evaluate", "plan.yaml", "-o", "same.yaml")
    line = "error: output: same.yaml is the hardware file that is read; name another\n"
    assert (done.code, done.err) == (2, line)


@pytest.mark.parametrize("name", ["cluster.yaml", "model.yaml", "fleet.yaml", "study.yaml"])
def test_a_store_takes_the_place_of_no_other_file(name: str, folder: Path) -> None:
    for one in WRITERS.STORES:
        words = (*one.command.split(), *one.words, *one.flags, name)
        done = planner(*words)
        assert done.code == 2, (words, done)
        others = {"fleet": "study.yaml", "sweep": "fleet.yaml"}
        said = "is no store of" if name == others[words[0]] else f": {name} is the "
        assert said in done.err
        assert (folder / name).read_bytes() == INPUTS[name]


@pytest.mark.parametrize("field", ["calibration", "assumptions", "failure_site", "resume_from"])
def test_a_store_takes_the_place_of_no_empty_file(field: str, folder: Path) -> None:
    """An empty file may become a store, but not where the question is read from it."""
    empty = folder / "empty.yaml"
    empty.touch()
    (folder / "one.yaml").write_text(
        "job: {model: gpt3-125m, hardware: h100-sxm5-80, train_tokens: 1e9, "
        f"{field}: empty.yaml}}\ncross: {{chips: [8]}}\n", encoding="utf-8",
    )  # fmt: skip
    done = planner("sweep", "run", "one.yaml", "-o", "empty.yaml")
    assert done.code == 2, done
    assert done.err.startswith("error: output: empty.yaml is the ")
    assert done.err.endswith("file that is read; name another\n")
    assert empty.read_bytes() == b""


def test_a_fleet_keeps_its_store_apart(folder: Path) -> None:
    """From an empty file that its job is read from, too; its own content it reads and replaces."""
    fleet = (
        INPUTS["fleet.yaml"].decode().replace("model.yaml", "gpt3-125m, calibration: empty.yaml")
    )
    (folder / "empty.yaml").touch()
    (folder / "one.yaml").write_text(fleet, encoding="utf-8")
    done = planner("fleet", "one.yaml", "--store", "empty.yaml")
    assert (done.code, (folder / "empty.yaml").read_bytes()) == (2, b""), done
    assert done.err.endswith("empty.yaml is the calibration file that is read; name another\n")


def test_what_a_command_itself_wrote_before_is_replaced(folder: Path) -> None:
    for _ in range(2):
        done = planner("evaluate", "plan.yaml", "-o", "other.yaml", "--quiet")
        assert done.code == 0, done.err


def _commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", {})
    for name, one in inside.items():
        yield from _commands(one, f"{path} {name}".strip())
    if not inside:
        yield path, command


def test_no_command_that_writes_is_left_out() -> None:
    table: dict[str, set[str]] = {}
    for one in (*WRITERS.COMMANDS, *WRITERS.STORES):
        table.setdefault(one.command, set()).update(flag.lstrip("-") for flag in one.flags)
    left = []
    for name, command in _commands(typer.main.get_command(app)):
        hints = get_type_hints(inspect.unwrap(command.callback))
        for parameter in command.params:
            is_file = "Path" in str(hints.get(parameter.name))
            flags = {flag.lstrip("-") for flag in parameter.opts}
            known = {name, f"{name} {parameter.name}"} & APART.keys()
            if is_file and parameter.name not in READ and not known:
                left += [] if flags & table.get(name, set()) else [(name, parameter.name)]
    assert not left
