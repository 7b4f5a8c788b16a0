"""DualPipe's order, simulation and closed form against DeepSeek's published ones."""

import itertools
import random

import numpy as np
import pytest
from oracles.dualpipe import Chunk, groups_of, makespan
from support.cases import each

from planner.base.arrays import FloatArray
from planner.schedules import code_of_schedule, schedule_at
from planner.schedules.bidirectional import RankTimes, pipeline_s
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD, Orders
from planner.schedules.simulate import simulate
from schedules.test_pipeline_simulation import lasting

DUALPIPE = code_of_schedule("dualpipe")


def orders_of(schedule: int, pp: int, m: int, v: int = 1) -> Orders:
    """The orders of a schedule, by its code."""
    return schedule_at(schedule).orders(pp, m, v)


SIZES = [(pp, m) for pp in (2, 4, 6, 8) for m in (2 * pp, 2 * pp + 2, 5 * pp)]
NAMES = {FORWARD: "F", BACKWARD: "B", WEIGHT_GRAD: "W"}


@each(("pp", "m"), SIZES)
def test_the_order_is_the_published_one(pp: int, m: int) -> None:
    orders = orders_of(DUALPIPE, pp, m)
    assert orders.joined is not None
    for rank in range(pp):
        expected = [
            (kind, direction, number + direction * (m // 2), later > 0)
            for group in groups_of(pp, m, rank)
            for later, (kind, direction, number) in enumerate(group)
        ]
        found = zip(
            [NAMES[kind] for kind in orders.kind[rank].tolist()],
            orders.chunk[rank].tolist(),
            orders.micro_batch[rank].tolist(),
            orders.joined[rank].tolist(),
            strict=True,
        )
        assert list(found) == expected


@each(("pp", "m"), SIZES)
def test_a_chunk_holds_as_many_micro_batches_as_with_1f1b(pp: int, m: int) -> None:
    """Chunk c holds pp - c, so a rank pp + 1 in all (DeepSeek-V3, table 2)."""
    orders = orders_of(DUALPIPE, pp, m)
    most = orders.held_by_chunk().max(axis=1)
    rank = np.arange(pp)
    np.testing.assert_array_equal(most, np.stack([pp - rank, rank + 1], axis=1))
    np.testing.assert_array_equal(orders.held().max(axis=1), np.full(pp, pp + 1))


@each(("pp", "m"), [(3, 12), (1, 8), (4, 6), (4, 9)])
def test_numbers_that_it_does_not_run_are_refused(pp: int, m: int) -> None:
    with pytest.raises(ValueError, match="no schedule"):
        orders_of(DUALPIPE, pp, m)


def closed_form(chunks: list[Chunk], m: int) -> float:
    """`planner.schedules.bidirectional.pipeline_s` of chunks."""

    def column(value: float) -> FloatArray:
        return np.array([[value]])

    ranks = [
        RankTimes(
            count=column(2.0),
            forward=column(near.forward + far.forward),
            backward=column(near.backward + far.backward),
            weight_grad=column(near.weight_grad + far.weight_grad),
            hidden=column(sum(c.hidden_forward + c.hidden_backward for c in (near, far))),
        )
        for near, far in list(zip(chunks, chunks[::-1], strict=True))[: len(chunks) // 2]
    ]
    return float(pipeline_s(ranks, column(m / 2))[0, 0])


@each("pp", [2, 4, 6, 8, 12])
def test_equal_chunks_are_exact(pp: int) -> None:
    """Whatever F, b, W and what they hide, and whichever is longest."""
    times = itertools.product((1.0, 2.0, 3.5), (1.0, 2.5, 4.0), (0.5, 2.0, 5.0), (0.0, 0.25))
    for forward, backward, grad, hidden in times:
        one = Chunk(forward, backward, grad, hidden, hidden / 2)
        for m in (2 * pp, 3 * pp if pp % 4 == 0 else 4 * pp):
            assert closed_form([one] * pp, m) == pytest.approx(makespan([one] * pp, m), rel=1e-12)


@each("pp", [2, 4, 8, 16])
def test_the_bubble_is_the_published_one(pp: int) -> None:
    """(pp / 2 - 1)(F&B + B - 3 W) with F = b = W, B = b + W, nothing hidden (README.md)."""
    m, unit = 3 * pp if pp > 2 else 8, 1.0
    busy, both, whole = 3 * m * unit, 3 * unit, 2 * unit
    bubble = (pp / 2 - 1) * (both + whole - 3 * unit)
    assert makespan([Chunk(unit, unit, unit)] * pp, m) == pytest.approx(busy + bubble)


@each(("spread", "below", "above"), [(0.05, 0.01, 0.03), (0.5, 0.03, 0.12)])
def test_unequal_chunks_are_estimated(spread: float, below: float, above: float) -> None:
    rng = random.Random(7)
    gaps = []
    for _ in range(60):
        pp = rng.choice([2, 4, 6, 8])
        m = 2 * pp + 2 * rng.randrange(pp)
        base = [rng.uniform(1, 2) for _ in range(3)]
        share = rng.uniform(0, 0.3)
        chunks = []
        for _ in range(pp):
            f, b, w = (time * rng.uniform(1, 1 + spread) for time in base)
            chunks.append(Chunk(f, b, w, share * f, share * min(f, b)))
        gaps.append(closed_form(chunks, m) / makespan(chunks, m) - 1)
    assert -below <= min(gaps)
    assert max(gaps) <= above


@each(("layers", "below"), [(1, 0.1), (2, 0.03), (4, 0.03), (15, 0.03)])
def test_pairs_that_are_searched_are_estimated(layers: int, below: float) -> None:
    """Chunks of a pair that differ by at most a layer or a quarter of both, and a head."""
    rng = random.Random(1)
    gaps = []
    for _ in range(40):
        pp = rng.choice([2, 4, 6, 8])
        m = pp * rng.choice([2, 3, 4])
        sizes = [0] * pp
        for rank in range(pp // 2):
            both, least = 2 * layers + rng.choice([-1, 0, 0, 1]), min(rank, 1)
            near = [
                size
                for size in range(least, both - least + 1)
                if abs(2 * size - both) <= max(both // 4, 1)
            ]
            sizes[rank] = rng.choice(near or [both // 2])
            sizes[pp - 1 - rank] = both - sizes[rank]
        b, w, h = rng.choice([0.9, 1.1, 1.3]), rng.choice([0.8, 0.95]), rng.choice([0.0, 0.1, 0.3])
        ends = [0.0] * (pp - 1) + [0.5]
        chunks = [
            Chunk(size + end, size * b + end, size * w + end, size * h / 2, size * h / 2)
            for size, end in zip(sizes, ends, strict=True)
        ]
        gaps.append(closed_form(chunks, m) / makespan(chunks, m) - 1)
    assert -below <= min(gaps)
    assert max(gaps) <= 0.11


def test_the_simulation_is_the_oracles() -> None:
    """What hides beside another pass only shortens the run."""
    rng = np.random.default_rng(3)
    for pp, m in SIZES:
        forward, backward, grad = rng.integers(1, 9, size=(3, pp)) / 4
        hidden = rng.random((2, pp)) * np.minimum(forward, backward)
        at = np.stack([np.arange(pp), np.arange(pp)[::-1]], axis=1)
        durations = lasting(forward[at], backward[at], grad[at], hidden=hidden[:, at])
        chunks = [
            Chunk(*map(float, row)) for row in zip(forward, backward, grad, *hidden, strict=True)
        ]
        run = simulate(orders_of(DUALPIPE, pp, m), durations)
        assert float(run.end_s.max()) == pytest.approx(makespan(chunks, m), rel=1e-12)
        later = simulate(orders_of(DUALPIPE, pp, m), lasting(forward[at], backward[at], grad[at]))
        assert later.end_s.max() >= run.end_s.max()
