"""Questions as they are declared in `tests/answers/*.toml`."""

from __future__ import annotations

import fnmatch
import shlex
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "tests" / "answers"
FILES = ANSWERS / "files"
_KEYS = {"name", "ask", "call", "args", "with", "files", "write"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command line, or one call of a public Python function.

    Attributes:
        words: Words after `planner`; empty: a call.
        redirect: File that standard output is written to as well; empty: none.
        call: Name of the function, an attribute of `planner`.
        args, fields: Its arguments.
    """

    words: tuple[str, ...] = ()
    redirect: str = ""
    call: str = ""
    args: tuple[Any, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()

    @property
    def kind(self) -> str:
        """Which document the step gives: a command with its subcommand, e.g. `rack zero`."""
        if self.call:
            return {
                "export_file": "export",
                "ridgelines": "ridgeline",
                "collective_front": "collective synthesize",
            }.get(self.call, self.call)
        for flag, kind in (("--vary", "vary"), ("--phases", "phases"), ("--down", "down")):
            if flag in self.words:
                return kind
        groups = ("rack", "collective", "models", "hardware", "sweep")
        return " ".join(self.words[: 2 if self.words[0] in groups else 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question: steps that run one after the other in an empty folder.

    Attributes:
        name: Unique; what precedes the first slash is the subject.
        group: File that declares it, without its ending.
        steps: In order; all of their answers are kept.
        files: Names in `tests/answers/files` that are copied into the folder first.
        write: Further files, name and content.
    """

    name: str
    group: str
    steps: tuple[Step, ...]
    files: tuple[str, ...] = ()
    write: tuple[tuple[str, str], ...] = ()

    @property
    def prints_text(self) -> bool:
        """Whether a step may print what is no document."""
        return any("--json" not in step.words for step in self.steps)


def read_questions(folder: Path = ANSWERS, patterns: Sequence[str] = ("*",)) -> list[Question]:
    """All questions of a folder whose names match a pattern, in the order of their files.

    Raises:
        ValueError: A question is not declared as it has to be.
    """
    found = [
        _question(entry, path.stem)
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    ]
    _check_unique(question.name for question in found)
    return [one for one in found if any(fnmatch.fnmatchcase(one.name, p) for p in patterns)]


def _question(entry: dict[str, Any], group: str) -> Question:
    unknown = set(entry) - _KEYS
    if unknown or "name" not in entry or ("ask" in entry) == ("call" in entry):
        raise ValueError(f"{group}.toml: {entry.get('name', entry)}: not a question")
    if "call" in entry:
        fields = tuple(entry.get("with", {}).items())
        steps = [Step(call=entry["call"], args=tuple(entry.get("args", ())), fields=fields)]
    else:
        asked = entry["ask"]
        steps = [_command(line) for line in ([asked] if isinstance(asked, str) else asked)]
    return Question(
        name=entry["name"],
        group=group,
        steps=tuple(steps),
        files=tuple(entry.get("files", ())),
        write=tuple(entry.get("write", {}).items()),
    )


def _command(line: str) -> Step:
    """A command line without `planner`; it may end with `> FILE`."""
    words = shlex.split(line)
    if len(words) > 2 and words[-2] == ">":
        return Step(words=tuple(words[:-2]), redirect=words[-1])
    return Step(words=tuple(words))


def _check_unique(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"the question {name} is declared twice")
        seen.add(name)
