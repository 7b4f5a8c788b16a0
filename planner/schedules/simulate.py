"""When every operation of a pipeline starts and ends, each stage in its own order.

An operation starts as soon as its stage is free and what it needs is there: F the result of F on
the chunk before, B that of B on the chunk after (and its own F), W its own B. Operations that are
joined start when all of them have what they need and give what they give together. No operation
takes longer or shorter than `Durations` says, and no stage changes its order: start times follow
one from another, each computed once.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.schedules.durations import Durations
from planner.schedules.orders import BACKWARD, FORWARD, Orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a simulation gave, (pp, k) like the orders.

    Attributes:
        start_s, end_s: From the start of the step.
        needs: Index into the flattened operations of the one on another chunk that an operation
            waits for; -1 where there is none.
    """

    start_s: FloatArray
    end_s: FloatArray
    needs: IntArray


def simulate(orders: Orders, durations: Durations) -> Run:
    """Runs the operations of every stage in order.

    Args:
        orders: What runs after what.
        durations: Of the same number of stages and chunks.

    Raises:
        ValueError: The stages wait for one another for ever.
    """
    stage = np.arange(orders.stages)[:, None]
    tables = np.stack([durations.forward_s, durations.backward_s, durations.weight_grad_s])
    seconds = tables[orders.kind, stage, orders.chunk]
    if durations.hidden_s is not None:
        hidden = durations.hidden_s[np.minimum(orders.kind, BACKWARD), stage, orders.chunk]
        seconds = np.where(orders.beside, seconds - hidden, seconds)
    needs = message_needs(orders)
    joined = np.zeros_like(needs, dtype=bool) if orders.joined is None else orders.joined
    start = np.array(_times(needs.tolist(), seconds.tolist(), joined.tolist(), durations.lag_s))
    return Run(start_s=start, end_s=start + seconds, needs=needs)


def message_needs(orders: Orders) -> IntArray:
    """(pp, k) the operation on another chunk that each one waits for, or -1."""
    pp, k = orders.kind.shape
    place = orders.place
    last = int(place.max())
    # One row and column around the chunks of the model stand for what nobody waits for.
    where = np.full((2, last + 3, orders.micro_batches), -1, dtype=np.int64)
    index = np.arange(pp * k).reshape(pp, k)
    for kind in (FORWARD, BACKWARD):
        at = orders.kind == kind
        where[kind, place[at] + 1, orders.micro_batch[at]] = index[at]
    before = where[FORWARD, place, orders.micro_batch]
    after = where[BACKWARD, place + 2, orders.micro_batch]
    return np.where(orders.kind == FORWARD, before, np.where(orders.kind == BACKWARD, after, -1))


def _times(
    needs: list[list[int]], seconds: list[list[float]], joined: list[list[bool]], lag_s: float
) -> list[list[float]]:
    """Starts per stage; every stage runs as far as it can, then waits."""
    k = len(needs[0])
    ready_s = [-1.0] * (len(needs) * k)  # when what an operation gives can leave
    free_s = [0.0] * len(needs)
    waiter = [-1] * len(ready_s)
    start: list[list[float]] = [[] for _ in needs]
    ready = list(range(len(needs)))
    while ready:
        stage = ready.pop()
        done, now, first = start[stage], free_s[stage], len(start[stage])
        while first < k:
            after = _group_end(joined[stage], first)
            wanted = [need for need in needs[stage][first:after] if need >= 0]
            missing = next((need for need in wanted if ready_s[need] < 0.0), -1)
            if missing >= 0:
                waiter[missing] = stage
                break
            now = max([now, *(ready_s[need] + lag_s for need in wanted)])
            for place in range(first, after):
                done.append(now)
                now += seconds[stage][place]
            for at in range(stage * k + first, stage * k + after):
                ready_s[at] = now
                if waiter[at] >= 0:
                    ready.append(waiter[at])
            free_s[stage], first = now, after
    if any(len(done) < k for done in start):
        stuck = [stage for stage, done in enumerate(start) if len(done) < k]
        raise ValueError(f"stages {stuck} wait for one another")
    return start


def _group_end(joined: list[bool], first: int) -> int:
    """The place after the last operation that is joined to the one at `first`."""
    after = first + 1
    while after < len(joined) and joined[after]:
        after += 1
    return after
