"""What a quick run takes of the tests, by the seconds that each took in a whole one.

`tests/seconds.csv` has those of tests above `LEAST`, and of fixtures that several tests share. A
test with cases (of `parametrize`, of `support.cases.each`, or examples that hypothesis draws) that
took longer than `GOAL` runs as many of them as take that long, one at least, evenly from the first
to the last. Left out is a test of which one case, or a fixture, takes longer than `LONGEST`. What
the file does not have, and what is marked `every`, runs whole.

`pytest --whole --write-seconds` writes the file. Without `--whole` it raises the seconds of tests
that ran whole: what a test computes for others is theirs where it is left out.
"""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Generator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import is_hypothesis_test, settings

_Kind = TypeVar("_Kind")
KEPT = Path(__file__).parents[1] / "seconds.csv"
LEAST, GOAL, LONGEST = 0.3, 0.3, 1.2
_FEWEST_EXAMPLES = 5
_SETTINGS = "_hypothesis_internal_use_settings"


def spread(cases: Sequence[_Kind], count: int) -> list[_Kind]:
    """So many of some cases, evenly from the first to the last; one is the first."""
    if count >= len(cases):
        return list(cases)
    return [cases[at * (len(cases) - 1) // max(count - 1, 1)] for at in range(count)]


def selected(items: Sequence[pytest.Item], seconds: dict[str, float]) -> list[pytest.Item]:
    """The tests that a quick run takes, told how many of their cases.

    Args:
        items: All that are collected; those of one function follow one another.
        seconds: That functions took.
    """
    found: list[pytest.Item] = []
    for name, same in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        several = list(same)
        if several[0].get_closest_marker("every"):
            found.extend(several)
        elif not _waits_long(several[0], seconds):
            found.extend(_some(several, seconds.get(name, 0.0)))
    return found


def _waits_long(item: pytest.Item, seconds: dict[str, float]) -> bool:
    """Whether a fixture of a test takes too long."""
    given: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009
    return any(seconds.get(_name_of(every[-1]), 0.0) > LONGEST for every in given.values())


def _name_of(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def _some(same: list[pytest.Item], seconds: float) -> list[pytest.Item]:
    """Of the tests of one function those that run."""
    if seconds <= GOAL:
        return same
    check: Any = getattr(same[0], "function", None)
    parts = getattr(check, "combinations", 1) * len(same)
    drawn = parts == 1 and is_hypothesis_test(check)
    if drawn:
        parts = max(getattr(check, _SETTINGS).max_examples // _FEWEST_EXAMPLES, 1)
    if seconds / parts > LONGEST:
        return []
    if drawn:
        examples = max(int(parts * GOAL / seconds), 1) * _FEWEST_EXAMPLES
        setattr(check, _SETTINGS, settings(getattr(check, _SETTINGS), max_examples=examples))
        return same
    if len(same) > 1:
        return spread(same, max(int(len(same) * GOAL / seconds), 1))
    if parts > 1:
        check.most = max(int(parts * GOAL / seconds), 1)
    return same


def kept() -> dict[str, float]:
    """Seconds by the function of the tests, as last written."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return {row["test"]: float(row["seconds"]) for row in csv.DictReader(file)}


class Seconds:
    """A plug-in that writes how long the tests of each function took, and fixtures."""

    def __init__(self, *, whole: bool) -> None:
        self.whole, self.took = whole, Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a test, without what its fixtures took, and these."""
        if report.when == "call":
            self.took[report.nodeid.partition("[")[0]] += report.duration
        elif report.when == "setup":
            for name, took in report.user_properties:
                self.took[name] = max(self.took[name], float(took))

    def pytest_sessionfinish(self) -> None:
        """Writes the file."""
        before = {} if self.whole else kept()
        ran = {name: took for name, took in self.took.items() if before.get(name, 0.0) <= GOAL}
        every = before | {name: took for name, took in ran.items() if took > LEAST}
        with KEPT.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("test", "seconds"))
            table.writerows((name, f"{took:.2f}") for name, took in sorted(every.items()))


class Fixtures:
    """A plug-in of each process that notes how long fixtures take that several tests share."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """Notes one in the report of the test for which it is made."""
        began = time.perf_counter()
        found = yield
        if fixturedef.scope != "function":
            item = getattr(request, "_pyfuncitem")  # noqa: B009
            item.user_properties.append((_name_of(fixturedef), time.perf_counter() - began))
        return found
