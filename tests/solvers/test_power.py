"""Schedules under a cap on power against every order and choice of levels, and their bounds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from solvers.operations.graph import Operations, at_level, evaluated
from solvers.operations.placing import Placing
from solvers.operations.power import Capped, latest, most_at_once
from solvers.operations.power_bound import _Order, _uses, least_end
from solvers.operations.power_order import planned
from solvers.operations.shortest import shortest

FEW = 1_000
"""Operations that are placed in a test."""


def few(seed):
    """Two to four random operations at two levels, with their power."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.3]
    edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    seconds = rng.uniform(0.5, 2.0, (n, 1)) * np.array([1.0, 1.4])
    power = rng.uniform(0.5, 1.5, (n, 1)) * np.array([1.0, 0.6])
    graph = Operations(
        seconds=seconds, cost=seconds * power, group=np.arange(n), before=edges[:, 0],
        after=edges[:, 1], lag=rng.uniform(0.0, 0.3, len(edges)), per_second=0.5,
        switches=rng.choice([0.0, 0.2], len(edges)) if seed % 2 else None,
    )  # fmt: skip
    return graph, power, np.full(n, -1)


def piped(seed):
    """Random passes of a pipeline with a stage or more, and what they draw at three levels."""
    rng = np.random.default_rng(seed)
    stages, each_s = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    chain = np.repeat(np.arange(stages), each_s)
    pairs = [(at, at + 1) for at in range(len(chain) - 1) if chain[at] == chain[at + 1]]
    pairs += [(at, at + each_s) for at in range(len(chain) - each_s)]
    edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    clocks = np.array([1.0, 0.8, 0.6])
    seconds = rng.uniform(0.5, 1.5, (len(chain), 1)) * (0.3 + 0.7 / clocks)
    power = rng.uniform(0.8, 1.2, (len(chain), 1)) * clocks**2
    graph = Operations(
        seconds=seconds, cost=seconds * power, group=np.arange(len(chain)), before=edges[:, 0],
        after=edges[:, 1], lag=rng.uniform(0.0, 0.1, len(edges)), per_second=0.3,
    )  # fmt: skip
    return graph, power, chain


def best_of_all(graph, power, cap):
    """The least end of all orders and levels, each placed at the first moment that has room."""
    n, k = graph.seconds.shape
    best = math.inf
    for levels in itertools.product(range(k), repeat=n):
        took, drew = graph.seconds[range(n), levels], power[range(n), levels]
        if drew.max() > cap:
            continue
        changes = [levels[i] != levels[j] for i, j in zip(graph.before, graph.after, strict=True)]
        lag = graph.lag + (0 if graph.switches is None else graph.switches * np.array(changes))
        for order in itertools.permutations(range(n)):
            best = min(best, _end(graph, order, took, drew, lag, cap))
    return best


def _end(graph, order, took, drew, lag, cap):
    begin = {}
    for one in order:
        ready = 0.0
        for i, j, wait in zip(graph.before, graph.after, lag, strict=True):
            if j == one:
                if i not in begin:
                    return math.inf
                ready = max(ready, begin[i] + took[i] + wait)
        moments = sorted(
            [ready, *(at + took[i] for i, at in begin.items() if at + took[i] > ready)]
        )
        for start in moments:
            events = [start, *(at for at in begin.values() if start < at < start + took[one])]
            if all(
                sum(drew[i] for i, at in begin.items() if at <= t < at + took[i]) + drew[one] <= cap
                for t in events
            ):
                begin[one] = start
                break
    return max(at + took[i] for i, at in begin.items())


def kept(graph, power, found, cap):
    """That a schedule waits for all it has to, and never draws more than a cap."""
    rows = np.arange(len(power))
    took, drew = graph.seconds[rows, found.level], power[rows, found.level]
    np.testing.assert_allclose(took, found.seconds)
    lag = graph.lag
    if graph.switches is not None:
        lag = lag + graph.switches * (found.level[graph.before] != found.level[graph.after])
    ends = found.begin + took
    assert (found.begin[graph.after] >= ends[graph.before] + lag - 1e-9).all()
    for moment in found.begin:
        running = (found.begin <= moment + 1e-9) & (ends > moment + 1e-9)
        assert drew[running].sum() <= cap * (1 + 1e-8)
    assert found.most == pytest.approx(most_at_once(found.begin, took, drew))
    assert found.end == pytest.approx(ends.max())
    cost = graph.cost[rows, found.level].sum() + graph.per_second * found.end
    assert found.cost == pytest.approx(cost)


@each("seed", range(12))
def test_the_schedule_is_the_best_of_all_orders_and_levels(seed: int) -> None:
    graph, power, chain = few(seed)
    for cap in (power.min(axis=1).max(), 1.3, 2.0, 6.0):
        found, least = shortest(graph, power, cap, chain, FEW), best_of_all(graph, power, cap)
        assert (found is None) == (least == math.inf)
        if found is None:
            continue
        assert found.bound <= least * (1 + 1e-9)
        assert found.end == pytest.approx(least, rel=1e-6)
        kept(graph, power, found, cap)


@each("seed", range(12))
def test_pipelines_keep_to_the_cap_and_more_of_it_never_costs(seed: int) -> None:
    graph, power, chain = piped(seed)
    soon = evaluated(graph, at_level(graph, np.zeros(len(chain), dtype=np.intp)))
    most = most_at_once(soon.begin, soon.seconds, power[:, 0])
    least = power.min(axis=1).max()
    assert shortest(graph, power, least * 0.99, chain, FEW) is None
    bounds = []
    for cap in (least, (2 * least + most) / 3, (least + 2 * most) / 3, most):
        found = shortest(graph, power, cap, chain, FEW)
        assert found is not None
        kept(graph, power, found, cap)
        assert soon.end * (1 - 1e-9) <= found.bound <= found.end
        for level in range(power.shape[1]):
            same = evaluated(graph, at_level(graph, np.full(len(chain), level)))
            if most_at_once(same.begin, same.seconds, power[:, level]) <= cap:
                assert found.end <= same.end * (1 + 1e-9)
        bounds.append(found.bound)
    assert all(one >= other * (1 - 1e-6) for one, other in itertools.pairwise(bounds))
    assert found.end == pytest.approx(soon.end)


@each("seed", range(6))
def test_every_schedule_keeps_every_row_of_the_bound(seed: int) -> None:
    """All windows and functions, with paths for random shares, on random schedules."""
    graph, power, chain = piped(seed)
    rng = np.random.default_rng(seed)
    cap = float(rng.uniform(1.0, 1.5)) * power.min(axis=1).max()
    capped = Capped.of(graph, power, cap, chain)
    order, placing, n = _Order(capped), Placing(capped), len(chain)
    windows = [
        (one, other)
        for one, other in itertools.combinations_with_replacement(range(n), 2)
        if order.place[other] >= order.first[one, chain[other]]  # which waits for it
    ]
    windows = [(-1, -1), *(windows[at] for at in rng.permutation(len(windows))[:12])]
    rows = []
    for use in _uses(capped):
        shares = rng.dirichlet(np.ones(3), n)
        rows += [order._row(use, shares, rng.random(n), 1.0, window)[0] for window in windows]
    bound = least_end(capped).end
    for _ in range(6):
        level = capped.stands[np.arange(n), rng.integers(0, 3, n)].tolist()
        placed = placing.run(rng.random(n).tolist(), level)
        values = np.concatenate([
            at_level(capped.graph, np.array(placed.level)).ravel(), placed.begin, [placed.end]
        ])  # fmt: skip
        for columns, weights, least in rows:
            assert weights @ values[columns] >= least - 1e-7 * placed.end
        assert bound <= placed.end * (1 + 1e-9)


@each("seed", range(6))
def test_in_the_order_of_a_schedule_the_program_is_no_slower(seed: int) -> None:
    graph, power, chain = piped(seed)
    cap = 1.2 * power.min(axis=1).max()
    found = shortest(graph, power, cap, chain, FEW)
    capped = Capped.of(graph, power, cap, chain)
    plan = planned(capped, found.begin, found.seconds)
    assert plan is not None
    assert plan.end <= found.end * (1 + 1e-6)
    ends = plan.begin + plan.seconds
    assert (plan.begin[graph.after] >= ends[graph.before] + graph.lag - 1e-6).all()
    late = latest(graph, found.seconds, found.end)
    assert (late >= found.begin - 1e-9).all()
    assert (late[graph.after] >= (late + found.seconds)[graph.before] + graph.lag - 1e-9).all()


def test_the_same_is_found_again() -> None:
    graph, power, chain = piped(3)
    one, other = (shortest(graph, power, 1.0, chain, FEW) for _ in range(2))
    np.testing.assert_array_equal(one.begin, other.begin)
    np.testing.assert_array_equal(one.level, other.level)


def test_changes_of_the_level_take_their_time() -> None:
    """Two operations one after the other under a cap that the first alone reaches."""
    graph = Operations(
        seconds=np.array([[1.0, 2.0], [1.0, 2.0]]), cost=np.ones((2, 2)), group=np.arange(2),
        before=np.array([0]), after=np.array([1]), lag=np.zeros(1),
    )  # fmt: skip
    power = np.array([[1.0, 0.5], [3.0, 0.5]])
    for seconds, least in ((0.0, 3.0), (0.4, 3.4), (1.5, 4.0)):
        asked = replace(graph, switches=np.array([seconds]))
        found = shortest(asked, power, 1.0, np.zeros(2, dtype=np.intp), FEW)
        assert found.end == pytest.approx(least)
        assert found.bound == pytest.approx(3.0)
