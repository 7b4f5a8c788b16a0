"""Time that ends while the columns of a row are made ends the search, on a clock of its own."""

import time
from collections.abc import Callable

import pytest
from support.jobs import cost_model, dense_model
from test_uneven_pools import pools_of

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.search.deadline import Deadline, OutOfTime
from planner.search.engine import Search
from planner.search.limits import Limits
from planner.search.options import SpaceOptions
from planner.search.uneven import certificate, energy_rows, pools
from planner.search.uneven.certificate import best_time
from planner.search.uneven.columns import row_columns
from planner.search.uneven.front import energy_front
from planner.search.uneven.rows import cross_rows, uneven_skeletons
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
    rows = cross_rows(model, uneven_skeletons(model, (CHIPS,), options), options)
    rows, _ = rows.by_fullest(model.job.model.layers)
    at = (model, Limits(), rows, 0, model.clocks(wanted=False), 1e3)
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
    uniform = Search(model=model, options=options, limits=Limits()).run((CHIPS,))
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


def best_on_pools(own: tuple[pools.Pool, ...], options: SpaceOptions) -> pools.PooledFound:
    return pools.best_on_pools(own, options, Limits(), deadline=SOON)
