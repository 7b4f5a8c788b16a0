"""`planner compare` of an answer without a plan: whether its question allows the other's plan."""

from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, replaced
from cli.test_compare_answers import written
from cli.test_compared_files import ASKED


@pytest.fixture(scope="module")
def full() -> Any:
    """An answer with a plan."""
    return planner("solve", *ASKED, "--json").document


def said(old: Path, new: Path) -> tuple[str, str]:
    """The cause and the words of the answer without a plan."""
    found = planner("compare", old, new, "--json")
    assert (found.code, found.err) == (0, "")
    reason = found.document["reasons"][-1]
    assert " has no plan: " in reason["words"]
    return reason["cause"], reason["words"]


@each(("more", "end"), [
    (("--max-step-time", "10ms"), "that of {} is not allowed there (step time: "),
    (("--min-mfu", "95%"), "that of {} is not allowed there (MFU: "),
    (("--max-memory", "100MB"), "that of {} is not allowed there (memory: "),
    (("--train-tokens", "1e12", "--deadline", "1d"), "that of {} is not allowed there (deadline: "),
])  # fmt: skip
def test_a_limit_that_the_plan_breaks(
    more: tuple[str, ...], end: str, full: Any, tmp_path: Path
) -> None:
    none = planner("solve", *ASKED, *more, "--json")
    assert none.code == 3
    old, new = written(tmp_path / "old.json", full), written(tmp_path / "new.json", none.document)
    cause, words = said(*((old, new) if "--min-mfu" in more else (new, old)))
    assert cause == "space"
    assert end.format(old) in words, words
    assert "is allowed" not in words


@each(("versions", "cause"), [({}, "unknown"), ({"constants": "x"}, "cost"),
                              ({"planner": "0.0.9"}, "unknown")])  # fmt: skip
def test_versions_under_which_no_plan_was_allowed(
    versions: dict[str, str], cause: str, full: Any, tmp_path: Path
) -> None:
    """Not the limit, which allows a plan now; nor the versions, where a limit forbids it."""
    none = planner("solve", *ASKED, "--max-memory", "100MB", "--json").document

    def edit(document: Any, limit: str = "79GB") -> None:
        document["versions"] |= versions
        document["question"]["asked"] |= {"max_memory": limit}

    new = written(tmp_path / "new.json", full)
    found, words = said(written(tmp_path / "old.json", none, edit), new)
    assert (found, "is allowed there, by the versions" in words) == (cause, bool(versions))
    found, words = said(written(tmp_path / "old.json", none, lambda it: edit(it, "100MB")), new)
    assert (found, "by the versions" in words) == ("space", False)


@each("change", [("--model", "gpt3-350m"), ("--batch-tokens", "1Mi"), ("--chips", "4")])
def test_nothing_is_said_of_another_job(change: tuple[str, str], full: Any, tmp_path: Path) -> None:
    asked = replaced(ASKED, *change, "--max-step-time", "1ms", "--json")
    none = planner("solve", *asked)
    assert none.code == 3
    _, words = said(written(tmp_path / "a.json", full), written(tmp_path / "b.json", none.document))
    assert "that of " not in words


def test_a_search_that_ended_in_time(full: Any, tmp_path: Path) -> None:
    """The plan is said to be allowed where it is, and not where a limit is too low."""
    old = written(tmp_path / "old.json", full)
    for limit, end in (("10ms", "not allowed there (step time"), ("10s", "allowed there")):
        none = planner("solve", *ASKED, "--max-step-time", "10ms", "--json").document

        def edit(document: Any, limit: str = limit) -> None:
            document["certificate"]["status"] = "time_limit"
            document["diagnosis"] = None
            document["question"]["asked"] |= {"time_limit": 0.1, "max_step_time": limit}

        cause, words = said(old, written(tmp_path / "new.json", none, edit))
        assert cause == "search"
        assert "the search ended before it had one" in words
        assert f"; that of {old} is {end}" in words
