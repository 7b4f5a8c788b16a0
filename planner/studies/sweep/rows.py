"""Rows of a store: points with their questions and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from planner.base.units import plural


class Row(NamedTuple):
    """A point with its question and its result.

    Attributes:
        place: In the study.
        axes: Values of the axes.
        asked: Fields of the question.
        key: Its digest.
        status: Of the result; None: to do.
        answer, version, cpu_s: Of the result.
    """

    place: int
    axes: dict[str, Any]
    asked: dict[str, Any]
    key: str
    status: str | None
    answer: dict[str, Any]
    version: str | None
    cpu_s: float


class Age(NamedTuple):
    """How many of some points have results of other versions alone.

    Attributes:
        stale: Such points.
        points: All of them.
    """

    stale: int
    points: int

    @property
    def words(self) -> str:
        """What is said of that; empty: nothing."""
        if not self.stale:
            return ""
        verb = "is" if self.stale == 1 else "are"
        return (
            f"{self.stale:,} of {plural(self.points, 'point')} {verb} of another version; "
            "sweep run --refresh computes them again"
        )


def object_in(text: Any) -> dict[str, Any]:
    """What a text holds that the store wrote.

    Raises:
        ValueError, TypeError, RecursionError: It did not.
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"{type(found).__name__} in place of an object")
    return found


def row_of(found: Sequence[Any]) -> Row:
    """One row of the table.

    Raises:
        ValueError, TypeError, RecursionError: It is not as it was written.
    """
    place, axes, asked, key, status, answer, version, cpu_s = found
    return Row(
        place=int(place),
        axes=object_in(axes),
        asked=object_in(asked),
        key=str(key),
        status=None if status is None else str(status),
        answer={} if answer is None else object_in(answer),
        version=None if version is None else str(version),
        cpu_s=float(cpu_s or 0.0),
    )
