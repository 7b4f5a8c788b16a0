"""What the kernels of a step execute and move between chip and memory, over all chips.

Stage by stage with what each stage recomputes and shards. Arrays have shape (n,) where nothing else
is said; (n, s) has a column per stage class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.columns import Columns
from planner.cost.communication.data_parallel import owned_parameters
from planner.cost.context import CostModel
from planner.cost.kernels.adapters import dropped_products
from planner.cost.kernels.flop import (
    attention_flop_per_token,
    dropped_flop_per_token,
    other_flop,
    scan_flop_per_token,
)
from planner.cost.kernels.linears import (
    Linear,
    Shares,
    layer_operators,
    pass_bytes,
    product_flop,
)
from planner.cost.kernels.selection import (
    module_elements,
    module_operators,
    runs_again,
    selection,
    tensor_share,
)
from planner.cost.kernels.shapes import Shapes, left_out
from planner.cost.memory.parameters import padded_vocab, trained_share
from planner.cost.stages.recomputation import RecomputeGroup
from planner.cost.terms import data_nets
from planner.plan import FULL, SELECTIVE, PlanTable
from planner.plan.recomputations import has_modules


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Share of a forward pass over layers that recomputation does again, (n, 1).

    Attributes:
        linear: Of the matrix multiplications.
        attention: Of scores and values.
        elementwise: Of the element-wise work.
        exchanges: Of what tp exchanges.
        context: Of what attention exchanges.
        scans: Of recurrences.
        experts: Of the ways of tokens to their experts and back.
        last: 1 where of the exchanges over tp that of the last product is left out, else 0.
    """

    linear: FloatArray
    attention: FloatArray
    elementwise: FloatArray
    exchanges: FloatArray
    context: FloatArray
    scans: FloatArray
    experts: FloatArray
    last: FloatArray


def repeats(model: CostModel, plans: PlanTable, group: RecomputeGroup, *, moe: bool) -> Repeats:
    """What is done again of the layers of a kind in a group; see `planner.cost.kernels.layer`."""
    base = repeats_of(model, model.shapes, group.recompute)
    if not has_modules(group.recompute).any():
        return base
    shapes, runs = model.shapes, runs_again(group.recompute, moe=moe)
    scores = runs.get("core_attn", 0.0)
    return Repeats(
        linear=base.linear + _modules_linear(shapes, runs, moe=moe),
        attention=base.attention + scores,
        elementwise=base.elementwise + _modules_elementwise(model, plans, runs, moe=moe),
        exchanges=base.exchanges + tensor_share(shapes, runs, moe=moe),
        context=base.context + scores,
        scans=base.scans,
        experts=base.experts + runs.get("moe", 0.0),
        last=base.last,
    )


def _modules_linear(
    shapes: Shapes, runs: Mapping[str, FloatArray], *, moe: bool
) -> FloatArray | float:
    """Share of the matrix multiplications of a layer of a kind that modules do again."""
    whole, one = shapes.moe_parameters if moe else shapes.dense_parameters, np.ones((1, 1))
    if not whole:
        return 0.0
    alone = np.ones((1, 1), dtype=np.int64)
    operators = layer_operators(shapes, Shares(tokens=one, tp=alone, ep=alone), moe=moe)
    share: FloatArray | float = 0.0
    for name, some in module_operators(shapes, operators, moe=moe).items():
        products = [one for linears in some.values() for one in linears]
        share = share + runs.get(name, 0.0) * product_flop(products, 0.5) / whole
    return share


def _modules_elementwise(
    model: CostModel, plans: PlanTable, runs: Mapping[str, FloatArray], *, moe: bool
) -> FloatArray | float:
    """(n, 1) share of the element-wise work of a layer of a kind that modules do again."""
    a, shapes = model.assumptions, model.shapes
    copies = plans.tp / np.where(plans.sequence_parallel, plans.tp, 1)
    whole = elementwise_bytes(model, plans)[int(moe)]
    if not np.any(whole):
        return 0.0
    again: FloatArray | float = 0.0
    for name, (rows, ranks) in module_elements(a, shapes, moe=moe).items():
        moved = 2 * a.elementwise * (rows * copies + ranks)
        if name == "moe":
            moved = moved + routed_bytes(model, plans)
        again = again + runs.get(name, 0.0) * moved[:, None]
    return np.minimum(again / whole[:, None], 1.0)


def repeats_of(model: CostModel, shapes: Shapes, recompute: IntArray) -> Repeats:
    """The same of layers of any shapes, by the code of their recomputation."""
    full = np.where(recompute == FULL, 1.0, 0.0)
    some = np.where(recompute == SELECTIVE, 1.0, 0.0)
    left = left_out(shapes, stops_early=model.framework.stops_early and model.job.trains_all)
    spared = model.assumptions.fused_attention and not model.framework.repeats_fused
    once = selection(shapes, model.framework.selective, left, spared=spared)
    sent = full + once.sends * some
    return Repeats(
        linear=(1.0 - left) * full + once.products * some,
        attention=full + once.scores * some,
        elementwise=full + once.elementwise * some,
        exchanges=sent,
        context=full + once.context * some,
        scans=sent,
        experts=sent,
        last=sent * (left > 0),
    )


def repeated_flop_per_token(
    model: CostModel, x: Columns, *, causal_share: float = 1.0
) -> FloatArray:
    """FLOP that recomputation adds per token: of layers only, the head is not recomputed.

    Source: Korthikanti et al., arXiv:2205.05198, appendix A (hardware FLOP).

    Args:
        model: Job and framework.
        x: The plans.
        causal_share: Share of the scores that the kernels compute.
    """
    one, shapes, dropped = model.job.model, model.shapes, dropped_flop_per_token(model.job)
    dense = 2.0 * shapes.dense_parameters + dropped[0]
    experts = 2.0 * shapes.moe_parameters + dropped[1]
    scores = attention_flop_per_token(one, shapes) / one.layers
    scans = scan_flop_per_token(one, shapes)[0] / one.layers

    def of_group(group: RecomputeGroup) -> FloatArray:
        again, of_experts = (repeats(model, x.plans, group, moe=moe) for moe in (False, True))
        linear = group.dense * dense * again.linear + group.moe * experts * of_experts.linear
        attention = causal_share * scores * (group.dense + group.moe) * again.attention
        if scans:
            attention = attention + scans * (group.dense + group.moe) * again.scans
        return linear + attention

    return over_groups(x, of_group) + other_flop(model.job, model.shapes)[2]


def over_groups(x: Columns, of_group: Callable[[RecomputeGroup], FloatArray]) -> FloatArray:
    """(n,) sum over the layers of the model of a quantity of each group, (n, s)."""
    return x.over_stages(reduce(np.add, [of_group(group) for group in x.groups])) / x.replicas


def flop_without_repeats(model: CostModel) -> float:
    """FLOP that one token takes where nothing is recomputed."""
    ref = model.job.reference_passes
    passes = (3.0 if model.job.trains_all else 2.0) + ref
    other, again, _ = other_flop(model.job, model.shapes)
    linear = 2.0 * model.shapes.matmul_parameters * passes
    kinds, (dense, moe) = model.job.model.layer_kinds, dropped_flop_per_token(model.job)
    linear += 2.0 * (kinds.count("dense") * dense + kinds.count("moe") * moe)
    return linear + scores_flop_per_token(model) + ((3.0 + ref) * other + again)


def scores_flop_per_token(model: CostModel) -> float:
    """FLOP of scores and values of all layers in both passes that kernels compute per token."""
    a = model.assumptions
    attention = _computed_share(a) * attention_flop_per_token(model.job.model, model.shapes)
    backward = 2.5 if a.fused_attention else 2.0
    return attention * (1 + model.job.reference_passes + backward)


def _computed_share(a: Assumptions) -> float:
    """Share of the scores that kernels compute: the causal half where they skip the other."""
    return a.causal_share if a.fused_attention else 1.0


def executed_flop(model: CostModel, x: Columns) -> FloatArray:
    """FLOP of every pass, recomputation included."""
    again = repeated_flop_per_token(model, x, causal_share=_computed_share(model.assumptions))
    return x.batch * model.job.seq_len * (flop_without_repeats(model) + again)


def memory_bytes(model: CostModel, x: Columns) -> FloatArray:
    """Operands of the matrix multiplications, element-wise traffic, optimizer state."""
    a, job, plans = model.assumptions, model.job, x.plans
    chips = plans.chips / plans.pp
    products = x.rounds[:, 0] * chips * x.over_stages(product_bytes(model, x))
    dense, with_experts = elementwise_bytes(model, plans)
    passes = 1 + job.reference_passes + a.elementwise_backward

    def of_group(group: RecomputeGroup) -> FloatArray:
        again, of_experts = (repeats(model, plans, group, moe=moe) for moe in (False, True))
        once = (passes + again.elementwise) * (group.dense * dense[:, None])
        return once + (passes + of_experts.elementwise) * (group.moe * with_experts[:, None])

    elementwise = x.batch * job.seq_len * over_groups(x, of_group)
    owned = owned_parameters(data_nets(x.nets), x.sharding, *x.parameters)
    state = a.optimizer_traffic_bytes * trained_share(job) * chips * x.over_stages(owned)
    if not job.images:
        return products + elementwise + state
    from planner.cost.vision.moved import tower_moved_bytes  # noqa: PLC0415  (few jobs have one)

    tower = x.rounds[:, 0] * chips * tower_moved_bytes(model, plans)
    return products + elementwise + state + tower


def product_bytes(model: CostModel, x: Columns) -> FloatArray:
    """(n, s) bytes of the matrix multiplications of a micro-batch on a chip of each stage class.

    With those of the loss, which reads what the head has multiplied.

    What the products move is computed once per combination of the columns that their sizes have.
    """
    shapes, plans = model.shapes, x.plans
    first, rows = distinct([plans.micro_batch, plans.cp, plans.tp, plans.ep, plans.etp])
    tp, ep, etp = (one[first, None] for one in (plans.tp, plans.ep, plans.etp))
    tokens = (plans.micro_batch * model.job.seq_len / plans.cp)[first, None]
    shares = Shares(tokens=tokens, tp=tp, ep=ep, etp=etp)
    linears = list(_products(model, shares))
    columns = padded_vocab(shapes.vocab, tp, model.vocab_multiple) / tp
    head = Linear(tokens=tokens, inputs=shapes.hidden, outputs=columns)
    every = [one for _, some, _, _ in linears for one in some] + ([head] if shapes.vocab else [])
    forward, gradients = pass_bytes(model.assumptions, every, trains_all=model.job.trains_all)
    total, at = np.zeros(x.stages.count.shape), 0
    for moe, some, ahead, within in linears:
        own, at = slice(at, at + len(some)), at + len(some)
        once, again = (reduce(np.add, part[own])[rows] for part in (forward, gradients))
        for group in x.groups:
            moved = again + (ahead + repeats_of(model, shapes, group.recompute).linear) * once
            for name, run in runs_again(group.recompute, moe=moe).items():
                moved = moved + run * sum(
                    forward[own][place][rows] for place in within.get(name, ())
                )
            total = total + shapes.blocks * group.layers(moe=moe) * moved
    if shapes.vocab:
        ahead = 1 + model.job.reference_passes
        logits = tokens * (columns if model.framework.vocab_parallel_loss else columns * tp)
        loss = model.framework.loss_bytes * (ahead + 2) / 3 * logits
        total = total + x.stages.last * (ahead * forward[at] + gradients[at] + loss)[rows]
    return total


def _products(
    model: CostModel, shares: Shares
) -> Iterator[tuple[bool, list[Linear], int, dict[str, list[int]]]]:
    """Products of the kinds of layers, dense and with experts, and how often each goes forward.

    With the places of those that run again with each module.
    """
    job, shapes = model.job, model.shapes
    for moe in (False, True):
        if ("moe" if moe else "dense") not in job.model.layer_kinds:
            continue
        operators = layer_operators(shapes, shares, moe=moe)
        every = [one for linears in operators.values() for one in linears]
        yield moe, every, 1 + job.reference_passes, _places(shapes, operators, every, moe=moe)
        if dropped := dropped_products(job, shapes, operators):
            yield moe, dropped, 1, {}


def _places(
    shapes: Shapes, operators: dict[str, list[Linear]], every: list[Linear], *, moe: bool
) -> dict[str, list[int]]:
    """Where the products of each module are among all; none where layers have no modules."""
    if shapes.parts or not shapes.heads:
        return {}
    found = {}
    for name, some in module_operators(shapes, operators, moe=moe).items():
        own = {id(one) for linears in some.values() for one in linears}
        found[name] = [place for place, one in enumerate(every) if id(one) in own]
    return found


def elementwise_bytes(model: CostModel, plans: PlanTable) -> tuple[FloatArray, FloatArray]:
    """Bytes per token of the element-wise work of a dense and of a mixture-of-experts layer."""
    a, shapes = model.assumptions, model.shapes
    copies = plans.tp / np.where(plans.sequence_parallel, plans.tp, 1)
    dense, moe = (layer_bytes(a, shapes, copies, moe=moe) for moe in (False, True))
    if shapes.scan:
        made = [shapes.parts_of(moe=moe) for moe in (False, True)]
        of_scan = a.elementwise * shapes.scan.elementwise + shapes.scan.moved
        dense, moe = (x + p.recurrence * of_scan for x, p in zip((dense, moe), made, strict=True))
    return dense, moe + routed_bytes(model, plans)


def routed_bytes(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) of these, those of routing."""
    shapes, per_element = model.shapes, model.assumptions.routing_bytes * (1 + plans.etp)
    return np.asarray(per_element * shapes.experts_per_token * shapes.expert_io)


def layer_bytes(
    a: Assumptions, shapes: Shapes, copies: FloatArray | IntArray, *, moe: bool
) -> FloatArray:
    """The same of a layer without scan and routing, where so many ranks have its rows whole."""
    row = shapes.hidden * (a.row_bytes * copies + a.tp_bytes)
    ffn = a.ffn_bytes * (1 + shapes.gated) * (shapes.active_width if moe else shapes.dense_width)
    parts = shapes.parts_of(moe=moe)
    return np.asarray(2 * a.elementwise * (parts.blocks / 2 * row + parts.feed_forward * ffn))
