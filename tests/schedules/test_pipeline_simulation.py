"""The simulation against the oracle's, and against bounds that hold for any durations."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import pipeline_simulator as oracle

from planner.base.arrays import FloatArray
from planner.schedules import code_of_schedule, schedule_at
from planner.schedules.durations import Durations
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD, Orders
from planner.schedules.simulate import Run, simulate
from schedules.test_pipeline_orders import as_oracle

GPIPE = code_of_schedule("gpipe")
INTERLEAVED = code_of_schedule("interleaved")
ONE_F_ONE_B = code_of_schedule("1f1b")
ZERO_BUBBLE = code_of_schedule("zero-bubble")


def orders_of(schedule: int, pp: int, m: int, v: int = 1) -> Orders:
    """The orders of a schedule, by its code."""
    return schedule_at(schedule).orders(pp, m, v)


def lasting(
    forward: FloatArray,
    backward: FloatArray,
    grads: FloatArray | None = None,
    lag: float = 0.0,
    hidden: FloatArray | None = None,
) -> Durations:
    """Passes that take so long, (pp, v), and nothing else."""
    none = np.zeros(len(forward))
    return Durations(
        forward_s=forward,
        backward_s=backward,
        weight_grad_s=np.zeros_like(forward) if grads is None else grads,
        send_s=0.0,
        lag_s=lag,
        reduction_s=none,
        optimizer_s=none,
        overhead_s=0.0,
        hidden_s=hidden,
    )


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[Orders, Durations]:
    """Any schedule with any durations, some of them 0."""
    schedule = draw(st.sampled_from([GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE]))
    pp, groups = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    v = draw(st.integers(2, 3)) if schedule == INTERLEAVED else 1
    m = pp * groups if v > 1 else draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    tables = rng.integers(0, 6, size=(3, pp, v)) / 4
    split = schedule == ZERO_BUBBLE
    return orders_of(schedule, pp, m, v), lasting(
        tables[0], tables[1], tables[2] if split else None
    )


def seconds_of(orders: Orders, durations: Durations) -> FloatArray:
    """(pp, k) seconds of every operation."""
    tables = (durations.forward_s, durations.backward_s, durations.weight_grad_s)
    stage = np.arange(orders.stages)[:, None]
    return np.stack(tables)[orders.kind, stage, orders.chunk]


@settings(max_examples=150, deadline=None)
@given(pipe=pipelines())
def test_every_operation_starts_when_the_oracle_starts_it(pipe: tuple[Orders, Durations]) -> None:
    orders, durations = pipe
    run = simulate(orders, durations)
    expected = oracle.simulate(
        as_oracle(orders),
        oracle.Durations(
            forward_s=durations.forward_s.T.ravel().tolist(),
            backward_s=durations.backward_s.T.ravel().tolist(),
            weight_grad_s=durations.weight_grad_s.T.ravel().tolist()
            if orders.splits_backward
            else (),
        ),
    )
    assert np.array_equal(run.start_s.ravel(), [one.start_s for one in expected.trace])
    assert np.array_equal(run.end_s.ravel(), [one.end_s for one in expected.trace])


def check_dependencies(orders: Orders, run: Run, lag: float) -> None:
    """Each micro-batch passes the chunks forwards, then backwards; a stage does one thing."""
    assert np.all(run.start_s[:, 1:] >= run.end_s[:, :-1])
    last = orders.stages * orders.chunks - 1
    times = {}
    for stage in range(orders.stages):
        for at, kind in enumerate(orders.kind[stage].tolist()):
            place = int(orders.chunk[stage, at]) * orders.stages + stage
            key = (kind, place, int(orders.micro_batch[stage, at]))
            times[key] = (run.start_s[stage, at], run.end_s[stage, at])
    for (kind, place, number), (start, _) in times.items():
        if kind == FORWARD and place > 0:
            assert start >= times[FORWARD, place - 1, number][1] + lag
        if kind == BACKWARD:
            assert start >= times[FORWARD, place, number][1]
            assert place == last or start >= times[BACKWARD, place + 1, number][1] + lag
        if kind == WEIGHT_GRAD:
            assert start >= times[BACKWARD, place, number][1]


@settings(max_examples=150, deadline=None)
@given(pipe=pipelines(), lag=st.sampled_from([0.0, 0.25, 3.0]))
def test_bounds_that_hold_for_any_durations(pipe: tuple[Orders, Durations], lag: float) -> None:
    orders, durations = pipe
    durations = lasting(durations.forward_s, durations.backward_s, durations.weight_grad_s, lag=lag)
    run = simulate(orders, durations)
    check_dependencies(orders, run, lag)
    seconds, makespan = seconds_of(orders, durations), run.end_s.max()
    hops = 2 * (orders.stages * orders.chunks - 1)
    longest = durations.forward_s.sum() + durations.backward_s.sum() + hops * lag
    assert makespan >= seconds.sum(axis=1).max() - 1e-9
    assert makespan >= longest - 1e-9
    assert makespan <= seconds.sum() + hops * orders.micro_batches * lag + 1e-9
    # The first operation of some stage starts at once, and no stage waits without a reason.
    assert run.start_s.min() == 0.0
    for stage, at in zip(*np.nonzero(run.start_s[:, 1:] > run.end_s[:, :-1]), strict=True):
        need = run.needs[stage, at + 1]
        assert run.start_s[stage, at + 1] == run.end_s.ravel()[need] + lag


def test_a_hidden_message_delays_only_its_receiver() -> None:
    """Two stages, one micro-batch: forward, message, both passes, message, backward."""
    one = np.ones((2, 1))
    run = simulate(orders_of(ONE_F_ONE_B, 2, 1), lasting(one, 2 * one, lag=0.5))
    assert run.end_s.tolist() == [[1.0, 7.0], [2.5, 4.5]]


def test_stages_that_wait_for_one_another_are_refused() -> None:
    """The first stage wants the second micro-batch back before it has sent it."""
    orders = orders_of(ONE_F_ONE_B, 2, 2)
    swapped = orders.kind.copy(), orders.micro_batch.copy()
    for table in swapped:
        table[0] = table[0, [0, 3, 1, 2]]
    broken = Orders(
        kind=swapped[0], micro_batch=swapped[1], chunk=orders.chunk, chunks=1, micro_batches=2
    )
    one = np.ones((2, 1))
    with pytest.raises(ValueError, match="wait for one another"):
        simulate(broken, lasting(one, one))


def test_a_large_pipeline_takes_a_fraction_of_a_second() -> None:
    """16 stages and 512 micro-batches; 0.02 s where this was written."""
    one = np.ones((16, 1))
    started = time.process_time()
    run = simulate(orders_of(ZERO_BUBBLE, 16, 512), lasting(one, one, one))
    assert time.process_time() - started < 0.5
    assert run.end_s.max() == 512 * 3 + 15 * 2 - 15  # (pp - 1)(F + B) - (pp - 1) min(F, B, W)
