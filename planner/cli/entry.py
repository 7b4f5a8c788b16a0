"""The start of the program: everything else is imported where Ctrl-C is already caught."""

from __future__ import annotations

import contextlib
import sys


def main() -> None:
    """Runs the command line; an interruption while it loads is one line and exit code 130."""
    try:
        from planner.cli.main import main as run  # noqa: PLC0415  (takes a noticeable time)

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                print("interrupted", file=sys.stderr)
        sys.exit(130)
