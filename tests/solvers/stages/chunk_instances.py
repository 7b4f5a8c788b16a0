"""Random linear tables with several chunks per device, and every raw assignment of them."""

from itertools import product

import numpy as np

from solvers.stages.linear import LinearTables


def chunk_map(p, v, shape):
    """(p, v): interleaved k p + d, or a V: d and 2 p - 1 - d."""
    if shape == "V":
        return np.stack([np.arange(p), 2 * p - 1 - np.arange(p)], axis=1)
    return np.arange(v)[None, :] * p + np.arange(p)[:, None]


def drawn(seed, *, costs=False, shape="interleaved", kinds=None, most_devices=3):
    """Tables small enough to enumerate: p 2-3, v 2-3, L <= 8, 1-3 kinds, 1-3 modes, clocks."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, most_devices + 1))
    v = 3 if p == 2 and shape != "V" and rng.random() < 0.3 else 2
    kinds = int(rng.integers(1, 4)) if kinds is None else kinds
    layers = int(rng.integers(max(p * v - 2, 1), 7 if p * v > 4 else 9))
    modes = int(rng.integers(1, 4)) if layers < 7 else int(rng.integers(1, 3))
    strategies = int(rng.integers(1, 3))
    clocks = int(rng.integers(1, 3)) if strategies * p < 5 and layers < 7 else 1
    s = strategies * clocks
    crossings = rng.integers(0, 6, (strategies, strategies)) if rng.random() < 0.3 else None
    in_flight = rng.integers(1, 4, (p, v)) if rng.random() < 0.5 else rng.integers(1, 4, (p, 1))
    return LinearTables(
        kinds=_sequence(rng, kinds, layers),
        chunks=chunk_map(p, v, shape),
        in_flight=np.broadcast_to(in_flight, (p, v)).copy(),
        group=(np.arange(s) // clocks).astype(np.int64),
        time=np.sort(rng.integers(1, 12, (s, kinds, modes)), axis=2),
        cost=rng.integers(1, 12, (s, kinds, modes)) if costs else None,
        held=rng.integers(0, 5, (s, kinds)),
        kept=np.sort(rng.integers(0, 7, (s, kinds, modes)), axis=2)[:, :, ::-1].copy(),
        extra_time=rng.integers(0, 8, (p, s)),
        extra_cost=rng.integers(0, 4, (p, s)) if costs else None,
        extra_memory=rng.integers(0, 4, (p, s)),
        memory=rng.integers(10, 60, p),
        most_layers=int(rng.integers(-(-layers // (p * v)), 5)),
        micro_batches=int(rng.integers(1, 6)),
        cost_per_time=int(rng.integers(0, 4)) if costs else 0,
        crossings=crossings,
    )


def _sequence(rng, kinds, layers):
    """One kind after the other, alternating, or any order."""
    form = rng.integers(0, 3)
    if form == 0:
        return np.sort(rng.integers(0, kinds, layers))
    if form == 1:
        return np.arange(layers) % kinds
    return rng.integers(0, kinds, layers)


def raw_points(tables):
    """(n, 2) v T and v E of every assignment that fits: chunk sizes, settings, mode per layer."""
    (p, v), layers, modes = tables.chunks.shape, tables.layers, tables.time.shape[2]
    chosen = np.array(list(product(range(modes), repeat=layers)))
    found = [np.empty((0, 2), dtype=np.int64)]
    for bounds in splits(tables):
        parts = [
            [_device(tables, d, s, bounds, chosen) for s in range(len(tables.group))]
            for d in range(p)
        ]
        for settings in product(range(len(tables.group)), repeat=p):
            own = [parts[d][s] for d, s in enumerate(settings)]
            time, fill, cost = (np.array([one[i] for one in own]) for i in range(3))
            fits = np.all([one[3] for one in own], axis=0)
            crossed = 0
            if tables.crossings is not None:
                groups = tables.group[list(settings)]
                crossed = int(tables.crossings[groups[:-1], groups[1:]].sum())
            m = tables.micro_batches
            total = (m * v - 1) * time.max(axis=0) + fill.sum(axis=0) + v * crossed
            spent = v * m * cost.sum(axis=0) + tables.cost_per_time * total
            found.append(np.stack([total, spent], axis=1)[fits])
    return np.unique(np.concatenate(found), axis=0)


def splits(tables):
    """Positions at which chunks begin and end, (p v + 1,) each."""
    chunks = tables.chunks.size
    fewest = [0 if c in (0, chunks - 1) else 1 for c in range(chunks)]

    def grown(bounds):
        c = len(bounds) - 1
        if c == chunks:
            if bounds[-1] == tables.layers:
                yield bounds
            return
        for size in range(fewest[c], min(tables.most_layers, tables.layers - bounds[-1]) + 1):
            yield from grown((*bounds, bounds[-1] + size))

    yield from grown((0,))


def _device(tables, d, s, bounds, chosen):
    """(n,) time, v times its part of the fill, cost of a device, and whether it fits."""
    v = tables.chunks.shape[1]
    extra = tables.extra_time[d, s]
    time = np.full(len(chosen), extra)
    cost = np.full(len(chosen), tables.extra_costs[d, s])
    memory = np.full(len(chosen), tables.extra_memory[d, s])
    longest = np.zeros(len(chosen), dtype=np.int64)
    for k, c in enumerate(tables.chunks[d]):
        own = list(range(bounds[c], bounds[c + 1]))
        kinds, modes = tables.kinds[own], chosen[:, own]
        chunk = tables.time[s, kinds, modes].sum(axis=1)
        longest = np.maximum(longest, chunk)
        time = time + chunk
        cost = cost + tables.costs[s, kinds, modes].sum(axis=1)
        kept = tables.kept[s, kinds, modes].sum(axis=1) * tables.in_flight[d, k]
        memory = memory + tables.held[s, kinds].sum() + kept
    return time, v * longest + extra, cost, memory <= tables.memory[d]
