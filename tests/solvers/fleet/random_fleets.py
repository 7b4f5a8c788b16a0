"""Small random fleets, with every kind of limit on some of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.fleet.problem import UNLIMITED, Choices, Fleet, Jobs


def random_fleet(seed: int) -> Fleet:
    """A fleet of two or three jobs on one or two clusters, small enough to try every schedule."""
    rng = np.random.default_rng(seed)
    jobs, clusters = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    horizon = int(rng.integers(6, 10))
    counts = rng.integers(1, 4, jobs)
    of = np.repeat(np.arange(jobs), counts)
    several = (rng.random(jobs) < 0.25) & (np.arange(jobs) == jobs - 1)
    segments = np.where(several, 2, 1)
    rate, work = rng.integers(3, 13, len(of)), np.full(jobs, 24)
    steps = np.where(segments[of] > 1, -(-work[of] // rate), rng.integers(1, 5, len(of)))
    rows = len(of)
    deadline = rng.integers(1, horizon + 1, jobs)
    hard = rng.random(jobs) < 0.2
    limited = rng.random(clusters) < 0.3
    twins = clusters == 2 and rng.random() < 0.3
    cluster = rng.integers(0, clusters, rows)
    choices = Choices(
        job=of, cluster=cluster, steps=steps, units=rng.integers(1, 5, rows),
        power=rng.integers(0, 6, rows), money=rng.integers(0, 20, rows),
        value=rng.integers(0, 30, rows), rate=rate, lost=rng.integers(0, 4, rows) // 2,
        step_money=rng.integers(0, 6, rows), step_value=rng.integers(0, 8, rows),
    )  # fmt: skip
    several_of = segments[of] > 1  # a whole run takes no more than its steps do, often less
    less = np.random.default_rng(seed).integers(0, 2, rows) * (seed % 3)
    money = np.where(several_of, np.maximum(0, choices.step_money * steps - less), choices.money)
    value = np.where(several_of, np.maximum(0, choices.step_value * steps - less), choices.value)
    choices = replace(choices, money=money, value=value)
    units = rng.integers(4, 8, clusters)
    power = np.where(limited, rng.integers(5, 11, clusters), UNLIMITED)
    if twins:
        choices, units, power = twinned(choices), units[[0, 0]], power[[0, 0]]
    return Fleet(
        jobs=Jobs(
            release=rng.integers(0, 3, jobs), deadline=deadline, weight=rng.integers(0, 9, jobs),
            latest=np.where(hard, deadline, horizon), work=work, segments=segments,
        ),
        choices=choices, units=units, power=power,
        total_power=int(rng.integers(7, 16)) if rng.random() < 0.3 else UNLIMITED,
        money=int(rng.integers(15, 60)) if rng.random() < 0.3 else UNLIMITED,
        horizon=horizon,
    )  # fmt: skip


def twinned(choices: Choices) -> Choices:
    """Every choice on both of two clusters that are alike."""
    rows = np.repeat(np.arange(len(choices)), 2)
    columns = {name: getattr(choices, name)[rows] for name in Choices.__slots__}
    return Choices(**columns | {"cluster": np.tile([0, 1], len(choices))})


def crowded_fleet(seed: int) -> Fleet:
    """More jobs than can be in time on one cluster, each of five sizes; power is not limited."""
    rng = np.random.default_rng(seed)
    jobs, horizon = 12, 80
    of, units = np.repeat(np.arange(jobs), 5), np.tile([1, 2, 4, 8, 16], jobs)
    work = rng.integers(8, 120, jobs)
    none = np.zeros(len(of), dtype=np.int64)
    return Fleet(
        jobs=Jobs(
            release=rng.integers(0, 10, jobs), deadline=rng.integers(8, 30, jobs),
            weight=rng.integers(1, 4, jobs), latest=np.full(jobs, horizon),
            work=np.full(jobs, 10**9), segments=np.ones(jobs, dtype=np.int64),
        ),
        choices=Choices(
            job=of, cluster=none, steps=np.ceil(work[of] / units**0.95).astype(np.int64),
            units=units, power=units, money=none, value=none, rate=none + 1, lost=none,
            step_money=none, step_value=none,
        ),
        units=np.array([16]), power=np.array([UNLIMITED]), total_power=UNLIMITED,
        money=UNLIMITED, horizon=horizon,
    )  # fmt: skip
