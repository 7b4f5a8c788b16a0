"""The rows that no bound has dropped, in the order in which they are solved."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np

from planner.base.arrays import FloatArray
from planner.search.row_space import R

_AT_A_TIME = 64
"""Rows whose bounds are tightened together."""


@dataclass(frozen=True, slots=True, order=True)
class OpenRow:
    """A row that no bound has dropped; `tight` says that no better bound is to be had."""

    bound: float
    part: int
    row: int
    tight: bool = field(compare=False)


class OpenRows(Generic[R]):
    """The rows of all parts, the least bound first, of which a better one is made when it counts.

    Args:
        parts: Rows with their (n,) bounds.
        tighten: (n,) better bounds of some rows; None: there are none.
    """

    def __init__(
        self, parts: list[tuple[R, FloatArray]], tighten: Callable[[R], FloatArray] | None
    ) -> None:
        self.parts = [rows for rows, _ in parts]
        self.tighten = tighten
        self._heap = sorted(
            OpenRow(float(bound), part, row, tighten is None)
            for part, (_, bounds) in enumerate(parts)
            for row, bound in enumerate(bounds)
        )

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def least(self) -> float:
        """The least bound; inf where none is left."""
        return self._heap[0].bound if self._heap else np.inf

    @property
    def bounds(self) -> list[float]:
        """Of all rows that are left."""
        return [row.bound for row in self._heap]

    def pop(self, below: float) -> OpenRow | None:
        """Takes the row of the least bound; None: none is less than `below`.

        Whatever `tighten` raises, every row is kept.
        """
        while self.least < below:
            if self._heap[0].tight or self.tighten is None:
                return heapq.heappop(self._heap)
            self._tighten(self.tighten, below)
        return None

    def _tighten(self, tighten: Callable[[R], FloatArray], below: float) -> None:
        """Better bounds of the next rows of the part of the first."""
        taken: list[OpenRow] = []
        others: list[OpenRow] = []
        part = self._heap[0].part
        while self._heap and self._heap[0].bound < below and len(taken) < _AT_A_TIME:
            row = heapq.heappop(self._heap)
            (others if row.tight or row.part != part else taken).append(row)
        try:
            better = tighten(self.parts[part].take(np.array([row.row for row in taken])))
            taken = [
                replace(row, bound=max(row.bound, float(bound)), tight=True)
                for row, bound in zip(taken, better, strict=True)
            ]
        finally:
            for row in [*taken, *others]:
                heapq.heappush(self._heap, row)
