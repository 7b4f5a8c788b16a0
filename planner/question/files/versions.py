"""Which versions of a document this planner reads: looked at before anything else that it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.assumptions.file_kinds import OTHER, kind_of
from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.base.version import SCHEMA_VERSION
from planner.question.files.result_layout import FLAT_VERSION, RESULT_VERSION, is_solved

VERSION = "schema_version"
OF_PLANS = (SCHEMA_VERSION,)
"""Of plan files, and of all documents but the one below."""
_OF_ANSWERS = (FLAT_VERSION, RESULT_VERSION)


def check_given_version(
    data: Mapping[str, Any], origin: Origin, known: Sequence[int] | None = None
) -> None:
    """`check_version` of a document that need not say any."""
    if data.get(VERSION) is not None:
        check_version(data, origin, known)


def check_version(
    data: Mapping[str, Any], origin: Origin, known: Sequence[int] | None = None
) -> None:
    """Refuses a document of a version that this planner does not know, or that says none.

    Args:
        data: The document.
        origin: Names its fields in messages.
        known: The versions that are read; default those of its kind.

    Raises:
        InputError: It is of none of them; the line names them.
    """
    given, read = data.get(VERSION), known or _versions_of(data)
    if type(given) is int and given in read:
        return
    word = "missing" if given is None else shown(given)
    reads = " or ".join(map(str, read))
    raise InputError(f"{origin.label([VERSION])} is {word}; this planner reads version {reads}")


def _versions_of(data: Mapping[str, Any]) -> Sequence[int]:
    """Those of its kind; of a kind that only a newer planner may know, of any."""
    return _OF_ANSWERS if is_solved(data) or kind_of(data) in ("", OTHER) else OF_PLANS
