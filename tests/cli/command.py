"""Runs the command line inside this process, as the installed `planner` script does."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from planner.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command returned and printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output; nothing else may be there."""
        return json.loads(self.out, parse_constant=_no_constant)

    @property
    def mistakes(self) -> list[str]:
        """The lines of standard error, each of which must be `error: ...`."""
        lines = self.err.splitlines()
        assert lines, f"exit code {self.code} without a word on standard error"
        for line in lines:
            assert line.startswith("error: "), self.err
            assert len(line) < 2000, f"a line of {len(line)} characters"
        return [line.removeprefix("error: ") for line in lines]


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def planner(*arguments: object) -> Outcome:
    """Runs `planner ARGUMENTS`; an exception that is not an exit is a bug and propagates."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["planner", *map(str, arguments)]
    code: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as done:
        code = done.code
    finally:
        sys.argv = before
    assert code is None or isinstance(code, int), code
    return Outcome(code=code or 0, out=out.getvalue(), err=err.getvalue())


def replaced(flags: Iterable[object], *changes: object) -> list[object]:
    """A command line with other values for some of its flags; `--fix` and `--pareto` add up."""
    names = {word for word in changes if str(word).startswith("--")} - {"--fix", "--pareto"}
    kept: list[object] = []
    dropping = False
    for word in flags:
        if str(word).startswith("-"):
            dropping = word in names
        if not dropping:
            kept.append(word)
    return [*kept, *changes]


def solve(*arguments: object) -> Any:
    """The JSON answer of `planner solve ARGUMENTS --json`, which must find a plan."""
    outcome = planner("solve", *arguments, "--json")
    assert outcome.code == 0, (outcome.code, outcome.err, outcome.out[:2000])
    assert outcome.err == ""
    return outcome.document


def refused(*arguments: object) -> list[str]:
    """The mistakes that a command reports; it must exit with 2 and print nothing else."""
    outcome = planner(*arguments)
    assert outcome.code == 2, (outcome.code, outcome.err, outcome.out[:2000])
    assert outcome.out == ""
    return outcome.mistakes
