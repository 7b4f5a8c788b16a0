"""Bounds of cost under a time limit: never above the best choice, found by trying all."""

from itertools import product

import numpy as np
import pytest
from support.cases import each

from solvers.stages.energy_bounds import Work, bottleneck_bound, mean_bound


def random_work(rng: np.random.Generator, rows: int, *, kinds: int, most_items: int = 4) -> Work:
    settings, ways, classes = 3, 2, 3
    shape = (rows, kinds, settings, ways)
    speed = np.array([1.0, 1.3, 1.7])[None, None, :, None]
    pace = rng.uniform(0.5, 2.0, shape) * speed
    ramp = pace * rng.uniform(0.3, 1.0, (rows, 1, 1, 1))
    held = rng.uniform(0.2, 2.0, (rows, classes, *shape[1:]))
    room = rng.uniform(-0.3, 8.0, (rows, classes, settings))
    return Work(
        items=rng.integers(1, most_items, kinds).astype(float),
        pace=pace,
        ramp=ramp,
        cost=rng.uniform(1.0, 4.0, shape) / speed**1.5,
        count=np.stack([np.ones(rows), rng.integers(0, 2, rows), np.ones(rows)], axis=1),
        end_pace=rng.uniform(0.0, 1.0, (rows, classes, settings)),
        end_ramp=rng.uniform(0.0, 1.0, (rows, classes, settings)),
        end_cost=rng.uniform(0.0, 1.0, (rows, classes, settings)),
        held=held,
        room=room,
        slowest=rng.uniform(0.5, 5.0, rows),
        constant=rng.uniform(0.0, 3.0, rows),
        fixed=rng.uniform(0.0, 3.0, rows),
        per_time=rng.uniform(0.0, 0.6, rows),
    )


def contents(work: Work, row: int, of_class: int) -> list[tuple[tuple[int, ...], float, ...]]:
    """What a device may hold: items of each kind, its seconds, ramp and cost."""
    found = []
    kinds, settings, ways = work.pace.shape[1:]
    ranges = [range(int(work.items[k]) + 1) for k in range(kinds) for _ in range(ways)]
    for setting in range(settings):
        if work.room[row, of_class, setting] < 0:
            continue
        for counts in product(*ranges):
            n = np.array(counts).reshape(kinds, ways)
            held = (n * work.held[row, of_class, :, setting]).sum()
            if held > work.room[row, of_class, setting] or (n.sum(axis=1) > work.items).any():
                continue
            sums = [
                (n * table[row, :, setting]).sum() + end[row, of_class, setting]
                for table, end in (
                    (work.pace, work.end_pace),
                    (work.ramp, work.end_ramp),
                    (work.cost, work.end_cost),
                )
            ]
            found.append((tuple(n.sum(axis=1).tolist()), *sums))
    return found


def every_plan(work: Work, row: int) -> np.ndarray:
    """(plans, 3) time, cost and bottleneck of every choice."""
    classes = [c for c in range(3) for _ in range(int(work.count[row, c]))]
    plans: dict[tuple[int, ...], np.ndarray] = {
        (0,) * len(work.items): np.zeros((1, 3))
    }  # bottleneck, ramp, cost by items so far
    for of_class in classes:
        grown: dict[tuple[int, ...], list[np.ndarray]] = {}
        for done, table in plans.items():
            for items, pace, ramp, cost in contents(work, row, of_class):
                total = tuple(np.add(done, items).tolist())
                if (np.array(total) <= work.items).all():
                    each = np.stack(
                        [np.maximum(table[:, 0], pace), table[:, 1] + ramp, table[:, 2] + cost], 1
                    )
                    grown.setdefault(total, []).append(each)
        plans = {key: np.concatenate(tables) for key, tables in grown.items()}
    whole = plans.get(tuple(work.items.astype(int).tolist()), np.empty((0, 3)))
    time = work.constant[row] + work.slowest[row] * whole[:, 0] + whole[:, 1]
    cost = work.fixed[row] + whole[:, 2] + work.per_time[row] * time
    return np.stack([time, cost, whole[:, 0]], axis=1)


@each("kinds", [1, 2])
def test_no_choice_costs_less_than_the_bounds(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    compared, ratios = 0, []
    for _ in range(12 if kinds == 1 else 4):
        work = random_work(rng, 8 if kinds == 1 else 4, kinds=kinds)
        mean = mean_bound(work)
        plans = [every_plan(work, row) for row in range(len(work))]
        tops = np.array([p[:, 2].max(initial=1.0) for p in plans])
        edges = np.linspace(0.0, 1.0, 30)[None, :] * tops[:, None]
        beyond = np.array([p[:, 0].max(initial=1.0) for p in plans])
        prices = np.stack([np.zeros(len(work)), mean.price(float(beyond.min()) / 2)], axis=1)
        bottleneck = bottleneck_bound(work, edges, prices, beyond)
        for share in (0.3, 0.6, 1.0):
            limits = share * beyond
            for row, table in enumerate(plans):
                within = table[table[:, 0] <= limits[row]]
                least = within[:, 1].min(initial=np.inf)
                low = mean.at(float(limits[row]))[row]
                high = bottleneck.at(float(limits[row]))[row]
                assert low <= least * (1 + 1e-9)
                assert high <= least * (1 + 1e-9)
                if np.isfinite(least):
                    compared += 1
                    ratios.append(max(low, high) / least)
        still = [
            (t[:, 1] - work.per_time[i] * t[:, 0]).min(initial=np.inf) for i, t in enumerate(plans)
        ]
        assert (mean.still <= np.array(still) * (1 + 1e-9)).all()
        assert (mean.at(np.inf) <= [t[:, 1].min(initial=np.inf) for t in plans]).all()
    assert compared > 25
    assert np.median(ratios) > (0.85 if kinds == 1 else 0.75)


def test_equal_devices_and_whole_shares_are_bounded_exactly() -> None:
    """Six items on three devices, one setting: the only sensible choice is two on each."""
    work = Work(
        items=np.array([6.0]),
        pace=np.full((1, 1, 1, 1), 2.0),
        ramp=np.full((1, 1, 1, 1), 2.0),
        cost=np.full((1, 1, 1, 1), 5.0),
        count=np.array([[3.0]]),
        end_pace=np.zeros((1, 1, 1)),
        end_ramp=np.zeros((1, 1, 1)),
        end_cost=np.zeros((1, 1, 1)),
        held=np.ones((1, 1, 1, 1, 1)),
        room=np.full((1, 1, 1), 3.0),
        slowest=np.array([7.0]),
        constant=np.array([1.0]),
        fixed=np.array([2.0]),
        per_time=np.array([0.5]),
    )
    time = 1 + 7 * 4 + 12
    assert mean_bound(work).at(np.inf)[0] == pytest.approx(2 + 30 + 0.5 * time)


def test_memory_that_forces_dear_ways_raises_the_bottleneck_bound() -> None:
    """Four items, memory for one cheap and one dear on each of two devices."""
    two = np.array([1.0, 2.0])[None, None, None, :]
    work = Work(
        items=np.array([4.0]),
        pace=two,
        ramp=two,
        cost=3 * two,
        count=np.array([[2.0]]),
        end_pace=np.zeros((1, 1, 1)),
        end_ramp=np.zeros((1, 1, 1)),
        end_cost=np.zeros((1, 1, 1)),
        held=np.array([2.0, 1.0])[None, None, None, None, :],
        room=np.full((1, 1, 1), 3.0),
        slowest=np.array([1.0]),
        constant=np.array([0.0]),
        fixed=np.array([0.0]),
        per_time=np.array([0.0]),
    )
    bound = bottleneck_bound(
        work, np.linspace(2.0, 8.0, 13)[None], np.zeros((1, 1)), np.array([100.0])
    )
    assert mean_bound(work).at(100.0)[0] == pytest.approx(12.0)
    assert bound.at(100.0)[0] == pytest.approx(18.0, rel=0.02)
    assert bound.at(101.0)[0] == -np.inf
    assert bound.at(3.0)[0] == np.inf
