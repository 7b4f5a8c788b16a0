"""The search over nodes against brute force: whatever the corners, the same front."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from solvers.frontier import nondominated
from solvers.mesh import Opened, RunningFront, search_front
from solvers.solution import Status

LIMIT = "dropped_by_memory"


class Instance:
    """Random nodes of candidates on a small integer grid, with corners that are valid for them.

    Each candidate belongs to one corner of its node and is no better than it, or better than none:
    corners are lowered at random, sometimes to -inf.
    """

    def __init__(self, seed, *, objectives=None, limit=True, loose=True):
        rng = np.random.default_rng(seed)
        self.d = objectives or int(rng.integers(1, 4))
        nodes, corners = int(rng.integers(0, 30)), int(rng.integers(1, 4))
        self.candidates, self.allowed, self.corners = [], [], np.empty((nodes, corners, self.d))
        for node in range(nodes):
            points = rng.integers(0, 12, (int(rng.integers(0, 12)), self.d)).astype(float)
            group = rng.integers(0, corners, len(points))
            for q in range(corners):
                mine = points[group == q]
                corner = mine.min(axis=0) if len(mine) else rng.integers(0, 12, self.d)
                slack = rng.integers(0, 3, self.d) * (rng.random(self.d) < 0.5) * loose
                unknown = (rng.random(self.d) < 0.1) & loose
                self.corners[node, q] = np.where(unknown, -np.inf, corner - slack)
            self.candidates.append(points)
            self.allowed.append(rng.random(len(points)) < (0.7 if limit else 2.0))
        self.limit = limit
        self.opened = []

    def open_nodes(self, chosen):
        self.opened += chosen.tolist()
        points = [self.candidates[b] for b in chosen]
        labels = [
            np.column_stack(
                [np.full(len(self.candidates[b]), b), np.arange(len(self.candidates[b]))]
            )
            for b in chosen
        ]
        allowed = np.concatenate([self.allowed[b] for b in chosen])
        return Opened(
            points=np.concatenate(points),
            labels=np.concatenate(labels).astype(np.int64),
            allowed=allowed if self.limit else None,
            dropped={LIMIT: int((~allowed).sum())} if self.limit else {},
        )

    def front(self):
        parts = [c[a] for c, a in zip(self.candidates, self.allowed, strict=True)]
        points = np.concatenate([np.empty((0, self.d)), *parts])
        return points[nondominated(points)]

    def check_labels(self, result):
        for point, (node, row) in zip(result.points, result.labels, strict=True):
            assert self.allowed[node][row]
            assert self.candidates[node][row].tolist() == point.tolist()


def search(instance, **options):
    front = RunningFront(instance.d, 2)
    return search_front(instance.corners, instance.open_nodes, front, **options)


@given(
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.integers(0, 9),
    st.booleans(),
)
@settings(max_examples=250, deadline=None)
def test_front_equals_brute_force(seed, batch, seeds, limit):
    instance = Instance(seed, limit=limit)
    result = search(instance, batch=batch, seeds=seeds)
    expected = instance.front()
    assert result.points.tolist() == expected.tolist()
    instance.check_labels(result)
    assert result.status is (Status.OPTIMAL if len(expected) else Status.INFEASIBLE)
    if len(expected):
        assert result.bound.tolist() == expected.min(axis=0).tolist()
    counts = result.counts
    assert counts["nodes"] == len(instance.corners)
    assert counts["nodes_left"] == 0
    assert counts["nodes_dropped_by_bound"] + len(instance.opened) == counts["nodes"]
    assert len(set(instance.opened)) == len(instance.opened)
    assert counts["evaluated"] == sum(len(instance.candidates[b]) for b in instance.opened)
    broken = sum(int((~instance.allowed[b]).sum()) for b in instance.opened)
    assert counts.get(LIMIT, 0) == broken


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_corners_at_minus_infinity_search_everything(seed):
    instance = Instance(seed)
    instance.corners[:] = -np.inf
    result = search(instance, batch=3, seeds=2)
    assert result.points.tolist() == instance.front().tolist()
    assert sorted(instance.opened) == list(range(len(instance.corners)))


def test_covered_boxes_are_not_opened():
    """(1, 1) covers a node behind it and one that ties with it, but not one with a free corner."""
    points = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 5.0], [1.0, 1.0], [9.0, 0.0]])
    corners = np.repeat(points[:, None, :], 2, axis=1)
    corners[4, 0] = [3.0, 3.0]
    opened = []

    def open_nodes(chosen):
        opened.extend(chosen.tolist())
        return Opened(points=points[chosen], labels=chosen[:, None])

    result = search_front(corners, open_nodes, RunningFront(2, 1), batch=1, seeds=0)
    assert opened == [2, 0, 4]
    assert result.points.tolist() == [[0.0, 5.0], [1.0, 1.0], [9.0, 0.0]]
    assert result.labels.tolist() == [[2], [0], [4]]
    assert result.counts["nodes_dropped_by_bound"] == 2


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=150, deadline=None)
def test_of_equal_candidates_the_least_label_stays_whatever_is_opened_first(seed, limit):
    """With corners below every candidate, in any order and from any nodes; by brute force."""
    rng = np.random.default_rng(seed)
    least, found = {}, []
    for path in range(4):
        instance = Instance(seed, limit=limit)
        instance.corners -= 1e-9  # by more than rounding
        if not len(instance.corners):
            return
        for node, points in enumerate(instance.candidates):
            for row in np.flatnonzero(instance.allowed[node] if limit else points[:, 0] >= 0):
                least.setdefault(tuple(points[row]), (node, row))
        first = rng.permutation(len(instance.corners))[: int(rng.integers(0, 9))] if path else None
        options = {"batch": int(rng.integers(1, 9)), "seeds": int(rng.integers(0, 9))}
        result = search_front(
            instance.corners,
            instance.open_nodes,
            RunningFront(instance.d, 2),
            first=first,
            **options,
        )
        found.append((result.points.tolist(), result.labels.tolist(), result.bound.tolist()))
    points, labels, _ = found[0]
    assert [least[tuple(point)] for point in points] == [tuple(label) for label in labels]
    assert all(one == found[0] for one in found)


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_nested_boxes_share_the_front(seed, inner_batch):
    """Opening an outer node searches the nodes inside it with the same running front."""
    rng = np.random.default_rng(seed)
    inner = Instance(seed, objectives=2)
    owner = rng.integers(0, 5, len(inner.corners))
    groups = [np.flatnonzero(owner == g) for g in range(5)]
    groups = [group for group in groups if len(group)]
    outer = np.full((len(groups), 1, 2), -np.inf)
    for g, group in enumerate(groups):
        outer[g, 0] = inner.corners[group].min(axis=(0, 1))
    front = RunningFront(2, 2)

    def open_outer(chosen):
        for g in chosen:
            group = groups[g]
            search_front(
                inner.corners[group],
                lambda some, group=group: inner.open_nodes(group[some]),
                front,
                batch=inner_batch,
                seeds=0,
            )
        return Opened(points=np.empty((0, 2)), labels=np.empty((0, 2), dtype=np.int64))

    result = search_front(outer, open_outer, front, batch=2, seeds=1)
    assert result.points.tolist() == inner.front().tolist()
    inner.check_labels(result)
    assert result.status is (Status.OPTIMAL if len(inner.front()) else Status.INFEASIBLE)


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_given_front_is_kept_and_prunes(seed):
    """A front found before drops nodes and takes part in the result, but hides nothing better."""
    instance = Instance(seed, objectives=2)
    known = np.array([[2.0, 6.0], [6.0, 2.0]])
    front = RunningFront(2, 2)
    front.add(known, np.array([[-1, 0], [-1, 1]]))
    result = search_front(instance.corners, instance.open_nodes, front, batch=2, seeds=0)
    merged = np.concatenate([known, instance.front()])
    assert result.points.tolist() == merged[nondominated(merged)].tolist()


def test_deadline_in_the_past():
    """Nothing is opened; the bound is the least corner, and below every candidate."""
    instance = Instance(3, objectives=2, loose=False, limit=False)
    past = time.perf_counter() - 1.0
    result = search(instance, deadline=past)
    assert (result.status, instance.opened) == (Status.TIME_LIMIT, [])
    assert result.counts["nodes_left"] == result.counts["nodes"] > 0
    assert result.bound.tolist() == instance.corners.min(axis=(0, 1)).tolist()
    assert (result.bound <= instance.front().min(axis=0)).all()


def test_deadline_in_the_past_with_a_known_point():
    """FEASIBLE with a valid bound, or OPTIMAL when the known point already covers every node."""
    instance = Instance(3, objectives=2, loose=False, limit=False)
    past = time.perf_counter() - 1.0
    front = RunningFront(2, 1)
    front.add(np.array([[50.0, 50.0]]), np.array([[7]]))
    result = search_front(instance.corners, instance.open_nodes, front, deadline=past)
    assert result.status is Status.FEASIBLE
    assert (result.bound <= instance.front().min(axis=0)).all()
    front = RunningFront(2, 1)
    front.add(np.array([[-1.0, -1.0]]), np.array([[7]]))
    result = search_front(instance.corners, instance.open_nodes, front, deadline=past)
    assert (result.status, result.counts["nodes_left"]) == (Status.OPTIMAL, 0)
    assert result.bound.tolist() == [-1.0, -1.0]


@given(st.integers(0, 2**32), st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_time_running_out_midway_keeps_bounds_valid(seed, allowed_calls):
    """The deadline passes after some batches: what is found is feasible, the bound holds."""
    instance = Instance(seed, objectives=2)
    deadline = time.perf_counter() + 3600
    clock = [0]

    def open_nodes(chosen):
        clock[0] += 1
        return instance.open_nodes(chosen)

    def now():
        return deadline + 1 if clock[0] >= allowed_calls else 0.0

    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr("solvers.mesh.time.perf_counter", now)
        result = search_front(
            instance.corners, open_nodes, RunningFront(2, 2), batch=2, seeds=0, deadline=deadline
        )
    instance.check_labels(result)
    everything = instance.front()
    if len(everything):
        assert (result.bound <= everything.min(axis=0)).all()
    counts = result.counts
    finished = counts["nodes_left"] == 0
    found = len(result.points) > 0
    assert (
        result.status
        is {
            (True, True): Status.OPTIMAL,
            (True, False): Status.INFEASIBLE,
            (False, True): Status.FEASIBLE,
            (False, False): Status.TIME_LIMIT,
        }[finished, found]
    )
    if finished:
        assert result.points.tolist() == everything.tolist()


@given(st.integers(0, 2**32), st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_boxes_that_were_not_finished_are_left(seed, finished_calls):
    """A call that gives up midway ends the search; its nodes still count in the bound."""
    instance = Instance(seed, objectives=2, limit=False)
    calls, finished = [0], [0]

    def open_nodes(chosen):
        calls[0] += 1
        if calls[0] <= finished_calls:
            finished[0] += len(chosen)
            return instance.open_nodes(chosen)
        half = instance.open_nodes(chosen[:1])
        return Opened(points=half.points[:1], labels=half.labels[:1], complete=False)

    front = RunningFront(2, 2)
    result = search_front(instance.corners, open_nodes, front, batch=2, seeds=0)
    everything = instance.front()
    counts = result.counts
    assert counts["nodes_left"] == len(result.left)
    if len(everything):
        assert (result.bound <= everything.min(axis=0)).all()
    if result.status in (Status.OPTIMAL, Status.INFEASIBLE):
        assert result.points.tolist() == everything.tolist()
    assert counts["nodes_dropped_by_bound"] + counts["nodes_left"] + finished[0] == counts["nodes"]


def test_no_boxes():
    result = search_front(np.empty((0, 1, 2)), lambda chosen: None, RunningFront(2, 1))
    assert (result.status, len(result.points)) == (Status.INFEASIBLE, 0)
    assert result.bound.tolist() == [math.inf, math.inf]
    assert result.counts == {
        "nodes": 0,
        "nodes_dropped_by_bound": 0,
        "evaluated": 0,
        "nodes_left": 0,
    }


@each("corners", [np.zeros((3, 2)), np.full((1, 1, 2), np.nan)])
def test_bad_corners(corners):
    with pytest.raises(ValueError, match="corners must be"):
        search_front(corners, lambda chosen: None, RunningFront(2, 1))


def test_ties_keep_the_first_label():
    front = RunningFront(2, 1)
    front.add(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[5], [6]]))
    front.add(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[7], [8]]))
    assert front.points.tolist() == [[0.0, 3.0], [1.0, 2.0]]
    assert front.labels.tolist() == [[8], [5]]


def test_progress_reaches_all_boxes():
    instance = Instance(3, objectives=2)
    seen = []
    search(instance, batch=4, seeds=2, on_progress=lambda *at: seen.append(at))
    total = len(instance.corners)
    assert seen[-1] == (total, total)
    assert [at for at, _ in seen] == sorted({at for at, _ in seen})


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_nodes_that_come_again_take_their_new_place(seed):
    """Half of the nodes get their true corner when they are first looked at, and come again."""
    case = Instance(seed, objectives=1, limit=False)
    plain = search_front(case.corners.copy(), case.open_nodes, RunningFront(1, 2), seeds=0)
    rng = np.random.default_rng(seed)
    corners, case.opened = case.corners.copy(), []
    loose = rng.random(len(corners)) < 0.5
    corners[loose] -= rng.integers(1, 6, (int(loose.sum()), 1, 1))
    looked, keys = [], []

    def open_nodes(chosen):
        again = chosen[loose[chosen]]
        corners[again], loose[again] = case.corners[again], False
        looked.append(len(again))
        rest = chosen[~np.isin(chosen, again)]
        keys.extend(corners[rest].min(axis=(1, 2)).tolist())
        none = Opened(points=np.empty((0, 1)), labels=np.empty((0, 2), dtype=np.int64))
        return replace(case.open_nodes(rest) if len(rest) else none, again=again)

    found = search_front(corners, open_nodes, RunningFront(1, 2), batch=1, seeds=0)
    assert np.array_equal(found.points, plain.points)
    assert found.status is plain.status
    assert len(set(case.opened)) == len(case.opened)
    assert keys == sorted(keys)
    assert sum(looked) <= len(corners)
    opened = len(case.opened) + found.counts["nodes_left"]
    assert found.counts["nodes_dropped_by_bound"] == len(corners) - opened
