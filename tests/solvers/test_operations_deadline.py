"""What has a deadline ends by it, with what is known until then; and levels changed in windows."""

import time

import numpy as np
import pytest
import scipy.optimize
from support.cases import each

from solvers.clock import OutOfTime
from solvers.operations.graph import TOLERANCE, Operations, Turn, at_level, evaluated
from solvers.operations.program import solve, solve_whole, whole_bound
from solvers.operations.rounding import repaired, rounded, slowed
from solvers.operations.windows import slowed_in_windows


def pipeline(passes, switch_s, stages=2):
    """Stages whose passes follow one another, each after that of the stage before."""
    n = stages * passes
    chain, at = np.arange(n) % stages, np.arange(n)
    follow = at[chain > 0]
    before = np.concatenate([at[:-stages], follow - 1])
    after = np.concatenate([at[stages:], follow])
    clocks = np.array([1.0, 0.9, 0.8, 0.7, 0.6])
    work = np.where(chain == 0, 1.0, 0.7)[:, None]
    graph = Operations(
        seconds=work / clocks,
        cost=work * (0.2 + clocks**2),
        group=at,
        before=before,
        after=after,
        lag=np.zeros(len(before)),
        per_second=0.5,
        switches=np.where(np.arange(len(before)) < n - stages, switch_s, 0.0),
        turn=Turn(
            last=at[-stages:], first=at[:stages], switches=np.full(stages, switch_s)
        ),
    )  # fmt: skip
    return graph, chain


def test_a_deadline_that_passed_calls_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(scipy.optimize, "linprog", called)
    monkeypatch.setattr(scipy.optimize, "milp", called)
    graph, chain = pipeline(8, 0.1)
    fastest = np.zeros(len(chain), dtype=np.intp)
    limit = 1.2 * evaluated(graph, at_level(graph, fastest)).end
    late = time.perf_counter() - 1
    for one in (solve, whole_bound):
        with pytest.raises(OutOfTime):
            one(graph, limit, late)
    assert solve_whole(graph, limit, deadline=late) is None
    assert rounded(graph, limit, deadline=late) is None
    assert repaired(graph, fastest, limit, late) is None
    assert slowed(graph, fastest, limit, late).tolist() == fastest.tolist()
    assert slowed_in_windows(graph, fastest, limit, chain, late).tolist() == fastest.tolist()


def test_solvers_are_told_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = pipeline(4, 0.1)
    limits = []

    def noting(name):
        real = getattr(scipy.optimize, name)

        def noted(*args, options, **fields):
            limits.append(options["time_limit"])
            return real(*args, options=options, **fields)

        monkeypatch.setattr(scipy.optimize, name, noted)

    noting("linprog")
    noting("milp")
    deadline = time.perf_counter() + 60
    solve(graph, 9.0, deadline)
    whole_bound(graph, 9.0, deadline)
    solve_whole(graph, 9.0, nodes=1, deadline=deadline)
    assert len(limits) == 3
    assert all(0 < one <= 60 for one in limits)
    assert limits == sorted(limits, reverse=True)


def test_a_program_that_time_ends_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no graph without levels."""
    ended = scipy.optimize.OptimizeResult(status=1, message="Time limit reached.")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: ended)
    with pytest.raises(OutOfTime):
        solve(pipeline(4, 0.1)[0], 9.0)


@each("switch_s", [0.0, 0.05, 0.3])
def test_windows_beat_single_operations_where_changes_take_long(
    switch_s: float,
) -> None:
    graph, chain = pipeline(16, switch_s)
    fastest = np.zeros(len(chain), dtype=np.intp)
    limit = 1.1 * evaluated(graph, at_level(graph, fastest)).end
    start = evaluated(graph, at_level(graph, fastest))
    alone = evaluated(graph, at_level(graph, slowed(graph, fastest, limit)))
    level = slowed_in_windows(graph, fastest, limit, chain)
    found = evaluated(graph, at_level(graph, level))
    assert found.end <= limit * (1 + TOLERANCE)
    assert whole_bound(graph, limit).at_limit <= found.cost * (1 + 1e-9)
    assert found.cost < start.cost
    if switch_s == 0.3:  # one operation alone gains nothing
        assert found.cost < 0.99 * alone.cost
