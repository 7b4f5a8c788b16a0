"""Which run a log is of, however long it has become: its row is replaced when it is read again."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Sequence

from planner.evidence.csvfile import COMMENT

_DIGITS = 8


def run_key(name: str, text: str, is_warm: Callable[[str], bool]) -> str:
    """`train-3f2a9c1b`: the name of a log and a digest of its beginning.

    The beginning is all lines up to the first step of the run that is behind a warm-up. A log that
    is still written keeps it; that of another run has other times, dates or losses in it, and
    another run in the same log another end.

    Args:
        name: Of the log, without folder and ending.
        text: Whole lines, with a step of the run behind a warm-up.
        is_warm: Whether lines from the first on have such a step.
    """
    lines = text.splitlines()
    beginning = "\n".join(lines[: _beginning(lines, is_warm)])
    label = name.strip().lstrip(COMMENT)  # else its row would be a comment
    return f"{label}-{hashlib.sha256(beginning.encode()).hexdigest()[:_DIGITS]}"


def _beginning(lines: Sequence[str], is_warm: Callable[[str], bool]) -> int:
    """How many lines it takes until a step counts; the search begins with few."""

    def ends(size: int) -> bool:
        return is_warm("\n".join(lines[:size]))

    most = 1
    while most < len(lines) and not ends(most):
        most *= 2
    sizes = range(most // 2, min(most, len(lines)))
    return sizes.start + bisect_left(sizes, True, key=ends)
