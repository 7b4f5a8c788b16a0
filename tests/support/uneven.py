"""Every plan of a row of a small job, by the cost model; what searches are compared with."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.listed import chunk_kinds
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, PlanTable, Stage
from planner.search.limits import Limits
from planner.search.options import SpaceOptions
from planner.search.uneven.rows import Rows, cross_rows, uneven_skeletons


def rows_of(model: CostModel, chips: int, **fixed: frozenset[int]) -> Rows:
    """All rows of a job on some chips."""
    options = SpaceOptions(fixed=fixed)
    return cross_rows(model, uneven_skeletons(model, (chips,), options), options)


def sizes_of(layers: int, chunks: int, first: bool = True) -> Iterator[tuple[int, ...]]:
    """All chunk sizes: at least 1, 0 where the pipeline begins or ends."""
    if chunks == 1:
        yield (layers,)
        return
    for size in range(0 if first else 1, layers + 1):
        for rest in sizes_of(layers - size, chunks - 1, first=False):
            yield (size, *rest)


def counted(
    kinds: tuple[int, int], recomputes: tuple[int, ...]
) -> list[dict[str, tuple[int, int]]]:
    """All recomputation counts of a chunk."""
    names = {SELECTIVE: "selective", FULL: "full"}
    found = []
    least = [0 if 0 in recomputes else count for count in kinds]
    ranges = [range(count + 1) for count in kinds for code in recomputes if code]
    codes = [code for code in recomputes if code]
    for counts in product(*ranges):
        table = np.array(counts).reshape(2, len(codes)) if codes else np.zeros((2, 0), dtype=int)
        total = table.sum(axis=1)
        if (total <= kinds).all() and (total >= least).all():
            found.append({names[c]: tuple(table[:, i].tolist()) for i, c in enumerate(codes)})
    return found


def every_plan(model: CostModel, rows: Rows, row: int, clocks: Sequence[float] = ()) -> list[Plan]:
    """All plans of a row: chunks, recomputation, sharding, and clock; default: the highest."""
    shared = rows.plans.plan(row)
    pp, v = shared.pp, shared.interleave
    shardings = [SHARDINGS[z] for z in np.flatnonzero(rows.shardings[row])]
    levels = [float(clock) for clock in clocks] or [float(model.clocks(wanted=False)[0])]
    plans = []
    for sizes in sizes_of(model.job.model.layers, pp * v):
        if any(size == 0 for size in sizes[1:-1]):
            continue
        kinds = chunk_kinds(model.job.model.layer_kinds, sizes)
        options = [counted(tuple(pair), rows.recomputes) for pair in kinds.tolist()]
        for counts in product(*options):
            for chosen in product(product(shardings, levels), repeat=pp):
                stages = tuple(
                    Stage(
                        layers=size,
                        recompute="none",
                        sharding=chosen[c % pp][0],
                        clock=chosen[c % pp][1],
                        **counts[c],  # type: ignore[arg-type]
                    )
                    for c, size in enumerate(sizes)
                )
                clock = max(level for _, level in chosen)
                plans.append(Plan(**{**_fields(shared), "stages": stages, "clock": clock}))
    return plans


def _fields(plan: Plan) -> dict[str, object]:
    return {name: getattr(plan, name) for name in Plan.__slots__}


def values(model: CostModel, plans: list[Plan], limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every plan, and whether it fits."""
    cost = evaluate_table(model, PlanTable.from_plans(plans))
    return cost.step_time_s, cost.memory_per_chip_bytes <= limits.chip_bytes(model)
