"""A signal counts wherever it comes."""

import signal
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import ExitCode
from planner.cli.interruption import forget, hear, send_again


class Something:
    """What a weak reference can be of."""


def dropped(error: BaseException) -> None:
    """Raises where Python drops it."""

    def callback(_: object) -> None:
        raise error

    something = Something()
    kept = weakref.ref(something, callback)
    del something
    assert kept() is None


@each(("error", "number"), [
    (KeyboardInterrupt(), signal.SIGINT), (SystemExit(128 + signal.SIGTERM), signal.SIGTERM),
])  # fmt: skip
def test_one_that_python_drops_comes_again(
    error: BaseException, number: int, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """It once printed a traceback, and the command went on to its end."""
    monkeypatch.setattr(sys, "unraisablehook", send_again)
    came: list[int] = []
    before = signal.signal(number, lambda one, _: came.append(one))
    try:
        dropped(error)
        for _ in range(500):
            if came:
                break
            time.sleep(0.01)
    finally:
        signal.signal(number, before)
    assert came == [number]
    assert capfd.readouterr() == ("", "")


@each("error", [ValueError("else"), SystemExit("words"), SystemExit(2)])
def test_what_else_is_dropped_is_told_as_usual(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[BaseException] = []
    usual: Callable[[Any], None] = lambda found: told.append(found.exc_value)  # noqa: E731
    monkeypatch.setattr(sys, "__unraisablehook__", usual)
    monkeypatch.setattr(sys, "unraisablehook", send_again)
    dropped(error)
    assert told == [error]


def test_ctrl_c_while_the_listening_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback was printed where it came while Python said what a signal does."""
    before = signal.signal(signal.SIGINT, hear)
    usual, came = signal.getsignal, list[int]()

    def late(number: int) -> Any:
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt
        return usual(number)

    monkeypatch.setattr(signal, "getsignal", late)
    try:
        with pytest.raises(SystemExit) as ended:
            forget()
        assert usual(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == ExitCode.INTERRUPTED
