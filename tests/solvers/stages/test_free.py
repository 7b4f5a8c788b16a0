"""Chains of any number of columns: equal to every path of small random problems."""

import itertools

import numpy as np
import pytest
from support.cases import each

from solvers.solution import Status
from solvers.stages.free import Steps, least_peak, least_total


def random_steps(seed: int, width: int = 1) -> Steps:
    """Up to 7 states in a line of levels, with parallel columns and gaps."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 8))
    pairs = np.array(list(itertools.combinations(range(count), 2)))
    pairs = pairs[rng.integers(len(pairs), size=int(rng.integers(1, 16)))]
    return Steps(
        level=np.arange(count),
        starts=pairs[:, 0],
        ends=pairs[:, 1],
        lengths=rng.integers(0, 6, len(pairs)).astype(float),
        peaks=rng.integers(0, 8, (len(pairs), width)).astype(float),
    )


def every_path(steps: Steps) -> list[tuple[float, np.ndarray]]:
    """(length, peaks) of all paths from the first state to the last."""
    last = len(steps.level) - 1
    found = []

    def grow(state: int, length: float, peaks: np.ndarray) -> None:
        if state == last:
            found.append((length, peaks))
        for c in np.flatnonzero(steps.starts == state):
            grow(int(steps.ends[c]), length + steps.lengths[c], np.maximum(peaks, steps.peaks[c]))

    grow(0, 0.0, np.zeros(steps.peaks.shape[1]))
    return found


@each("seed", range(300))
def test_the_least_peak_within_a_budget(seed: int) -> None:
    steps = random_steps(seed)
    for budget in (2.0, 5.0, 9.0):
        fitting = [peaks[0] for length, peaks in every_path(steps) if length <= budget]
        found = least_peak(steps, budget)
        if not fitting:
            assert found.status is Status.INFEASIBLE
            continue
        assert found.status is Status.OPTIMAL
        assert found.objective == found.bound == min(fitting)
        assert found.decision is not None
        assert found.decision.length <= budget
        assert found.decision.peaks[0] == steps.peaks[found.decision.columns].max()
        below = least_peak(steps, budget, below=found.objective)
        assert below.status is Status.INFEASIBLE
        assert below.bound == found.objective


@each("width", [1, 2, 3])
@each("seed", range(200))
def test_the_least_total(seed: int, width: int) -> None:
    steps = random_steps(seed, width)
    for weights in ([0.0] * width, [1.0, 3.0, 2.0][:width]):
        values = [length + np.dot(weights, peaks) for length, peaks in every_path(steps)]
        found = least_total(steps, weights)
        if not values:
            assert found.status is Status.INFEASIBLE
            continue
        assert found.objective == found.bound == min(values)
        assert found.decision is not None
        assert found.decision.length + np.dot(weights, found.decision.peaks) == found.objective


@each(
    ("changed", "message"),
    [
        ({"level": np.zeros(0, dtype=int)}, "at least one state"),
        ({"ends": np.array([2])}, "ends must be states"),
        ({"starts": np.array([1])}, "higher level"),
        ({"lengths": np.array([np.nan])}, "lengths must be finite"),
        ({"peaks": np.array([[-1.0]])}, "peaks must be finite"),
    ],
)
def test_steps_that_make_no_sense(changed: dict[str, np.ndarray], message: str) -> None:
    good = {
        "level": np.array([0, 1]),
        "starts": np.array([0]),
        "ends": np.array([1]),
        "lengths": np.array([1.0]),
        "peaks": np.array([[1.0]]),
    }
    with pytest.raises(ValueError, match=message):
        Steps(**(good | changed))


def test_a_negative_weight() -> None:
    for weights in ([-1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="weights must be at least 0, one per peak"):
            least_total(random_steps(0), weights)
