"""Segments between checkpoints: closed forms against brute force and simulated runs."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cost.goodput.segments import (
    Checkpointing,
    Interruptions,
    best_steps,
    best_work_s,
    shares,
    wall_time_s,
)
from planner.evidence.goodput.gaps import exponential
from planner.evidence.goodput.simulation import Run, simulate

THETA_S = 50_700 * 3600.0
"""Chip-seconds per failure that the figures below are worked with."""


def of(chips: int, *, detection: float = 120.0, restart: float = 600.0) -> Interruptions:
    return Interruptions(mtbf_s=THETA_S / chips, detection_s=detection, restart_s=restart)


@pytest.mark.parametrize(("down", "stall_s", "work_s", "percent"), [
    (replace(of(16_384), while_down=False), 60.0, 1117, 84.5),
    (replace(of(16_384), while_down=False), 5.0, 330, 91.1),
    (of(16_384), 5.0, 330, 91.0),
    (of(16_384, detection=60.0, restart=120.0), 5.0, 330, 95.5),
    (of(512), 5.0, None, 99.3),
    (of(100_000), 5.0, None, 62.5),
    (replace(of(100_000), while_down=False), 5.0, None, 66.5),
    (replace(of(100_000, detection=60.0, restart=120.0), while_down=False), 5.0, None, 84.4),
])  # fmt: skip
def test_worked_figures(
    down: Interruptions, stall_s: float, work_s: int | None, percent: float
) -> None:
    saved = Checkpointing(stall_s=stall_s, write_s=0.0)
    best = best_work_s(down, saved)
    assert work_s is None or round(float(best)) == work_s
    assert 100 * float(shares(best, down, saved).work) == pytest.approx(percent, abs=0.06)


positive = st.floats(1e-2, 1e5)


@given(positive, st.floats(1e-3, 1e4), st.floats(0.0, 1e4), positive, st.booleans(), positive)
def test_no_other_interval_is_better(
    mtbf: float, stall: float, write: float, down_s: float, while_down: bool, step: float
) -> None:
    down = Interruptions(mtbf_s=mtbf, detection_s=0.0, restart_s=down_s, while_down=while_down)
    saved = Checkpointing(stall_s=stall, write_s=write)
    best = max(float(best_work_s(down, saved)), 1e-3)
    tried = np.geomspace(1e-3, 1e3, 2001) * best
    tried = tried[tried >= write]

    def per_second(work_s: np.ndarray | float) -> np.ndarray:
        return np.log(wall_time_s(work_s, down, saved) / work_s)

    with np.errstate(over="ignore"):
        assert (per_second(tried) >= per_second(best) - 1e-9).all()
        whole = np.arange(1.0, 3.0 * best / step + 3.0) if best < 2000 * step else np.array([])
        allowed = whole[whole * step >= write] * step
        if allowed.size:
            chosen = float(best_steps(step, down, saved)) * step
            assert (per_second(allowed) >= per_second(chosen) - 1e-9).all()


@pytest.mark.parametrize("while_down", [True, False])
@pytest.mark.parametrize(("mtbf", "stall", "write", "down_s"), [
    (11_140.0, 60.0, 0.0, 720.0), (11_140.0, 5.0, 200.0, 720.0), (1825.0, 5.0, 0.0, 720.0),
    (1825.0, 5.0, 330.0, 180.0),
])  # fmt: skip
def test_the_closed_forms_are_those_of_simulated_runs(
    mtbf: float, stall: float, write: float, down_s: float, while_down: bool
) -> None:
    """Within 1 % over 10,000 runs: shares of time, and failures."""
    down = Interruptions(mtbf_s=mtbf, detection_s=0.0, restart_s=down_s, while_down=while_down)
    saved = Checkpointing(stall_s=stall, write_s=write)
    work = float(best_work_s(down, saved))
    run = Run(total_s=1000 * work, work_s=work, stall_s=stall, write_s=write, down_s=down_s,
              gaps=exponential(mtbf), while_down=while_down)  # fmt: skip
    found, known = simulate(run, 10_000, seed=27), shares(work, down, saved)
    wall = found.wall_s.sum()
    assert run.total_s * len(found.wall_s) / wall == pytest.approx(known.work, rel=0.01)
    assert found.stalls_s.sum() / wall == pytest.approx(known.stalls, rel=0.01)
    assert found.down_s.sum() / wall == pytest.approx(known.down, rel=0.01)
    assert found.lost_s.sum() / wall == pytest.approx(known.lost, rel=0.02)
    assert found.failures.sum() / wall == pytest.approx(known.failures_per_s, rel=0.01)
    assert known.times == pytest.approx(1.0 + known.lost / known.work, rel=1e-9)
    assert found.wall_s == pytest.approx(
        run.total_s + found.stalls_s + found.down_s + found.waits_s + found.lost_s
    )


def test_a_job_that_never_fails_needs_no_checkpoint() -> None:
    down = Interruptions(mtbf_s=np.inf, detection_s=60.0, restart_s=600.0)
    saved = Checkpointing(stall_s=5.0, write_s=30.0)
    assert best_steps(2.0, down, saved) == np.inf
    assert shares(np.inf, down, saved).work == 1.0
    assert shares(95.0, down, saved).work == pytest.approx(0.95)


def test_a_restart_longer_than_the_time_between_failures_is_an_answer() -> None:
    down = Interruptions(mtbf_s=100.0, detection_s=0.0, restart_s=1000.0)
    saved = Checkpointing(stall_s=1.0, write_s=0.0)
    found = shares(best_work_s(down, saved), down, saved)
    assert 0.0 < found.work < 1e-4
    assert found.down == pytest.approx(-np.expm1(-10.0))
    hopeless = Interruptions(mtbf_s=1.0, detection_s=0.0, restart_s=1e4)
    assert shares(1.0, hopeless, saved).work == 0.0


def test_a_cycle_that_hardly_ever_ends_is_told_without_a_warning() -> None:
    down = Interruptions(mtbf_s=1.0, detection_s=0.0, restart_s=705.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert best_steps(1e-3, down, Checkpointing(stall_s=1.0, write_s=0.0)) >= 1.0


def test_plans_stand_side_by_side() -> None:
    down = Interruptions(mtbf_s=np.array([1e3, 1e4]), detection_s=60.0, restart_s=600.0)
    saved = Checkpointing(stall_s=np.array([5.0, 20.0]), write_s=np.array([100.0, 0.0]))
    steps = best_steps(np.array([3.0, 7.0]), down, saved)
    alone = [
        best_steps(step, Interruptions(mtbf_s=m, detection_s=60.0, restart_s=600.0),
                   Checkpointing(stall_s=c, write_s=w))
        for step, m, c, w in ((3.0, 1e3, 5.0, 100.0), (7.0, 1e4, 20.0, 0.0))
    ]  # fmt: skip
    assert steps.tolist() == [float(one) for one in alone]
