"""What a quick run takes: whole tests that are short, evenly spread cases of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.quick import GOAL, LONGEST, spread

pytest_plugins = ("pytester",)
TESTS = Path(__file__).parents[1]
LONG = {"short": GOAL, "cases": 10 * GOAL, "each_case": 5 * GOAL, "drawn": 4 * GOAL,
        "long": 1.1 * LONGEST, "few": 2.2 * LONGEST, "all_of_it": 100 * LONGEST}  # fmt: skip
TEXT = """
import pytest
from hypothesis import given, settings, strategies
from support.cases import each

def test_short(): pass
@pytest.mark.parametrize("n", range(20))
def test_cases(n): pass
@each("n", range(10))
def test_each_case(n): pass
seen = []
@settings(max_examples=80)
@given(strategies.integers())
def test_drawn(n): seen.append(n)
def test_long(): pass
@each("n", range(2))
def test_few(n): pass
@pytest.mark.every
@pytest.mark.parametrize("n", range(3))
def test_all_of_it(n): pass
def test_new(): assert 1 < len(seen) <= 25
"""


def test_cases_are_spread_from_the_first_to_the_last() -> None:
    assert spread(range(10), 4) == [0, 3, 6, 9]
    assert spread(range(10), 1) == [0]
    assert spread(range(3), 7) == [0, 1, 2]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Tests of every kind, with seconds."""
    monkeypatch.setenv("PYTHONPATH", f"{TESTS}:{TESTS.parent}")
    pytester.makeini("[pytest]\nmarkers = every\npython_files = check.py")
    pytester.makepyfile(check=TEXT)
    rows = "".join(f"check.py::test_{name},{took}\n" for name, took in LONG.items())
    kept = pytester.path / "kept.csv"
    kept.write_text(f"test,seconds\n{rows}", encoding="utf-8")
    pytester.makeconftest(
        (TESTS / "conftest.py").read_text("utf-8")
        + f"\nquick.KEPT = __import__('pathlib').Path({str(kept)!r})\nCHECKOUT.left = lambda: []\n"
    )
    return pytester


def ran(suite: pytest.Pytester, *flags: str) -> tuple[set[str], str]:
    """Names of tests that ran, with what was printed."""
    result = suite.runpytest_subprocess("-v", "-s", "-p", "no:cacheprovider", *flags)
    assert result.ret == 0
    text = result.stdout.str()
    every = [line for line in text.splitlines() if "::" in line]
    return {line.split("::")[1].split(" ")[0] for line in every}, text


def test_a_quick_run_takes_short_tests_and_some_cases(suite: pytest.Pytester) -> None:
    names, text = ran(suite)
    assert names == {
        "test_short", "test_cases[0]", "test_cases[19]", "test_each_case", "test_drawn", "test_new",
        *(f"test_all_of_it[{n}]" for n in range(3)),
    }  # fmt: skip
    assert "2 cases of 10" in text
    assert "20 deselected" in text


def test_a_whole_run_takes_everything_and_writes_the_seconds(suite: pytest.Pytester) -> None:
    suite.path.joinpath("check.py").write_text(
        TEXT.replace("len(seen) <= 25", "len(seen) > 25").replace(
            "def test_long(): pass", "def test_long(): __import__('time').sleep(0.31)"
        ),
        encoding="utf-8",
    )
    names, text = ran(suite, "--whole", "--write-seconds")
    assert {"test_long", "test_few", "test_cases[7]"} <= names
    assert "10 cases" in text
    head, row = (suite.path / "kept.csv").read_text("utf-8").splitlines()
    assert head == "test,seconds"
    assert row.startswith("check.py::test_long,0.3")


def test_a_test_that_is_named_runs_whole(suite: pytest.Pytester) -> None:
    assert ran(suite, "check.py::test_long")[0] == {"test_long"}


def test_a_quick_run_raises_seconds_of_tests_that_ran_whole(suite: pytest.Pytester) -> None:
    slow = "@pytest.fixture(scope='module')\ndef made(): __import__('time').sleep(0.4)\n"
    late = "def test_short(made): __import__('time').sleep(0.5)"
    text = TEXT.replace("def test_short(): pass", slow + late)
    suite.path.joinpath("check.py").write_text(text, encoding="utf-8")
    assert "test_short" in ran(suite, "--write-seconds")[0]
    rows = dict(row.split(",") for row in (suite.path / "kept.csv").read_text("utf-8").split())
    assert float(rows.pop("check.py::made")) >= 0.4
    assert float(rows["check.py::test_short"]) >= 0.5
    assert rows.keys() == {"test", *(f"check.py::test_{name}" for name in LONG)}
    kept = suite.path / "kept.csv"
    kept.write_text(kept.read_text("utf-8") + f"check.py::made,{1.1 * LONGEST}\n", "utf-8")
    assert "test_short" not in ran(suite)[0]
