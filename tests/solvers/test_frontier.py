"""Properties of the non-dominated filters and of the epsilon-constraint front."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.frontier import apart, covered, epsilon_front, nondominated


@st.composite
def point_sets(draw, dimensions=(1, 2, 3), smallest=0):
    """Points on a small grid, so that ties and duplicates are common."""
    d = draw(st.sampled_from(dimensions))
    rows = draw(st.lists(st.tuples(*[st.integers(-4, 4)] * d), min_size=smallest, max_size=40))
    return np.array(rows, dtype=np.float64).reshape(len(rows), d)


def dominates(a, b):
    return all(a <= b) and any(a < b)


@given(point_sets())
@settings(max_examples=300, deadline=None)
def test_nondominated_equals_all_pairs(points):
    """The first of equal points is kept, in lexicographic order."""
    kept = [
        i
        for i, point in enumerate(points)
        if not any(dominates(other, point) for other in points)
        and not any((other == point).all() for other in points[:i])
    ]
    expected = sorted(kept, key=lambda i: tuple(points[i]))
    assert nondominated(points).tolist() == expected


@given(point_sets(smallest=1), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_nondominated_does_not_depend_on_the_order(points, random):
    shuffled = points[random.sample(range(len(points)), len(points))]
    assert points[nondominated(points)].tolist() == shuffled[nondominated(shuffled)].tolist()


def test_nondominated_of_floats_and_infinities():
    points = np.array([[1.0, np.inf], [1.0 + 1e-15, 5.0], [1.0, 7.0], [-np.inf, 8.0], [2.0, 5.0]])
    assert nondominated(points).tolist() == [3, 2, 1]


def test_nondominated_refuses_one_dimension_and_takes_none():
    with pytest.raises(ValueError, match=r"shape \(n, d\)"):
        nondominated(np.zeros(3))
    assert nondominated(np.empty((0, 2))).tolist() == []


@given(point_sets(dimensions=(2, 3), smallest=1), st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_apart_is_the_front_of_the_points_without_their_rounding(points, seed):
    """Entries that are off by rounding are no trade-off: what stays is the front of the points."""
    exact = points + 5.0
    noisy = exact * (1 + 1e-12 * np.random.default_rng(seed).uniform(-1, 1, exact.shape))
    front = noisy[nondominated(noisy)]
    stays = front[apart(front, 1e-9)]
    expected = exact[nondominated(exact)]
    order = np.lexsort(np.round(stays, 6).T[::-1])
    np.testing.assert_allclose(stays[order], expected, rtol=1e-11)
    for one in stays:
        for other in stays[np.any(stays != one, axis=1)]:
            assert (other > one * (1 + 1e-9)).any()


def test_apart_lists_no_point_that_rounding_alone_keeps():
    """The later of two points may beat the earlier one, in the first column too."""
    one = np.array([[1.0, 2.0, 9.0], [1.0 + 1e-15, 2.0 + 1e-15, 8.0], [1.0 + 1e-14, 1.0, 9.0]])
    assert apart(one, 1e-9).tolist() == [1, 2]
    assert apart(one, 0.0).tolist() == [0, 1, 2]
    assert apart(one[:, :2], 1e-9).tolist() == [2]


def no_worse(one, other, tolerance):
    return (one - other <= tolerance * abs(other)).all()


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_what_apart_drops_is_within_rounding_of_what_stays(rows):
    """A chain of rows, each within rounding of the next, once went to its far end as a whole."""
    points = 1 + 0.6e-9 * np.array(rows, dtype=np.float64)
    front = points[nondominated(points)]
    stays = front[apart(front, 1e-9)]
    assert all(any(no_worse(one, row, 1e-9) for one in stays) for row in front)


def test_a_ring_does_not_keep_what_hangs_below_it():
    ring = 1 + 1e-9 * np.array([[0, 0.8, 1.6], [0.8, 1.6, 0], [1.6, 0, 0.8]])
    points = np.array([[1 - 1e-10, 100, 100], *ring])
    stays = apart(points[nondominated(points)], 1e-9)
    assert 0 not in stays
    assert len(stays) == 2


def test_a_long_chain_keeps_its_fastest_row():
    steps = np.arange(200)
    chain = np.stack([1 + 9e-10 * steps, np.ones(200), 1 - 1e-4 * steps], axis=1)
    stays = apart(chain, 1e-9)
    assert stays.tolist() == list(range(1, 200, 2))
    assert no_worse(chain[stays[0]], chain[0], 1e-9)


@given(st.sampled_from([1, 2, 3]), st.data())
@settings(max_examples=300, deadline=None)
def test_covered_equals_all_pairs(d, data):
    points = data.draw(point_sets(dimensions=(d,)))
    candidates = data.draw(point_sets(dimensions=(d,)))
    front = candidates[nondominated(candidates)]
    expected = [any((row <= point).all() for row in candidates) for point in points]
    assert covered(front, points).tolist() == expected


def test_covered_corners_at_infinity():
    front = np.array([[1.0, 2.0], [3.0, 0.0]])
    corners = np.array([[-np.inf, -np.inf], [np.inf, np.inf], [-np.inf, 9.0], [3.0, -np.inf]])
    assert covered(front, corners).tolist() == [False, True, False, False]


@given(point_sets(dimensions=(2,)))
@settings(max_examples=300, deadline=None)
def test_epsilon_front_is_the_front(points):
    """Each point with a decision that attains it, first objective descending; and n + 1 calls."""
    limits = []

    def solve(limit):
        limits.append(limit)
        allowed = [
            (int(second), int(first), i)
            for i, (first, second) in enumerate(points)
            if limit is None or first <= limit
        ]
        if not allowed:
            return None
        second, first, decision = min(allowed)
        return first, second, decision

    found = list(epsilon_front(solve))
    expected = points[nondominated(points)][::-1]
    assert [list(point[:2]) for point in found] == expected.tolist()
    assert all(points[point[2]].tolist() == list(point[:2]) for point in found)
    assert limits == [None] + [point[0] - 1 for point in found]


def test_epsilon_front_is_lazy():
    calls = []
    front = epsilon_front(lambda limit: calls.append(limit) or (5, 1, "decision"))
    assert calls == []
    assert next(front) == (5, 1, "decision")
    assert calls == [None]
