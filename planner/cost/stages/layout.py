"""Which layers sit on which pipeline stage, as classes of equal stages.

A uniform plan follows a rule of its framework (`planner.plan.SPLITS`), with S = pp * interleave
chunks and chunk s where its schedule puts it, mostly on stage s mod pp:

    even           S divides the layers (Megatron-LM)
    even-counted   S divides layers + 2: embedding and head count as a layer each (Megatron-LM
                   --account-for-embedding-in-pipeline-split, --account-for-loss-...; BLOOM)
    front          ceil or floor; the first chunks take the remainder (DeepSpeed uniform)
    front-counted  the same with embedding and head counted (torchtitan's default)
    by-cost        chunks close when the cumulative cost, head included, passes their share
                   (nanotron, models/base.py build_model); the boundary layer goes to the earlier
                   stage, and the last chunks may hold no layer

Stages with the same layers and ends form a class, so that a plan with 64 stages costs as much to
evaluate as one with 4. A plan with explicit stages has one class per stage, in order
(`planner.cost.stages.explicit`).
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from models_db import Model
from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.base.errors import InputError
from planner.cost.stages.explicit import (
    check_stages,
    chunk_columns,
    chunk_kinds,
    chunk_layers_of,
    explicit_plans,
    of_chunks,
)
from planner.plan import (
    BY_COST,
    EVEN,
    EVEN_COUNTED,
    FRONT_COUNTED,
    SPLITS,
    Plan,
    PlanTable,
)
from planner.schedules import schedule_at, schedule_of
from planner.schedules.schedule import StageRows

_TENSORS_PER_LAYER = 6.0  # two norms, and the weights of queries to values, output, and MLP


@dataclass(frozen=True, slots=True, kw_only=True)
class StageClasses:
    """Classes of equal pipeline stages, (n, s) floats; a class with count 0 does not exist.

    Attributes:
        dense, moe: Layers of each kind on one stage of the class.
        count: Stages in the class.
        first, last: 1.0 where the stage holds the embedding, the head.
        position: Index of the earliest stage of the class (it holds the most micro-batches).
        chunks: (n, s, v, 2) dense and expert layers of every chunk of explicit stages, and where a
            schedule lists them; 0 where a plan has neither. None: no plan has any.
    """

    dense: FloatArray
    moe: FloatArray
    count: FloatArray
    first: FloatArray
    last: FloatArray
    position: FloatArray
    chunks: FloatArray | None = None

    @property
    def layers(self) -> FloatArray:
        """Layers of either kind on one stage of the class."""
        return self.dense + self.moe

    def take(self, index: np.ndarray) -> StageClasses:
        """The rows of `index`."""
        chunks = None if self.chunks is None else np.take(self.chunks, index, axis=0)
        tables = {
            f.name: np.take(getattr(self, f.name), index, axis=0)
            for f in fields(self)
            if f.name != "chunks"
        }
        return StageClasses(**tables, chunks=chunks)


def head_cost_in_layers(model: Model) -> float:
    """Cost of the output head in layers, by parameters that multiply activations."""
    kind, mixer = model.feed_forwards[-1], model.mixers[-1]
    layer = model.layer_parameters(kind, mixer) - model.norm_parameters
    if kind == "moe" and model.moe is not None:
        layer -= (model.moe.experts - model.moe.experts_per_token) * model.expert_parameters
    return model.embedding_parameters / layer


@lru_cache(maxsize=4096)
def chunk_layers(layers: int, chunks: int, split: int, head_cost: float) -> tuple[int, ...] | None:
    """Layers per chunk in order, or None when the rule does not allow that many chunks.

    Args:
        layers: Transformer layers of the model.
        chunks: pp * interleave.
        split: Code of a rule of `SPLITS`.
        head_cost: Cost of the head in layers (used by `by-cost`).
    """
    if chunks == 1:
        return (layers,)
    if split == BY_COST:
        return layers_by_cost(layers, chunks, head_cost) if chunks <= layers + 1 else None
    counted = split in (EVEN_COUNTED, FRONT_COUNTED)
    each, left = divmod(layers + 2 * counted, chunks)
    if left and split in (EVEN, EVEN_COUNTED):
        return None
    sizes = [each + (chunk < left) for chunk in range(chunks)]
    sizes[0] -= counted
    sizes[-1] -= counted
    return tuple(sizes) if min(sizes) >= 0 and sum(sizes) == layers and each else None


def layers_by_cost(layers: int, chunks: int, head_cost: float) -> tuple[int, ...]:
    """Layers per chunk by the rule `by-cost`; chunks beyond layers and head stay empty."""
    total = layers + head_cost
    sizes = [0] * chunks
    chunk = 0
    for done in range(1, layers + 1):
        sizes[chunk] += 1
        if chunk < chunks - 1 and done > total * (chunk + 1) / chunks:
            chunk += 1
    return tuple(sizes)


def stage_layers(model: Model, pp: int, interleave: int, split: int) -> tuple[int, ...] | None:
    """Layers per chunk of a uniform plan, or None where its rule does not divide the layers."""
    head = head_cost_in_layers(model) if split == BY_COST else 0.0
    return chunk_layers(model.layers, pp * interleave, split, head)


@lru_cache(maxsize=4096)
def _uniform_classes(
    kinds: tuple[str, ...], sizes: tuple[int, ...], pp: int, schedule: int
) -> StageRows:
    """The classes of a chunk list under a schedule."""
    return schedule_at(schedule).stage_classes(chunk_kinds(kinds, sizes), pp)


def chunk_places(plan: Plan) -> IntArray:
    """(pp, v) which chunk of the model each chunk of each stage is."""
    return schedule_of(plan.schedule).places(plan.pp, plan.interleave)


def plan_chunks(plan: Plan, model: Model) -> tuple[int, ...]:
    """Layers per chunk of a plan whose layers divide; `chunk_places` says where each is."""
    if plan.stages is not None:
        return tuple(stage.layers for stage in plan.stages)
    sizes = stage_layers(model, plan.pp, plan.interleave, SPLITS.index(plan.split))
    assert sizes is not None
    return sizes


def every_stage(plans: PlanTable, model: Model) -> StageClasses:
    """The stages of one plan in order, each a class of its own at its own position, (1, pp).

    Raises:
        InputError: See `stage_classes`.
    """
    assert len(plans) == 1
    classes = stage_classes(plans, model)
    if plans.stages is not None and plans.stages.layers[0, 0] >= 0:
        return classes
    pp, interleave, split = (int(x[0]) for x in (plans.pp, plans.interleave, plans.split))
    sizes = stage_layers(model, pp, interleave, split)
    assert sizes is not None
    schedule = schedule_at(int(plans.schedule[0]))
    return _packed([schedule.every_stage(chunk_kinds(model.layer_kinds, sizes), pp)])


def stage_tensors(stages: StageClasses) -> FloatArray:
    """(n, s) parameter tensors of stages: those of the layers, embedding, last norm and head."""
    layers = _TENSORS_PER_LAYER * (stages.dense + stages.moe)
    return np.asarray(layers + stages.first + 2.0 * stages.last)


def stage_classes(plans: PlanTable, model: Model) -> StageClasses:
    """The stage classes of every plan, padded to the largest number of classes.

    Raises:
        InputError: A rule does not divide the layers, or explicit stages do not add up.
    """
    columns = [plans.pp, plans.interleave, plans.split, plans.schedules.dealt_as]
    first, rule = distinct(columns)
    rules = np.stack(columns, axis=1)[first]
    explicit = explicit_plans(plans)
    needed = set(np.unique(rule[~explicit]).tolist())
    kinds = model.layer_kinds
    tables: list[StageRows] = [
        _rule_classes(model, kinds, *row) if index in needed else []
        for index, row in enumerate(rules.tolist())
    ]
    uniform = _packed(tables).take(rule)
    if not explicit.any():
        return uniform
    check_stages(plans, model)
    return _with_listed(uniform, plans, chunk_layers_of(plans, model))


def _rule_classes(
    model: Model, kinds: tuple[str, ...], pp: int, interleave: int, split: int, schedule: int
) -> StageRows:
    sizes = stage_layers(model, pp, interleave, split)
    if sizes is None:
        raise InputError(
            f"pp {pp} x interleave {interleave}: the {model.layers} layers of {model.name} do not "
            f"divide into {pp * interleave} chunks by the rule {SPLITS[split]!r}"
        )
    return _uniform_classes(kinds, sizes, pp, schedule)


def _with_listed(uniform: StageClasses, plans: PlanTable, layers: IntArray) -> StageClasses:
    """The classes of all plans from those of rules and the (n, c, 2) layers of listed chunks.

    One class per explicit stage, in order, so that per-stage choices line up with the columns.
    """
    width = max(uniform.count.shape[1], int(plans.pp[explicit_plans(plans)].max()))
    columns = chunk_columns(plans, width)
    chunks = of_chunks(layers, columns).astype(np.float64)
    at = np.arange(width)[None, :]
    pp = np.where(explicit_plans(plans), plans.pp, 0)[:, None]
    last = (plans.pp * plans.interleave - 1)[:, None]
    opens = (columns == 0).any(axis=2)
    closes = (columns == last[:, :, None]).any(axis=2)

    def merged(listed: FloatArray | BoolArray, name: str) -> FloatArray:
        table = getattr(uniform, name)
        wide = np.pad(table, ((0, 0), (0, width - table.shape[1])))
        return np.where(pp > 0, listed * (at < pp), wide)

    return StageClasses(
        dense=merged(chunks[..., 0].sum(axis=2), "dense"),
        moe=merged(chunks[..., 1].sum(axis=2), "moe"),
        count=merged(at < pp, "count"),
        first=merged(opens, "first"),
        last=merged(closes, "last"),
        position=merged(at.astype(np.float64), "position"),
        chunks=_both_chunks(chunks, uniform.chunks, explicit_plans(plans)),
    )


def _both_chunks(listed: FloatArray, others: FloatArray | None, explicit: BoolArray) -> FloatArray:
    """(n, s, v, 2) chunks of plans that list them and of those that do not, zero elsewhere."""
    if others is None:
        return listed
    shape = np.maximum(listed.shape, others.shape)
    wide = [
        np.pad(
            table, [(0, int(most - size)) for size, most in zip(table.shape, shape, strict=True)]
        )
        for table in (listed, others)
    ]
    return np.where(explicit[:, None, None, None], *wide)


def _packed(tables: list[StageRows]) -> StageClasses:
    widest = max((len(table) for table in tables), default=1)
    columns = max((len(table[0]) for table in tables if table), default=6)
    packed = np.zeros((len(tables), max(widest, 1), columns))
    for row, table in enumerate(tables):
        if table:
            packed[row, : len(table), : len(table[0])] = table
    names = ("dense", "moe", "count", "first", "last", "position")
    found = StageClasses(**{name: packed[:, :, i].copy() for i, name in enumerate(names)})
    if columns == 6:
        return found
    return replace(found, chunks=packed[:, :, 6:].reshape(*found.count.shape, 2, 2))
