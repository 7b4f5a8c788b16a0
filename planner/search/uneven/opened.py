"""The rows that no bound has dropped, in the order in which they are solved."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan import FloatArray
from planner.search.uneven.rows import Rows


@dataclass(frozen=True, slots=True, order=True)
class OpenRow:
    """A row that no bound has dropped."""

    bound: float
    part: int
    row: int


def opened_rows(parts: list[tuple[Rows, FloatArray]]) -> list[OpenRow]:
    """The rows of all parts, the least bound first."""
    return sorted(
        OpenRow(float(bound), part, row)
        for part, (_, bounds) in enumerate(parts)
        for row, bound in enumerate(bounds)
    )
