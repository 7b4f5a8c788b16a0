"""Every plan whose stages are alike: all combinations of all choices, held to all rules.

What `docs/model/search.md` declares is written down once more: interleaved plans in equal chunks
alone, of no more than the framework keeps gathered, a plan without a pipeline as 1F1B. Choices that
cost the same are costed each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from enumerated.allowed import divisors, fitting, wanted, within
from enumerated.found import Enumerated
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.framework import Target
from planner.frameworks.rules import unbroken
from planner.objectives import Costs
from planner.plan import (
    DEFAULT_ORDER,
    NO_RECOMPUTE,
    ORDERS,
    RECOMPUTATIONS,
    RECOMPUTES,
    SELECTIVE,
    SHARDINGS,
    SPLITS,
    PlanTable,
)
from planner.question.request import Request
from planner.schedules import code_of_schedule, schedule_of

AT_A_TIME = 50_000
_AXES = ("tp", "cp", "fsdp", "dp", "pp")
_COLUMNS = (
    "tp", "cp", "pp", "dp", "fsdp", "ep", "etp", "micro_batch", "schedule", "interleave", "split",
    "sharding", "sequence_parallel", "cp_mode", "recompute", "offload",
)  # fmt: skip
_COUNTED = ("even-counted", "front-counted")
Row = tuple[int, ...]


def meshes(request: Request, model: CostModel, chips: int) -> Iterator[Row]:
    """tp, cp, pp, dp, fsdp, ep, etp of all meshes of so many chips."""
    shared = wanted(request, "etp", divisors(model.shapes.expert_width or 1))
    splits = shared if "etp" in request.fix else [1]
    experts = divisors(model.shapes.experts) if model.shapes.experts else [1]
    for tp, cp, pp, fsdp in product(divisors(chips), repeat=4):
        if chips % (tp * cp * pp * fsdp):
            continue
        dp = chips // (tp * cp * pp * fsdp)
        sizes = {"tp": tp, "cp": cp, "pp": pp, "dp": dp, "fsdp": fsdp}
        if all(wanted(request, name, [size]) for name, size in sizes.items()):
            for ep, etp in product(wanted(request, "ep", experts), splits):
                yield tp, cp, pp, dp, fsdp, ep, etp


def _pipelines(request: Request, model: CostModel, pp: int) -> list[Row]:
    """Schedule, interleave and split."""
    framework, layers = model.framework, model.job.model.layers
    splits = [SPLITS.index(name) for name in framework.splits]
    if pp == 1:
        found = [(code_of_schedule("1f1b"), 1, splits[0])]
    else:
        found = []
        for name, v, split in product(framework.schedules, range(1, layers + 3), splits):
            dealt = layers + 2 * (SPLITS[split] in _COUNTED)
            equal = SPLITS[split] != "by-cost" and dealt % (pp * v) == 0
            few = not framework.most_chunks or v <= framework.most_chunks
            if v == 1 or (equal and few and schedule_of(name).interleaves):
                found.append((code_of_schedule(name), v, split))
    names = ("schedule", "interleave") if pp == 1 else ("schedule", "interleave", "split")
    return [row for row in found if all(_one(request, names, row))]


def _one(request: Request, names: Sequence[str], row: Row) -> Iterator[bool]:
    for name, value in zip(names, row, strict=False):
        yield bool(wanted(request, name, [value]))


def _choices(request: Request, model: CostModel, mesh: Row) -> list[Row]:
    """Sharding, sequence parallelism, context-parallel mode, recomputation, offload."""
    tp, cp = mesh[:2]
    spread = wanted(request, "sequence_parallel", [0, 1]) if tp > 1 else [0]
    modes = wanted(request, "cp_mode", [0, 1]) if cp > 1 else [0]
    shardings = wanted(request, "sharding", range(len(SHARDINGS)))
    masks = range(8) if request.offload else [0]
    sets = wanted(request, "recompute", _sets_of_modules(request, model))
    recomputes = [*whole_layers(request, model), *sets]
    return list(product(shardings, spread, modes, recomputes, masks))


def whole_layers(request: Request, model: CostModel) -> list[int]:
    """Codes of recomputations of whole layers; one that drops nothing only where none is fixed."""
    found = wanted(request, "recompute", range(3))
    stored = not model.assumptions.fused_attention or model.framework.selective != "core-attention"
    return [code for code in found if code != SELECTIVE or stored or NO_RECOMPUTE not in found]


def _sets_of_modules(request: Request, model: CostModel) -> list[int]:
    """Codes of sets of modules that recompute, where one is asked for; rules say which can be had.

    Attention is among them where it stores scores, and nothing that is inside of experts beside
    these as a whole.
    """
    named = [code for code, word in enumerate(RECOMPUTATIONS) if word not in RECOMPUTES]
    if "recompute" not in request.fix or not wanted(request, "recompute", named):
        return []
    found = []
    for code in named:
        names = RECOMPUTATIONS[code].split("+")
        twice = "moe" in names and ("moe_act" in names or "shared_experts" in names)
        if not twice and not ("core_attn" in names and model.assumptions.fused_attention):
            found.append(code)
    return found


def _rows(request: Request, model: CostModel, chips: int) -> Iterator[Row]:
    """All combinations."""
    for mesh in meshes(request, model, chips):
        _, _, pp, dp, fsdp, _, _ = mesh
        if model.job.global_batch % (dp * fsdp):
            continue
        sizes = wanted(request, "micro_batch", divisors(model.job.global_batch // (dp * fsdp)))
        pipelines, choices = _pipelines(request, model, pp), _choices(request, model, mesh)
        for size, pipeline, choice in product(sizes, pipelines, choices):
            yield *mesh, size, *pipeline, *choice


def table_of(rows: Sequence[Row]) -> PlanTable:
    """Plans of rows, in the usual order of axes, at full clock."""
    found = dict(zip(_COLUMNS, np.array(rows, dtype=np.int64).T, strict=True))
    found["sequence_parallel"] = found["sequence_parallel"].astype(np.bool_)
    order = np.full(len(rows), DEFAULT_ORDER, dtype=np.int64)
    return PlanTable(**found, order=order, clock=np.ones(len(rows)))


def every_plan(
    request: Request, model: CostModel, chips: int, targets: Sequence[Target]
) -> Iterator[PlanTable]:
    """All plans that obey the rules and fit, in every order of their axes, in parts."""
    rows = list(_rows(request, model, chips))
    for start in range(0, len(rows), AT_A_TIME):
        plans = table_of(rows[start : start + AT_A_TIME])
        good = unbroken(model, plans, all_orders=True)
        plans = plans.take(np.flatnonzero(good))
        if len(plans):
            plans = plans.take(np.flatnonzero(fitting(request, model, plans)))
        placed = in_every_order(request, model, plans)
        if not len(placed):
            continue
        good = unbroken(model, placed, all_orders=request.placement == "all")
        for target in targets:
            good &= unbroken(model, placed, target=target)
        if good.any():
            yield placed.take(np.flatnonzero(good))


def in_every_order(request: Request, model: CostModel, plans: PlanTable) -> PlanTable:
    """Plans in each order of their axes that is another nesting of those above 1."""
    orders = ORDERS if request.placement == "all" else model.framework.orders or ORDERS
    sizes = np.stack([getattr(plans, name) for name in _AXES], axis=1)
    rows, codes = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for large in np.unique(sizes > 1, axis=0):
        axes = {name for name, above in zip(_AXES, large, strict=True) if above}
        nested = {tuple(a for a in order if a in axes): ORDERS.index(order) for order in orders}
        at = np.flatnonzero(((sizes > 1) == large).all(axis=1))
        rows.append(np.repeat(at, len(nested)))
        codes.append(np.tile(list(nested.values()), len(at)))
    return replace(plans.take(np.concatenate(rows)), order=np.concatenate(codes))


def add_all(found: Enumerated, model: CostModel, chips: int, targets: Sequence[Target]) -> None:
    """Costs every plan on so many chips at every clock."""
    request = found.request
    for plans in every_plan(request, model, chips, targets):
        memory = None
        for clock in model.clocks(wanted=bool(request.clocks)):
            at = replace(plans, clock=np.full(len(plans), clock))
            totals = evaluate_totals(model, at)
            memory = totals.memory_bytes if memory is None else memory
            costs = Costs(
                step_time_s=totals.step_time_s,
                energy_j=totals.energy_j,
                memory_bytes=memory,
                chips=totals.chips.astype(np.float64),
            )
            found.add(costs, within(request, [(model, chips)], costs))
