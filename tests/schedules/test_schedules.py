"""What every built-in schedule says of itself, held against its own order of operations."""

import numpy as np
import pytest

from planner.schedules import BUILT_IN, SCHEDULES, ScheduleColumn, code_of_schedule, schedule_at
from planner.schedules.durations import Durations
from planner.schedules.orders import FORWARD
from planner.schedules.schedule import Schedule
from planner.schedules.simulate import simulate

EVERY = pytest.mark.parametrize("schedule", BUILT_IN, ids=lambda one: one.name)


def numbers(schedule: Schedule) -> list[tuple[int, int, int]]:
    """Stages, micro-batches and chunks with which it runs."""
    found = [
        (pp, m, v)
        for pp in range(2, 9)
        for m in range(1, 33)
        for v in range(1, 4)
        if schedule.fits_interleave(np.array(v))
        and schedule.runs(np.array(pp), np.array(m))
        and (m % pp == 0 or not schedule.whole_groups)
    ]
    assert len(found) > 20
    return found


def test_codes_and_names() -> None:
    for code, schedule in enumerate(BUILT_IN):
        assert SCHEDULES[code] == schedule.name
        assert SCHEDULES.index(schedule.name) == code_of_schedule(schedule.name) == code
        assert schedule_at(code) is schedule
        assert schedule.source
    assert list(SCHEDULES)[: len(BUILT_IN)] == [schedule.name for schedule in BUILT_IN]
    assert "1f1b" in SCHEDULES
    assert "2f2b" not in SCHEDULES


def test_columns_ask_each_schedule_for_its_rows() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, len(BUILT_IN), 200)
    pp, position = rng.integers(2, 9, 200), rng.integers(0, 2, 200).astype(float)
    v, m = rng.integers(1, 3, 200), rng.integers(1, 99, 200).astype(float)
    found = ScheduleColumn(codes).of_each("in_flight", pp, v, m, position)
    alone = [
        BUILT_IN[code].in_flight(*(column[at : at + 1] for column in (pp, v, m, position)))[0]
        for at, code in enumerate(codes.tolist())
    ]
    np.testing.assert_array_equal(found, alone)


@EVERY
def test_the_order_runs_every_pass_once_and_ends(schedule: Schedule) -> None:
    for pp, m, v in numbers(schedule):
        orders = schedule.orders(pp, m, v)
        assert orders.splits_backward == schedule.splits_backward
        assert orders.chunks == schedule.chunks(np.array(v))
        each = np.stack([orders.kind, orders.micro_batch, orders.chunk], axis=2)
        whole = m * orders.chunks * (2 + schedule.splits_backward) // schedule.replicas
        for stage in each.tolist():
            assert len(stage) == len({*map(tuple, stage)}) == whole
        ones = np.ones((pp, orders.chunks))
        run = simulate(
            orders,
            Durations(
                forward_s=ones, backward_s=ones, weight_grad_s=schedule.splits_backward * ones,
                send_s=0.0, lag_s=0.0, reduction_s=np.zeros(pp), optimizer_s=np.zeros(pp),
                overhead_s=0.0,
            ),
        )  # fmt: skip
        assert run.end_s.max() >= whole


@EVERY
def test_activations_are_those_that_the_order_holds(schedule: Schedule) -> None:
    """Of equal chunks, and of chunks that leave as much as they like."""
    rng = np.random.default_rng(5)
    for pp, m, v in numbers(schedule):
        orders = schedule.orders(pp, m, v)
        stages = np.arange(pp, dtype=float)[None]
        whole = schedule.in_flight(
            np.array([[pp]]), np.array([[v]]), np.array([[float(m)]]), stages
        )
        held = orders.held().max(axis=1) / orders.chunks
        np.testing.assert_allclose(np.broadcast_to(whole, (1, pp))[0], held, rtol=1e-12)
        if v > 1 or schedule.lists_chunks:
            bytes_ = rng.random((1, pp, orders.chunks))
            arguments = (np.array([pp]), np.array([v]), np.array([[float(m)]]), stages, bytes_)
            most = schedule.most_in_flight(*arguments)
            np.testing.assert_allclose(
                most, Schedule.most_in_flight(schedule, *arguments), rtol=1e-12
            )


@EVERY
def test_every_chunk_of_the_model_is_on_as_many_ranks(schedule: Schedule) -> None:
    for pp, m, v in numbers(schedule):
        places = schedule.places(pp, v)
        counts = np.bincount(places.ravel())
        np.testing.assert_array_equal(counts, np.full(pp * v, schedule.replicas))
        kinds = np.arange(2 * pp * v).reshape(pp * v, 2)
        rows = schedule.every_stage(kinds, pp)
        assert len(rows) == pp
        classes = schedule.stage_classes(kinds, pp)
        assert sum(row[2] for row in classes) == pp
        for at in (0, 1, 3, 4):
            total = sum(row[2] * row[at] for row in classes)
            assert total == sum(row[at] for row in rows)
        first = schedule.orders(pp, m, v)
        assert np.all(first.place[first.kind == FORWARD] < pp * v)
