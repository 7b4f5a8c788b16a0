"""Which labels matter: undominated pairs and triples within many keys at once.

A row dominates another of its key when it is no worse in every attribute; of equal rows one stays.
All keys are treated in one sort each time, by a running minimum that starts again with each key.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.stages.problem import Ints

Index = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def undominated_pairs(key: Ints, first: Numbers, second: Numbers) -> Index:
    """Rows that no other row of the same key dominates in two attributes."""
    order = np.lexsort((second, first, key))
    ordered = key[order]
    begins = _begins(ordered)
    lowered = ranks(second[order]) - np.cumsum(begins) * (len(order) + 1)
    least = np.minimum.accumulate(lowered)
    keep = begins.copy()
    keep[1:] |= lowered[1:] < least[:-1]
    return order[keep]


def clearly_undominated(key: Ints, first: Numbers, second: Numbers, margin: float) -> Index:
    """Rows that no other row of the same key is as good as in `first`, and better by a margin.

    Args:
        key: (n,) of the rows.
        first, second: (n,) the attributes.
        margin: Above 0, of `second`.
    """
    order = np.lexsort((second, first, key))
    begins = _begins(key[order])
    values, ranks = np.unique(second[order], return_inverse=True)
    offset = np.cumsum(begins) * (len(order) + 1)
    least = np.minimum.accumulate(ranks.reshape(-1) - offset)
    allowed = np.searchsorted(values, second[order] - margin, side="right") - 1 - offset
    left: Index = order[least > allowed]
    return left


def least_of_equals(same: Numbers, worse: Numbers) -> Index:
    """Rows without those that agree with a smaller row in (n, a) `same`, no better in any `worse`.

    Each is compared with the one before, by `same` and then (n, b) `worse`.
    """
    order = np.lexsort((*worse.T[::-1], *same.T[::-1]))
    alike = (same[order[1:]] == same[order[:-1]]).all(axis=1)
    alike &= (worse[order[1:]] >= worse[order[:-1]]).all(axis=1)
    left: Index = order[np.concatenate([[True], ~alike])]
    return left


def undominated_triples(key: Ints, level: Ints, first: Numbers, second: Numbers) -> Index:
    """Rows that no other row of the same key dominates in three attributes.

    Rows of one level are compared as pairs. Then blocks of levels are halved, from pairs of levels
    up to all: a row of the upper half goes when one of the lower half dominates it as a pair, so
    every two levels meet once. Source: Kung, Luccio, Preparata, On Finding the Maxima of a Set of
    Vectors, JACM 1975, doi:10.1145/321906.321910.

    Args:
        key: (n,) from 0.
        level: (n,) the first attribute, from 0; best small and dense.
        first, second: (n,) the other attributes.
    """
    width = int(level.max(initial=0)) + 1
    kept = undominated_pairs(key * width + level, first, second)
    bit = 0
    while width >> bit:
        block = key[kept] * (width + 1) + (level[kept] >> (bit + 1))
        upper = (level[kept] >> bit) & 1
        kept = kept[~_beaten(block, upper, first[kept], second[kept])]
        bit += 1
    return kept


def _beaten(block: Ints, upper: Ints, first: Numbers, second: Numbers) -> npt.NDArray[np.bool_]:
    """(n,) upper rows that a lower row of their block dominates as a pair."""
    order = np.lexsort((upper, first, block))
    offset = np.cumsum(_begins(block[order])) * (len(order) + 1)
    lowered = ranks(second[order]) - offset
    is_upper = upper[order] == 1
    never = len(order) - offset
    least = np.minimum.accumulate(np.where(is_upper, never, lowered))
    beaten = np.empty(len(order), dtype=np.bool_)
    beaten[order] = is_upper & (least <= lowered)
    return beaten


def _begins(ordered: Ints) -> npt.NDArray[np.bool_]:
    begins = np.ones(len(ordered), dtype=np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return begins


def ranks(values: Numbers) -> Ints:
    """(n,) the rank of each among the distinct values."""
    _, ranks = np.unique(values, return_inverse=True)
    return ranks.reshape(-1).astype(np.int64)
