"""A plugin of pytest that notes which lines each test runs, fixtures included, and its CPU seconds.

    pytest -n 0 -p campaigns.covering --covering FOLDER --covers planner/cost tests/cost

Coverage.py's data and a JSON of the seconds are left in the folder, for `mutation.py`.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA, SECONDS = "covered.sqlite", "seconds.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    parser.addoption("--covering", metavar="FOLDER", type=Path, help="where it is noted")
    parser.addoption("--covers", metavar="FOLDER", action="append", help="whose lines")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to note, where it was asked."""
    if config.getoption("--covering") is not None:
        config.pluginmanager.register(
            _Noting(config.getoption("--covering"), config.getoption("--covers"))
        )


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


def lines(folder: Path) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Tests by file and line, and their seconds; what runs while a module is imported has none."""
    from coverage import CoverageData  # noqa: PLC0415  (not installed by default)

    data = CoverageData(str(folder / DATA))
    data.read()
    found: dict[str, dict[int, set[str]]] = {}
    for file in data.measured_files():
        by_line: defaultdict[int, set[str]] = defaultdict(set)
        for line, tests in data.contexts_by_lineno(file).items():
            by_line[line] = {test for test in tests if test}
        found[file] = dict(by_line)
    return found, json.loads((folder / SECONDS).read_text(encoding="utf-8"))
