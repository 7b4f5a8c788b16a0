"""Which operators of a stage Aceso's problem recomputes: bounds for all stages, the best for one.

A stage is parts of at most two layers and whole layers between: its pieces. Nothing is saved over
the end of a piece, so a choice of each makes a choice of the stage: times and savings add up, of
peaks the largest counts. For peaks in (low, high] the least time that saves enough for `low` is
bounded by the convex hulls of the pieces, joined by slope; the best choice itself takes the peaks
one by one, each with all undominated sums of time and savings. Where a layer's first operator and
the one before it are both recomputed, the peak may be larger than counted here: so a bound stays
one, and whoever takes a choice evaluates it again.

Source: fractional knapsacks with multiple choices, Kellerer, Pferschy, Pisinger, Knapsack
Problems, 2004, section 11.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engines.aceso import LAYER, Floats, Table, saved_and_peak
from solvers.frontier import nondominated

_SLACK = 1e-9
_BANDS = 6
_NOTHING = np.array([[0.0, 0.0, -1.0]])
"""The step to the first corner: no time, nothing saved, before all others."""
Pieces = tuple[tuple[int, int, bool], int, tuple[int, int, bool]]
"""First and last kind of the first piece, whole layers, and of the last; each: it ends a stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Undominated choices of a piece.

    Attributes:
        time, saved, peak: (x,) microseconds, megabytes, megabytes.
        bits: (x, n) which of its operators are recomputed.
    """

    time: Floats
    saved: Floats
    peak: Floats
    bits: npt.NDArray[np.bool_]


class Recomputing:
    """Choices under one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._options: dict[tuple[int, int, bool], Options] = {}
        self._hulls: dict[Pieces, list[tuple[Floats, Floats]]] = {}
        self._corners: dict[tuple[tuple[int, int, bool], float], Floats] = {}
        every = self.options((1, LAYER + 2, True))
        saving = every.saved > 0
        self.slope = float((every.time[saving] / every.saved[saving]).min(initial=np.inf))
        peaks = np.unique(every.peak)
        self.bands = np.unique(peaks[np.linspace(0, len(peaks) - 1, _BANDS + 1).astype(int)])

    def options(self, piece: tuple[int, int, bool]) -> Options:
        """All undominated choices of kinds first .. last."""
        if piece not in self._options:
            first, last, ends = piece
            own = np.arange(first, last + 1)
            every = np.arange(2 ** max(0, len(own)), dtype=np.int64)
            bits = (every[:, None] >> np.arange(len(own)) & 1).astype(bool)
            time = bits @ self.table.forward[own]
            saved, peak = saved_and_peak(self.table, own, bits, ends=ends)
            kept = nondominated(np.stack([time, -saved, peak], axis=1))
            self._options[piece] = Options(
                time=time[kept], saved=saved[kept], peak=peak[kept], bits=bits[kept]
            )
        return self._options[piece]

    def quick_bound(self, needed: float, shares: int) -> float:
        """As `bound`, for any pieces: each megabyte costs at least what the cheapest one does."""
        return self.slope * max(needed / shares - _SLACK, 0.0)

    def bound(self, pieces: Pieces, needed: float, shares: int) -> float:
        """No choice with shares * saved - peak >= needed takes less time; inf: there is none."""
        if pieces not in self._hulls:
            self._hulls[pieces] = [self._hull(pieces, high) for high in self.bands]
        lows = [0.0, *self.bands[:-1]]
        return min(
            _at(saved, time, (needed + low) / shares - _SLACK)
            for low, (saved, time) in zip(lows, self._hulls[pieces], strict=True)
        )

    def _hull(self, pieces: Pieces, high: float) -> tuple[Floats, Floats]:
        """Savings and least time of fractions of choices with peaks up to `high`."""
        steps = [self._steps(piece, high) * (count, count, 1) for piece, count in _counted(pieces)]
        joined = np.concatenate([_NOTHING, *steps])
        time, saved, _ = joined[joined[:, 2].argsort()].cumsum(axis=0).T
        return saved, time

    def _steps(self, piece: tuple[int, int, bool], high: float) -> Floats:
        """(x, 3) microseconds, megabytes and their ratio between corners of the hull of a piece."""
        if (piece, high) not in self._corners:
            self._corners[piece, high] = _steps_of(self.options(piece), high)
        return self._corners[piece, high]

    def best(self, pieces: Pieces, needed: float, shares: int) -> tuple[float, list[int]] | None:
        """The least time, and the operators from the begin of the stage; None: there is none."""
        listed = [piece for piece, count in _counted(pieces) for _ in range(count)]
        peaks = np.unique(np.concatenate([self.options(piece).peak for piece in listed]))
        at = []
        for low in peaks.tolist():
            saved, time = self._hull(pieces, low)
            at.append((_at(saved, time, (needed + low) / shares - _SLACK), low))
        least, chosen = np.inf, None
        for bound, peak in sorted(at):
            if bound >= least:
                break
            found = self._exact(listed, (needed + peak) / shares - _SLACK, peak, least)
            if found is not None:
                least, chosen = found
        if chosen is None:
            return None
        begins = np.cumsum([0, *(last - first + 1 for first, last, _ in listed)]).tolist()
        bits = [self.options(piece).bits[row] for piece, row in zip(listed, chosen, strict=True)]
        again = [
            int(begin + i)
            for begin, own in zip(begins, bits, strict=False)
            for i in np.flatnonzero(own)
        ]
        return float(least), again

    def _exact(
        self, listed: list[tuple[int, int, bool]], wanted: float, peak: float, below: float
    ) -> tuple[float, list[int]] | None:
        """The least time below `below` that saves `wanted`, and the option of each piece."""
        time, saved, backs = np.zeros(1), np.zeros(1), []
        rests = self._rests(listed, peak)
        for piece, (rest_saved, rest_time) in zip(listed, rests, strict=True):
            own = self.options(piece)
            rows = np.flatnonzero(own.peak <= peak)
            all_time = (time[:, None] + own.time[rows]).reshape(-1)
            all_saved = (saved[:, None] + own.saved[rows]).reshape(-1)
            more = np.interp(wanted - all_saved, rest_saved, rest_time, left=0.0, right=np.inf)
            alive = np.flatnonzero(all_time + more < below)
            kept = alive[nondominated(np.stack([all_time[alive], -all_saved[alive]], axis=1))]
            time, saved = all_time[kept], all_saved[kept]
            backs.append((kept // len(rows), rows[kept % len(rows)]))
        enough = np.flatnonzero(saved >= wanted)
        if len(enough) == 0:
            return None
        at, chosen = int(enough[np.argmin(time[enough])]), []
        least = float(time[at])
        for before, row in reversed(backs):
            chosen.append(int(row[at]))
            at = int(before[at])
        return least, chosen[::-1]

    def _rests(
        self, listed: list[tuple[int, int, bool]], peak: float
    ) -> list[tuple[Floats, Floats]]:
        """Savings and least time of fractions of all later pieces, for each piece."""
        steps, found = _NOTHING, []
        for piece in reversed(listed):
            time, saved, _ = steps[steps[:, 2].argsort()].cumsum(axis=0).T
            found.append((saved, time))
            steps = np.concatenate([steps, self._steps(piece, peak)])
        return found[::-1]


def pieces_of(begin: int, end: int, layers: int) -> Pieces:
    """The pieces of operators begin <= o < end."""
    begin = max(begin, 1)
    first, last = (min((o - 1) // LAYER, layers - 1) for o in (begin, max(end - 1, begin)))
    head, tail = begin - first * LAYER, end - 1 - last * LAYER
    if first == last and tail >= head:
        return (1, 0, False), 0, (head, tail, True)
    if head == 1:
        return (1, 0, False), last - first, (1, tail, True)
    return (head, LAYER, False), last - first - 1, (1, tail, True)


def _counted(pieces: Pieces) -> list[tuple[tuple[int, int, bool], int]]:
    """Pieces in order with how often they follow each other; the empty ones left out."""
    first, whole, last = pieces
    every = [(first, 1), ((1, LAYER, False), whole), (last, 1)]
    return [(piece, count) for piece, count in every if count and piece[1] >= piece[0]]


def _steps_of(own: Options, high: float) -> Floats:
    """See `Recomputing._steps`: along the lower hull of choices with peaks up to `high`."""
    rows = np.flatnonzero(own.peak <= high)
    rows = rows[nondominated(np.stack([own.time[rows], -own.saved[rows]], axis=1))]
    hull: list[int] = []
    for row in rows.tolist():
        while len(hull) > 1 and _bends(own, hull[-2], hull[-1], row):
            hull.pop()
        hull.append(row)
    time, saved = np.diff(own.time[hull]), np.diff(own.saved[hull])
    return np.stack([time, saved, time / saved], axis=1)


def _bends(own: Options, a: int, b: int, c: int) -> bool:
    """Whether b lies on or above the line from a to c."""
    rise, run = own.time[c] - own.time[a], own.saved[c] - own.saved[a]
    return bool((own.time[b] - own.time[a]) * run >= rise * (own.saved[b] - own.saved[a]))


def _at(saved: Floats, time: Floats, wanted: float) -> float:
    """Time at which `wanted` is saved; inf: it never is."""
    return float(np.interp(wanted, saved, time, left=0.0, right=np.inf))
