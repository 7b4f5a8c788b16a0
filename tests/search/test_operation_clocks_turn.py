"""Clocks per operation in steps that repeat: the change before the next step takes its time too."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model

from planner.cost.context import CostModel
from planner.cost.timeline.timeline import Timeline
from planner.plan import Plan
from planner.results.operation_clocks import OperationClocks
from planner.search.operations.capped import under_power
from planner.search.operations.clocks import clocks_per_operation
from planner.search.operations.timeline import clocked_timeline
from solvers.operations import shortest

SWITCHING_S = 3e-3
PLAN = Plan(pp=2, micro_batch=1, sharding="ddp")


def job(layers: int = 2, batch: int = 2) -> CostModel:
    return cost_model(dense_model(layers, 1024, 8, 4, 65536), "dgx-h100-ndr", global_batch=batch)


def changes(drawn: Timeline, switching_s: float) -> int:
    """How often clocks change in steps that repeat; each time the stage stands still so long."""
    count = 0
    for stage in range(drawn.stages):
        own = np.flatnonzero(drawn.of_stage(stage) & np.isfinite(drawn.clock))
        clocks, begins, ends = drawn.clock[own], drawn.start_s[own], drawn.end_s[own]
        changed = clocks != np.roll(clocks, -1)
        stood = np.append(begins[1:], drawn.makespan_s + begins[0]) - ends
        assert (stood[changed] >= switching_s - 1e-9).all()
        count += int(changed.sum())
    return count


@cache
def answer() -> OperationClocks:
    return clocks_per_operation(job(), PLAN, SWITCHING_S)


def taking(switching_s: float) -> OperationClocks:
    """The same where changes are said to take so long."""
    found = answer()
    choice = replace(found.chosen, switching_s=switching_s)
    return replace(found, choices=(choice,), switching_s=switching_s)


def test_every_change_in_steps_that_repeat_takes_its_time_and_counts() -> None:
    found = answer()
    assert found.worth
    drawn = clocked_timeline(job(), PLAN, found.drawn)
    assert changes(drawn, SWITCHING_S) == found.chosen.switches
    assert drawn.makespan_s == pytest.approx(found.chosen.step_time_s, rel=1e-12)
    assert drawn.makespan_s == pytest.approx(drawn.end_s.max(), rel=1e-12)


def test_the_step_is_as_long_as_the_change_before_the_next_one_takes() -> None:
    """Slow optimizers before fast passes: the first stage, which begins at once, stands still."""
    seconds = 0.015
    found = taking(seconds)
    fast, slow = np.ones_like(found.clocks), np.full_like(found.ends, 0.6)
    drawn = clocked_timeline(job(), PLAN, replace(found, clocks=fast, ends=slow).drawn)
    same = clocked_timeline(job(), PLAN, replace(found, clocks=fast, ends=slow / 0.6).drawn)
    assert changes(drawn, seconds) == 2 * PLAN.pp
    assert changes(same, seconds) == 0
    assert drawn.makespan_s == pytest.approx(drawn.end_s.max(), rel=1e-12)
    optimizers = drawn.end_s[np.isfinite(drawn.clock) & (drawn.micro_batch < 0)]
    assert drawn.makespan_s >= optimizers.max() + seconds - 1e-9


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortest, "_WORK", 10_000)


def capped(switching_s: float) -> OperationClocks:
    free = under_power(job(), PLAN, 1.0, "chip", switching_s)
    limit_w = 0.4 * free.needed_w + 0.6 * free.as_it_is_w
    limited = under_power(job(), PLAN, limit_w, "chip", switching_s)
    return replace(taking(switching_s), under_power=limited)


@pytest.mark.usefixtures("quick")
@each("switching_s", [1e-4, 1e-2])
def test_so_it_is_under_a_limit_on_power(switching_s: float) -> None:
    found = capped(switching_s)
    drawn = clocked_timeline(job(), PLAN, found.drawn)
    changes(drawn, switching_s)
    assert drawn.makespan_s == pytest.approx(found.under_power.found.step_time_s, rel=1e-12)
