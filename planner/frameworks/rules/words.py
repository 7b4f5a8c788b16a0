"""What the rules tell whoever breaks them, where it takes more than one sentence to choose from."""

from __future__ import annotations

import math
from collections.abc import Iterable

from planner.cost.context import CostModel
from planner.cost.stages.explicit import wrong_sum
from planner.cost.stages.layout import chunk_places, stage_layers
from planner.frameworks.registry import framework_of
from planner.frameworks.rules.numbers import nearest, nearest_divisors
from planner.plan import SPLITS, Plan
from planner.plan.recomputations import modules_of

_AXES = {
    "tp": "tensor parallelism", "cp": "context parallelism", "pp": "pipeline parallelism",
    "ep": "expert parallelism", "etp": "tensor parallelism of experts", "dp": "replicas",
    "fsdp": "sharded data parallelism",
}  # fmt: skip


def undivided_scan(model: CostModel, plan: Plan) -> str:
    """Which heads of recurrences tp does not divide, in one sentence."""
    scan = model.shapes.scan
    heads, keys = (scan.heads, scan.key_heads) if scan else (1, 1)
    return (
        f"tp {plan.tp} does not divide the {heads} heads and {keys} groups of keys of the "
        f"recurrences of {model.job.model.name}; nearest: "
        f"{nearest_divisors(plan.tp, math.gcd(heads, keys))}"
    )


def shared(plan: Plan) -> str:
    """What stands before the ranks that experts are dealt out to, where some share each of them."""
    return f"ep x etp = {plan.expert_ranks} " if plan.etp > 1 else ""


def lacks(model: CostModel, what: str, value: str, has: Iterable[str]) -> str:
    """What a framework does not have, and what it has, in one sentence."""
    return f"{called(model)} has no {what} {value!r}; it has {', '.join(has)}"


def no_modules(model: CostModel) -> str:
    """Why no module recomputes apart under a question, in one sentence; empty where some may."""
    if not model.framework.recompute_modules:
        return (
            f"{called(model)} cannot be told modules; what it selects by itself is selective; "
            "allowed: none, selective, full"
        )
    if not model.job.trains_all:
        return "modules recompute where all weights are trained; allowed: none, full"
    if not model.module_sets:
        return (
            f"{model.job.model.name} has no modules that recompute apart; "
            "allowed: none, selective, full"
        )
    return ""


def modules_lacking(model: CostModel, plan: Plan) -> str:
    """Which modules of a recomputation cannot recompute apart, in one sentence."""
    start, has = f"recompute {plan.recompute}:", model.modules
    if why := no_modules(model):
        return f"{start} {why}"
    lacks = [one for one in modules_of(plan.recompute) if one not in has]
    if "shared_experts" in lacks and model.shapes.shared_width:
        why = "shared experts run beside the exchange of the others, and cannot"
    else:
        why = f"{model.job.model.name} has no {' and no '.join(lacks)} apart"
    return f"{start} {why}; allowed: {', '.join(has)}"


def micro_batches(model: CostModel, plan: Plan) -> float:
    """Micro-batches of a step; a fraction where the batch does not divide."""
    return model.job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)


def undealt(model: CostModel, plan: Plan) -> str:
    """Why the layers do not go to the stages, in one sentence."""
    layers, chunks = model.job.model.layers, plan.pp * plan.interleave
    if plan.stages is not None:
        return wrong_sum(plan, model.job.model)
    which = f"pp {plan.pp} x interleave {plan.interleave}"
    if chunks > layers:
        return (
            f"{which} = {chunks} chunks are more than the {layers} layers of {model.job.model.name}"
        )
    return (
        f"the {layers} layers of {model.job.model.name} do not divide into {which} chunks by the "
        f"rule {plan.split!r}; {_dealt_nearby(model, plan)}"
    )


def _dealt_nearby(model: CostModel, plan: Plan) -> str:
    """The nearest interleave and the nearest pp, each beside the other, that divide the layers."""
    split = SPLITS.index(plan.split)

    def deals(pp: int, interleave: int) -> bool:
        return stage_layers(model.job.model, pp, interleave, split) is not None

    most = range(1, model.job.model.layers + 1)
    alone = nearest(plan.pp, [pp for pp in most if deals(pp, 1)])
    if plan.interleave == 1:
        return f"nearest pp: {alone}"
    beside = [v for v in most if deals(plan.pp, v)], [v for v in most if deals(v, plan.interleave)]
    found = (
        (f"nearest interleave with pp {plan.pp}", plan.interleave, beside[0]),
        (f"nearest pp with interleave {plan.interleave}", plan.pp, beside[1]),
    )
    words = [f"{name}: {nearest(value, allowed)}" for name, value, allowed in found if allowed]
    return "; ".join(words) or f"nearest pp with interleave 1: {alone}"


def disagreeing(plan: Plan) -> str:
    """Which chunks of a stage differ in what the stage has once, in one sentence."""
    stages = plan.stages or ()
    for name in ("sharding", "clock"):
        own = [getattr(stage, name) for stage in stages]
        values = [getattr(plan, name) if value is None else value for value in own]
        for stage, *others in chunk_places(plan).tolist():
            for chunk in others:
                first, value = values[stage], values[chunk]
                if value != first:
                    return (
                        f"stages: chunks {stage} and {chunk} are on the same stage (pp {plan.pp}) "
                        f"and have {name} {first} and {value}; it has one of its own"
                    )
    raise AssertionError("all chunks of a stage agree")


def axes_it_lacks(model: CostModel, plan: Plan) -> str:
    """The axes that a framework has not, in one sentence."""
    words = [
        f"has no {_AXES[axis]}: {axis} {getattr(plan, axis)} must be 1"
        for axis in model.framework.lacks
        if getattr(plan, axis) > 1
    ]
    return f"{called(model)} {' and '.join(words)}"


def called(model: CostModel) -> str:
    """The framework; of one that targets of other names alone run, the first of them before it."""
    name = model.framework.name
    framework = framework_of(name)
    runs = () if framework is None else framework.targets
    targets = [target.name for target in runs if target.framework == name]
    return f"{targets[0]} ({name})" if targets and name not in targets else name


def unshared(plan: Plan) -> str:
    """Why a sharding and its ranks do not go together, in one sentence."""
    if plan.fsdp > 1 and plan.sharding != "zero3":
        return (
            f"fsdp {plan.fsdp} shards weights and {plan.sharding} does not: use zero3, or "
            f"dp {plan.dp * plan.fsdp} with fsdp 1"
        )
    if plan.sharding == "zero3" and plan.dp > 1:
        return (
            f"zero3 shards over fsdp x cp, which is 1; the dp {plan.dp} ranks are replicas: use "
            f"fsdp {plan.dp} with dp 1 to shard over them, or ddp"
        )
    return f"{plan.sharding} has no data ranks to shard over (dp x fsdp x cp is 1): use ddp"


def undivided_width(model: CostModel, plan: Plan) -> str:
    """The MLP width that tp does not divide: that of dense layers or of the shared experts."""
    shapes, words = model.shapes, "MLP width"
    width = shapes.dense_width
    if width % plan.tp == 0:
        width, words = shapes.shared_width, "shared-expert width"
    return (
        f"tp {plan.tp} does not divide the {words} {width} of {model.job.model.name}; nearest: "
        f"{nearest_divisors(plan.tp, math.gcd(shapes.dense_width, shapes.shared_width))}"
    )


def unswapped(model: CostModel, plan: Plan) -> str:
    """Which heads all-to-all context parallelism cannot deal out."""
    shapes, product = model.shapes, plan.tp * plan.cp
    if shapes.heads % product:
        return (
            f"cp_mode all-to-all: tp {plan.tp} x cp {plan.cp} does not divide the {shapes.heads} "
            f"attention heads; nearest product: {nearest_divisors(product, shapes.heads)}"
        )
    kv_heads = -(-shapes.kv_heads // plan.tp)
    both = math.gcd(kv_heads, shapes.heads // plan.tp)
    return (
        f"cp_mode all-to-all: cp {plan.cp} does not divide the {kv_heads} key-value heads that "
        f"tp {plan.tp} leaves on a chip; nearest cp: {nearest_divisors(plan.cp, both)}"
    )


def rank_order(plan: Plan) -> str:
    """`tp cp dp pp`, or `fsdp 16, tp 4, fsdp 4` where axes come in parts."""
    if plan.layout is None:
        return " ".join(plan.order)
    return ", ".join(f"{axis} {size}" for axis, size in plan.layout)
