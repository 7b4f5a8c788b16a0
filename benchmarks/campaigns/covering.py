"""A plugin of pytest: which lines each test runs, fixtures included, and in how many CPU seconds.

    pytest -n 0 -p campaigns.covering --covering FOLDER --covers planner/cost tests/cost

Coverage.py's data and a JSON of the seconds are left in the folder, for `mutation.py`. With
`--most-cpu-s N` no further test begins so many CPU seconds after the first.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA, SECONDS = "covered.sqlite", "seconds.json"


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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leaves out what there is no time for; True: it is done with."""
    most_s = item.config.getoption("--most-cpu-s")
    began_s = item.config.stash.setdefault(_BEGAN, time.process_time())
    return True if most_s is not None and time.process_time() > began_s + most_s else None


@dataclass(slots=True, eq=False)
class _Noting:
    """What is noted while tests run."""

    folder: Path
    covers: list[str]
    seconds: dict[str, float] = field(default_factory=dict)
    coverage: Any = None

    def pytest_sessionstart(self) -> None:
        """Before anything of ours is collected."""
        from coverage import Coverage  # noqa: PLC0415  (not installed by default)

        self.coverage = Coverage(
            data_file=str(self.folder / DATA), config_file=False,
            include=[f"{Path(name).resolve()}/*" for name in self.covers],
        )  # fmt: skip
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """A test with its fixtures."""
        self.coverage.switch_context(item.nodeid)
        started = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - started
        self.coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        """Keeps it."""
        self.coverage.stop()
        self.coverage.save()
        (self.folder / SECONDS).write_text(json.dumps(self.seconds), encoding="utf-8")


def lines(folders: Sequence[Path]) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Tests by file and line, and their seconds; what runs while a module is imported has none.

    Args:
        folders: What was noted, of several runs.
    """
    from coverage import CoverageData  # noqa: PLC0415  (not installed by default)

    found: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seconds: dict[str, float] = {}
    for folder in folders:
        mine = json.loads((folder / SECONDS).read_text(encoding="utf-8"))
        seconds |= mine
        data = CoverageData(str(folder / DATA))
        data.read()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                found[file][line] |= {test for test in tests if test in mine}
    return {file: dict(by_line) for file, by_line in found.items()}, seconds
