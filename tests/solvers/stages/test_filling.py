"""The least bottleneck against all ways to fill a few stages."""

from itertools import product

import numpy as np
import pytest
from support.cases import each

from solvers.stages.filling import Stages, least_bottleneck, most_layers


def random_stages(rng: np.random.Generator, later: bool) -> Stages:
    n, p, r, z = 6, 3, 2, 2
    tau = np.sort(rng.uniform(1, 3, (n, r, z)), axis=1)
    size = np.sort(rng.uniform(0.5, 3, (n, p, r, z)), axis=2)[:, :, ::-1]
    tau[0, :, 1] = np.inf  # a setting that is not allowed
    room = rng.uniform(1, 12, (n, p, z))
    return Stages(
        tau=tau,
        ends=rng.uniform(0, 2, (n, p)),
        size=size,
        once=np.stack([np.zeros((n, z)), rng.uniform(0, 1, (n, z))], axis=1),
        room=room,
        layers=int(rng.integers(3, 8)),
        size_later=size * rng.uniform(0.5, 1.2, (n, p, r, z)) if later else None,
        room_later=room * 0.9 if later else None,
    )


def stage_times(stages: Stages, row: int, stage: int, most: int) -> dict[int, float]:
    """Least time of a stage by its layers, over modes and settings that fit."""
    best: dict[int, float] = {}
    for z, first, second in product(range(2), range(most + 1), range(most + 1)):
        counts = np.array([first, second])
        if counts.sum() > most or not np.isfinite(stages.tau[row, 0, z]):
            continue
        once = max(stages.once[row, r, z] * (counts[r] > 0) for r in range(2))
        held = counts @ stages.size[row, stage, :, z] + once
        fits = held <= stages.room[row, stage, z]
        if stages.size_later is not None and stages.room_later is not None:
            later = counts @ stages.size_later[row, stage, :, z]
            fits &= later <= stages.room_later[row, stage, z]
        if fits or (counts.sum() == 0 and stage in (0, 2)):
            time = counts @ stages.tau[row, :, z] + stages.ends[row, stage]
            layers = int(counts.sum())
            best[layers] = min(best.get(layers, np.inf), float(time))
    return best


@each("seed", range(20))
def test_bottleneck_against_all_fillings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stages = random_stages(rng, later=seed % 2 == 0)
    layers = int(stages.layers)
    far = np.full(6, 1e3)
    found = least_bottleneck(stages, np.zeros(6), far)
    for row in range(6):
        times = [stage_times(stages, row, stage, layers) for stage in range(3)]
        splits = [s for s in product(*times) if sum(s) == layers]
        exact = min(
            (max(t[n] for t, n in zip(times, s, strict=True)) for s in splits), default=np.inf
        )
        assert found[row] <= exact * (1 + 1e-9)
        caps = most_layers(stages.take(np.array([row])), np.array([1e3]))[0]
        for cap, known in zip(caps, times, strict=True):
            assert cap >= max(known, default=-np.inf)


def test_bottleneck_is_exact_where_one_mode_fits() -> None:
    stages = Stages(
        tau=np.full((1, 1, 1), 2.0),
        ends=np.array([[1.0, 0.0]]),
        size=np.ones((1, 2, 1, 1)),
        once=np.zeros((1, 1, 1)),
        room=np.array([[[10.0], [10.0]]]),
        layers=5,
    )
    found = least_bottleneck(stages, np.array([0.0]), np.array([100.0]))
    assert found[0] == pytest.approx(6.0, rel=1e-2)
    full = least_bottleneck(
        Stages(**{**{n: getattr(stages, n) for n in Stages.__slots__}, "layers": 21}),
        np.array([0.0]),
        np.array([100.0]),
    )
    assert np.isinf(full[0])
