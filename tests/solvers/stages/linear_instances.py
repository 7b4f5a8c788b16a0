"""Random linear tables, and every raw assignment of them: splits, settings, modes of each layer."""

from itertools import product

import numpy as np

from solvers.stages.linear import LinearTables


def drawn(seed, *, costs=True):
    """Tables small enough to enumerate: p 1-3, L <= 5, 1-3 kinds, 1-3 modes, 1-4 settings."""
    rng = np.random.default_rng(seed)
    p, kinds, modes = (int(rng.integers(1, 4)) for _ in range(3))
    layers = int(rng.integers(max(p - 1, 1), 6))
    strategies, clocks = int(rng.integers(1, 3)), int(rng.choice([1, 1, 2, 3]))
    s = strategies * clocks if p < 3 else min(strategies * clocks, 3)
    group = (np.arange(s) // clocks).astype(np.int64)
    kept = np.sort(rng.integers(0, 7, (s, kinds, modes)), axis=2)[:, :, ::-1].copy()
    crossings = rng.integers(0, 6, (strategies, strategies)) if rng.random() < 0.5 else None
    return LinearTables(
        kinds=rng.integers(0, kinds, layers),
        chunks=np.arange(p)[:, None],
        in_flight=np.arange(p, 0, -1)[:, None],
        group=group,
        time=np.sort(rng.integers(1, 12, (s, kinds, modes)), axis=2),
        cost=rng.integers(1, 12, (s, kinds, modes)) if costs else None,
        held=rng.integers(0, 5, (s, kinds)),
        kept=kept,
        extra_time=rng.integers(0, 8, (p, s)),
        extra_cost=rng.integers(0, 4, (p, s)) if costs else None,
        extra_memory=rng.integers(0, 4, (p, s)),
        memory=rng.integers(8, 45, p),
        most_layers=int(rng.integers(-(-layers // p), layers + 1)),
        micro_batches=int(rng.integers(1, 6)),
        cost_per_time=int(rng.integers(0, 4)) if costs else 0,
        crossings=crossings,
    )


def raw_points(tables):
    """(n, 2) time and cost of every assignment that fits, one layer at a time."""
    p, layers, modes = tables.devices, tables.layers, tables.time.shape[2]
    chosen = np.array(list(product(range(modes), repeat=layers)))
    found = [np.empty((0, 2), dtype=np.int64)]
    for bounds in _splits(tables):
        for settings in product(range(len(tables.group)), repeat=p):
            time, cost, fits = _devices(tables, bounds, settings, chosen)
            crossed = 0
            if tables.crossings is not None:
                groups = tables.group[list(settings)]
                crossed = int(tables.crossings[groups[:-1], groups[1:]].sum())
            m = tables.micro_batches
            total = (m - 1) * time.max(axis=0) + time.sum(axis=0) + crossed
            spent = m * cost.sum(axis=0) + tables.cost_per_time * total
            found.append(np.stack([total, spent], axis=1)[fits])
    return np.unique(np.concatenate(found), axis=0)


def _splits(tables):
    """Positions at which devices begin and end, (p + 1,) each."""
    p, layers = tables.devices, tables.layers
    for inner in product(range(layers + 1), repeat=p - 1):
        bounds = (0, *inner, layers)
        sizes = np.diff(bounds)
        if all(tables.least(d) <= sizes[d] <= tables.most_layers for d in range(p)):
            yield bounds


def _devices(tables, bounds, settings, chosen):
    """(p, n) times and costs of the devices, and (n,) which of the chosen modes fit."""
    time, cost, fits = [], [], np.ones(len(chosen), dtype=bool)
    for d, s in enumerate(settings):
        own = range(bounds[d], bounds[d + 1])
        kinds = tables.kinds[list(own)]
        modes = chosen[:, list(own)]
        time.append(tables.extra_time[d, s] + tables.time[s, kinds, modes].sum(axis=1))
        cost.append(tables.extra_costs[d, s] + tables.costs[s, kinds, modes].sum(axis=1))
        kept = tables.kept[s, kinds, modes].sum(axis=1) * tables.in_flight[d, 0]
        memory = tables.extra_memory[d, s] + tables.held[s, kinds].sum() + kept
        fits &= memory <= tables.memory[d]
    return np.array(time), np.array(cost), fits
