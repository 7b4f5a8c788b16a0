"""Fillings of a device that others beat, by pairs."""

import numpy as np
from support.cases import each

from solvers.stages.fillings import Fillings, _best, row_ids


def random_fillings(seed: int, limits: int) -> Fillings:
    """40 fillings of few different layers, times and bytes."""
    rng = np.random.default_rng(seed)
    return Fillings(
        tags=rng.integers(0, 2, 40), use=rng.integers(0, 2, (40, 1)),
        counts=rng.integers(0, 2, (40, 1, 2)), time=rng.random(40),
        longest=rng.integers(0, 4, 40).astype(float),
        memory=rng.integers(0, 4, (40, limits)).astype(float),
        parts=np.arange(40)[:, None],
    )  # fmt: skip


@each("seed", range(4))
@each("limits", [0, 1, 2, 3])
@each("every", [False, True])
def test_of_the_same_layers_those_stay_that_no_other_beats(
    *, seed: int, limits: int, every: bool
) -> None:
    """In the longest chunk and in memory; with `every` only where the longest chunk is as long."""
    found = random_fillings(seed, limits)
    kept = {*_best(found, every=every).parts[:, 0].tolist()}
    worth = [(one, *more) for one, more in zip(found.longest, found.memory.tolist(), strict=True)]
    same = [
        (tag, *use, *counts, longest if every else 0)
        for tag, use, counts, longest in zip(
            found.tags, found.use.tolist(), found.counts.reshape(40, -1).tolist(), found.longest,
            strict=True,
        )
    ]  # fmt: skip
    for row in range(40):
        others = [at for at in range(40) if at != row and same[at] == same[row]]
        beating = [at for at in others if np.all(np.array(worth[at]) <= np.array(worth[row]))]
        if row in kept:
            assert not kept & {*beating}, row
        else:
            assert kept & {*beating}, row


def test_numbers_of_rows_ascend_with_them() -> None:
    rows = np.random.default_rng(0).integers(0, 3, (30, 3))
    distinct = sorted({*map(tuple, rows.tolist())})
    assert row_ids(rows).tolist() == [distinct.index(tuple(row)) for row in rows.tolist()]
    assert row_ids(rows * 2**40).tolist() == row_ids(rows).tolist()
