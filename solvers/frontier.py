"""Non-dominated points: filters for tables of points, and the exact epsilon-constraint front.

A point dominates another when it is no worse in every objective and better in one. All
objectives are minimized. Of equal points the first one is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator

import numpy as np
import numpy.typing as npt

_FEW = 512
"""Rows that are compared pair by pair."""
Points = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]


def nondominated(points: Points) -> Index:
    """Indices of the non-dominated rows of (n, d) `points`, sorted by the objectives in order.

    Two objectives take one sort and one running minimum, three a sweep that keeps the front of the
    last two, both O(n log n); more take a sweep that compares each point with the front found so
    far. Source: Kung, Luccio, Preparata, On
    Finding the Maxima of a Set of Vectors, JACM 1975, doi:10.1145/321906.321910.
    """
    if points.ndim != 2:
        raise ValueError(f"points must have shape (n, d), not {points.shape}")
    if len(points) == 0:
        return np.empty(0, dtype=np.intp)
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    if points.shape[1] == 1:
        return order[:1]
    if points.shape[1] == 2:
        best = np.minimum.accumulate(ordered[:, 1])
        keep = np.ones(len(order), dtype=np.bool_)
        keep[1:] = ordered[1:, 1] < best[:-1]
        return order[keep]
    return order[_staircase(ordered) if points.shape[1] == 3 else _sweep(ordered)]


def _staircase(ordered: Points) -> list[int]:
    """Positions of the non-dominated rows of lexicographically sorted (n, 3) points.

    What was kept is no worse in the first objective, so a point is dominated when one of them is
    no worse in the other two: the front of those has ascending seconds and descending thirds.
    """
    kept: list[int] = []
    seconds: list[float] = []
    thirds: list[float] = []
    for position, (_, second, third) in enumerate(ordered.tolist()):
        at = bisect_right(seconds, second)
        if at and thirds[at - 1] <= third:
            continue
        kept.append(position)
        start = at - 1 if at and seconds[at - 1] == second else at
        end = at
        while end < len(thirds) and thirds[end] >= third:
            end += 1
        seconds[start:end], thirds[start:end] = [second], [third]
    return kept


def _sweep(ordered: Points) -> list[int]:
    """Positions of the non-dominated rows of lexicographically sorted points.

    Few are compared pair by pair: only a row before another can be no worse.
    """
    if len(ordered) <= _FEW:
        no_worse = np.all(ordered[:, None] <= ordered[None], axis=2)
        return np.flatnonzero(~np.triu(no_worse, 1).any(axis=0)).tolist()
    kept: list[int] = []
    front = np.empty((0, ordered.shape[1]))
    for position, point in enumerate(ordered):
        if len(front) and np.any(np.all(front <= point, axis=1)):
            continue
        kept.append(position)
        front = np.vstack([front, point])
    return kept


def apart(points: Points, tolerance: float) -> Index:
    """Indices of the rows of non-dominated (n, d) points that stay where rounding does not count.

    A row covers another where no entry is above the other's by more than `tolerance`, relatively:
    what two sums of the same terms in another order differ by is no trade-off. A row that goes is
    covered by one that stays. One that stays is covered by none that stays, but where rows cover
    each other in a ring of three or more; of two that cover each other the first stays. It is the
    kernel of that relation (von Neumann, Morgenstern 1944, chapter XII, solutions).
    """
    covering = [
        np.flatnonzero(np.all(points - point <= tolerance * np.abs(point), axis=1))
        for point in points
    ]
    covers = [{*rows.tolist()} for rows in covering]
    above = [
        [one for one in rows.tolist() if one < row or row not in covers[one]]
        for row, rows in enumerate(covering)
    ]  # of each row those that cover it, without itself and later ones that it covers too
    stays: dict[int, bool] = {}
    left = [*range(len(points))]
    while left:
        before = len(stays)
        for row in (*left, *reversed(left)):
            if any(stays.get(one) for one in above[row]):
                stays[row] = False
            elif row not in stays and all(one in stays for one in above[row]):
                stays[row] = True
        if len(stays) == before:
            stays[_of_ring(left[0], above, stays)] = True
        left = [row for row in left if row not in stays]
    return np.flatnonzero([stays[row] for row in range(len(points))])


def _of_ring(row: int, above: list[list[int]], known: Collection[int]) -> int:
    """A row of a ring that no undecided row outside of it covers, upwards of an undecided one."""
    while True:
        found = _upwards(row, above, known)
        higher = next((one for one in found if row not in _upwards(one, above, known)), None)
        if higher is None:
            return row
        row = higher


def _upwards(row: int, above: list[list[int]], known: Collection[int]) -> set[int]:
    """Undecided rows that cover one, that cover these, and so on."""
    found, stack = set[int](), [row]
    while stack:
        new = {one for one in above[stack.pop()] if one not in known} - found
        found |= new
        stack += new
    return found


def covered(front: Points, points: Points) -> npt.NDArray[np.bool_]:
    """(n,) True where some row of `front` is no worse than the point in every objective.

    Args:
        front: (f, d) mutually non-dominated points in the order of `nondominated`.
        points: (n, d) points or lower-left corners of boxes.
    """
    if len(front) == 0:
        return np.zeros(len(points), dtype=np.bool_)
    if front.shape[1] == 2:
        at = np.searchsorted(front[:, 0], points[:, 0], side="right") - 1
        hit: npt.NDArray[np.bool_] = (at >= 0) & (front[np.maximum(at, 0), 1] <= points[:, 1])
        return hit
    hit = np.zeros(len(points), dtype=np.bool_)
    for row in front:
        hit |= np.all(row <= points, axis=1)
    return hit


def epsilon_front(
    solve: Callable[[int | None], tuple[int, int, object] | None],
) -> Iterator[tuple[int, int, object]]:
    """The exact front of two integer objectives, as it is found, first objective descending.

    Lexicographic epsilon-constraint: each step asks for the least second objective under a limit
    on the first, then for the least first objective at that value, and moves the limit below it.
    Every point yielded is efficient (not only weakly), and none is missed. Source: Haimes,
    Lasdon, Wismer 1971; Laumanns, Thiele, Zitzler, EJOR 2006, doi:10.1016/j.ejor.2004.08.029.

    Args:
        solve: `solve(limit)` returns (first, second, decision) with the least second objective
            among decisions whose first objective is at most `limit` (None: no limit), and among
            those the least first objective; None when there is none.
    """
    limit: int | None = None
    while (point := solve(limit)) is not None:
        yield point
        limit = point[0] - 1
