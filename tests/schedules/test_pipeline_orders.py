"""Orders against the independent oracle of `oracles.pipeline_simulator`, and the memory bound."""

import itertools

import numpy as np
import pytest
from oracles import pipeline_simulator as oracle
from support.cases import each

from planner.cost.memory.in_flight import in_flight
from planner.schedules import code_of_schedule, schedule_at
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD, Orders

GPIPE = code_of_schedule("gpipe")
INTERLEAVED = code_of_schedule("interleaved")
ONE_F_ONE_B = code_of_schedule("1f1b")
ZERO_BUBBLE = code_of_schedule("zero-bubble")


def orders_of(schedule: int, pp: int, m: int, v: int = 1) -> Orders:
    """The orders of a schedule, by its code."""
    return schedule_at(schedule).orders(pp, m, v)


KIND = {FORWARD: oracle.Kind.F, BACKWARD: oracle.Kind.B, WEIGHT_GRAD: oracle.Kind.W}
SINGLE = [
    (schedule, pp, m, 1)
    for schedule in (GPIPE, ONE_F_ONE_B, ZERO_BUBBLE)
    for pp, m in itertools.product((1, 2, 3, 4, 7), (1, 2, 3, 5, 8, 20))
]
CHUNKED = [
    (INTERLEAVED, pp, pp * groups, v)
    for pp, groups, v in itertools.product((1, 2, 3, 5), (1, 2, 4), (2, 3, 4))
]


def as_oracle(orders: Orders) -> oracle.Schedule:
    """The same schedule in the oracle's words; it checks that each item runs once, in its place."""
    rows = tuple(
        tuple(
            oracle.Item(KIND[kind], number, chunk * orders.stages + stage)
            for kind, number, chunk in zip(*(row.tolist() for row in columns), strict=True)
        )
        for stage, columns in enumerate(
            zip(orders.kind, orders.micro_batch, orders.chunk, strict=True)
        )
    )
    return oracle.Schedule(
        name="ours",
        orders=rows,
        stages=orders.stages * orders.chunks,
        micro_batches=orders.micro_batches,
        split_backward=orders.splits_backward,
    )


def published(schedule: int, pp: int, m: int, v: int) -> oracle.Schedule:
    """The oracle's own schedule."""
    if schedule == GPIPE:
        return oracle.gpipe(pp, m, reverse_backward=False)
    if schedule == INTERLEAVED:
        return oracle.interleaved(pp, v, m, single_group_all_forward=False)
    make = oracle.zero_bubble_h1 if schedule == ZERO_BUBBLE else oracle.one_f_one_b
    return make(pp, m)


@each(("schedule", "pp", "m", "v"), SINGLE + CHUNKED)
def test_the_order_is_the_published_one(schedule: int, pp: int, m: int, v: int) -> None:
    ours = as_oracle(orders_of(schedule, pp, m, v))
    assert ours.orders == published(schedule, pp, m, v).orders


@each(("schedule", "pp", "m", "v"), SINGLE + CHUNKED)
def test_no_stage_holds_more_than_the_memory_model_counts(
    schedule: int, pp: int, m: int, v: int
) -> None:
    """And the first stage exactly that; ZB-H1 every stage."""
    orders = orders_of(schedule, pp, m, v)
    most = orders.held().max(axis=1) / v
    bound = in_flight(
        np.array([[schedule]]), np.array([[pp]]), np.array([[v]]), np.array([[float(m)]]),
        np.arange(pp, dtype=float)[None, :],
    )[0]  # fmt: skip
    assert np.all(most <= bound + 1e-12)
    assert np.allclose(most, bound)


def test_a_stage_gives_back_all_that_it_holds() -> None:
    for schedule, v in ((GPIPE, 1), (ONE_F_ONE_B, 1), (INTERLEAVED, 3), (ZERO_BUBBLE, 1)):
        orders = orders_of(schedule, 4, 8, v)
        held = orders.held()
        assert np.all(held >= 1)
        assert np.all(held[:, 0] == 1)
        assert np.all(held[:, -1] == 1)


@each(
    ("schedule", "pp", "m", "v"),
    [(ONE_F_ONE_B, 4, 8, 2), (INTERLEAVED, 4, 8, 1), (INTERLEAVED, 4, 6, 2), (GPIPE, 0, 8, 1)],
)
def test_schedules_that_do_not_exist(schedule: int, pp: int, m: int, v: int) -> None:
    with pytest.raises(ValueError, match=r"no schedule|not a multiple"):
        orders_of(schedule, pp, m, v)
