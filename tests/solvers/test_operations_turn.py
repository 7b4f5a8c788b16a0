"""Steps that repeat: what changes from one to the next take, against every choice of levels."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from support.cases import each

from solvers.operations.cycles import longest_cycle
from solvers.operations.graph import TOLERANCE, Operations, Turn, at_level, evaluated, lags, turns
from solvers.operations.power import most_at_once
from solvers.operations.program import solve, solve_whole, whole_bound
from solvers.operations.rounding import _Walked, rounded
from solvers.operations.shortest import shortest


def repeating(seed, most=6):
    """One or two random stages that run two or three operations each, at two levels."""
    rng = np.random.default_rng(seed)
    stages, each_s = [(1, 3), (2, 2), (2, 3)][int(rng.integers(3 if most > 4 else 2))]
    n = stages * each_s
    stage = np.arange(n) // each_s
    next_one = [(at, at + 1) for at in range(n - 1) if stage[at] == stage[at + 1]]
    others = [
        pair for pair in itertools.combinations(range(n), 2) if stage[pair[0]] < stage[pair[1]]
    ]
    some = [pair for pair in others if rng.random() < 0.3]
    edges = np.array([*next_one, *some], dtype=np.intp).reshape(-1, 2)
    work = rng.uniform(0.5, 2.0, (n, 1))
    clocks = np.array([1.0, 0.7])
    switch_s = float(rng.choice([0.1, 0.6, 1.5]))
    return Operations(
        seconds=work / clocks,
        cost=work * clocks**2 * rng.uniform(0.5, 2.0, (n, 1)),
        group=np.arange(n),
        before=edges[:, 0],
        after=edges[:, 1],
        lag=rng.uniform(0.0, 0.2, len(edges)),
        per_second=float(rng.choice([0.0, 0.3])),
        switches=np.where(np.arange(len(edges)) < len(next_one), switch_s, 0.0),
        turn=Turn(
            last=np.arange(stages) * each_s + each_s - 1,
            first=np.arange(stages) * each_s,
            switches=np.full(stages, switch_s),
        ),
    )  # fmt: skip


def choices(graph):
    """All levels, whole, of every operation."""
    return [np.array(one) for one in itertools.product(range(2), repeat=len(graph.group))]


def changed(graph, level):
    """Seconds of each wait, within a step and to the next."""
    lag = graph.lag + graph.switches * (level[graph.before] != level[graph.after])
    turn = graph.turn
    return lag, turn.switches * (level[turn.last] != level[turn.first])


def least_period(graph, level):
    """The least period by a linear program over begins."""
    n = len(level)
    took = graph.seconds[np.arange(n), level]
    lag, turned = changed(graph, level)
    rows, least = [], []
    for one, other, wait in zip(graph.before, graph.after, lag, strict=True):
        rows.append(np.eye(n + 1)[other] - np.eye(n + 1)[one])
        least.append(took[one] + wait)
    for last, first, wait in zip(graph.turn.last, graph.turn.first, turned, strict=True):
        rows.append(np.eye(n + 1)[first] + np.eye(n + 1)[n] - np.eye(n + 1)[last])
        least.append(took[last] + wait)
    for one in range(n):
        rows.append(np.eye(n + 1)[n] - np.eye(n + 1)[one])
        least.append(took[one])
    found = linprog(np.eye(n + 1)[n], A_ub=-np.array(rows), b_ub=-np.array(least))
    return found.fun


def repeats(graph, level, begin, end):
    """Whether begins of a step keep all waits, those of the next step too."""
    ends = begin + graph.seconds[np.arange(len(level)), level]
    lag, turned = changed(graph, level)
    return (
        (begin[graph.after] >= ends[graph.before] + lag - 1e-9).all()
        and (begin[graph.turn.first] + end >= ends[graph.turn.last] + turned - 1e-9).all()
        and ends.max() <= end + 1e-9
        and begin.min() >= 0
    )


@each("seed", range(16))
def test_the_period_is_the_least_in_which_steps_repeat(seed: int) -> None:
    graph = repeating(seed)
    for level in choices(graph)[::3]:
        found = evaluated(graph, at_level(graph, level))
        assert found.end == pytest.approx(least_period(graph, level), rel=1e-8)
        assert repeats(graph, level, found.begin, found.end)


@each("seed", range(8))
def test_whole_levels_of_steps_that_repeat_are_the_best_of_all(seed: int) -> None:
    graph = repeating(seed)
    found = [evaluated(graph, at_level(graph, level)) for level in choices(graph)]
    ends = [one.end for one in found]
    none = whole_bound(graph, 0.9 * min(ends))
    assert none.at_limit == none.within(0.8 * min(ends)) == np.inf
    assert none.within(min(ends)) == -np.inf
    for limit in np.linspace(min(ends), max(ends), 3):
        least = min(one.cost for one in found if one.end <= limit * (1 + TOLERANCE))
        best, relaxed, quick = solve_whole(graph, limit), solve(graph, limit), rounded(graph, limit)
        assert best.cost == pytest.approx(least, rel=1e-7)
        assert best.end <= limit * (1 + 1e-8)
        below = whole_bound(graph, limit)
        assert relaxed.bound * (1 - 1e-9) <= below.at_limit <= least * (1 + 1e-9)
        for other in np.linspace(min(ends), max(ends), 5):
            least = min(one.cost for one in found if one.end <= other * (1 + TOLERANCE))
            assert below.within(other) <= least * (1 + 1e-9)
        least = min(one.cost for one in found if one.end <= limit * (1 + TOLERANCE))
        assert quick.cost >= least * (1 - 1e-9)
        assert quick.end <= limit * (1 + 1e-8)


@each("seed", range(10))
def test_levels_changed_one_by_one_repeat_as_those_evaluated_anew(seed: int) -> None:
    graph, rng = repeating(seed), np.random.default_rng(seed)
    level = np.zeros(graph.groups, dtype=np.intp)
    walked = _Walked(graph, level)
    limit = float(np.median([evaluated(graph, at_level(graph, x)).end for x in choices(graph)]))
    for _ in range(40):
        group, to = int(rng.integers(graph.groups)), int(rng.integers(2))
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
            level = wanted
        else:
            walked.back()


@each("seed", range(15))
def test_a_cycle_of_waits_takes_the_period_and_no_other_levels_take_less_per_step(
    seed: int,
) -> None:
    graph = repeating(seed)
    found = [evaluated(graph, at_level(graph, level)) for level in choices(graph)]
    for one in found:
        cycle = longest_cycle(graph, one.shares)
        periods = [
            cycle.period(other.seconds, lags(graph, other.shares), turns(graph, other.shares))
            for other in found
        ]
        assert cycle.period(
            one.seconds, lags(graph, one.shares), turns(graph, one.shares)
        ) == pytest.approx(one.end, rel=1e-12)
        assert all(
            period <= other.end * (1 + 1e-12) for period, other in zip(periods, found, strict=True)
        )


def ordered(graph, level, power, cap):
    """The least period of orders, each operation placed at the first moment that has room."""
    n, best = len(level), np.inf
    took, drew = graph.seconds[np.arange(n), level], power[np.arange(n), level]
    lag, turned = changed(graph, level)
    for order in itertools.permutations(range(n)):
        begin = np.full(n, np.nan)
        for one in order:
            waits = np.flatnonzero(graph.after == one)
            if np.isnan(begin[graph.before[waits]]).any():
                break
            ready = max([0.0, *(begin + took)[graph.before[waits]] + lag[waits]])
            placed = np.flatnonzero(np.isfinite(begin))
            for start in sorted({ready, *((begin + took)[placed])}):
                at = np.append(placed, one)
                begins = np.append(begin[placed], start)
                if start >= ready and most_at_once(begins, took[at], drew[at]) <= cap * (1 + 1e-9):
                    begin[one] = start
                    break
        if np.isfinite(begin).all():
            last, first = graph.turn.last, graph.turn.first
            around = (begin + took)[last] + turned - begin[first]
            best = min(best, max((begin + took).max(), around.max()))
    return best


@each("seed", range(6))
def test_under_a_cap_steps_repeat_within_what_all_orders_take(seed: int) -> None:
    graph = repeating(seed, most=4)
    rng = np.random.default_rng(seed)
    power = rng.uniform(0.5, 1.5, (len(graph.group), 1)) * np.array([1.0, 0.6])
    chain = np.searchsorted(graph.turn.last, np.arange(len(graph.group)))
    for cap in (power.min(axis=1).max(), 1.6, 6.0):
        fits = [x for x in choices(graph) if power[np.arange(len(x)), x].max() <= cap]
        least = min(ordered(graph, level, power, cap) for level in fits)
        found = shortest(graph, power, cap, chain, 2_000)
        assert found.bound <= least * (1 + 1e-9)
        assert found.end <= least * (1 + 1e-6)
        assert repeats(graph, found.level, found.begin, found.end)


def test_a_change_before_the_next_step_is_a_wait_like_any_other() -> None:
    """Two operations of which one is slow: the step takes as long as their levels differ twice."""
    graph = Operations(
        seconds=np.array([[1.0, 2.0], [1.0, 2.0]]), cost=np.array([[1.0, 0.9], [1.0, 0.2]]),
        group=np.arange(2), before=np.array([0]), after=np.array([1]), lag=np.zeros(1),
        switches=np.array([0.4]), turn=Turn(last=np.array([1]), first=np.array([0]),
                                            switches=np.array([0.4])),
    )  # fmt: skip
    assert evaluated(graph, at_level(graph, np.array([0, 1]))).end == pytest.approx(3.8)
    assert evaluated(graph, at_level(graph, np.array([1, 1]))).end == pytest.approx(4.0)
    assert solve_whole(graph, 3.8).cost == pytest.approx(1.2)
    assert solve_whole(graph, 3.7).cost == pytest.approx(2.0)
    assert solve_whole(replace(graph, turn=None), 3.7).cost == pytest.approx(1.2)
