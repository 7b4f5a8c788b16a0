"""Mixed-integer programs by HiGHS, of which nothing reaches standard output."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


def milp(c: Any, **given: Any) -> OptimizeResult:
    """`scipy.optimize.milp`; HiGHS writes past Python when it mends a solution of integers.

    Args:
        c: (n,) the cost of each variable.
        given: As SciPy takes it.
    """
    from scipy.optimize import milp as solved  # noqa: PLC0415  (slow)

    with _silence():
        return solved(c, **given)


@dataclass(slots=True)
class _Output:
    """Standard output of the process, which programs of several threads share."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    programs: int = 0
    kept: int | None = None


_OUTPUT = _Output()


@contextmanager
def _silence() -> Iterator[None]:
    """Standard output goes nowhere from the first program that runs to the end of the last."""
    with _OUTPUT.lock:
        if not _OUTPUT.programs:
            _OUTPUT.kept = _sent_away()
        _OUTPUT.programs += 1
    try:
        yield
    finally:
        with _OUTPUT.lock:
            _OUTPUT.programs -= 1
            if not _OUTPUT.programs and _OUTPUT.kept is not None:
                os.dup2(_OUTPUT.kept, 1)
                os.close(_OUTPUT.kept)


def _sent_away() -> int | None:
    """Where standard output went before; None: there is none."""
    try:
        kept = os.dup(1)
    except OSError:
        return None
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return kept
