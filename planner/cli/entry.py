"""The start of the program: everything else is imported where Ctrl-C is already caught."""

from __future__ import annotations

import contextlib
import gc
import sys
from typing import NoReturn

from planner.base.errors import ExitCode
from planner.cli.interruption import forget, heard, listen, send_again
from planner.cli.streams import keep_output

_NEW_OBJECTS = 100_000


def main() -> None:
    """Runs the command line; what nobody expected is one line too, and a file with the details.

    What a command makes lives to its end, nearly all of it: looking for cycles among it after every
    700 new objects, and several times more when the program ends, takes a fifth of a short command.
    """
    try:
        gc.set_threshold(_NEW_OBJECTS)
        keep_output()
        listen()
        sys.unraisablehook = send_again
        from planner.cli.main import main as run  # noqa: PLC0415  (takes a noticeable time)

        run()
    except KeyboardInterrupt:
        _interrupted()
    except Exception as error:
        if heard() == ExitCode.INTERRUPTED:
            _interrupted()
        if heard():
            sys.exit(heard())
        from planner.cli.defects import unexpected  # noqa: PLC0415  (only when we broke)
        from planner.cli.json_lines import errors_as_asked  # noqa: PLC0415  (beside it)

        with errors_as_asked(sys.argv[1:]):
            code = unexpected(error, sys.argv[1:])
        sys.exit(code)
    finally:
        gc.freeze()
        forget()


def _interrupted() -> NoReturn:
    """Ends as Ctrl-C asks."""
    from planner.cli.json_lines import errors_as_asked  # noqa: PLC0415  (only when interrupted)

    if sys.stderr is not None:
        with contextlib.suppress(OSError), errors_as_asked(sys.argv[1:]):
            print("interrupted", file=sys.stderr)
    sys.exit(ExitCode.INTERRUPTED)
