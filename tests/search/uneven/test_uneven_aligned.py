"""Chunks that interleaved rows may have: which they are, and that the step time holds for them."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model
from support.uneven import first_chunks_first, nearly_equal, random_sizes, sizes_of

from models_db import load_model
from planner.cost.stages.explicit import chunk_kinds
from planner.cost.timeline.timeline import timeline_of
from planner.plan import Plan, Stage
from planner.search.uneven.aligned import (
    dealt,
    device_sizes,
    fullest_devices,
    given_sizes,
    is_aligned,
    longest_chunks,
    spread,
)

SHAPES = (
    (126, 16, 2), (126, 16, 4), (126, 8, 8), (61, 8, 2), (61, 8, 4), (61, 4, 4), (80, 4, 5),
    (78, 8, 5), (94, 4, 3), (94, 16, 3), (30, 8, 2), (22, 8, 3), (32, 4, 4), (31, 4, 2),
    (32, 8, 2), (32, 8, 3), (33, 8, 2), (46, 8, 2), (46, 16, 2), (61, 16, 3), (48, 8, 4),
)  # fmt: skip
"""Layers, pp, interleave."""


@pytest.mark.parametrize(
    ("layers", "pp", "v"),
    [(6, 2, 2), (7, 2, 2), (8, 2, 4), (7, 3, 3), (8, 3, 3), (5, 2, 3), (4, 2, 3), (9, 2, 2),
     (8, 3, 2), (9, 3, 2), (10, 4, 2), (11, 4, 2), (13, 2, 3)],
)  # fmt: skip
def test_devices_have_the_chunks_of_nearly_equal_layouts(layers: int, pp: int, v: int) -> None:
    share = -(-layers // pp)
    offered = fullest_devices(layers, pp, v)
    assert offered
    for n in range(share, max(share, v) + 3):
        allowed = [
            sizes
            for sizes in sizes_of(layers, pp * v)
            if all(sizes[1:-1]) and n >= v and nearly_equal(sizes, layers, pp, n)
        ]
        assert bool(allowed) == (n in offered)
        for sizes in allowed:
            table = np.array(sizes).reshape(v, pp)
            for device in range(pp):
                assert table[:, device].tolist() in device_sizes(layers, pp, v, n, device).tolist()
            fullest, longest, differ = longest_chunks(layers, pp, v, n, None)
            assert fullest <= table.sum(axis=0).max() <= n
            assert longest <= table.max(axis=0).sum()
            inner = table[:, 1:-1]
            assert differ <= sum(len(set(chunks)) > 1 for chunks in inner.T.tolist())
            assert is_aligned(sizes, pp)


@pytest.mark.parametrize("pp", [2, 3, 8])
def test_every_interleave_has_chunks(pp: int) -> None:
    for layers in range(2 * pp, 6 * pp):
        for v in range(2, (layers + 2) // pp + 1):
            assert sum(random_sizes(random.Random(layers), layers, pp, v)) == layers


def test_a_given_layout_has_its_own_chunks() -> None:
    given = (0, 3, 1, 2, 5, 1)
    assert given_sizes(given, 2, 1).tolist() == [[3, 2, 1]]
    assert longest_chunks(12, 2, 3, 0, given) == (6, 5 + 3, 0)
    assert longest_chunks(12, 3, 2, 0, given) == (3 + 5, 2 + 5 + 1, 0)
    assert longest_chunks(12, 3, 2, 0, (0, 5, 1, 2, 3, 1)) == (5 + 3, 2 + 5 + 1, 1)


def test_the_first_chunks_recompute_first() -> None:
    held = np.array([[[2, 1, 3], [1, 0, 1]]])
    kinds = np.array([[[2, 1], [3, 0], [1, 1]]])
    chunks = dealt(held, kinds)
    assert np.array_equal(chunks.sum(axis=1), held)
    assert np.array_equal(chunks.sum(axis=3), kinds)
    assert chunks[0, :, 0].tolist() == [[0, 0, 2], [1, 1, 1], [1, 0, 0]]
    assert chunks[0, :, 1].tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_all_chunks_recompute_alike_where_they_are_spread() -> None:
    held = np.array([[[2, 1, 3], [1, 0, 1]], [[4, 2, 0], [2, 0, 0]], [[1, 0, 5], [0, 1, 1]]])
    kinds = np.array([[[2, 1], [3, 0], [1, 1]]] * 3)
    chunks = spread(held, kinds)
    assert np.array_equal(chunks.sum(axis=1), held)
    assert np.array_equal(chunks.sum(axis=3), kinds)
    assert chunks[..., 2].tolist() == [
        [[1, 1], [1, 0], [1, 0]],
        [[0, 0], [0, 0], [0, 0]],
        [[2, 0], [2, 0], [1, 1]],
    ]
    assert chunks[0, ..., 1].tolist() == [[0, 0], [1, 0], [0, 0]]
    assert chunks[1, ..., 1].tolist() == [[1, 0], [1, 0], [0, 0]]
    assert chunks[2, ..., 1].tolist() == [[0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("number", range(6))
def test_the_first_layers_of_every_chunk_are_spread(number: int) -> None:
    """As targets are told: N layers of every chunk, its dense ones before the others."""
    rng = np.random.default_rng(number)
    kinds = rng.integers(0, 4, (200, 3, 2))
    dense = np.minimum(kinds[..., 0], number)
    full = np.stack([dense, np.minimum(kinds[..., 1], number - dense)], axis=-1)
    chunks = np.stack([kinds - full, full], axis=-1)
    assert np.array_equal(spread(chunks.sum(axis=1), kinds), chunks)


def all_chunks_alike(counts: list[dict[str, list[int]]], pp: int) -> None:
    """Spreads recomputed layers of devices over their chunks."""
    names = ("none", "selective", "full")
    for device in range(pp):
        chunks = np.array([[one[name] for name in names] for one in counts[device::pp]])
        held, kinds = chunks.sum(axis=0).T[None], chunks.sum(axis=1)[None]
        for one, own in zip(counts[device::pp], spread(held, kinds)[0], strict=True):
            one.update({name: own[:, at].tolist() for at, name in enumerate(names)})


def random_plan(rng: random.Random, name: str, *, recomputed: bool, clocked: bool) -> float:
    """The step time over the simulated one, less one, of a random plan of the space."""
    layers, pp, v = rng.choice(SHAPES)
    model = cost_model(load_model(name), "dgx-h100-ndr", global_batch=pp * rng.choice([1, 2, 4, 8]))
    model = replace(model, job=replace(model.job, model=replace(model.job.model, layers=layers)))
    sizes = random_sizes(rng, layers, pp, v)
    counts = []
    for size, pair in zip(sizes, chunk_kinds(model.job.model.layer_kinds, sizes), strict=True):
        full = [rng.randint(0, int(n)) if recomputed else 0 for n in pair]
        some = [rng.randint(0, int(n) - taken) for n, taken in zip(pair, full, strict=True)]
        some = some if recomputed else [0, 0]
        none = [int(n) - a - b for n, a, b in zip(pair, full, some, strict=True)]
        counts.append({"none": none, "selective": some, "full": full})
        assert size == sum(pair)
    if recomputed and rng.random() < 0.5:
        all_chunks_alike(counts, pp)
    else:
        first_chunks_first(counts, pp)
    clocks = [rng.choice([0.8, 0.9, 1.0]) if clocked else 1.0 for _ in range(pp)]
    plan = Plan(
        tp=8, cp=1, pp=pp, dp=1, fsdp=1, ep=1, micro_batch=1, schedule="interleaved", interleave=v,
        sharding="ddp", recompute="none", sequence_parallel=True,
        stages=tuple(
            Stage(layers=size, recompute="none", selective=tuple(chunk["selective"]),  # type: ignore[arg-type]
                  full=tuple(chunk["full"]), sharding="ddp", clock=clocks[at % pp])  # type: ignore[arg-type]
            for at, (size, chunk) in enumerate(zip(sizes, counts, strict=True))
        ),
    )  # fmt: skip
    return timeline_of(model, plan).difference


@pytest.mark.parametrize("name", ["llama3-70b", "qwen3-235b-a22b"])
@pytest.mark.parametrize(("free", "lowest", "middle"), [(False, -0.04, 0.02), (True, -0.05, 0.05)])
def test_the_step_time_is_that_of_the_simulation(
    name: str, free: bool, lowest: float, middle: float
) -> None:
    """With recomputation and clocks that differ by device where they are `free`."""
    rng = random.Random(5)
    found = [random_plan(rng, name, recomputed=free, clocked=free) for _ in range(80)]
    assert min(found) > lowest
    assert 0.0 <= float(np.median(found)) <= middle
