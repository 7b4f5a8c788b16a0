"""A plugin of pytest: which lines each test runs, fixtures included, and in how many CPU seconds.

    pytest -n 0 -p campaigns.covering --covering FOLDER --covers planner/cost tests/cost

Coverage.py's data and a JSON of the seconds are left in the folder, for `mutation.py`, beside those
of files that were noted there before. A test that fails is left out, and one that takes more than
`ENDED_S`: no mutant has the time for it. With `--most-cpu-s N` no further test begins so many CPU
seconds after the first, and the exit status says whether one was left out so.
"""

from __future__ import annotations

import ast
import hashlib
import json
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA, SECONDS = "covered.sqlite", "seconds.json"
ENDED_S = 10.0
"""CPU seconds of a test whose lines are noted, which takes about twice its time."""
LEFT_OUT = 17
"""Exit status where all tests passed that ran, and others had no time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What it takes."""
    parser.addoption("--covering", metavar="FOLDER", type=Path, help="where it is noted")
    parser.addoption("--covers", metavar="FOLDER", action="append", help="whose lines")
    parser.addoption("--most-cpu-s", type=float, help="after which no test begins")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to note, where it was asked."""
    if config.getoption("--covering") is not None:
        config.pluginmanager.register(
            _Noting(config.getoption("--covering"), config.getoption("--covers"))
        )


_BEGAN = pytest.StashKey[float]()
_OUT = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leaves out what there is no time for; True: it is done with."""
    most_s, stash = item.config.getoption("--most-cpu-s"), item.config.stash
    began_s = stash.setdefault(_BEGAN, time.process_time())
    if most_s is None or time.process_time() <= began_s + most_s:
        return None
    stash[_OUT] = stash.get(_OUT, 0) + 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Says that tests were left out, where all others passed."""
    if session.exitstatus == pytest.ExitCode.OK and session.config.stash.get(_OUT, 0):
        session.exitstatus = LEFT_OUT


def _ended(_number: int, _frame: object) -> None:
    """Fails the test that runs."""
    pytest.fail(f"took more than {ENDED_S:g} CPU s")


@dataclass(slots=True, eq=False)
class _Noting:
    """What is noted while tests run."""

    folder: Path
    covers: list[str]
    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    coverage: Any = None

    def pytest_sessionstart(self) -> None:
        """Before anything of ours is collected."""
        from coverage import Coverage  # noqa: PLC0415  (not installed by default)

        self.coverage = Coverage(
            data_file=str(self.folder / DATA), config_file=False,
            include=[f"{Path(name).resolve()}/*" for name in self.covers],
        )  # fmt: skip
        self.coverage.load()
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """A test with its fixtures."""
        self.coverage.switch_context(item.nodeid)
        started = time.process_time()
        before = signal.signal(signal.SIGPROF, _ended)
        signal.setitimer(signal.ITIMER_PROF, ENDED_S)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        self.seconds[item.nodeid] = time.process_time() - started
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test ended."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keeps it, in place of what was kept of the same files."""
        self.coverage.stop()
        self.coverage.save()
        mine = {*map(_file, self.seconds)}
        before = noted(self.folder)
        kept = Noted(
            files=before.files | {name: digest(Path(name)) for name in sorted(mine)},
            seconds={
                **{test: s for test, s in before.seconds.items() if _file(test) not in mine},
                **{test: s for test, s in self.seconds.items() if test not in self.failed},
            },
            failed=sorted(
                {test for test in before.failed if _file(test) not in mine} | self.failed
            ),
        )
        (self.folder / SECONDS).write_text(json.dumps(asdict(kept)), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a folder keeps beside the lines.

    Attributes:
        files: Digests of files of tests.
        seconds: CPU seconds of tests.
        failed: Tests that were left out.
    """

    files: dict[str, str]
    seconds: dict[str, float]
    failed: list[str]


def noted(folder: Path) -> Noted:
    """What a folder keeps, of nothing where it is new."""
    kept = folder / SECONDS
    if not kept.is_file():
        return Noted(files={}, seconds={}, failed=[])
    return Noted(**json.loads(kept.read_text(encoding="utf-8")))


def digest(file: Path) -> str:
    """What a file of tests says, in short."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _file(test: str) -> str:
    return test.partition("::")[0]


def lines(folders: Sequence[Path]) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Tests by file and line, and their seconds; what runs while a module is imported has none.

    Args:
        folders: What was noted, of several runs.
    """
    from coverage import CoverageData  # noqa: PLC0415  (not installed by default)

    found: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seconds: dict[str, float] = {}
    for folder in folders:
        mine = noted(folder).seconds
        seconds |= mine
        data = CoverageData(str(folder / DATA))
        data.read()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                found[file][line] |= {test for test in tests if test in mine}
    return {file: dict(by_line) for file, by_line in found.items()}, seconds


def holding(path: Path, line: int, by_line: dict[int, set[str]]) -> set[str]:
    """Tests that were seen to run a line, or the innermost statement around it that has any.

    A line that runs when its module is imported was seen in the first test alone that imported it:
    all tests of the module hold it, or of the function whose head it is in.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    around = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    around.sort(key=lambda node: -node.lineno)
    heads = [node.body[0].lineno for node in around if isinstance(node, ast.FunctionDef)]
    if not heads:
        return set().union(*by_line.values())
    spans = [range(line, line + 1)] if line >= heads[0] else []
    spans += [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in around]
    every = (set[str]().union(*(by_line.get(at, set()) for at in span)) for span in spans)
    return next(filter(None, every), set())
