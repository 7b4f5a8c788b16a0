"""Clocks per operation: the graph against simulation and cost model, choices, files."""

import ast
import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.jobs import cost_model, dense_model

from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.energy.meter import meter_of
from planner.cost.evaluate import evaluate_totals
from planner.cost.timeline import timeline_of
from planner.cost.timeline.trace import chrome_trace
from planner.plan import Plan, PlanTable, Stage
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.operation_clocks import OperationClocks
from planner.search.operations import clocks
from planner.search.operations.capped import under_power
from planner.search.operations.clocks import clocks_per_operation
from planner.search.operations.frequencies import frequency_plan
from planner.search.operations.graph import step_operations
from planner.search.operations.timeline import clocked_timeline
from planner.search.uneven.clocks import explicit_plan, with_stage_clocks
from solvers.operations import shortest
from solvers.operations.graph import at_level, evaluated

PLAN = Plan(pp=4, micro_batch=1, sharding="ddp")
PLANS = {
    "gpipe": replace(PLAN, schedule="gpipe"),
    "1f1b": PLAN,
    "replicas": replace(PLAN, dp=2, sharding="zero1"),
    "interleaved": replace(PLAN, schedule="interleaved", interleave=2),
    "zero-bubble": replace(PLAN, schedule="zero-bubble"),
    "dualpipe": replace(PLAN, schedule="dualpipe"),
    "zb-v": replace(PLAN, schedule="zb-v", interleave=2),
    "unequal stages": replace(PLAN, stages=tuple(Stage(layers=n) for n in (1, 3, 2, 2))),
}


@cache
def model() -> CostModel:
    return cost_model(dense_model(8, 1024, 8, 4, 4096), "dgx-h100-ndr", global_batch=8)


@pytest.mark.parametrize("name", PLANS)
def test_at_one_clock_the_graph_is_the_simulation_and_the_cost_model(name: str) -> None:
    """Seconds operation by operation; joules of all, the cost model's own step time aside."""
    plan, job = PLANS[name], model()
    if plan.schedule == "dualpipe" or plan.dp > 1:
        job = cost_model(dense_model(8, 1024, 8, 4, 4096), "dgx-h100-ndr", global_batch=16)
    steps = step_operations(job, plan)
    graph = steps.graph
    for level, clock in enumerate(steps.clocks.tolist()):
        found = evaluated(graph, at_level(graph, np.full(graph.groups, level)))
        stages = plan.stages and tuple(replace(one, clock=clock) for one in plan.stages)
        same = replace(plan, clock=clock, stages=stages)
        drawn = timeline_of(job, same)
        # Reductions are those at the highest clock, after which less of them is hidden.
        assert found.end == pytest.approx(drawn.makespan_s, rel=1e-12 if plan.dp == 1 else 2e-3)
        joules = float(evaluate_totals(job, PlanTable.from_plans([same])).energy_j[0])
        waited = graph.per_second * (drawn.modelled_s - found.end)
        assert found.cost + waited == pytest.approx(joules, rel=1e-12)


@cache
def short() -> CostModel:
    return cost_model(dense_model(8, 1024, 8, 4, 4096), "dgx-h100-ndr", global_batch=4)


@cache
def answer(schedule: str = "1f1b", interleave: int = 1) -> OperationClocks:
    plan = Plan(pp=2, micro_batch=1, sharding="ddp", schedule=schedule, interleave=interleave)
    return clocks_per_operation(short(), plan, 1e-4)


def test_the_best_clock_per_stage_is_that_of_all_plans_simulated() -> None:
    """Every choice of clocks per stage as a plan of its own, through simulation and cost model."""
    job, plan = short(), explicit_plan(short(), Plan(pp=2, micro_batch=1, sharding="ddp"))
    plans = [
        with_stage_clocks(plan, clocks)
        for clocks in itertools.product(job.clocks(wanted=True).tolist(), repeat=2)
    ]
    totals = evaluate_totals(job, PlanTable.from_plans(plans))
    drawn = [timeline_of(job, one) for one in plans]
    watts = step_operations(job, plan).graph.per_second
    ends = np.array([one.makespan_s for one in drawn])
    joules = totals.energy_j + watts * (ends - [one.modelled_s for one in drawn])
    found = answer()
    for point in found.front:
        least = joules[ends <= point.step_time_s * (1 + 1e-9)].min()
        assert point.per_stage_j == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("asked", [("1f1b", 1), ("interleaved", 2), ("zero-bubble", 1)])
def test_bounds_hold_and_more_freedom_or_time_never_costs(asked: tuple[str, int]) -> None:
    found = answer(*asked)
    assert found.per_stage_bound_j <= found.per_stage_j
    for one in found.choices:
        assert one.bound_j <= one.energy_j <= found.per_stage_j * (1 + 1e-12)
        assert one.step_time_s <= found.limit_s * (1 + 1e-8)
        assert one.saved == pytest.approx(1 - one.energy_j / found.per_stage_j)
    for one in found.front:
        assert one.bound_j == pytest.approx(one.mixed_j, rel=1e-6)
        assert one.mixed_j <= one.per_operation_j * (1 + 1e-9)
        assert one.per_operation_j <= one.per_stage_j
    for one, other in itertools.pairwise(found.front):
        assert other.mixed_j <= one.mixed_j * (1 + 1e-9)
    assert found.choices[0].saved > 0.005
    assert found.choices[0].energy_j <= found.choices[-1].energy_j


def test_long_steps_are_searched_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """In windows of their stages, as well as with the program but for little."""
    job, plan = short(), Plan(pp=2, micro_batch=1, sharding="ddp")
    monkeypatch.setattr(clocks, "_FEW", 10)
    found = clocks.clocks_per_operation(job, plan, 1e-4)
    assert answer().choices[0].bound_j <= found.choices[0].energy_j <= found.per_stage_j
    assert found.chosen.step_time_s <= found.limit_s * (1 + 1e-8)
    for one, other in zip(found.choices, answer().choices, strict=False):
        if one.switching_s == other.switching_s:
            assert one.energy_j <= other.energy_j * 1.005


def test_changes_that_take_long_leave_one_clock_per_stage() -> None:
    plan = Plan(pp=2, micro_batch=1, sharding="ddp")
    found = clocks_per_operation(short(), plan, 1.0)
    assert not found.worth
    assert found.chosen.saved == 0
    assert found.chosen.switches == 0
    np.testing.assert_array_equal(found.clocks, np.ones_like(found.clocks) * found.per_stage[0])


@pytest.mark.parametrize("asked", [("1f1b", 1), ("interleaved", 2)])
def test_the_timeline_and_the_file_have_the_chosen_clocks(asked: tuple[str, int]) -> None:
    job, found = short(), answer(*asked)
    plan = Plan(pp=2, micro_batch=1, sharding="ddp", schedule=asked[0], interleave=asked[1])
    drawn = clocked_timeline(job, plan, found.drawn)
    assert found.worth
    assert drawn.makespan_s == pytest.approx(found.chosen.step_time_s, rel=1e-12)
    assert (drawn.idle_s >= 0).all()
    trace = chrome_trace(drawn)["traceEvents"]
    passes = [e for e in trace if e["ph"] == "X" and "micro_batch" in e["args"]]
    rows = ast.literal_eval(frequency_plan(found, job.chip, "a test"))
    for stage, (row, levels) in enumerate(zip(rows, found.clocks, strict=True)):
        own = [e for e in passes if e["tid"] == stage + 1]
        assert [name for name, _ in row] == [e["cat"] for e in own]
        assert [e["args"]["clock"] for e in own] == levels.tolist()
        assert [mhz for _, mhz in row] == np.rint(1830 * levels).tolist()
        counted = [e for e in trace if e["name"] == f"clock of stage {stage}"]
        assert len(counted) > 1
    assert len({e["cname"] for e in passes}) > 1


def test_side_by_side_passes_keep_their_order_in_the_timeline() -> None:
    job, plan = short(), Plan(pp=2, micro_batch=1, sharding="ddp", schedule="dualpipe")
    drawn = clocked_timeline(job, plan, clocks_per_operation(job, plan, 0.0).drawn)
    for stage in range(2):
        here = drawn.of_stage(stage)
        assert (drawn.start_s[here][1:] >= drawn.end_s[here][:-1] - 1e-12).all()
        assert (drawn.end_s[here] >= drawn.start_s[here]).all()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"assumptions": "rack-energy", "hardware": "c2c-ndr400-rack"}, "energy of phases"),
        ({"hardware": "tpu-v5p"}, "has one"),
    ],
)
def test_what_has_no_clocks_is_refused(fields: dict[str, str], words: str) -> None:
    asked = {"model": "llama3-8b", "chips": 8, "batch_tokens": 2**18, **fields}
    with pytest.raises(InputError, match=words):
        step_operations(resolve(request_from(asked)).cost, Plan(pp=8, micro_batch=1))


@pytest.mark.parametrize("boundary", ["chip", "facility"])
def test_under_a_limit_the_draw_is_that_of_the_operations_drawn(
    boundary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the timeline with its pauses, at every begin, by the powers of the graph."""
    monkeypatch.setattr(shortest, "_WORK", 10_000)
    job, plan = short(), Plan(pp=2, micro_batch=1, sharding="ddp")
    free = under_power(job, plan, 1.0, boundary, 0.0)
    assert free.found is None
    limit_w = 0.5 * free.needed_w + 0.5 * free.as_it_is_w
    limited = under_power(job, plan, limit_w, boundary, 0.0)
    found = limited.found
    assert found is not None
    clocked = replace(answer(), under_power=limited)
    drawn, steps = clocked_timeline(job, plan, clocked.drawn), step_operations(job, plan)
    assert drawn.makespan_s == pytest.approx(found.step_time_s)
    meter, graph = meter_of(job, boundary, plan.chips), steps.graph
    passes = drawn.micro_batch >= 0
    level = np.abs(found.clocks[..., None] - steps.clocks).argmin(axis=-1)
    most = 0.0
    for moment in drawn.start_s[passes]:
        watts = graph.per_second
        for stage in range(plan.pp):
            own = np.flatnonzero(drawn.of_stage(stage) & passes)
            inside = (drawn.start_s[own] <= moment) & (drawn.end_s[own] > moment + 1e-12)
            for at in np.flatnonzero(inside).tolist():
                one, k = steps.of_pass[stage, at], level[stage, at]
                watts += graph.cost[one, k] / graph.seconds[one, k]
        most = max(most, meter.shown_w(watts))
    assert most <= limit_w * (1 + 1e-8)
    assert most == pytest.approx(found.most_w, rel=1e-6) or most < found.most_w
    assert limited.as_it_is_s <= found.bound_s * (1 + 1e-9)
    with pytest.raises(InputError, match="cannot change the step"):
        under_power(job, plan, limited.as_it_is_w * 1.001, boundary, 0.0)


def test_as_it_is_a_plan_has_the_clock_of_each_stage() -> None:
    """The seconds and the most watts before anything is changed are those of the plan drawn."""
    job, uneven = short(), (1.0, 0.8)
    plan = with_stage_clocks(explicit_plan(job, Plan(pp=2, micro_batch=1, sharding="ddp")), uneven)
    found = under_power(job, plan, 1.0, "chip", 0.0)
    assert found.as_it_is_s == pytest.approx(timeline_of(job, plan).makespan_s, rel=1e-12)
    unsaid = replace(plan, clock=0.8, stages=tuple(replace(one, clock=None) for one in plan.stages))
    slow = under_power(job, unsaid, 1.0, "chip", 0.0)  # stages have the clock of the plan
    assert slow.as_it_is_s == pytest.approx(timeline_of(job, unsaid).makespan_s, rel=1e-12)
    fast = under_power(job, with_stage_clocks(plan, (1.0, 1.0)), 1.0, "chip", 0.0)
    assert fast.as_it_is_s < found.as_it_is_s
    assert fast.as_it_is_w > found.as_it_is_w
