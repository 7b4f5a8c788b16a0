"""Every plan that differs from one plan in at most three decisions, as one table.

Decisions are the degrees tp, cp, pp and ep, the micro-batch, the chunks of a stage, the sharding,
recomputation and sequence parallelism. Chips and batch stay; data ranks take what the other
degrees leave, and are no decision of their own. What a decision forces is no second one: without tp
there is no sequence parallelism, without a pipeline there are no chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.plan import RECOMPUTES, SHARDINGS, Plan, PlanTable
from planner.plan.plan import COLUMNS
from planner.question.options import SpaceOptions
from planner.schedules import SCHEDULES, schedule_of
from planner.search.uniform.space import chunkings

MOST = 3
"""Decisions that may differ."""
DECISIONS = (
    "tp", "cp", "pp", "ep", "micro_batch", "interleave", "sharding", "recompute",
    "sequence_parallel",
)  # fmt: skip
_ZERO3 = SHARDINGS.index("zero3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Plans near to one, which is not among them.

    Attributes:
        plans: n plans, each once.
        changes: (n,) decisions in which each differs, from 1 to `MOST`.
    """

    plans: PlanTable
    changes: IntArray


def values_of(model: CostModel, plan: Plan) -> dict[str, IntArray]:
    """Decision to the values that it may take, that of the plan first."""
    divisors = _divisors(plan.chips)
    experts = model.shapes.experts or 1
    shardings = [SHARDINGS.index(name) for name in model.framework.shardings]
    offered = {
        "tp": divisors,
        "cp": divisors,
        "pp": [size for size in divisors if size <= model.job.model.layers],
        "ep": [size for size in _divisors(experts) if plan.chips % size == 0],
        "micro_batch": _divisors(model.job.global_batch),
        "interleave": list(range(1, model.job.model.layers + 1)),
        "sharding": shardings,
        "recompute": _recomputes(model),
        "sequence_parallel": [0, 1],
    }
    own = own_values(plan)
    if plan.stages is not None:  # its layers are of so many stages and chunks
        offered["pp"] = offered["interleave"] = []
    return {
        name: np.array([own[name], *(value for value in offered[name] if value != own[name])])
        for name in DECISIONS
    }


def _recomputes(model: CostModel) -> list[int]:
    """Levels of recomputation, without one that saves nothing: attention that is fused anyway."""
    useless = model.framework.selective == "core-attention" and model.assumptions.fused_attention
    return [at for at, name in enumerate(RECOMPUTES) if not (useless and name == "selective")]


def own_values(plan: Plan) -> Mapping[str, int]:
    """The decisions of a plan, named ones by their codes."""
    table = PlanTable.from_plans([plan])
    return {name: int(getattr(table, name)[0]) for name in DECISIONS}


def near(model: CostModel, plan: Plan, options: SpaceOptions, most: int = MOST) -> Near:
    """All plans within `most` decisions of a plan whose numbers divide.

    Rules of the framework and limits are not looked at.

    Args:
        model: Job, cluster, assumptions.
        plan: Where to look from, on the chips that stay.
        options: Which splits of layers are considered.
        most: Decisions that may differ.
    """
    found = np.concatenate(list(_combined(values_of(model, plan), most)), axis=1)
    columns = dict(zip(DECISIONS, found, strict=True))
    columns = _forced(columns)
    kept = _dividing(model, plan, columns)
    columns = {name: column[kept] for name, column in columns.items()}
    count = _counted(columns, own_values(plan))
    alike = np.unique(np.stack([columns[name] for name in DECISIONS]), axis=1, return_index=True)[1]
    alike = alike[(count[alike] > 0) & (count[alike] <= most)]
    columns = {name: column[alike] for name, column in columns.items()}
    table, fits = _table(model, plan, columns, options)
    return Near(plans=table.take(np.flatnonzero(fits)), changes=count[alike][fits])


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]


def _combined(values: Mapping[str, IntArray], most: int) -> Iterator[IntArray]:
    """(decisions, n) values of which `most` are any, and the others as they are.

    What a change forces follows in `_forced`, so that it takes none of the `most`.
    """
    names = list(values)
    for chosen in combinations(names, most):
        grids = np.meshgrid(*(values[name] for name in chosen), indexing="ij")
        size = grids[0].size
        columns = {name: np.full(size, values[name][0]) for name in names}
        columns |= {name: grid.ravel() for name, grid in zip(chosen, grids, strict=True)}
        yield np.stack([columns[name] for name in names])


def _forced(columns: dict[str, IntArray]) -> dict[str, IntArray]:
    """Columns with what others leave no choice of."""
    alone, piped = columns["tp"] == 1, columns["pp"] > 1
    return {
        **columns,
        "sequence_parallel": np.where(alone, 0, columns["sequence_parallel"]),
        "interleave": np.where(piped, columns["interleave"], 1),
    }


def _counted(columns: Mapping[str, IntArray], own: Mapping[str, int]) -> IntArray:
    """(n,) decisions that differ from those of a plan, less those that are forced."""
    count = np.zeros(len(columns["tp"]), dtype=np.int64)
    for name in DECISIONS:
        differs = columns[name] != own[name]
        if name == "sequence_parallel":
            differs &= columns["tp"] > 1
        if name == "interleave":
            differs &= columns["pp"] > 1
        count += differs
    return count


def _dividing(model: CostModel, plan: Plan, columns: Mapping[str, IntArray]) -> IntArray:
    """Rows whose degrees divide the chips, and whose batch divides."""
    product = columns["tp"] * columns["cp"] * columns["pp"]
    whole = plan.chips % product == 0
    data = np.where(whole, plan.chips // product, 1)
    batch = int(model.job.global_batch)
    whole &= batch % (data * columns["micro_batch"]) == 0
    return np.asarray(np.flatnonzero(whole))


def _table(
    model: CostModel, plan: Plan, columns: Mapping[str, IntArray], options: SpaceOptions
) -> tuple[PlanTable, BoolArray]:
    """The rows as plans, and which of them have stages that the layers divide into."""
    rows = len(columns["tp"])
    base = PlanTable.from_plans([plan]).take(np.zeros(rows, dtype=np.intp))
    data = plan.chips // (columns["tp"] * columns["cp"] * columns["pp"])
    shards = columns["sharding"] == _ZERO3
    replicas = np.where(shards & (plan.sharding == "zero3") & (data % plan.dp == 0), plan.dp, 1)
    split, schedule, fits = _stages(model, plan, columns, options)
    made = {
        **{name: getattr(base, name) for name in COLUMNS},
        **columns,
        "sequence_parallel": columns["sequence_parallel"].astype(np.bool_),
        "dp": np.where(shards, replicas, data),
        "fsdp": np.where(shards, data // replicas, 1),
        "split": split,
        "schedule": schedule,
    }
    return PlanTable(**made, stages=base.stages, layouts=base.layouts), fits


def _stages(
    model: CostModel, plan: Plan, columns: Mapping[str, IntArray], options: SpaceOptions
) -> tuple[IntArray, IntArray, BoolArray]:
    """(n,) split and schedule of each row, and whether its stages are offered."""
    own = PlanTable.from_plans([plan])
    split = np.full(len(columns["pp"]), int(own.split[0]))
    schedule = np.full(len(columns["pp"]), int(own.schedule[0]))
    fits = np.ones(len(columns["pp"]), dtype=np.bool_)
    if plan.stages is not None:
        return split, schedule, fits
    for pp in np.unique(columns["pp"]).tolist():
        at = columns["pp"] == pp
        offered = chunkings(model, pp, options)
        fits[at] = np.isin(columns["interleave"][at], [v for v, _ in offered])
        for chunks in {v for v, _ in offered}:
            rows = at & (columns["interleave"] == chunks)
            splits = [one for v, one in offered if v == chunks]
            split[rows] = int(own.split[0]) if int(own.split[0]) in splits else splits[0]
            name = _schedule(model, plan, pp, chunks)
            schedule[rows] = SCHEDULES.index(name) if name else 0
            fits[rows] &= bool(name)
    return split, schedule, fits


def _schedule(model: CostModel, plan: Plan, pp: int, chunks: int) -> str:
    """That of the plan where it has so many chunks, else the first of the framework that has."""
    names = [
        name
        for name in model.framework.schedules
        if schedule_of(name).fits_interleave(np.array(chunks))
    ]
    if pp == 1:
        return "1f1b"
    return plan.schedule if plan.schedule in names else names[0] if names else ""
