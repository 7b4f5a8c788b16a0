"""The one way of text to a person: nothing in it steers a terminal, whatever files and names hold.

Views of tables come here too; JSON escapes by itself. Imports no library of terminals.
"""

from __future__ import annotations

import sys
from typing import TextIO

from planner.base.messages import printable, readable


def print_lines(*lines: str, to: TextIO | None = None) -> None:
    """Prints lines; what would end one within it is escaped.

    Args:
        lines: Without their ends.
        to: Where to; None: standard output.
    """
    for line in lines:
        print(printable(line), file=to, flush=to is not None)


def print_text(text: str) -> None:
    """Prints text of several lines to standard output."""
    print(readable(text))


def print_document(text: str) -> None:
    """Prints what other programs read, with an end of line: as it is, but for a terminal."""
    shown = readable(text) if sys.stdout.isatty() else text
    print(shown, end="" if text[-1:] in ("", "\n") else "\n", flush=True)
