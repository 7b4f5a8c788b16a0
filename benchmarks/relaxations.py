"""What no plan with more freedom can go below: searches of spaces that give the freedom away.

Each takes what a freedom could change, and lets every plan have the best of it at no cost. The
search of the rest is that of today, so that no plan that uses the freedom is faster than its bound.
How far from the truth such a bound is is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from uneven_jobs import Asked

from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.job import Job
from planner.cost.memory import memory
from planner.cost.memory.state import state_bytes
from planner.cost.pools.pools import Pool
from planner.cost.step import step_factor
from planner.cost.terms import end_terms
from planner.network import placement
from planner.network.groups import Segment
from planner.plan import ZERO3, PlanTable
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule, schedule
from planner.search.limits import Limits
from planner.search.placements import groups
from planner.search.pools.bounds import pooled_forms
from planner.search.pools.rows import pooled_rows
from planner.search.uneven.bounds.time import end_times, row_forms
from planner.search.uneven.rows import cross_rows, uneven_partial_plans
from planner.search.uneven.terms import KINDS, row_terms

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
def never_waiting(asked: Asked) -> Iterator[Asked]:
    """The job of pipelines with one chunk a stage that wait for nothing and send for nothing.

    No interleaved pipeline is faster, whatever its chunks: it takes its slowest stage m times or
    longer, and when a stage begins its first backward pass it holds of each of its layers at least
    as many micro-batches as 1F1B, so that the plan with the same layers on each stage is here.
    """
    model = replace(asked.model, assumptions=replace(asked.model.assumptions, bubbles=False))
    fixed = {"schedule": frozenset({code_of_schedule("1f1b")}), "interleave": frozenset({1})}
    options = replace(asked.options, fixed={**asked.options.fixed, **fixed})
    with mock.patch.object(schedule, "paced_sends", lambda a, v: 0.0 * np.asarray(v)):
        yield replace(asked, model=model, options=options)


def other_tp_of_kinds_s(asked: Asked) -> float:
    """Seconds that no plan is below whose layers of each kind have a tp of their own.

    LB1 (`planner.search.uneven.bounds.time`) with the least over all rows of as many stages and
    micro-batches for each kind of layers, the ends and what no stage changes: a plan takes each
    from some row, and all that its stages sum to is no less.
    """
    model, options = asked.model, replace(asked.options, clocks=False)
    rows = cross_rows(model, uneven_partial_plans(model, (asked.job.chips,), options), options)
    forms = row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False)))
    plans = rows.plans
    keys = [plans.pp, plans.interleave, plans.schedule, plans.data_ranks * plans.micro_batch]
    group = distinct([key.astype(np.int64) for key in keys])[1]
    totals = [model.job.model.layer_kinds.count(kind) for kind in KINDS]
    own = forms.layer.min(axis=(2, 3))
    whole = own @ totals + forms.ends.sum(axis=1)
    layer, ends = _least_of_group(own, group), _least_of_group(forms.ends, group)
    freed = layer @ totals + ends.sum(axis=1)
    summed = forms.summed[:, 0] / whole * freed  # 0 where nothing adds up
    slowest = np.maximum(freed / rows.devices, end_times(rows, ends).max(axis=1))
    constant = _least_of_group(forms.constant, group)
    return float(((forms.paced[:, 0] * slowest + summed + constant) * forms.factor).min())


def other_tp_of_pools_s(pools: Sequence[Pool], options: SpaceOptions, *, own: bool = True) -> float:
    """Seconds that no plan is below whose stages on each pool have a tp of their own.

    LB1 (`planner.search.pools.bounds`) with the least over all rows of as many stages and
    micro-batches for the times on each pool and what no stage changes: a plan takes each from some
    row. Without `own` that of plans with one tp: LB1 itself.
    """
    rows = pooled_rows(pools, options)
    forms = pooled_forms(rows, [pool.model.clocks(wanted=False) for pool in pools])
    if own:
        plans = rows.plans
        keys = [plans.pp, plans.schedule, plans.data_ranks * plans.micro_batch]
        group = distinct([key.astype(np.int64) for key in keys])[1]
        names = ("tau", "left", "constant")
        freed = {name: _least_of_group(getattr(forms, name), group) for name in names}
        forms = replace(forms, **freed)  # type: ignore[arg-type]
    return float(forms.step_s(forms.slowest).min())


def _least_of_group(table: FloatArray, group: IntArray) -> FloatArray:
    """(n, ...) the least of all rows of the group of each."""
    least = np.full((int(group.max()) + 1, *table.shape[1:]), np.inf)
    np.minimum.at(least, group, table)
    return np.asarray(least[group])


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
