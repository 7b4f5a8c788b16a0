"""Which layers sit on which pipeline stage, as classes of equal stages.

A uniform plan follows a rule of its framework (`planner.plan.SPLITS`), with S = pp * interleave
chunks and chunk s on stage s mod pp:

    even           S divides the layers (Megatron-LM)
    even-counted   S divides layers + 2: embedding and head count as a layer each (Megatron-LM
                   --account-for-embedding-in-pipeline-split, --account-for-loss-...; BLOOM)
    front          ceil or floor; the first chunks take the remainder (DeepSpeed uniform)
    front-counted  the same with embedding and head counted (torchtitan's default)
    by-cost        chunks close when the cumulative cost, head included, passes their share
                   (nanotron, models/base.py build_model); the boundary layer goes to the earlier
                   stage, and the last chunks may hold no layer

Stages with the same layers and ends form a class, so that a plan with 64 stages costs as much to
evaluate as one with 4. A plan with explicit stages has one class per stage.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from models_db import Model
from planner.cost.dualpipe import every_rank, rank_classes
from planner.distinct import distinct
from planner.errors import InputError
from planner.plan import (
    BY_COST,
    DUALPIPE,
    EVEN,
    EVEN_COUNTED,
    FRONT_COUNTED,
    SCHEDULES,
    SPLITS,
    FloatArray,
    IntArray,
    Plan,
    PlanTable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageClasses:
    """Classes of equal pipeline stages, (n, s) floats; a class with count 0 does not exist.

    Attributes:
        dense, moe: Layers of each kind on one stage of the class.
        count: Stages in the class.
        first, last: 1.0 where the stage holds the embedding, the head.
        position: Index of the earliest stage of the class (it holds the most micro-batches).
        far: (n, s, 2) dense and expert layers that are in the second chunk of a DualPipe rank
            (`planner.cost.dualpipe`); None where no plan has any.
    """

    dense: FloatArray
    moe: FloatArray
    count: FloatArray
    first: FloatArray
    last: FloatArray
    position: FloatArray
    far: FloatArray | None = None

    @property
    def layers(self) -> FloatArray:
        """Layers of either kind on one stage of the class."""
        return self.dense + self.moe

    def take(self, index: np.ndarray) -> StageClasses:
        """The rows of `index`."""
        listed = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        return StageClasses(
            **{name: np.take(getattr(self, name), index, axis=0) for name in listed}
        )


def head_cost_in_layers(model: Model) -> float:
    """Cost of the output head in layers, by parameters that multiply activations."""
    kind = model.layer_kinds[-1]
    layer = model.layer_parameters(kind) - model.norm_parameters
    if kind == "moe" and model.moe is not None:
        layer -= (model.moe.experts - model.moe.experts_per_token) * model.expert_parameters
    return model.embedding_parameters / layer


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
    kinds: tuple[str, ...], sizes: tuple[int, ...], pp: int
) -> tuple[tuple[float, ...], ...]:
    """Rows (dense, moe, count, first, last, position) of the classes of a chunk list."""
    classes: dict[tuple[int, int, bool, bool], list[int]] = {}
    for stage, key in enumerate(_stages(kinds, sizes, pp)):
        classes.setdefault(key, []).append(stage)
    return tuple(
        (float(key[0]), float(key[1]), float(len(at)), float(key[2]), float(key[3]), float(at[0]))
        for key, at in classes.items()
    )


def _stages(
    kinds: tuple[str, ...], sizes: tuple[int, ...], pp: int
) -> list[tuple[int, int, bool, bool]]:
    """Dense and expert layers of each stage of a chunk list, and whether it is first or last."""
    stages = chunk_kinds(kinds, sizes).reshape(-1, pp, 2).sum(axis=0)
    return [(int(dense), int(moe), s == 0, s == pp - 1) for s, (dense, moe) in enumerate(stages)]


def chunk_kinds(kinds: tuple[str, ...], sizes: tuple[int, ...]) -> IntArray:
    """(chunks, 2) dense and expert layers of every chunk, in order.

    Args:
        kinds: Of every layer: dense or moe.
        sizes: Layers per chunk.
    """
    moe_before = np.concatenate([[0], np.cumsum([kind == "moe" for kind in kinds])])
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    moe = moe_before[starts[1:]] - moe_before[starts[:-1]]
    return np.stack([np.array(sizes) - moe, moe], axis=1).astype(np.int64)


def chunk_places(plan: Plan) -> IntArray:
    """(pp, v) which chunk of the model each chunk of each stage is.

    Chunk c of stage i is c pp + i; with DualPipe a stage has two, i and pp - 1 - i.
    """
    stage = np.arange(plan.pp)
    if plan.schedule == SCHEDULES[DUALPIPE]:
        return np.stack([stage, stage[::-1]], axis=1)
    return np.asarray(np.arange(plan.interleave)[None, :] * plan.pp + stage[:, None])


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
    if plans.schedule[0] == DUALPIPE:
        return _packed([tuple(every_rank(chunk_kinds(model.layer_kinds, sizes)))])
    rows = tuple(
        (float(dense), float(moe), 1.0, float(first), float(last), float(at))
        for at, (dense, moe, first, last) in enumerate(_stages(model.layer_kinds, sizes, pp))
    )
    return _packed([rows])


def stage_classes(plans: PlanTable, model: Model) -> StageClasses:
    """The stage classes of every plan, padded to the largest number of classes.

    Raises:
        InputError: A rule does not divide the layers, or explicit stages do not add up.
    """
    columns = [plans.pp, plans.interleave, plans.split, (plans.schedule == DUALPIPE).astype(int)]
    first, rule = distinct(columns)
    rules = np.stack(columns, axis=1)[first]
    explicit = np.zeros(len(plans), dtype=bool)
    if plans.stages is not None:
        explicit = plans.stages.layers[:, 0] >= 0
    needed = set(np.unique(rule[~explicit]).tolist())
    kinds = model.layer_kinds
    tables = [
        _rule_classes(model, kinds, *row) if index in needed else ()
        for index, row in enumerate(rules.tolist())
    ]
    if not explicit.any():
        return _packed(tables).take(rule)
    rows = [tables[index] for index in rule]
    for row in np.flatnonzero(explicit):
        rows[row] = _explicit_classes(plans, int(row), model)
    return _packed(rows)


def _rule_classes(
    model: Model, kinds: tuple[str, ...], pp: int, interleave: int, split: int, both_ways: int
) -> tuple[tuple[float, ...], ...]:
    sizes = stage_layers(model, pp, interleave, split)
    if sizes is None:
        raise InputError(
            f"pp {pp} x interleave {interleave}: the {model.layers} layers of {model.name} do not "
            f"divide into {pp * interleave} chunks by the rule {SPLITS[split]!r}"
        )
    if both_ways:
        return tuple(rank_classes(chunk_kinds(kinds, sizes)))
    return _uniform_classes(kinds, sizes, pp)


def _explicit_classes(plans: PlanTable, row: int, model: Model) -> tuple[tuple[float, ...], ...]:
    """One class per stage, in order, so that per-stage choices line up with the columns."""
    assert plans.stages is not None
    listed = plans.stages.layers[row]
    sizes = listed[listed >= 0]
    pp = int(plans.pp[row])
    if plans.interleave[row] != 1 or len(sizes) != pp or sizes.sum() != model.layers:
        raise InputError(
            f"stages: {len(sizes)} stages with {int(sizes.sum())} layers; needed: interleave 1 "
            f"and {pp} stages (pp) with {model.layers} layers in all ({model.name})"
        )
    moe_before = np.concatenate([[0], np.cumsum([k == "moe" for k in model.layer_kinds])])
    ends = np.cumsum(sizes)
    moe = moe_before[ends] - moe_before[ends - sizes]
    return tuple(
        (float(n - e), float(e), 1.0, float(s == 0), float(s == pp - 1), float(s))
        for s, (n, e) in enumerate(zip(sizes, moe, strict=True))
    )


def _packed(tables: list[tuple[tuple[float, ...], ...]]) -> StageClasses:
    widest = max((len(table) for table in tables), default=1)
    columns = max((len(table[0]) for table in tables if table), default=6)
    packed = np.zeros((len(tables), max(widest, 1), columns))
    for row, table in enumerate(tables):
        if table:
            packed[row, : len(table), : len(table[0])] = table
    names = ("dense", "moe", "count", "first", "last", "position")
    found = StageClasses(**{name: packed[:, :, i].copy() for i, name in enumerate(names)})
    return found if columns == 6 else replace(found, far=packed[:, :, 6:].copy())
