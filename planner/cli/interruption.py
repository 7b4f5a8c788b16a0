"""Signals that end a program, which count however the code that they break into takes them.

Libraries turn the exception into another one or drop it: an import written in C says that it failed
for another reason, a cache that a key cannot be hashed.
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from planner.base.errors import ExitCode

_HEARD: list[int] = []
_LATER_S = 0.01


def listen() -> None:
    """Notes these signals from now on; who has one ignored (`nohup`) keeps that.

    Those that end a program unwind it first, so that no temporary file is left.
    """
    for name, usual, handler in (
        ("SIGINT", signal.default_int_handler, hear),
        ("SIGTERM", signal.SIG_DFL, end),
        ("SIGHUP", signal.SIG_DFL, end),
    ):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is usual:
            with suppress(ValueError):  # not in the main thread: another program's command
                signal.signal(number, handler)


def send_again(dropped: Any) -> None:
    """Sends a signal again whose exception Python drops, as in the callback of a weak reference.

    What else is dropped is told as usual. It is set as `sys.unraisablehook`, in which nothing can
    be raised either: the signal comes a moment later.
    """
    error, number = dropped.exc_value, 0
    if isinstance(error, KeyboardInterrupt):
        number = signal.SIGINT
    elif isinstance(error, SystemExit) and isinstance(error.code, int):
        number = error.code - 128 if error.code - 128 in set(signal.Signals) else 0
    if not number:
        sys.__unraisablehook__(dropped)
        return

    def later() -> None:
        time.sleep(_LATER_S)
        _thread.interrupt_main(signal.Signals(number))

    _thread.start_new_thread(later, ())


def hear(_number: int, _: Any) -> None:
    """A handler of signals that interrupt.

    Raises:
        KeyboardInterrupt: Always.
    """
    _HEARD.append(ExitCode.INTERRUPTED)
    raise KeyboardInterrupt


def end(number: int, _: Any) -> None:
    """A handler of signals that end a program.

    Raises:
        SystemExit: Always, with the code that shells have for the signal.
    """
    _HEARD.append(128 + number)
    raise SystemExit(128 + number)


def heard() -> int:
    """The exit code that the first signal asks for; 0: none came."""
    return _HEARD[0] if _HEARD else ExitCode.OK


def answer_all_the_same() -> None:
    """Says that the signals that came ask for an answer, and for no code of their own."""
    _HEARD.clear()


def forget() -> None:
    """Ends the listening: from here on the program only ends, and Ctrl-C ends it at once.

    Python would end by a signal of its own where an interruption passed through text that it ran
    as code, as the standard library does for records, whatever exit code is asked for; text that
    runs without one makes it forget that.

    Raises:
        SystemExit: Ctrl-C came meanwhile.
    """
    try:
        exec("")  # noqa: S102  (it runs nothing)
        if signal.getsignal(signal.SIGINT) is hear:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:  # it came just now, outside of all that catches it
        forget()
        raise SystemExit(ExitCode.INTERRUPTED) from None
