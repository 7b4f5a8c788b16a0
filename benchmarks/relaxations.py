"""What no plan with more freedom can go below: searches of spaces that give the freedom away.

Each takes what a freedom could change, and lets every plan have the best of it at no cost. The
search of the rest is that of today, so that no plan that uses the freedom is faster than its bound.
How far from the truth such a bound is is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from uneven_jobs import Asked

from planner.base.arrays import FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.memory import memory
from planner.cost.memory.state import state_bytes
from planner.cost.step import step_factor
from planner.cost.terms import end_terms
from planner.network import placement
from planner.network.groups import Segment
from planner.plan import ZERO3, PlanTable
from planner.search.limits import Limits
from planner.search.placements import groups

_ENDLESS = 1e18
_DEGREES = (1, 2, 4, 8, 16)


def without_memory(asked: Asked) -> Asked:
    """The job where chips and hosts hold any number of bytes."""
    return replace(asked, limits=Limits(memory_bytes=_ENDLESS, host_bytes=_ENDLESS))


def without_ends(asked: Asked) -> Asked:
    """The job without the seconds and the logits of embedding, head and loss; weights stay."""
    return replace(asked, model=replace(asked.model, shapes=replace(asked.model.shapes, vocab=0)))


def spread_ends_s(asked: Asked) -> float:
    """Seconds of a step that embedding, head and loss take where all stages share them evenly.

        T >= B s(tp, tokens) tp / (tokens chips),    B tokens of the batch

    with s the seconds of the ends for some tokens on tp chips: the least over degrees of tp and
    micro-batches of a part of a sequence to 64 of them.
    """
    model = asked.model
    sizes = [model.job.seq_len * scale for scale in (1 / 16, 1 / 4, 1, 4, 16, 64)]
    tp, tokens = (np.array(part) for part in zip(*product(_DEGREES, sizes), strict=True))
    ends = end_terms(model, tp[:, None], tokens[:, None], np.ones((1, 1)))
    per_token = ((ends.embedding + ends.head)[:, 0] * tp / tokens).min()
    chips = asked.job.chips
    factor = float(step_factor(model.assumptions, np.array([float(chips)]))[0])
    return float(per_token * model.job.seq_len * model.job.global_batch / chips * factor)


@contextmanager
def recomputed_for_nothing() -> Iterator[None]:
    """Layers keep what those that recompute in full keep, and recompute nothing."""
    of_layer = memory.activation_bytes

    def least(*given: Any, **named: Any) -> dict[str, FloatArray]:
        kinds = of_layer(*given, **named)
        return dict.fromkeys(kinds, kinds["full"])

    with mock.patch.object(memory, "activation_bytes", least):
        yield


@contextmanager
def sharded_for_nothing() -> Iterator[None]:
    """Chips keep of weights, gradients and optimizer what zero3 over all data ranks leaves them.

    No sharding of any kind of parameter leaves less; what is sent is that of the plan.
    """
    of_plan: Any = state_bytes

    def least(job: Job, plans: PlanTable, *given: Any) -> Any:
        *parameters, sharding = given
        ranks = replace(plans, fsdp=plans.dp * plans.fsdp, dp=np.ones_like(plans.dp))
        return of_plan(job, ranks, *parameters, np.full_like(sharding, ZERO3))

    with mock.patch.object(memory, "state_bytes", least):
        yield


@contextmanager
def each_group_alone() -> Iterator[None]:
    """Every group has ranks side by side, as if it were alone on the machine."""
    placed = placement.group_segments

    def alone(
        axis: Mapping[str, list[Segment]], ep: IntArray, etp: IntArray
    ) -> dict[str, list[Segment]]:
        found = {}
        for name, segments in placed(axis, ep, etp).items():
            size = reduce(np.multiply, [size for size, _ in segments])
            found[name] = [(size, np.ones_like(size))]
        return found

    with (
        mock.patch.object(placement, "group_segments", alone),
        mock.patch.object(groups, "group_segments", alone),
    ):
        yield
