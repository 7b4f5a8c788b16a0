"""LB2 of rows of one stage whose first N layers recompute in full.

One stage holds all layers and the first N recompute: its sharding and clock alone are left to
choose. Of every sharding the bytes are those of the plan, and the seconds of a micro-batch, which
are least at the highest clock. What the sharding adds once per step is the least of all, of its
reductions what no backward pass hides, however short that is.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.columns import parameters_on_chip
from planner.cost.context import CostModel
from planner.cost.memory.memory import memory, stage_parameters
from planner.cost.stages.recomputation import RecomputeGroup
from planner.cost.vision.activations import tower_bytes
from planner.plan import FULL, NO_RECOMPUTE, SHARDINGS
from planner.search.limits import Limits
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, contents

_SLACK = 1 + 1e-9


def alone(rows: Rows) -> IntArray:
    """The rows that the module is about."""
    plans = rows.plans
    return np.flatnonzero((rows.first > 0) & (plans.pp == 1) & (plans.interleave == 1))


def alone_bound(model: CostModel, limits: Limits, rows: Rows, forms: RowForms) -> FloatArray:
    """(n,) seconds of rows that are `alone`; inf where no sharding fits in memory."""
    plain, full = (rows.recomputes.index(code) for code in (NO_RECOMPUTE, FULL))
    recomputed = _first_layers(model)[rows.first]
    others = _first_layers(model)[-1] - recomputed
    seconds = np.where(np.isfinite(forms.layer), forms.layer, 0.0)
    taken = np.einsum("nk,nkz->nz", others, seconds[:, :, plain])
    taken += np.einsum("nk,nkz->nz", recomputed, seconds[:, :, full])
    limit = limits.bytes_of(model, rows.plans)[:, None] * _SLACK
    fits = rows.shardings & (_held(model, rows, others, recomputed) <= limit)
    stage = np.where(fits, taken, np.inf).min(axis=1) + forms.ends.sum(axis=1)
    step = rows.micro_batches(model) * stage + forms.constant
    return np.asarray(step * forms.factor * ROUNDED_DOWN)


def _first_layers(model: CostModel) -> FloatArray:
    """(L + 1, 2) layers of each kind among the first N."""
    kinds = np.array([[name == kind for kind in KINDS] for name in model.job.model.layer_kinds])
    return np.concatenate([np.zeros((1, len(KINDS))), np.cumsum(kinds, axis=0)])


def _held(model: CostModel, rows: Rows, others: FloatArray, recomputed: FloatArray) -> FloatArray:
    """(n, z) bytes per chip under every sharding.

    Args:
        model: Job and machine.
        rows: n rows.
        others, recomputed: (n, 2) layers by kind that recompute nothing, that recompute in full.
    """
    whole = (others + recomputed)[:, None]
    stages = contents(whole[..., 0], whole[..., 1], first=True, last=True)
    groups = tuple(
        RecomputeGroup(
            recompute=np.full((len(rows), 1), code),
            dense=layers[:, :1],
            moe=layers[:, 1:],
        )
        for code, layers in ((NO_RECOMPUTE, others), (FULL, recomputed))
    )
    local, m = parameters_on_chip(model, rows.plans), rows.micro_batches(model)[:, None]
    held = [
        memory(
            model.job,
            model.shapes,
            rows.plans,
            stages,
            local,
            stage_parameters(rows.plans, stages, local),
            m=m,
            groups=groups,
            sharding=np.full((len(rows), 1), code),
            fused=model.assumptions.fused_attention,
            tower=tower_bytes(model, rows.plans, stages, m),
        ).total[:, 0]
        for code in range(len(SHARDINGS))
    ]
    return np.stack(held, axis=1)
