"""The front over plans and clocks of their operations, against every plan with its own program."""

import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.cases import each

import planner
from planner.answers.evaluation import limits_of, options_of
from planner.base.errors import InputError
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.operation_clocks import OperationFront
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver, Found
from planner.search.operations import ahead, listing
from planner.search.operations.clocks import whole_clocks
from planner.search.operations.graph import step_operations
from planner.search.uniform.engine import UniformSpace
from solvers.operations.chains import Chains
from solvers.operations.graph import at_level, evaluated
from solvers.operations.program import solve

JOB = {"model": "gpt3-125m", "seq_len": 1024, "framework": "megatron"}
QUESTIONS = {
    "pipelines": {"hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**13,
                  "fix": {"pp": ["2"], "sharding": ["zero1"], "recompute": ["none"]}},
    "one stage": {"hardware": "a100-sxm4-80", "chips": 8, "batch_tokens": 2**14,
                  "fix": {"pp": ["1"], "tp": ["1"], "recompute": ["none"]}},
    "chips open": {"hardware": "h100-sxm5-80", "chips_at_most": 4, "batch_tokens": 2**12,
                   "fix": {"pp": ["2"], "micro_batch": ["1"], "recompute": ["none"]}},
}  # fmt: skip


def asked(name: str) -> dict:
    return {**JOB, **QUESTIONS[name]}


@cache
def searched(name: str) -> tuple[UniformSpace, Found]:
    request = request_from(asked(name))
    resolved = resolve(request)
    space = UniformSpace(
        model=resolved.cost, options=options_of(request, resolved.runners.targets),
        limits=limits_of(request), chips=resolved.counts, columns=request.compared,
    )  # fmt: skip
    return space, Driver().run(space)


@cache
def found(name: str, gap: float | None = 0.0) -> OperationFront:
    space, front = searched(name)
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    return ahead.front_ahead(space, front.points, plans, 0.01, gap)


@cache
def programs(name: str) -> list:
    """Of every plan of the space with every placement: time, first bound, chains, graph, rest."""
    space, _ = searched(name)
    every = listing.plans_below(space, np.array([[1e9, 1e30]]))
    assert len(every.time_s) > 10
    made = []
    for row in range(len(every.time_s)):
        steps = step_operations(space.model, every.plan(row))
        graph = steps.graph
        start = evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp))).end
        rest_s = float(every.time_s[row]) - start
        made.append((every, row, Chains.of(graph, steps.stage), graph, rest_s))
    return made


@each("name", list(QUESTIONS))
def test_the_front_is_the_least_of_every_plan_with_its_own_program(name: str) -> None:
    front = searched(name)[1].points
    assert [[one.step_time_s, one.one_clock_j] for one in found(name).points] == front.tolist()
    assert len(front) > ahead._FIRST or name != "chips open"
    for point in found(name).points:
        least = [point.one_clock_j]
        for every, row, _, graph, rest_s in programs(name):
            if every.time_s[row] <= point.step_time_s:
                best = solve(graph, point.step_time_s - rest_s + 1e-12)
                least.append(best.cost + graph.per_second * rest_s)
        assert point.mixed_j == pytest.approx(min(least), rel=1e-7)
        assert point.bound_j == pytest.approx(min(least), rel=1e-7)
        assert point.bound_j <= point.mixed_j <= point.energy_j <= point.one_clock_j
    assert found(name).left == 0


@each("name", list(QUESTIONS))
def test_each_bound_is_below_the_next(name: str) -> None:
    """What is listed, what the stages need, and what the program needs, at several times."""
    for every, row, chains, graph, rest_s in programs(name)[::4]:
        rest_j = graph.per_second * rest_s
        for factor in (1.0, 1.03, 1.2):
            within = float(every.time_s[row]) * factor - rest_s
            stages, best = chains.bound(within), solve(graph, within + 1e-12)
            assert every.least_j[row] <= stages + rest_j + 1e-8 * best.cost
            assert stages <= best.cost * (1 + 1e-8)


@cache
def whole(name: str, row: int, limit_s: float) -> float:
    """Joules of a plan of the space with whole clocks within a step time."""
    space, _ = searched(name)
    every, _, _, graph, rest_s = programs(name)[row]
    steps = step_operations(space.model, every.plan(row))
    return whole_clocks(steps, 0.01, limit_s - rest_s).cost + graph.per_second * rest_s


def test_the_plan_of_a_point_has_its_joules_and_no_other_plan_has_less() -> None:
    """Whole clocks of every plan, of which a smaller space has some, whatever the gap."""
    name, gap = "pipelines", 0.05
    _, front = searched(name)
    for at, point in enumerate(found(name, gap).points):
        assert point.all_sought
        least, plans = {front.plans.plan(at): point.one_clock_j}, programs(name)
        for every, row, *_ in plans:
            if every.time_s[row] <= point.step_time_s * (1 - 1e-12):
                least[every.plan(row)] = whole(name, row, point.step_time_s)
        assert point.energy_j == pytest.approx(min(least.values()), rel=1e-9)
        if point.operations:
            assert point.energy_j == pytest.approx(least[point.plan], rel=1e-9)
            assert point.energy_j < point.one_clock_j
        else:
            assert (point.plan, point.energy_j) == (front.plans.plan(at), point.one_clock_j)


def test_a_loose_gap_needs_fewer_programs_and_keeps_to_its_bound() -> None:
    exact, loose = found("pipelines"), found("pipelines", 0.02)
    assert loose.solved < exact.solved
    for one, other in zip(exact.points, loose.points, strict=True):
        assert other.bound_j <= one.mixed_j * (1 + 1e-9)
        assert other.mixed_j >= one.mixed_j * (1 - 1e-9)
        assert other.gap <= 0.02 * (1 + 1e-6)


def test_what_is_not_looked_at_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few plans or programs the bound is further away, and still one."""
    exact = found("pipelines")
    space, front = searched("pipelines")
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    for name, most in (("_MOST_PLANS", 1), ("_MOST_PROGRAMS", 0), ("_MOST_BOUNDED", 3)):
        monkeypatch.setattr(ahead, name, most)
        some = ahead.front_ahead(space, front.points, plans, 0.01, 0.0)
        monkeypatch.undo()
        assert some.left > 0
        for one, other in zip(exact.points, some.points, strict=True):
            assert other.bound_j <= one.mixed_j * (1 + 1e-9)
            assert other.mixed_j >= one.mixed_j * (1 - 1e-9)


def test_plans_whose_whole_clocks_were_not_sought_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    space, front = searched("pipelines")
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    assert found("pipelines").unsought == 0
    monkeypatch.setattr(ahead, "_MOST_SOUGHT", 0)
    none = ahead.front_ahead(space, front.points, plans, 0.01, 0.0)
    assert none.unsought == len(none.points)
    assert [one.plan for one in none.points] == plans
    assert [one.energy_j for one in none.points] == [one.one_clock_j for one in none.points]


def test_the_lowest_clock_is_leanest_only_where_power_falls_faster_than_the_clock() -> None:
    space, _ = searched("one stage")
    assert listing.lowest_is_leanest(space.model)
    chip = replace(space.model.chip, idle_w=space.model.chip.wait_w + 200.0)
    model = replace(space.model, cluster=replace(space.model.cluster, chip=chip))
    assert not listing.lowest_is_leanest(model)


def test_an_answer_has_it_where_it_is_asked_for() -> None:
    answer = planner.solve(**asked("pipelines"), clocks="per-operation", gap=0.001)
    assert [one.step_time_s for one in answer.clocks.points] == [
        one.step_time_s for one in answer.front
    ]
    data = answer.to_dict()["operation_clocks"]
    assert data["gap"] == 0.001
    assert data["points"][0]["plan"]["mesh"]["pp"] == 2
    assert "operation_clocks" not in planner.solve(**asked("pipelines")).to_dict()
    assert planner.solve(**asked("pipelines")).best == answer.best


def test_a_plan_has_it_in_python_too() -> None:
    best = planner.solve(**asked("pipelines")).plan
    fields = {name: value for name, value in asked("pipelines").items() if name != "fix"}
    one = planner.evaluate(best, **fields, clocks="per-operation")
    assert one.clocks.operations > 0
    assert planner.evaluate(best, **fields).clocks is None


@each(
    ("fields", "words"),
    [
        ({"hardware": "tpu-v5p"}, "has one"),
        ({"hardware": "c2c-ndr400-rack", "assumptions": "rack-energy"}, "energy of phases"),
        ({"layout": "uneven"}, "layout uneven"),
        ({"pes": 66}, "machines"),
        ({"max_power": "9kW"}, "max-power"),
        ({"front": "time,energy,memory"}, "leave front out"),
        ({"objective": "money"}, "objective money has that of time and money: take time, energy"),
        (
            {"pools": {"dgx-h100-ndr": 4, "dgx-a100-80-hdr": 4}, "layout": "uneven"},
            "is not chosen on pools of chips, .*; leave it out",
        ),
        ({"clocks": "per-stage"}, "not true, false or per-operation"),
    ],
)
def test_what_it_does_not_go_with_is_refused(fields: dict, words: str) -> None:
    chips = {} if "pools" in fields else {"hardware": "h100-sxm5-80", "chips": 8}
    question = {"model": "llama3-8b", "batch_tokens": 2**18, "clocks": "per-operation",
                **chips, **fields}  # fmt: skip
    with pytest.raises(InputError, match=f"^clocks: .*{words}"):
        planner.solve(**question)


def test_an_answer_says_where_time_ended_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(ahead, "plans_below", late)
    answer = planner.solve(**asked("pipelines"), clocks="per-operation")
    assert answer.clocks is None
    assert "Time ended before clocks per-operation" in answer.notes.caveats[-1]


def test_what_takes_long_is_told_when_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs and the search of whole clocks; what they find by then counts, and is said."""
    space, front = searched("pipelines")
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    told = {"solve": set(), "whole_bound": set(), "whole_clocks": set()}
    for name, ends in told.items():
        real = getattr(ahead, name)

        def noting(*given: object, real: object = real, ends: set = ends) -> object:
            ends.add(given[-1])
            return real(*given)

        monkeypatch.setattr(ahead, name, noting)
    until = Deadline(time.perf_counter() + 600)
    limited = replace(space, deadline=until.at)
    assert ahead.front_ahead(limited, front.points, plans, 0.01, 0.0).in_time
    assert told == {"solve": {until.at}, "whole_bound": {until.at}, "whole_clocks": {until}}


def test_time_that_ends_within_the_search_of_clocks_leaves_valid_ones() -> None:
    every, row, _, graph, rest_s = programs("pipelines")[0]
    steps = step_operations(searched("pipelines")[0].model, every.plan(row))
    limit_s = float(every.time_s[row]) * 1.1 - rest_s
    late = whole_clocks(steps, 0.01, limit_s, Deadline(time.perf_counter()))
    fastest = evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp)))
    assert (late.cost, late.end) == (fastest.cost, fastest.end)
    assert whole_clocks(steps, 0.01, limit_s).cost < late.cost


def test_a_bound_of_a_shorter_limit_is_tried_before_a_program() -> None:
    """It is one at the longer limit too, and below what the program has there."""
    every, row, *_ = programs("pipelines")[0]
    limit_s = float(every.time_s[row]) * 1.02
    for longer in (1.0, 1.05, 1.5):
        search = ahead._Search(searched("pipelines")[0].model, every, 0.0, Deadline())
        some = row, limit_s, 0.01
        first, what, _ = search._with_changes(0.0, ahead._CHAINS, *some)
        assert (what, search.whole_programs) == (ahead._CHANGING, 1)
        some = row, limit_s * longer, 0.01
        known, what, _ = search._with_changes(0.0, ahead._CHAINS, *some)
        assert (what, search.whole_programs) == (ahead._CHAINS, 1)
        exact, what, _ = search._with_changes(known, ahead._CHAINS, *some)
        assert (what, search.whole_programs) == (ahead._CHANGING, 2)
        assert 0 < known <= exact * (1 + 1e-9) <= first * (1 + 2e-9)
