"""Counts of one transformer layer of each kind, operator by operator, per chip and step.

    attention        projections, scores and weighted values; exchanges of tensor parallelism, half
                     of them on a dense layer
    mlp              its matrix multiplications, and the other half
    router, experts, shared experts   of a mixture of experts; tokens travel to the experts
    element-wise     norms, residuals, activation functions: bytes of memory and no FLOP counted
    layer            all of it

Every operator all-reduces its gradients. A step is one micro-batch on every data rank, nothing
recomputed. Shapes and bytes are those of the cost model (`planner.cost.kernels.linears`,
`planner.cost.communication.traffic`), the mean over the chips: tokens spread evenly over the
experts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.columns import columns_of
from planner.cost.communication.traffic import carried_bytes, group_bytes
from planner.cost.context import CostModel
from planner.cost.kernels.executed import elementwise_bytes, scores_flop_per_token
from planner.cost.kernels.linears import Linear, Shares, layer_operators, memory_bytes, product_flop
from planner.cost.stages.layout import StageClasses
from planner.plan import PlanTable
from planner.studies.ridgeline.machine import level_columns
from planner.studies.ridgeline.plane import Counts, Ridge

_WEIGHTS = ("data", "shard", "replica")
"""Groups that exchange weights and gradients; with `expert_` those of the experts."""


def layer_counts(model: CostModel, plans: PlanTable, ridges: Sequence[Ridge]) -> Counts:
    """Every operator of a layer at every plan, operator by operator, kind by kind.

    Args:
        model: A model on a cluster.
        plans: n plans of `ddp`, without recomputation or context parallelism; the batch of each is
            one micro-batch per data rank.
        ridges: Of levels of the cluster.
    """
    kinds = list(dict.fromkeys(model.job.model.layer_kinds))
    found = [_kind_counts(model, plans, ridges, moe=kind == "moe") for kind in kinds]
    names = [
        f"{name} ({kind})" if len(kinds) > 1 else name
        for kind, one in zip(kinds, found, strict=True)
        for name in one.names
    ]
    return Counts(
        names=tuple(names),
        flop=np.concatenate([one.flop for one in found]),
        memory_bytes=np.concatenate([one.memory_bytes for one in found]),
        network_bytes=np.concatenate([one.network_bytes for one in found]),
        crossed_bytes=np.concatenate([_crossed(one) for one in found]),
    )


def _crossed(counts: Counts) -> FloatArray:
    assert counts.crossed_bytes is not None
    return counts.crossed_bytes


def _kind_counts(
    model: CostModel, plans: PlanTable, ridges: Sequence[Ridge], *, moe: bool
) -> Counts:
    """One layer, dense or a mixture of experts."""
    a = model.assumptions
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    shares = Shares(tokens=tokens, tp=plans.tp, ep=plans.ep, etp=plans.etp)
    linears = layer_operators(model.shapes, shares, moe=moe)
    order = ("attention", *(name for name in linears if name != "attention"))
    none = np.zeros(len(plans))
    flop = {name: none + product_flop(linears[name], 3.0) for name in order}
    moved = {name: none + memory_bytes(a, linears[name], trains_all=True) for name in order}
    flop["attention"] = flop["attention"] + (
        scores_flop_per_token(model) / model.job.model.layers * tokens / plans.tp
    )
    flop["element-wise"], moved["element-wise"] = none, _elementwise(model, plans, tokens, moe=moe)
    crossing = _crossing(model, plans, linears, moe=moe)
    flop["layer"] = sum(flop.values(), none)
    moved["layer"] = sum(moved.values(), none)
    columns = level_columns(model.cluster, ridges)
    carried = {name: carried_bytes(model.cluster, bytes_) for name, bytes_ in crossing.items()}
    names = list(flop)
    return Counts(
        names=tuple(name for name in names for _ in range(len(plans))),
        flop=np.concatenate([flop[name] for name in names]),
        memory_bytes=np.concatenate([moved[name] for name in names]),
        network_bytes=_table([carried[name] for name in names], columns),
        crossed_bytes=_table([crossing[name] for name in names], range(len(model.cluster.levels))),
    )


def _table(sent: Sequence[Sequence[FloatArray]], columns: Sequence[int]) -> FloatArray:
    """(operators x n, l) bytes over the levels of some columns."""
    return np.concatenate([np.stack([each[at] for at in columns], axis=1) for each in sent])


def _elementwise(
    model: CostModel, plans: PlanTable, tokens: FloatArray, *, moe: bool
) -> FloatArray:
    """Bytes of both passes on a chip, (n,)."""
    per_token = elementwise_bytes(model, plans)[moe] / plans.tp
    return tokens * per_token * (1 + model.assumptions.elementwise_backward)


def _crossing(
    model: CostModel, plans: PlanTable, linears: dict[str, list[Linear]], *, moe: bool
) -> dict[str, list[FloatArray]]:
    """Bytes of a chip that cross each level outermost, by operator: (n,) per level."""
    batches = plans.data_ranks * plans.micro_batch
    x = columns_of(model, plans, batches, _one_layer(len(plans), moe=moe))
    groups = group_bytes(model, x)
    held = {
        name: sum((one.copies * one.inputs * one.outputs for one in products), 0.0)
        for name, products in linears.items()
        if name != "experts"
    }
    every = sum(held.values(), 0.0)
    exchanging = {"attention", "mlp"} & set(linears)
    none = np.zeros(len(plans))
    sent: dict[str, list[FloatArray]] = {}
    for name in linears:
        part = 1 / len(exchanging) if name in exchanging else 0.0
        share: dict[str, FloatArray | float] = {"tp": part}
        if name == "experts":
            share |= {"ep swaps": 1.0, **{f"expert_{one}": 1.0 for one in _WEIGHTS}}
        else:
            share |= {one: np.asarray(held[name] / every) for one in _WEIGHTS}
        sent[name] = [
            sum((share[group] * groups[group][level] for group in share), none) / plans.chips
            for level in range(len(model.cluster.levels))
        ]
    total = [sum(each, none) for each in zip(*sent.values(), strict=True)]
    return {**sent, "element-wise": [none for _ in total], "layer": total}


def _one_layer(count: int, *, moe: bool) -> StageClasses:
    """Stage classes of plans that hold one layer, without embedding and head."""
    one, none = np.ones((count, 1)), np.zeros((count, 1))
    return StageClasses(
        dense=none if moe else one,
        moe=one if moe else none,
        count=one,
        first=none,
        last=none,
        position=none,
    )
