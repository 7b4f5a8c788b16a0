"""Chunks dealt to ways, with few rounds: shares rounded down, then one chunk after another.

The chunks that shares leave over go, one at a time, over the way that adds the fewest rounds. Some
are then taken back and dealt again, which is kept unless it takes more rounds (Shaw, Using
constraint programming and local search methods to solve vehicle routing problems, CP 1998,
doi:10.1007/3-540-49481-2_30: large neighbourhoods, taken apart and repaired).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from solvers.clock import left_s

TURNS = 600
"""Times that chunks are dealt again, at most."""
_AGAIN = 8
"""Chunks that are dealt again at once, at most."""

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Dealer:
    """What ways take of links and ports in every step, made ready to deal chunks.

    Args:
        take: (rows x steps, ways) what a chunk takes, the steps of a row side by side.
        room: (rows,) chunks per round.
        parts: (ways,) of which part each is.
    """

    def __init__(self, take: csr_array, room: Array, parts: IntArray) -> None:
        columns = csc_array(take)
        self.steps = take.shape[0] // len(room)
        self.room = np.repeat(room, self.steps)
        self.parts = parts
        way = np.repeat(np.arange(take.shape[1]), np.diff(columns.indptr))
        key = way * self.steps + columns.indices % self.steps
        order = np.argsort(key, kind="stable")
        self.cell, self.size = columns.indices[order], columns.data[order]
        key = key[order]
        self.first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        self.step = key[self.first] % self.steps
        self.way = key[self.first] // self.steps
        self.columns = columns

    def dealt(
        self, counts: IntArray, chunks: int, least: int, deadline: float
    ) -> tuple[IntArray, int]:
        """How many chunks go each way, and the rounds that takes.

        Args:
            counts: (ways,) chunks that are dealt already, at most C of each part.
            chunks: C.
            least: No schedule has fewer rounds.
            deadline: On the clock of `time.perf_counter`.
        """
        chance = np.random.default_rng(0)
        best = counts.copy()
        self._fill(best, chunks)
        rounds = int(self._rounds(self.columns @ best).sum())
        for _ in range(TURNS):
            if rounds <= least or not left_s(deadline):
                break
            now = self._less(best, chance)
            self._fill(now, chunks, chance)
            found = int(self._rounds(self.columns @ now).sum())
            if found <= rounds:
                best, rounds = now, found
        return best, rounds

    def _less(self, counts: IntArray, chance: np.random.Generator) -> IntArray:
        """Takes back some chunks that cross what is full in one step, and some others."""
        left = counts.copy()
        used = np.asarray(self.columns @ counts)
        step = int(chance.integers(self.steps))
        fullest = (used / self.room).reshape(-1, self.steps)[:, step]
        cell = int(np.argmax(fullest + 1e-3 * chance.random(len(fullest)))) * self.steps + step
        through = np.unique(np.repeat(self.way, np.diff(np.append(self.first, len(self.cell))))[
            self.cell == cell])  # fmt: skip
        near = [int(way) for way in through if left[way]]
        other = np.flatnonzero(left).tolist()
        for place in range(int(chance.integers(2, _AGAIN + 1))):
            among = near if near and place % 2 == 0 else other
            way = among[int(chance.integers(len(among)))]
            left[way] -= left[way] > 0
        return left

    def _rounds(self, used: Array) -> IntArray:
        """(steps,) rounds that carry what is used, at least 1."""
        needed = np.ceil(used / self.room - 1e-9).reshape(-1, self.steps).max(axis=0)
        return np.asarray(np.maximum(needed, 1)).astype(np.int64)

    def _fill(
        self, counts: IntArray, chunks: int, chance: np.random.Generator | None = None
    ) -> None:
        """Deals what is missing of every part, over the way that adds the fewest rounds."""
        used = np.asarray(self.columns @ counts, dtype=np.float64)
        rounds = self._rounds(used)
        missing = chunks - np.bincount(self.parts, weights=counts).astype(np.int64)
        order: Sequence[int] = np.repeat(np.arange(len(missing)), missing).tolist()
        for part in order:
            cost = self._added(used, rounds)
            if chance is not None:
                cost = cost + 0.3 * chance.random(len(cost))
            way = int(np.argmin(np.where(self.parts == part, cost, np.inf)))
            counts[way] += 1
            inner = slice(self.columns.indptr[way], self.columns.indptr[way + 1])
            used[self.columns.indices[inner]] += self.columns.data[inner]
            rounds = self._rounds(used)

    def _added(self, used: Array, rounds: IntArray) -> Array:
        """(ways,) rounds that one chunk more adds; of equal ones the less loaded is less."""
        full = (used[self.cell] + self.size) / self.room[self.cell]
        fullest = np.maximum.reduceat(full, self.first)
        more = np.maximum(np.ceil(fullest - 1e-9) - rounds[self.step], 0.0)
        near = fullest / rounds[self.step]
        width = len(self.parts)
        share = np.bincount(self.way, weights=near, minlength=width)
        return np.asarray(
            np.bincount(self.way, weights=more, minlength=width)
            + 0.1 * share / np.bincount(self.way, minlength=width)
        )
