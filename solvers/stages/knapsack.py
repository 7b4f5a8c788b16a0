"""The inner knapsack: which modes the layers of one device run in, exactly.

For given counts n_k of layers per kind and a setting, the counts x_kr with sum_r x_kr = n_k
that no others beat in time, cost and kept memory together. All three are sums over layers, so

* taking a layer away from an undominated mix leaves an undominated mix of one layer less (else
  the better one with that layer put back would dominate), and
* an undominated mix of several kinds is made of undominated mixes of each kind,

and the mixes grow by one layer, then by one kind. Devices differ only in how much may be kept.
Source: dynamic programming with dominance for knapsacks, Kellerer, Pferschy, Pisinger, Knapsack
Problems, 2004, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.frontier import nondominated
from solvers.stages.problem import Ints

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixes:
    """Undominated mixes of modes, one per row.

    Attributes:
        setting: (x,) which setting.
        vector: (x,) which vector of counts per kind.
        counts: (x, k, r) layers by kind and mode.
        values: (x, 3) time, cost and kept memory of the layers.
    """

    setting: Ints
    vector: Ints
    counts: Ints
    values: Ints

    def take(self, index: Index) -> Mixes:
        """The rows of `index`."""
        return Mixes(**{name: getattr(self, name)[index] for name in self.__slots__})


def mixes(tables: Ints, vectors: Ints, slowest: int | None = None, *, pure: bool = False) -> Mixes:
    """All undominated mixes of each vector of counts in each setting.

    Args:
        tables: (s, k, r, 3) time, cost and kept memory of one layer, at least 0.
        vectors: (n, k) layers of each kind.
        slowest: Mixes that take more time are left out; None: none are.
        pure: Only mixes in which all layers of a kind run in one mode.
    """
    settings, kinds, modes, _ = tables.shape
    limit = np.iinfo(np.int64).max if slowest is None else slowest
    setting, vector, counts, values = [], [], [], []
    for s in range(settings):
        most = vectors.max(axis=0, initial=0).tolist()
        of_kind = _pure if pure else _of_kind
        alone = [of_kind(tables[s, k], most[k], limit) for k in range(kinds)]
        for n, wanted in enumerate(vectors.tolist()):
            parts = [alone[k][count] for k, count in enumerate(wanted)]
            found, value = _of_kinds(parts, tables[s], limit)
            setting.append(np.full(len(found), s, dtype=np.int64))
            vector.append(np.full(len(found), n, dtype=np.int64))
            counts.append(found)
            values.append(value)
    empty = np.empty((0, kinds, modes), dtype=np.int64)
    return Mixes(
        setting=np.concatenate([np.empty(0, dtype=np.int64), *setting]),
        vector=np.concatenate([np.empty(0, dtype=np.int64), *vector]),
        counts=np.concatenate([empty, *counts]),
        values=np.concatenate([np.empty((0, 3), dtype=np.int64), *values]),
    )


def _of_kind(table: Ints, most: int, slowest: int) -> list[Ints]:
    """(f, r) counts of the undominated mixes of 0, 1, ..., `most` layers of one kind."""
    modes = len(table)
    one = np.eye(modes, dtype=np.int64)
    grown = [np.zeros((1, modes), dtype=np.int64)]
    for _ in range(most):
        candidates = (grown[-1][:, None, :] + one).reshape(-1, modes)
        grown.append(candidates[_kept(candidates @ table, slowest)])
    return grown


def _pure(table: Ints, most: int, slowest: int) -> list[Ints]:
    """(f, r) counts of the undominated mixes in one mode, as `_of_kind`."""
    one = np.eye(len(table), dtype=np.int64)
    return [(n * one)[_kept(n * table, slowest)] for n in range(most + 1)]


def _of_kinds(parts: list[Ints], tables: Ints, slowest: int) -> tuple[Ints, Ints]:
    """Undominated sums of one mix per kind: (x, k, r) counts and (x, 3) values."""
    counts = np.zeros((1, 0, tables.shape[1]), dtype=np.int64)
    values = np.zeros((1, 3), dtype=np.int64)
    for part, table in zip(parts, tables, strict=True):
        joined = (values[:, None, :] + part @ table).reshape(-1, 3)
        kept = _kept(joined, slowest)
        first, second = np.divmod(kept, len(part)) if len(part) else (kept, kept)
        counts = np.concatenate([counts[first], part[second][:, None, :]], axis=1)
        values = joined[kept]
    return counts, values


def _kept(values: Ints, slowest: int) -> Index:
    """Rows no slower than `slowest` that no other such row dominates."""
    fast = np.flatnonzero(values[:, 0] <= slowest)
    return fast[nondominated(values[fast].astype(np.float64))]
