"""Counts of one transformer layer, operator by operator, on each chip and in one step.

    mlp, attention   their matrix multiplications, scores and weighted values included; half of
                     the exchanges of tensor parallelism each; the all-reduce of their gradients
    element-wise     norms, residuals, activation functions: bytes of memory and no FLOP counted
    layer            all of it

A step is one micro-batch on every data rank, nothing recomputed. Shapes and bytes are those of the
cost model (`planner.cost.linears`, `planner.cost.ledger`), for models without experts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.cost.columns import columns_of
from planner.cost.context import CostModel
from planner.cost.ledger import layer_ledger
from planner.cost.linears import Linear, Shares, layer_operators, memory_bytes, product_flop
from planner.cost.traffic import elementwise_bytes, scores_flop_per_token
from planner.plan import FloatArray, IntArray, PlanTable
from planner.ridgeline.machine import level_columns, through
from planner.ridgeline.plane import Counts, Ridge

OPERATORS = ("attention", "mlp", "element-wise", "layer")


def layer_counts(model: CostModel, plans: PlanTable, ridges: Sequence[Ridge]) -> Counts:
    """Every operator of `OPERATORS` of every plan, operator by operator.

    Args:
        model: A model without experts, on a cluster.
        plans: n plans of `ddp`, without recomputation; the batch of each is one micro-batch per
            data rank.
        ridges: Of levels of the cluster.
    """
    a, shapes = model.assumptions, model.shapes
    batches = plans.data_ranks * plans.micro_batch
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    shares = Shares(tokens=tokens, tp=plans.tp, ep=plans.ep)
    linears = layer_operators(a, shapes, shares, moe=False)
    none = np.zeros(len(plans))
    flop, moved = {"element-wise": none}, {"element-wise": _elementwise(model, plans, tokens)}
    for name, products in linears.items():
        flop[name] = none + product_flop(products, 3.0)
        moved[name] = none + memory_bytes(a, products, np.ones(1), trains_all=True)
    flop["attention"] = flop["attention"] + (
        scores_flop_per_token(model) / model.job.model.layers * tokens / plans.tp
    )
    crossing = _crossing(model, plans, batches, linears)
    columns = level_columns(model.cluster, ridges)
    passing = {name: through(model.cluster, bytes_) for name, bytes_ in crossing.items()}
    flop["layer"] = sum(flop.values(), none)
    moved["layer"] = sum(moved.values(), none)
    return Counts(
        names=tuple(name for name in OPERATORS for _ in range(len(plans))),
        flop=np.concatenate([flop[name] for name in OPERATORS]),
        memory_bytes=np.concatenate([moved[name] for name in OPERATORS]),
        network_bytes=_table(passing, columns),
        crossed_bytes=_table(crossing, range(len(model.cluster.levels))),
    )


def _table(sent: dict[str, list[FloatArray]], columns: Sequence[int]) -> FloatArray:
    """(operators x n, l) bytes over the levels of some columns."""
    return np.concatenate(
        [np.stack([sent[name][column] for column in columns], axis=1) for name in OPERATORS]
    )


def _elementwise(model: CostModel, plans: PlanTable, tokens: FloatArray) -> FloatArray:
    """Bytes of both passes on a chip, (n,)."""
    per_token = elementwise_bytes(model, plans)[0] / plans.tp
    return tokens * per_token * (1 + model.assumptions.elementwise_backward)


def _crossing(
    model: CostModel, plans: PlanTable, batches: IntArray, linears: dict[str, list[Linear]]
) -> dict[str, list[FloatArray]]:
    """Bytes that cross each level outermost, by operator: (n,) per level of the cluster."""
    ledger = layer_ledger(model, plans, batches)
    nets = {name: net.flat() for name, net in columns_of(model, plans, batches).nets.items()}
    tensor = ledger.forward.tensor_bytes + ledger.backward.tensor_bytes
    gradients = ledger.forward.data_bytes + ledger.backward.data_bytes
    weights = {
        name: sum((one.copies * one.inputs * one.outputs for one in products), 0.0)
        for name, products in linears.items()
    }
    every = sum(weights.values(), 0.0)
    levels = range(len(model.cluster.levels))
    sent = {
        name: [
            tensor / len(weights) * nets["tp"].crossing(level)
            + gradients * held / every * nets["data"].crossing(level)
            for level in levels
        ]
        for name, held in weights.items()
    }
    none = np.zeros(len(plans))
    sent["layer"] = [sum((each[level] for each in sent.values()), none) for level in levels]
    sent["element-wise"] = [none for _ in levels]
    return sent
