"""Files of a command whose answer is known: written before it is printed, refused after it.

A reader that stops early must not cost the files, and a full disk must not cost the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from planner.base.apart import OverwriteError
from planner.base.errors import InputError, PlannerError

_REFUSED = ContextVar[list[PlannerError] | None]("refused", default=None)


@contextmanager
def before_printing() -> Iterator[list[PlannerError]]:
    """Inside of it files are written; what cannot be is said when the command has printed.

    What it gives holds why, once it is left; empty: all are written. Outside of
    `refusals_last` a refusal is raised at once.
    """
    refused = _REFUSED.get()
    failed = list[PlannerError]()
    try:
        yield failed
    except (InputError, OverwriteError) as error:
        if refused is None:
            raise
        failed.append(error)
        refused.append(error)


@contextmanager
def refusals_last() -> Iterator[list[PlannerError]]:
    """A command: what it gives holds, at its end, why files are not written."""
    refused = list[PlannerError]()
    token = _REFUSED.set(refused)
    try:
        yield refused
    finally:
        _REFUSED.reset(token)
