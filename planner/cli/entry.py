"""The start of the program: everything else is imported where Ctrl-C is already caught."""

from __future__ import annotations

import contextlib
import gc
import sys

from planner.cli.interruption import forget, heard, listen

_NEW_OBJECTS = 100_000


def main() -> None:
    """Runs the command line; an interruption while it loads is one line and exit code 130.

    What a command makes lives to its end, nearly all of it: looking for cycles among it after every
    700 new objects, and several times more when the program ends, takes a fifth of a short command.
    """
    gc.set_threshold(_NEW_OBJECTS)
    listen()
    try:
        from planner.cli.main import main as run  # noqa: PLC0415  (takes a noticeable time)

        run()
    except BaseException as error:
        if isinstance(error, SystemExit) or not (isinstance(error, KeyboardInterrupt) or heard()):
            raise
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                print("interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()
        forget()
