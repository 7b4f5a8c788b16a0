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
        assert "no store" in done.err
        assert (folder / name).read_bytes() == INPUTS[name]


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
