"""When every operation of a pipeline starts and ends, each stage in its own order.

An operation starts as soon as its stage is free and what it needs is there: F the result of F on
the chunk before, B that of B on the chunk after (and its own F), W its own B. No operation takes
longer or shorter than `Durations` says, and no stage changes its order: start times follow one
from another, each computed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.pipeline.durations import Durations
from planner.pipeline.orders import BACKWARD, FORWARD, Orders
from planner.plan import FloatArray, IntArray


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
    needs = _needs(orders)
    start, end = _times(needs.tolist(), seconds.tolist(), durations.lag_s)
    return Run(start_s=np.array(start), end_s=np.array(end).reshape(seconds.shape), needs=needs)


def _needs(orders: Orders) -> IntArray:
    """(pp, k) the operation on another chunk that each one waits for, or -1."""
    pp, k = orders.kind.shape
    stage = np.broadcast_to(np.arange(pp)[:, None], (pp, k))
    place = orders.chunk * pp + stage  # in the model, from the embedding on
    last = pp * orders.chunks - 1
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
    needs: list[list[int]], seconds: list[list[float]], lag_s: float
) -> tuple[list[list[float]], list[float]]:
    """Starts per stage and flattened ends; every stage runs as far as it can, then waits."""
    k = len(needs[0])
    end = [-1.0] * (len(needs) * k)
    waiter = [-1] * len(end)
    start: list[list[float]] = [[] for _ in needs]
    ready = list(range(len(needs)))
    while ready:
        stage = ready.pop()
        done = start[stage]
        first = len(done)
        now = end[stage * k + first - 1] if first else 0.0
        for place in range(first, k):
            need = needs[stage][place]
            if need >= 0:
                arrives = end[need]
                if arrives < 0.0:
                    waiter[need] = stage
                    break
                now = max(now, arrives + lag_s)
            done.append(now)
            now += seconds[stage][place]
            end[stage * k + place] = now
            if waiter[stage * k + place] >= 0:
                ready.append(waiter[stage * k + place])
    if any(len(done) < k for done in start):
        stuck = [stage for stage, done in enumerate(start) if len(done) < k]
        raise ValueError(f"stages {stuck} wait for one another")
    return start, end
