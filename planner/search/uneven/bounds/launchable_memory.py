"""LB2 of rows whose chunks recompute their first N layers in full.

A stage with n layers in v chunks recomputes at most min(n, v N) of them, and of one chunk exactly
min(n, N). So it takes at least n tau + R (tau_full - tau) seconds for the least such R, and holds
at least what n layers hold of which the most recompute. Both grow with n: every stage has a most
n, and without room for all layers on all stages the row has no plan. Where layers are of two
kinds, each kind alone must find room, and counts no seconds of recomputation.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.plan import FULL, NO_RECOMPUTE
from planner.search.limits import Limits
from planner.search.uneven.bounds.alone import alone, alone_bound
from planner.search.uneven.bounds.memory import (
    parts_of,
    second_bound,
    stage_memory_of,
    stages_in_memory,
)
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS
from solvers.stages.filling import Stages

_AT_A_TIME = 4_000_000  # stages with numbers of layers that are in memory at once
_SLACK = 1 + 1e-9


def launchable_bound(
    model: CostModel, limits: Limits, rows: Rows, forms: RowForms, upper_s: float
) -> FloatArray:
    """(n,) LB2 in seconds, inf also where the module says that there is no plan.

    Arguments as for `planner.search.uneven.bounds.memory.second_bound`.
    """
    bound = second_bound(model, limits, rows, forms, upper_s)
    some = alone(rows)
    bound[some] = np.maximum(
        bound[some], alone_bound(model, limits, rows.take(some), forms.take(some))
    )
    blocks = np.flatnonzero((rows.first > 0) & np.isfinite(bound))
    for part in parts_of(rows.devices[blocks], model.job.model.layers, _AT_A_TIME):
        at = blocks[part]
        here = (rows.take(at), forms.take(at))
        fits = _fits_in_memory(model, limits, *here, here[1].slowest_within(upper_s))
        bound[at[~fits]] = np.inf
    return bound


def _fits_in_memory(
    model: CostModel, limits: Limits, rows: Rows, forms: RowForms, highest: FloatArray
) -> BoolArray:
    """(n,) rows of as many devices whose stages hold all layers of each kind within a time."""
    kinds = model.job.model.layer_kinds
    ok = np.ones(len(rows), dtype=np.bool_)
    limit = limits.chip_bytes(model)
    for kind in (at for at, name in enumerate(KINDS) if name in kinds):
        tau, layers = forms.layer[:, kind], kinds.count(KINDS[kind])
        room = stage_memory_of(model, rows, kind)
        stages = stages_in_memory(model, rows, tau, forms.ends, room, layers, limit)
        most = _most_layers(rows, stages, highest, layers, alone=layers == len(kinds))
        ok &= most.sum(axis=1) >= layers
    return ok


def _most_layers(
    rows: Rows, stages: Stages, highest: FloatArray, layers: int, *, alone: bool
) -> IntArray:
    """(n, p) most layers of a kind that each stage holds; `alone`: there is no other kind."""
    plain, full = (rows.recomputes.index(code) for code in (NO_RECOMPUTE, FULL))
    number = np.arange(1, layers + 1)[None, :]
    first, v = rows.first[:, None], rows.plans.interleave[:, None]
    most = np.minimum(number, first * v)
    fewest = np.where((v == 1) & alone, np.minimum(number, first), 0)
    found = np.zeros(stages.ends.shape, dtype=np.int64)
    for z in range(stages.tau.shape[2]):
        allowed = np.flatnonzero(np.isfinite(stages.tau[:, plain, z]))
        each, slow = (stages.tau[allowed, mode, z, None] for mode in (plain, full))
        seconds = number * each + fewest[allowed] * np.maximum(slow - each, 0)
        size = stages.size[allowed, :, :, z]
        held = (number - most[allowed])[:, None] * size[:, :, plain, None]
        held = held + most[allowed][:, None] * size[:, :, full, None]
        once = np.minimum(stages.once[:, plain, z], stages.once[:, full, z])[allowed]
        fits = held + once[:, None, None] <= stages.room[allowed, :, z][:, :, None] * _SLACK
        soon = seconds[:, None] + stages.ends[allowed][:, :, None]
        fits &= soon <= highest[allowed, None, None] * _SLACK
        found[allowed] = np.maximum(found[allowed], (fits * number).max(axis=2))
    return found
