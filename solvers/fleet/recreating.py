"""Better schedules by taking some jobs out of one and placing them anew, over and over.

Schrimpf, Schneider, Stamm-Wilbrandt, Dueck, Record breaking optimization results using the ruin and
recreate principle, J. Comput. Phys. 159 (2000), 139-171. Jobs that have no place count more than
anything else, so that it also makes whole schedules of parts.
"""

from __future__ import annotations

import time

import numpy as np

from solvers.fleet.listing import Board
from solvers.fleet.problem import Run, Schedule
from solvers.fleet.windows import Floats, Windows

_MOST_TAKEN = 8
_ROUNDS_PER_JOB, _ROUNDS_PER_PAIR = 240, 20
_AREA_PRICES = (0.0, 1e-2)
"""Prices of holding units, as shares of the largest value over all that there is to hold: what is
placed with care for others leaves them room."""
_PRICE_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.3)
"""Shares of the prices of the best bound."""
_COOLING = 0.02
"""Share of the value by which a schedule may be worse than the last one, at the beginning."""


def recreated(
    windows: Windows,
    start: Schedule | None,
    guide: Floats,
    enough: float,
    deadline: float,
    seed: int,
) -> Schedule | None:
    """The best schedule found; None: not all jobs had a place at once.

    Args:
        windows: The pairs of the fleet.
        start: A schedule to begin with, if there is one; of jobs with one segment each.
        guide: (c, t) what pairs cost at prices of what is limited.
        enough: A value at which to stop.
        deadline: Of `time.perf_counter`.
        seed: Of the choice of jobs.
    """
    rng = np.random.default_rng(seed)
    costs, board = _costs(windows, guide), Board(windows)
    for run in start or ():
        board.add(run)
    value, best = _value(board), (_value(board), dict(board.runs))
    jobs = len(windows.fleet.jobs)
    rounds = min(_ROUNDS_PER_JOB, _ROUNDS_PER_PAIR * jobs) * jobs
    for turn in range(rounds):
        if (best[0] <= enough and len(best[1]) == len(windows.fleet.jobs)) or (
            time.perf_counter() > deadline
        ):
            break
        before = dict(board.runs)
        _turn(board, rng, costs)
        after = _value(board)
        warmth = _COOLING * (1 - turn / rounds) * abs(best[0])
        if after <= value or after < best[0] + warmth * rng.random():
            value = after
        else:
            _restore(board, before)
        if value < best[0]:
            best = (value, dict(board.runs))
    whole = len(best[1]) == len(windows.fleet.jobs)
    return tuple(best[1][job] for job in sorted(best[1])) if whole else None


def _turn(board: Board, rng: np.random.Generator, costs: list[Floats]) -> None:
    """Takes jobs out that run at about one time, or any, and places them with those without one."""
    there = sorted(board.runs)
    count = int(rng.integers(1, min(_MOST_TAKEN, len(there)) + 1)) if there else 0
    if there and rng.random() < 0.7:
        centre = board.runs[there[int(rng.integers(len(there)))]]
        apart = np.array([_apart(centre, board.runs[job]) for job in there])
        taken = [there[at] for at in np.argsort(apart + rng.random(len(there)), kind="stable")]
        taken = taken[:count]
    else:
        taken = rng.choice(there, count, replace=False).tolist() if there else []
    for job in taken:
        board.take(job)
    missing = [job for job in range(len(board.fleet.jobs)) if job not in board.runs]
    rng.shuffle(missing)
    if rng.random() < 0.5:  # what is large is hard to place late
        missing.sort(key=lambda job: -board.windows.least_area[job])
    board.fill(missing, costs[int(rng.integers(len(costs)))])


def _costs(windows: Windows, guide: Floats) -> list[Floats]:
    """What pairs cost at prices of holding units: one at any time, and shares of the guide's."""
    there = float(windows.fleet.units.sum()) * windows.fleet.horizon
    area = windows.area[:, None] * (max(windows.most, 1) / there)
    price = np.where(windows.allowed, guide, 0.0) - np.where(windows.allowed, windows.own, 0.0)
    return [
        *(windows.own + share * area for share in _AREA_PRICES),
        *(windows.own + share * price for share in _PRICE_SHARES),
    ]


def _apart(one: Run, other: Run) -> int:
    """Steps between two runs; 0 where they overlap."""
    return max(0, one.start - other.end, other.start - one.end)


def _restore(board: Board, runs: dict[int, Run]) -> None:
    for job in [job for job, run in board.runs.items() if runs.get(job) != run]:
        board.take(job)
    for job, run in runs.items():
        if job not in board.runs:
            board.add(run)


def _value(board: Board) -> float:
    """Value of a part of a schedule, jobs without a place above all."""
    own = board.windows.own
    missing = len(board.fleet.jobs) - len(board.runs)
    worst = float(board.windows.most)
    return missing * (worst + 1) + sum(
        float(own[run.choice, run.start]) for run in board.runs.values()
    )
