"""Time that ends while the columns of a row are made ends the search, on a clock of its own."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.jobs import cost_model, dense_model
from test_uneven_pools import pools_of

import planner
from planner.answers.diagnosis.diagnosis import (
    Reasons,
    broken_limit,
    diagnose,
    lacking_memory,
)
from planner.answers.diagnosis.pools import PooledQuestion, PooledReasons
from planner.answers.diagnosis.uneven import UnevenReasons
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.objectives import OBJECTIVES
from planner.plan import Plan
from planner.question.options import SpaceOptions
from planner.results.gains import nothing_found_words
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.pools import pools
from planner.search.pools.columns import pooled_columns
from planner.search.rows import Fastest
from planner.search.uneven import certificate, energy_rows
from planner.search.uneven.certificate import best_time
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.front import energy_front
from planner.search.uneven.rows import cross_rows, uneven_partial_plans
from planner.search.uneven.shortage import shortage
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

CHIPS = 4
SOON, LATE = 1.0, 10.0


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.asked = 0.0, 0
        self.after: float = float("inf")
        monkeypatch.setattr(time, "perf_counter", self.read)

    def read(self) -> float:
        """The time; late once it was asked for often enough."""
        self.asked += 1
        if self.asked > self.after:
            self.now = LATE
        return self.now

    def late_within(self, make: Callable[..., object]) -> Callable[..., object]:
        """The same function, during which the deadline passes."""

        def slow(*given: object, **named: object) -> object:
            self.now = LATE
            return make(*given, **named)

        return slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def job(framework: str = "megatron") -> CostModel:
    model = dense_model(8, 512, 8, 8, 2048)
    return cost_model(model, "dgx-h100-ndr", global_batch=8, framework=framework)


def options_of(**fixed: int) -> SpaceOptions:
    return SpaceOptions(fixed={name: frozenset({value}) for name, value in fixed.items()})


@pytest.mark.parametrize(
    ("framework", "fixed"),
    [
        ("megatron", {"interleave": 1, "pp": 4}),
        ("megatron", {"interleave": 2, "pp": 2}),
        ("hai-llm", {"schedule": 4, "pp": 4}),
    ],
)
def test_no_more_columns_are_made_than_one_device_s(
    clock: Clock, framework: str, fixed: dict[str, int]
) -> None:
    """However late the clock becomes: at every moment at which it is asked for, in turn."""
    model = job(framework)
    options = options_of(tp=1, cp=1, micro_batch=1, **fixed)
    rows = cross_rows(model, uneven_partial_plans(model, (CHIPS,), options), options)
    rows, _ = rows.by_fullest(model.job.model.layers)
    at = (model, Limits(), rows, 0, model.clocks(wanted=False), 1e3)
    row_columns(*at)  # what rows share is made
    before = clock.asked
    assert row_columns(*at, deadline=Deadline(SOON)) is not None
    moments = clock.asked - before
    assert moments >= 2 * rows.devices[0]
    for moment in range(moments):
        clock.now, clock.after = 0.0, clock.asked + moment
        with pytest.raises(OutOfTime):
            row_columns(*at, deadline=Deadline(SOON))


def test_a_row_whose_columns_take_too_long_stays_open(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, options = job(), options_of(pp=2, tp=1, micro_batch=1)
    limits = Limits()
    best = best_time(model, options, limits, CHIPS)
    assert best.status is Status.OPTIMAL
    late = clock.late_within(row_columns)
    monkeypatch.setattr(certificate, "row_columns", late)
    found = best_time(model, options, limits, CHIPS, deadline=SOON)
    assert found.status is Status.TIME_LIMIT
    assert found.bound[0] <= best.points[0, 0]


def test_a_front_whose_columns_take_too_long_keeps_what_is_known(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, options = job(), options_of(pp=2, tp=1, cp=1, micro_batch=1, interleave=1)
    uniform = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(CHIPS,))
    )
    start = best_time(model, options, Limits(), CHIPS, uniform=uniform)
    whole = energy_front(model, options, Limits(), CHIPS, start=start, uniform=uniform)
    monkeypatch.setattr(energy_rows, "row_columns", clock.late_within(row_columns))
    found = energy_front(
        model, options, Limits(), CHIPS, start=start, uniform=uniform, deadline=SOON
    )
    assert found.status is Status.FEASIBLE
    assert found.bound[1] <= whole.points[:, 1].min()
    totals = evaluate_totals(model, found.plans)
    assert found.points[:, 1] == pytest.approx(totals.energy_j)


def test_time_that_ends_before_rows_are_bounded_leaves_them_all(clock: Clock) -> None:
    """At many of the moments at which the clock is asked for, in turn."""
    model, options = job(), options_of(pp=2, tp=1, cp=1, micro_batch=1, interleave=1)
    uniform = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(CHIPS,))
    )
    asked = {"uniform": uniform, "deadline": SOON}
    start = best_time(model, options, Limits(), CHIPS, uniform=uniform)
    partial_plans = len(uneven_partial_plans(model, (CHIPS,), options))
    assert partial_plans > 0
    ended = 0
    for moment in range(6):
        clock.now, clock.after = 0.0, clock.asked + 1 + moment
        front = energy_front(model, options, Limits(), CHIPS, start=start, **asked).certificate
        clock.now, clock.after = 0.0, clock.asked + 1 + moment
        best = best_time(model, options, Limits(), CHIPS, **asked).certificate
        for known, least in ((front, 1), (best, partial_plans)):
            assert known is not None
            ended += known.solved == 0
            dropped = sum(stage.dropped for stage in known.funnel)
            assert known.solved + known.left + dropped >= least
            assert (known.left > 0) == (known.gap > 1e-6)
            assert known.lowest_left is None or known.lowest_left >= known.bound * (1 - 1e-9)
    assert ended >= 2


def test_time_that_is_over_at_once_leaves_the_bound_of_arithmetic(clock: Clock) -> None:
    model, options = job(), options_of(cp=1)
    uniform = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(CHIPS,))
    )
    whole = best_time(model, options, Limits(), CHIPS, uniform=uniform)
    clock.now = LATE
    asked = {"uniform": uniform, "deadline": SOON}
    start = best_time(model, options, Limits(), CHIPS, **asked)
    front = energy_front(model, options, Limits(), CHIPS, start=start, **asked)
    for found, least in ((start, 0.3), (front, 0.1)):
        known = found.certificate
        assert known is not None
        assert [stage.name for stage in known.funnel] == ["LB0"]
        assert known.left == known.funnel[0].rows - known.funnel[0].dropped > 0
        assert known.lowest_left is not None
        assert least * known.objective < known.bound <= known.lowest_left * (1 + 1e-9)
    assert start.bound[0] <= whole.points[0, 0]
    none = best_time(model, options, Limits(), CHIPS, deadline=SOON)
    assert (none.status, len(none.plans)) == (Status.TIME_LIMIT, 0)
    assert 0.3 * whole.points[0, 0] < none.bound[0] <= whole.points[0, 0]


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_rows_are_dropped_by_bounds_alone_and_others_left(clock: Clock, objective: str) -> None:
    """At many of the moments at which the clock is asked for, in turn."""
    model, options = job(), options_of(tp=1, cp=1)
    uniform = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(CHIPS,))
    )
    start = best_time(model, options, Limits(), CHIPS, uniform=uniform)
    asked = {
        "start": start,
        "uniform": uniform,
        "objective": OBJECTIVES[objective],
        "deadline": SOON,
    }
    open_, moment = 0, 0
    while moment == 0 or clock.now == LATE:
        moment += 1 + moment // 4
        clock.now, clock.after = 0.0, clock.asked + moment
        front = energy_front(model, options, Limits(), CHIPS, **asked)
        known = front.certificate
        assert known is not None
        assert (known.left > 0) == (known.gap > 1e-6)
        assert (known.lowest_left is None) == (known.left == 0)
        open_ += known.left > 0
        least = float(front.points[:, 1].min())
        for stage in known.funnel:
            assert stage.lowest is None or stage.lowest >= least * (1 - 1e-6)
    assert open_ > 2


@pytest.mark.parametrize("objective", ["time", "energy", "edp"])
def test_an_answer_without_a_plan_keeps_the_bound(
    objective: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {
        "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 4, "batch_tokens": "64Ki",
        "layout": "5,2,3,2", "fix": {"tp": 1, "micro_batch": 1, "interleave": 1},
        "objective": objective,
    }  # fmt: skip
    best = planner.solve(**asked)
    monkeypatch.setattr(certificate, "row_columns", clock.late_within(row_columns))
    none = planner.solve(**asked, time_limit=SOON)
    assert (none.status, none.best) == ("time_limit", None)
    assert none.bound is not None
    assert best.objective is not None
    assert 0.3 * best.objective < none.bound <= best.objective
    words = nothing_found_words(none)
    assert "no plan" in words.lower()
    assert "(proved), others are not excluded." in words
    unknown = replace(none, certificate=replace(none.certificate, bound=None))
    assert nothing_found_words(unknown).endswith("none is excluded either.")


def test_pools_whose_columns_take_too_long_stay_open(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = pools_of((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)))
    options = options_of(pp=2, tp=4, cp=1, micro_batch=2, recompute=0)
    best = best_on_pools(own, options)
    monkeypatch.setattr(pools, "pooled_columns", clock.late_within(pools.pooled_columns))
    found = best_on_pools(own, options)
    assert found.status is Status.TIME_LIMIT
    assert 0.3 * best.time_s < found.bound_s <= best.time_s


def test_a_row_of_pools_that_stays_open_is_left(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = pools_of((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)))
    options = options_of(pp=2, cp=1, micro_batch=2, recompute=0)
    asked, found = 0, None
    while found is None or found.status is not Status.OPTIMAL:
        asked, calls, clock.now = asked + 1, 0, 0.0

        def columns(*given: object, late_at: int = asked) -> object:
            nonlocal calls
            calls += 1
            clock.now = LATE if calls == late_at else clock.now
            return pooled_columns(*given)

        monkeypatch.setattr(pools, "pooled_columns", columns)
        found = best_on_pools(own, options)
        known = found.certificate
        if found.plan is not None:
            stages = known.funnel[-1]
            assert stages.rows - stages.dropped == known.solved + known.left
            assert known.left > 0 or found.status is Status.OPTIMAL
            assert known.lowest_left is None or known.lowest_left >= known.bound
    assert asked > 2


def best_on_pools(own: tuple[pools.Pool, ...], options: SpaceOptions) -> Fastest:
    return pools.best_on_pools(own, options, Limits(), deadline=SOON)


def reasons_of_layout(limits: Limits) -> UnevenReasons:
    """Why no plan with two layers on each of four chunks is within limits."""
    options = replace(options_of(tp=1, cp=1, micro_batch=1), layers=(2, 2, 2, 2))
    space = UniformSpace(model=job(), options=options, limits=limits, chips=(CHIPS,), deadline=SOON)
    return UnevenReasons(space=space, chips=CHIPS, uniform=Driver().run(space))


def reasons_on_pools(limits: Limits) -> PooledReasons:
    """Why no plan on two pools is within limits."""
    own = pools_of((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)))
    options = options_of(pp=2, tp=4, cp=1, micro_batch=2, recompute=0)
    asked = PooledQuestion(pools=own, options=options, limits=limits, deadline=SOON)
    return PooledReasons(asked=asked, rows=1)


@pytest.mark.parametrize("reasons", [reasons_of_layout, reasons_on_pools])
def test_no_limit_is_blamed_that_was_not_searched(
    reasons: Callable[[Limits], Reasons], clock: Clock
) -> None:
    """At some of the moments at which the clock is asked for, in turn; the memory has room."""
    limits = Limits(step_time_s=1e-6)
    known = diagnose(reasons(limits))
    assert known.constraint == "max-step-time"
    said, moment = set(), 0
    while moment == 0 or clock.now == LATE:
        moment += 1 + moment
        clock.now, clock.after = 0.0, float("inf")
        asked = reasons(limits)
        clock.after = clock.asked + moment
        why = diagnose(asked)
        said.add(why.constraint)
        assert why.needed is None or why.needed > (why.available or 0.0)
        if why.constraint != "max-step-time":
            assert "limits on memory and step time; the time limit ended" in why.explanation
            assert not why.remedies
    assert said == {"max-step-time", "memory or max-step-time"}


def test_time_ends_the_search_for_the_leanest_plan(clock: Clock) -> None:
    """At some of the moments at which the clock is asked for, in turn."""
    asked = reasons_of_layout(Limits(memory_bytes=1e6))
    space = asked.space
    at = (space.model, space.options, space.limits, CHIPS)
    assert shortage(*at, Deadline(SOON)) is not None
    for moment in (0, 1, 2, 4, 8, 16):
        clock.now, clock.after = 0.0, clock.asked + moment
        with pytest.raises(OutOfTime):
            shortage(*at, Deadline(SOON))
    clock.now, clock.after = LATE, float("inf")
    why = diagnose(asked)
    assert why.constraint == "memory"
    assert why.explanation == (
        "no plan that the rules allow is within the limit on memory of 1 MB; the time limit ended "
        "the search for the leanest one, and for changes that would free one"
    )


def test_a_plan_that_is_not_proved_the_fastest_tells_one_limit_alone() -> None:
    """A faster plan may be within one of two limits, and break the other."""
    power, both = Limits(power_w=1.0), Limits(power_w=1.0, step_time_s=1.0)
    at = ("the fastest plan", (2.0, 0.1, 5.0), "; it", ())
    assert broken_limit(power, *at, proved=False).constraint == "max-power"
    assert broken_limit(both, *at, proved=True).constraint == "max-step-time"
    assert broken_limit(both, *at, proved=False).constraint == "max-step-time or max-power"


def test_a_plan_that_has_room_lacks_no_memory() -> None:
    with pytest.raises(ValueError, match="memory is not the reason"):
        lacking_memory("the leanest plan", Plan(), (1e9, 2e9), "chip", ())
