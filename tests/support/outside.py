"""A virtual environment with our packages, and those from outside that add to them."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.command import Outcome

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
SOURCES = TESTS / "outside"
SERVER = """
import dataclasses, json, os, sys
sys.path.append(sys.argv[1])
from cli.command import planner
from planner.answers import api
for line in sys.stdin:
    if os.fork() == 0:
        print(json.dumps(dataclasses.asdict(planner(*json.loads(line)))), flush=True)
        os._exit(0)
    if os.wait()[1]:  # it failed: there is no outcome
        print("{}", flush=True)
"""
"""Runs the command line for each list of arguments that it reads, each in a process of its own.

What is slow to import is imported before; no entry point has been looked at.
"""


class Outside:
    """Our command line in an environment where packages from outside are installed.

    Attributes:
        folder: Where its commands run.
    """

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        """Commands go to a process that is ready to run them."""
        self._server = server
        self.folder = folder

    def planner(self, *arguments: str) -> Outcome:
        """Runs `planner ARGUMENTS`."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(arguments) + "\n")
        self._server.stdin.flush()
        return Outcome(**json.loads(self._server.stdout.readline()))

    def answer(self, *arguments: str) -> Any:
        """The JSON document of a command that succeeds."""
        outcome = self.planner(*arguments, "--json")
        assert outcome.code == 0, outcome.err
        return outcome.document


@contextmanager
def serving(folder: Path) -> Iterator[Outside]:
    """One process for many commands, in an environment with all of `tests/outside`."""
    sources = folder / "sources"
    shutil.copytree(SOURCES, sources)
    python = environment_with(sorted(sources.iterdir()), folder / "environment")
    with subprocess.Popen(
        [python, "-c", SERVER, str(TESTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=_clean(), cwd=folder,
    ) as server:  # fmt: skip
        yield Outside(server, folder)


def environment_with(sources: list[Path], folder: Path) -> Path:
    """The Python of a new environment into which packages were installed, without a network.

    What this Python has, the new one has too, by a path file; so it builds the packages by itself.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    paths = [str(ROOT), *site.getsitepackages()]
    of_the_tests = packages_of(folder) / "of_the_tests.pth"
    of_the_tests.write_text("\n".join(paths) + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, *offline, *map(str, sources)], check=True, env=_clean(), cwd=folder)
    return python


def packages_of(environment: Path) -> Path:
    """The folder where an environment has its packages."""
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def _clean() -> dict[str, str]:
    """The environment without what would make our sources or settings of pip come first."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}


def planner_in(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `planner` with a Python in a folder."""
    command = [str(python), "-m", "planner", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=_clean(), cwd=folder, check=False
    )
