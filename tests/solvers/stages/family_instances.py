"""Small stage problems of two devices, and all their choices."""

from itertools import product

import numpy as np

from solvers.stages.problem import Choice, Columns, Form, StageProblem


def random_problem(rng: np.random.Generator) -> StageProblem:
    """Two devices, five layers, two settings: slow and cheap, fast and dear."""
    rows = [
        (device, start, end, setting)
        for device, ends in ((0, [(0, n) for n in range(1, 5)]), (1, [(n, 5) for n in range(1, 5)]))
        for start, end in ends
        for setting in range(2)
    ]
    device, start, end, setting = (np.array(column) for column in zip(*rows, strict=True))
    seconds = (end - start) * (10 - 3 * setting) + rng.integers(0, 6, len(rows))
    cost = (end - start) * (10 + 6 * setting) + rng.integers(0, 6, len(rows))
    return StageProblem(
        layers=5,
        chunks=np.array([[0], [1]]),
        columns=Columns(
            device=device,
            starts=start[:, None],
            ends=end[:, None],
            group=np.zeros_like(device),
            sums=np.stack([seconds, cost], axis=1),
            peaks=seconds[:, None],
        ),
        time=(Form(constant=int(rng.integers(5, 15)), sums=(1,), peaks=(3,)),),
        cost=Form(constant=int(rng.integers(0, 20)), sums=(0, 1)),
        cost_per_time=int(rng.integers(0, 2)),
    )


def choices(problem: StageProblem) -> list[Choice]:
    columns = problem.columns
    found = []
    for pair in product(np.flatnonzero(columns.device == 0), np.flatnonzero(columns.device == 1)):
        chosen = np.array(pair)
        if columns.ends[chosen[0], 0] != columns.starts[chosen[1], 0]:
            continue
        seconds, cost = columns.sums[chosen].sum(axis=0)
        slowest = columns.peaks[chosen].max()
        taken = problem.time[0].constant + seconds + 3 * slowest
        whole = problem.cost.constant + cost + problem.cost_per_time * taken
        found.append(Choice(columns=chosen, time=int(taken), cost=int(whole)))
    return found
