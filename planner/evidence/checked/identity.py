"""Which run a log is of, however long it has become: its row is replaced when it is read again."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence

from planner.base.errors import InputError
from planner.evidence.csvfile import COMMENT
from planner.evidence.training_logs.readers import read_log

_DIGITS = 8


def run_key(name: str, text: str) -> str:
    """`train-3f2a9c1b`: the name of a log and a digest of its beginning.

    The beginning is all lines up to the first step that is behind a warm-up. A log that is still
    written keeps it; that of another run has other times, dates or losses in it.

    Args:
        name: Of the log, without folder and ending.
        text: Whole lines, with a step behind a warm-up.
    """
    lines = text.splitlines()
    beginning = "\n".join(lines[: _beginning(lines)])
    label = name.strip().lstrip(COMMENT)  # else its row would be a comment
    return f"{label}-{hashlib.sha256(beginning.encode()).hexdigest()[:_DIGITS]}"


def _beginning(lines: Sequence[str]) -> int:
    """How many lines it takes until a step counts; the search begins with few."""
    most = 1
    while most < len(lines) and not _is_warm(lines[:most]):
        most *= 2
    sizes = range(most // 2, min(most, len(lines)))
    return sizes.start + bisect_left(sizes, True, key=lambda size: _is_warm(lines[:size]))


def _is_warm(lines: Sequence[str]) -> bool:
    """Whether a log has a step behind a warm-up."""
    try:
        _, log = read_log("\n".join(lines), "log")
    except InputError:
        return False
    return log.longest > log.warm_up
