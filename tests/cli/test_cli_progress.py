"""The bar on standard error: only where the work is slow and a person looks."""

import io
import sys
import time
from pathlib import Path

import pytest

from planner.cli import output


class Screen(io.StringIO):
    """A terminal that keeps what is printed."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error as a terminal; called in a test, for pytest takes it again after fixtures."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "_QUIET_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_work_that_says_one_word_and_then_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with output.progress_bar(wanted=True, verb="measuring") as on_progress:
        assert on_progress is not None
        on_progress("topologies", 1, 3)
        assert screen.getvalue() == ""
        time.sleep(0.3)
        assert "measuring topologies" in screen.getvalue()
        on_progress("topologies", 2, 3)


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with output.progress_bar(wanted=True) as on_progress:
        assert on_progress is not None
        on_progress("topologies", 1, 3)
    time.sleep(0.1)
    assert screen.getvalue() == ""


def test_nothing_to_say_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with output.progress_bar(wanted=True):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_a_picture_that_takes_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with output.drawing_bar(Path("runs.png"), wanted=True):
        assert screen.getvalue() == ""
        time.sleep(0.3)
    assert "drawing runs.png" in screen.getvalue()
    screen = terminal(monkeypatch)
    with output.drawing_bar(Path("runs.png"), wanted=False):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    with output.progress_bar(wanted=False) as on_progress:
        assert on_progress is None
