"""Whole levels made slower in windows of chains, long ones first.

Where a change of the level takes seconds, one operation alone rarely gains by it: many that follow
one another have to change together. `rounding.slowed` tries groups: here those of half a chain, of
a quarter and so on down to single operations, of each window those that are at one level.
"""

from __future__ import annotations

import math

import numpy as np

from solvers.operations.graph import Ints, Operations
from solvers.operations.rounding import slowed


def slowed_in_windows(
    graph: Operations, level: Ints, limit: float, chain: Ints, deadline: float = math.inf
) -> Ints:
    """Levels, (n,), of operations that go on to cheaper levels where the limit still allows it.

    Args:
        graph: The operations, each a group of its own.
        level: (n,) to begin with, within the limit.
        limit: Seconds until the end of all.
        chain: (n,) whose operations follow one another in their order, from 0; -1: of none.
        deadline: When what was found is returned, see `solvers.clock`.
    """
    levels = graph.seconds.shape[1]
    longest = int(np.bincount(chain + 1)[1:].max(initial=1))
    for halvings in range(1, math.ceil(math.log2(longest)) + 2):
        together = _windows(chain, 2**halvings) * levels + level
        _, first, group = np.unique(together, return_index=True, return_inverse=True)
        group = group.ravel()
        level = slowed(graph.grouped(group), level[first], limit, deadline)[group]
    return level


def _windows(chain: Ints, count: int) -> Ints:
    """(n,) the window of each operation, so many of each chain; what is of none is alone."""
    found, names = np.empty(len(chain), dtype=np.intp), 0
    for one in range(-1, int(chain.max(initial=-1)) + 1):
        own = np.flatnonzero(chain == one)
        windows = len(own) if one < 0 else min(count, len(own))
        found[own] = names + np.arange(len(own)) * windows // max(len(own), 1)
        names += windows
    return found
