"""The start of the program: everything else is imported where Ctrl-C is already caught."""

from __future__ import annotations

import contextlib
import gc
import sys

from planner.base.errors import ExitCode

_NEW_OBJECTS = 100_000


def main() -> None:
    """Runs the command line; what nobody expected is one line too, and a file with the details.

    What a command makes lives to its end, nearly all of it: looking for cycles among it after every
    700 new objects, and several times more when the program ends, takes a fifth of a short command.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from planner.cli.main import main as run  # noqa: PLC0415  (takes a noticeable time)

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                print("interrupted", file=sys.stderr)
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        from planner.cli.defects import report  # noqa: PLC0415  (only when we broke)

        report(error, sys.argv[1:])
        sys.exit(ExitCode.DEFECT)
    finally:
        gc.freeze()
