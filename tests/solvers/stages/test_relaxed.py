"""The Lagrangian bounds of many rows against every choice."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from solvers.stages.relaxed import Rows, least_costs


def drawn(seed, n=6, p=3, layers=5, options=3):
    rng = np.random.default_rng(seed)
    counts = np.arange(layers + 1)[None, None, :, None]
    pace = rng.uniform(1, 2, (n, p, 1, options))
    times = pace * counts + rng.uniform(0, 0.5, (n, p, layers + 1, options))
    costs = counts * rng.uniform(0.5, 1.0, (n, p, 1, options)) / pace**2
    costs = costs + rng.uniform(0, 0.2, times.shape)
    gone = rng.random(times.shape) < 0.2
    return Rows(
        layers=layers,
        times=np.where(gone, np.inf, times),
        costs=np.where(gone, np.inf, costs),
        slowest=rng.choice([0.0, 1.0, 7.0], n),
        ramp=rng.choice([0.0, 0.5, 1.0], n),
        constant=rng.uniform(0, 3, n),
        fixed=rng.uniform(0, 3, n),
        per_time=rng.choice([0.0, 0.3], n),
    )


def every_point(rows, row):
    """(m, 2) time and cost of every choice of a row."""
    _, p, most, options = rows.times.shape
    points = []
    for counts in product(range(most), repeat=p):
        if sum(counts) != rows.layers:
            continue
        at = (np.arange(p), np.array(counts))
        for chosen in product(range(options), repeat=p):
            time, cost = (table[row][(*at, chosen)] for table in (rows.times, rows.costs))
            points.append((time.max(), time.sum(), cost.sum()))
    points = np.array(points)
    largest, total, cost = points[np.isfinite(points).all(axis=1)].T
    time = rows.constant[row] + rows.slowest[row] * largest + rows.ramp[row] * total
    return np.stack([time, rows.fixed[row] + cost + rows.per_time[row] * time], axis=1)


@pytest.mark.parametrize("seed", range(25))
def test_bounds_are_never_above_the_least_cost_and_often_close(seed):
    rows = drawn(seed)
    points = [every_point(rows, row) for row in range(len(rows))]
    close = []
    for share in (-0.01, 0.0, 0.1, 0.4, 1.0):
        longest = np.array([at(own[:, 0], share) for own in points])
        bounds = least_costs(rows, longest)
        for own, limit, bound in zip(points, longest, bounds, strict=True):
            allowed = own[own[:, 0] <= limit]
            if len(allowed):
                least = allowed[:, 1].min()
                assert bound <= least * (1 + 1e-12)
                close.append(bound / least)
        if share < 0:
            assert np.isinf(bounds).any()
    assert np.median(close) > 0.9


def at(times, share):
    return times.min() + share * np.ptp(times)


def test_more_intervals_and_steps_do_not_lower_bounds_much():
    rows = drawn(3)
    longest = np.array([at(every_point(rows, row)[:, 0], 0.1) for row in range(len(rows))])
    coarse = least_costs(rows, longest, intervals=1, steps=1)
    fine = least_costs(rows, longest, intervals=32, steps=12)
    assert np.all(coarse <= fine)
    assert np.any(coarse < fine)


def test_rows_are_independent_and_enough_is_enough():
    rows = drawn(5, n=20)
    longest = np.array([at(every_point(rows, row)[:, 0], 0.2) for row in range(len(rows))])
    together = least_costs(rows, longest)
    alone = [least_costs(rows.take(np.array([row])), longest[[row]])[0] for row in range(len(rows))]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    enough = together * 0.9
    stopped = least_costs(rows, longest, enough=enough)
    assert np.all((stopped >= enough) & (stopped <= together))


def test_a_row_that_cannot_hold_all_layers_is_infinite():
    rows = drawn(0, n=1)
    few = replace(rows, times=rows.times[:, :, :2], costs=rows.costs[:, :, :2])
    assert least_costs(few, np.array([1e9])).tolist() == [np.inf]
