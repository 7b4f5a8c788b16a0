"""Levels of the operations of a graph against every choice of levels, and their bounds."""

import itertools
import math
from dataclasses import replace
from graphlib import TopologicalSorter

import numpy as np
import pytest
from scipy.optimize import linprog
from support.cases import each

from solvers.operations.chains import Chains
from solvers.operations.graph import TOLERANCE, Operations, at_level, evaluated, in_order
from solvers.operations.program import Program, solve, solve_whole
from solvers.operations.rounding import _Walked, repaired, rounded, slowed, whole_levels


def drawn(seed, *, grouped=False, switches=False):
    """A small graph of random operations at two or three levels."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    clocks, work = np.array([1.0, 0.8, 0.6])[:k], rng.uniform(0.5, 2.0, (n, 1))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.5]
    edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Operations(
        seconds=work / clocks,
        cost=work * (0.2 + clocks**2) * rng.uniform(0.5, 2.0, (n, 1)),
        group=np.unique(rng.integers(0, 3, n), return_inverse=True)[1] if grouped else np.arange(n),
        before=edges[:, 0],
        after=edges[:, 1],
        lag=rng.uniform(0.0, 0.2, len(edges)),
        per_second=float(rng.choice([0.0, 0.3])),
        switches=rng.choice([0.0, 0.3], len(edges)) if switches else None,
    )


def every(graph):
    """All choices of one level per group."""
    choices = itertools.product(range(graph.seconds.shape[1]), repeat=graph.groups)
    return [evaluated(graph, at_level(graph, np.array(levels))) for levels in choices]


def limits(found):
    """From before the first end to after the last."""
    ends = [one.end for one in found]
    return np.linspace(0.97 * min(ends), 1.02 * max(ends), 5)


@pytest.mark.parametrize("switches", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_whole_levels_are_the_best_of_all(seed: int, switches: bool) -> None:
    """Groups, lags, the price of time and seconds of changes included."""
    graph = drawn(seed, grouped=seed % 2 == 1, switches=switches)
    found = every(graph)
    for limit in limits(found):
        allowed = [one.cost for one in found if one.end <= limit]
        best = solve_whole(graph, limit)
        assert (best is None) == (not allowed)
        if best is None:
            assert solve(graph, limit) is None or switches
            continue
        assert best.cost == pytest.approx(min(allowed), rel=1e-7)
        assert best.end <= limit * (1 + 1e-8)
        relaxed = solve(graph, limit)
        assert relaxed is not None
        assert relaxed.bound <= min(allowed) * (1 + 1e-9)
        assert relaxed.gap == pytest.approx(0.0, abs=1e-7)
        level = whole_levels(graph, relaxed)
        quick = repaired(graph, level, limit)
        if quick is not None:
            value = evaluated(graph, at_level(graph, quick))
            assert value.end <= limit * (1 + 1e-8)
            assert value.cost >= min(allowed) * (1 - 1e-9)
            after = evaluated(graph, at_level(graph, slowed(graph, quick, limit)))
            assert min(allowed) * (1 - 1e-9) <= after.cost <= value.cost
            assert after.end <= limit * (1 + 1e-8)
            both = rounded(graph, limit)
            assert both is not None
            assert min(allowed) * (1 - 1e-9) <= both.cost <= after.cost
        if not switches:
            np.testing.assert_array_equal(quick, level)


def test_what_a_node_proves_holds_and_is_the_same_again() -> None:
    """Against every choice; no limit counts seconds."""
    for seed in range(12):
        graph = drawn(seed, switches=True)
        found = every(graph)
        for limit in limits(found):
            allowed = [one.cost for one in found if one.end <= limit]
            one, again = (solve_whole(graph, limit, nodes=1, gap=1e-3) for _ in range(2))
            if one is None or again is None:
                assert one is again is None
                continue
            np.testing.assert_array_equal(one.shares, again.shares)
            assert one.bound == again.bound
            assert one.bound <= min(allowed) * (1 + 1e-7)
            assert one.cost >= min(allowed) * (1 - 1e-9)
            assert one.end <= limit * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_mixed_levels_are_the_least_over_all_mixtures(seed: int) -> None:
    """Columns are paths here: for every path of the graph its seconds are within the limit."""
    graph = drawn(seed)
    n, k = graph.seconds.shape
    lag = {(i, j): wait for i, j, wait in zip(graph.before, graph.after, graph.lag, strict=True)}
    paths = [
        path
        for size in range(1, n + 1)
        for path in itertools.combinations(range(n), size)
        if all(pair in lag for pair in itertools.pairwise(path))
    ]
    limit = float(np.mean([one.end for one in every(graph)]))
    rows = np.zeros((len(paths), n * k + 1))
    waits = np.array([sum(lag[pair] for pair in itertools.pairwise(path)) for path in paths])
    for row, path in zip(rows, paths, strict=True):
        for i in path:
            row[i * k : (i + 1) * k] = graph.seconds[i]
        row[-1] = -1.0
    other = linprog(
        np.append(graph.cost.ravel(), graph.per_second),
        A_ub=rows, b_ub=-waits,
        A_eq=np.hstack([np.kron(np.eye(n), np.ones(k)), np.zeros((n, 1))]), b_eq=np.ones(n),
        bounds=[(0, None)] * (n * k) + [(0, limit)],
    )  # fmt: skip
    found = solve(graph, limit)
    assert found is not None
    assert found.cost == pytest.approx(other.fun, rel=1e-7)


def test_any_multipliers_bound_and_wrong_ones_bound_less() -> None:
    """The bound is computed from the tables, not taken from the solver."""
    graph = drawn(3)
    limit = 1.05 * min(one.end for one in every(graph))
    least = min(one.cost for one in every(graph) if one.end <= limit)

    program = Program(graph, limit)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert program.dual_bound(rng.normal(0.0, 2.0, len(program.least))) <= least


def test_a_graph_out_of_order_is_refused() -> None:
    ones = np.ones((2, 1))
    edge = np.array([1]), np.array([0])
    with pytest.raises(ValueError, match="comes before one"):
        Operations(seconds=ones, cost=ones, group=np.arange(2), before=edge[0], after=edge[1],
                   lag=np.zeros(1))  # fmt: skip
    with pytest.raises(ValueError, match="no numbers"):
        Operations(seconds=ones * math.nan, cost=ones, group=np.arange(2), before=edge[1],
                   after=edge[0], lag=np.zeros(1))  # fmt: skip


@each("seed", range(12))
def test_operations_come_after_those_that_they_wait_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = np.sort(rng.integers(0, 30, (2, 60)), axis=0)
    name, differ = rng.permutation(30), before < after
    before, after = name[before[differ]], name[after[differ]]
    sorter = TopologicalSorter({at: () for at in range(30)})
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        sorter.add(other, one)
    assert in_order(30, before, after).tolist() == list(sorter.static_order())
    with pytest.raises(ValueError, match="wait for one another"):
        in_order(30, np.append(before, after[:1]), np.append(after, before[:1]))


@each("switches", [False, True])
@each("seed", range(20))
def test_levels_changed_one_by_one_are_those_evaluated_anew(seed: int, switches: bool) -> None:
    """To the last bit, also after changes that were taken back; none within the limit is missed."""
    graph = drawn(seed, grouped=seed % 2 == 1, switches=switches)
    rng = np.random.default_rng(seed)
    level = rng.integers(0, graph.seconds.shape[1], graph.groups)
    walked = _Walked(graph, level)
    limit = float(np.median([one.end for one in every(graph)]))
    for _ in range(60):
        group, to = int(rng.integers(graph.groups)), int(rng.integers(graph.seconds.shape[1]))
        wanted = level.copy()
        wanted[group] = to
        found = evaluated(graph, at_level(graph, wanted))
        most = float(
            rng.choice([np.inf, found.cost, np.nextafter(found.cost, np.inf), walked.cost])
        )
        within = walked.tried(group, to, limit, most)
        assert within == (found.end <= limit * (1 + TOLERANCE) and found.cost < most)
        if within:
            assert (walked.end, walked.cost) == (found.end, found.cost)
        if within and rng.random() < 0.5:
            level = wanted
        else:
            walked.back()
        np.testing.assert_array_equal(walked.level, level)
        again = evaluated(graph, at_level(graph, level))
        assert (walked.end, walked.cost) == (again.end, again.cost)
        assert walked.begin == again.begin.tolist()


def chained(seed):
    """A graph on machines that run one operation after the other, and whose each is on."""
    rng = np.random.default_rng(seed)
    n, k, machines = int(rng.integers(4, 14)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    clocks, work = np.linspace(1.0, 0.5, k), rng.uniform(0.5, 2.0, (n, 1))
    chain = np.sort(rng.integers(-1 if seed % 2 else 0, machines, n))
    chain = rng.permutation(np.unique(chain, return_inverse=True)[1] + min(chain.min(), 0))
    pairs = {(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.2}
    for one in range(chain.max() + 1):
        pairs |= set(itertools.pairwise(np.flatnonzero(chain == one).tolist()))
    edges = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)
    graph = Operations(
        seconds=work * (rng.uniform(0.2, 1.0, (n, 1)) / clocks + 0.3),
        cost=work * clocks**2 * rng.uniform(0.5, 2.0, (n, 1)),
        group=np.arange(n),
        before=edges[:, 0],
        after=edges[:, 1],
        lag=rng.uniform(0.0, 0.2, len(edges)),
        per_second=float(rng.choice([0.0, 0.3, 2.0])),
    )
    return graph, chain


@each("seed", range(60))
def test_chains_bound_every_choice_of_levels(seed: int) -> None:
    graph, chain = chained(seed)
    bounds = Chains.of(graph, chain)
    fastest = evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp))).end
    assert bounds.least_s == pytest.approx(fastest)
    assert bounds.bound(fastest * 0.99) == math.inf
    for limit in fastest * np.array([1.0, 1.02, 1.1, 1.5, 4.0]):
        found = solve(graph, limit)
        assert bounds.bound(limit) <= found.cost * (1 + 1e-9)


@each("seed", range(0, 60, 2))
def test_of_one_chain_they_are_the_linear_program(seed: int) -> None:
    """All operations one after the other: nothing is left out but what the program takes too."""
    graph, _ = chained(seed)
    n = len(graph.seconds)
    line = np.arange(n - 1)
    graph = replace(graph, before=line, after=line + 1, lag=np.zeros(n - 1))
    bounds = Chains.of(graph, np.zeros(n, dtype=np.intp))
    for limit in bounds.least_s * np.array([1.0, 1.05, 1.3]):
        assert bounds.bound(limit) == pytest.approx(solve(graph, limit).cost, rel=2e-3)
