"""Whole numbers of flags: refusals name the value as typed, what is allowed, and the nearest."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from support.cases import each

from cli.command import planner, refused
from planner.cli.main import tree
from planner.plan.choices import fixed_text

SMALL = ("--model", "gpt3-125m", "--hardware", "dgx-h100-ndr", "--chips", 8)
COMMANDS = {
    "port": ("web", "."),
    "rows": ("sweep", "table", "s.db"),
    "workers": ("sweep", "run", "s.yaml", "-o", "s.db"),
    "steps": ("check", "p.yaml", "--log", "l"),
    "max_nodes": ("export", "p.yaml", "--chakra", "t"),
    "nodes": ("hardware", "detect"),
    "gpus": ("calibrate", "--nccl", "l"),
}
"""A flag that is a whole number, with the command that it is of."""


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands below one."""
    if getattr(command, "commands", None) is None and not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), *words, name)


def numbers(command: Any) -> dict[str, Any]:
    """The flags of a command that are whole numbers, with how each is read."""
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    leaves = {name: (get_args(hint) or (hint,)) for name, hint in hints.items()}
    return {
        name: next((one.parser for one in said if hasattr(one, "parser")), None)
        for name, (kind, *said) in leaves.items()
        if kind is int or int in get_args(kind)
    }


def test_no_flag_leaves_its_number_to_the_library() -> None:
    """Whose refusals have other words, and no nearest value."""
    found = {words: numbers(command) for words, command in commands(tree())}
    assert [(words, name) for words, read in found.items() for name in read if not read[name]] == []
    assert {*COMMANDS} <= {"workers"}.union(*found.values())


@each(("text", "nearest"), [("x", ""), ("1.5", "2"), ("-1", "least"), ("1e30", "most"), ("", "")])
def test_flags(text: str, nearest: str) -> None:
    for name, command in COMMANDS.items():
        flag = name.replace("_", "-")
        (line,) = refused(*command, f"--{flag}={text}")
        said, _, near = line.partition("; nearest: ")
        assert said.startswith(f"{flag}: '{text}' is not a whole number from "), line
        ends = dict(zip(("least", "most"), said.split(" from ")[1].split(" ")[::2], strict=False))
        assert near == ends.get(nearest, nearest), line


def test_a_count_may_be_typed_as_others_are(tmp_path: Path) -> None:
    assert refused("sweep", "table", tmp_path / "s.db", "--rows", "1e3")[0].endswith("such store")


@each(("text", "line"), [
    ("tp=0", "fix: tp: '0' is not a whole number from 1 to 2,147,483,648; nearest: 1"),
    ("tp=2.4", "fix: tp: '2.4' is not a whole number from 1 to 2,147,483,648; nearest: 2"),
    ("tp=1e10", "fix: tp: '1e10' is not a whole number from 1 to 2,147,483,648; nearest: "
     "2,147,483,648"),
    ("tp=x", "fix: tp: 'x' is not a whole number from 1 to 2,147,483,648"),
    ("tp=2,tp=4", "fix: tp is named more than once; write its values at once: tp=2,4"),
    ("tp=2,pp=4", "fix: tp: 'pp=4' names another field; give each a --fix of its own"),
    ("tp=1e1", "fix: tp 10 does not divide the 12 attention heads of gpt3-125m; nearest: 6 or 12"),
])  # fmt: skip
def test_fixes(text: str, line: str) -> None:
    assert refused("solve", *SMALL, "--fix", text) == [line]


def test_what_is_fixed_is_read_once() -> None:
    """What looks at the text of a value, such as interleave of pools, sees the number."""
    assert [fixed_text("pp", text) for text in ("1e0", "01", "2Ki")] == ["1", "1", "2048"]
    assert fixed_text("schedule", "1f1b") == "1f1b"
    assert fixed_text("recompute", "moe+mlp") == "moe+mlp"


@each("flags", [("--workers", "9999"), ("--scheduler", "a", "--cluster", "b"), ("-o", "STUDY"),
                ("-o", "nowhere/s.db"), ("-o", ".")])  # fmt: skip
def test_a_dry_run_refuses_what_a_run_refuses(tmp_path: Path, flags: tuple[str, ...]) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("job: {model: gpt3-125m}\ncross: {chips: [8]}\n", encoding="utf-8")
    words = [study if word == "STUDY" else word for word in flags]
    asked = ("sweep", "run", study, *(() if "-o" in flags else ("-o", tmp_path / "s.db")), *words)
    assert refused(*asked, "--dry-run") == refused(*asked)
    assert [one.name for one in tmp_path.iterdir()] == ["study.yaml"]
    assert planner("sweep", "run", study, "--dry-run", "--workers", "1e0").code == 0
