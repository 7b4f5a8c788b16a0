"""Recomputation as Megatron-LM is told of it: one granularity, method and number for all stages.

Sources: Megatron-LM megatron/core/recompute.py (`uniform`: all layers in units of N; `block`: the
first N layers of every chunk, all where it has fewer) and core/transformer/transformer_config.py
(`selective` forbids both), d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from models_db import Model
from planner.base.arrays import BoolArray, IntArray
from planner.cost.stages.explicit import chunk_kinds
from planner.plan import FULL, SELECTIVE, Plan, PlanTable, StageTable
from planner.plan.recomputations import has_modules, modules_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputation:
    """Values of --recompute-granularity, -method, -num-layers and -modules; empty or 0: unset."""

    granularity: str = ""
    method: str = ""
    layers: int = 0
    modules: tuple[str, ...] = ()


NONE = Recomputation()
CORE = Recomputation(granularity="selective", modules=("core_attn",))
ALL = Recomputation(granularity="full", method="uniform", layers=1)


def recomputed_layers(stages: StageTable, kinds: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """(n, c, 2) dense and expert layers of every chunk with selective and with full recomputation.

    Layers that a chunk does not count apart recompute as it says.
    """
    sizes = chunk_kinds(kinds, np.minimum(np.maximum(stages.layers, 0), len(kinds)))
    rest = np.maximum(sizes - stages.recomputed.sum(axis=3), 0)
    found = [
        stages.recomputed[..., at] + np.where((stages.recompute == code)[..., None], rest, 0)
        for at, code in enumerate((SELECTIVE, FULL))
    ]
    return found[0], found[1]


def recompute_is_launchable(model: Model, plans: PlanTable) -> BoolArray:
    """(n,) plans whose stages recompute in a way that Megatron-LM has settings for.

    Nothing, the cores or the same modules of all layers, or the first N layers of every chunk.
    Stages that do not add up to the model are the matter of another rule.
    """
    table = plans.stages
    if table is None:
        return np.ones(len(plans), dtype=np.bool_)
    layers = np.maximum(table.layers, 0)
    right = (layers.sum(axis=1) == model.layers) & (table.layers[:, 0] >= 0)
    safe = np.where(right[:, None], layers, 0)
    selective, full = recomputed_layers(
        StageTable(
            layers=safe,
            recompute=table.recompute,
            recomputed=table.recomputed,
            sharding=table.sharding,
            clock=table.clock,
        ),
        model.layer_kinds,
    )
    cores = (selective.sum(axis=2) == safe).all(axis=1)
    named = (safe > selective.sum(axis=2) + full.sum(axis=2)) & has_modules(table.recompute)
    blocks = (selective.sum(axis=(1, 2)) == 0) & _first_layers(model, safe, full)
    blocks &= ~named.any(axis=1)
    return np.asarray(~right | cores | blocks | _same_modules(table, safe))


def _same_modules(table: StageTable, layers: IntArray) -> BoolArray:
    """(n,) whether all layers recompute the same modules."""
    code = np.where(layers > 0, table.recompute, -1)
    most = code.max(axis=1)
    same = (code == most[:, None]) | (layers == 0)
    alone = table.recomputed.sum(axis=(1, 2, 3)) == 0
    return np.asarray(same.all(axis=1) & alone & has_modules(np.maximum(most, 0)))


def stages_are_launchable(model: Model, plan: Plan) -> bool:
    """`recompute_is_launchable` for one plan, whatever chips its stages are on."""
    stages = tuple(replace(stage, pool=None) for stage in plan.stages or ())
    table = PlanTable.from_plans([replace(plan, stages=stages or None)])
    return bool(recompute_is_launchable(model, table)[0])


def _first_layers(model: Model, layers: IntArray, full: IntArray) -> BoolArray:
    """(n,) whether the layers of full recomputation are the first N of every chunk."""
    counts = full.sum(axis=2)
    most = counts.max(axis=1, keepdims=True)
    expert = np.concatenate([[0], np.cumsum([kind == "moe" for kind in model.layer_kinds])])
    start = np.cumsum(layers, axis=1) - layers
    end = np.minimum(start + counts, model.layers)
    of_first = expert[end] - expert[start]
    alike = (counts == np.minimum(most, layers)) & (full[..., 1] == of_first)
    return np.asarray(alike.all(axis=1))


def _of_word(recompute: str) -> Recomputation:
    """What all layers recompute."""
    if modules := modules_of(recompute):
        return Recomputation(granularity="selective", modules=modules)
    return {"none": NONE, "selective": CORE, "full": ALL}[recompute]


def recomputation(model: Model, plan: Plan) -> Recomputation:
    """What Megatron-LM is set to; where it has no setting, what needs no more memory."""
    if plan.stages is None:
        return _of_word(plan.recompute)
    table = PlanTable.from_plans([plan]).stages
    assert table is not None
    ways = {stage.recompute or plan.recompute for stage in plan.stages if stage.layers}
    if any(map(modules_of, ways)):
        return _of_word(ways.pop()) if _same_modules(table, table.layers)[0] else ALL
    selective, full = (int(x.sum()) for x in recomputed_layers(table, model.layer_kinds))
    counts = recomputed_layers(table, model.layer_kinds)[1].sum(axis=2)[0]
    if full == 0:
        return CORE if selective else NONE
    if bool((counts == table.layers[0]).all()):
        return ALL
    return Recomputation(granularity="full", method="block", layers=int(counts.max()))
