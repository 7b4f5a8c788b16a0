"""What a step executes and moves: FLOP, bytes of memory, bytes over each network level.

These totals feed the component split of the energy and the hardware-FLOP utilisation. They count
each byte once, whatever hides behind what, stage by stage with what each stage recomputes and
shards. Arrays have shape (n,) where nothing else is said; (n, s) has a column per stage class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.cost.columns import Columns
from planner.cost.communication.data_parallel import (
    WEIGHT_BYTES,
    Gathers,
    gathers_once,
    reduces_again,
    updated_bytes,
)
from planner.cost.communication.exchanges import ACTIVATION_BYTES, copies_sent, expert_crossing
from planner.cost.communication.replicas import copied_bytes
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.cost.kernels.executed import executed_flop, memory_bytes, over_groups, repeats
from planner.cost.kernels.flop import attention_flop_per_token, other_flop
from planner.cost.kernels.shapes import Shapes
from planner.cost.memory.parameters import trained_share
from planner.cost.memory.state import end_parameters
from planner.cost.stages.recomputation import RecomputeGroup
from planner.plan import ALL_TO_ALL, DDP, ZERO2, ZERO3, PlanTable

MFU_CONVENTION = (
    "model FLOP per token = 6 x (active parameters without the input embedding) + "
    "12 x layers x heads x head dimension x mean context (causality not halved), as in the PaLM "
    "paper; recomputation not counted"
)

_BLOCKS_CONVENTION = (
    "model FLOP per token = 6 x all parameters, as in How to Scale Your Model, part 5; attention "
    "scores and recomputation not counted"
)


def mfu_convention(a: Assumptions) -> str:
    """How model FLOP are counted under some assumptions, in words."""
    return _BLOCKS_CONVENTION if a.mlp_blocks else MFU_CONVENTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Totals of one step over all chips, (n,).

    Attributes:
        flop: Executed floating-point operations, recomputation included.
        memory_bytes: Bytes between chip and device memory.
        wire_bytes: Bytes received over each level of the cluster that go no further out, innermost
            first: each byte once (`carried_bytes`: what the links of a level carry). Those of
            all-to-alls on every link of a torus where energy is that of components only.
    """

    flop: FloatArray
    memory_bytes: FloatArray
    wire_bytes: tuple[FloatArray, ...]


def carried_bytes(cluster: Cluster, wire_bytes: Sequence[FloatArray]) -> list[FloatArray]:
    """Bytes that each level carries, from those whose outermost level it is.

    What crosses the spine has also crossed the leaf, by the same network card: scale-out levels
    carry the bytes of those outside them too. Links inside a domain carry their own.

    Args:
        cluster: The levels.
        wire_bytes: Per level, innermost first, as `Traffic` counts them: each byte once.
    """
    carried = list(wire_bytes)
    for index in range(len(carried) - 2, -1, -1):
        if cluster.levels[index].kind == "scale-out":
            carried[index] = carried[index] + carried[index + 1]
    return carried


def model_flop_per_token(job: Job, shapes: Shapes) -> float:
    """FLOP that training one token needs in any implementation; see `MFU_CONVENTION`.

    LoRA needs no weight gradients of the frozen matrices: 4 instead of 6 per parameter. A reference
    of DPO adds 2. Source: Chowdhery et al., PaLM, arXiv:2204.02311, appendix B.
    """
    passes, ref = 3.0 if job.trains_all else 2.0, job.reference_passes
    linear = 2.0 * (passes + ref) * shapes.matmul_parameters
    scores = attention_flop_per_token(job.model, shapes)
    return linear + (3.0 + ref) * (scores + other_flop(job, shapes)[0])


def traffic(model: CostModel, x: Columns, *, wires: bool = True) -> Traffic:
    """The totals of every plan; without `wires`, as if nothing crossed a network."""
    none = (np.zeros(len(x.plans)),) * len(model.cluster.levels)
    return Traffic(
        flop=executed_flop(model, x),
        memory_bytes=memory_bytes(model, x),
        wire_bytes=_wire_bytes(model, x) if wires else none,
    )


def _wire_bytes(model: CostModel, x: Columns) -> tuple[FloatArray, ...]:
    """Bytes received over each level by all chips in one step."""
    groups = group_bytes(model, x)
    result = []
    for level in range(len(model.cluster.levels)):
        total = np.zeros(len(x.plans))
        for crossing in groups.values():
            total = total + crossing[level]
        result.append(total)
    return tuple(result)


def group_bytes(model: CostModel, x: Columns) -> dict[str, list[FloatArray]]:
    """The same by what sends them: (n,) per level of the cluster.

    `pp` are pipeline messages; `tp` and `cp` all-gathers and reduce-scatters; `data`, `shard`,
    `replica` and those of `expert_` weights and gradients; `ep swaps` and `cp swaps` all-to-alls.
    """
    nets = {name: net.flat() for name, net in x.nets.items()}
    levels = range(len(model.cluster.levels))
    sends = _send_volume(model, x)
    groups = {"pp": [sends * nets["pp"].send_crossing(level) for level in levels]}
    for name, volume in {**_layer_gathers(model, x), **_state_gathers(model, x)}.items():
        groups[name] = [volume * nets[name].crossing(level) for level in levels]
    kinds = [level.kind for level in model.cluster.levels]
    for name, volume in _exchange_volumes(model, x).items():
        shares = [nets[name].exchange_crossing(level) for level in levels]
        if name == "ep":
            shares = expert_crossing(model.assumptions, model.shapes, x.plans.ep, nets[name], kinds)
        groups[f"{name} swaps"] = [volume * share for share in shares]
    return groups


def _tokens(model: CostModel, x: Columns) -> FloatArray:
    """(n,) tokens of all micro-batches of a step on all chips of one stage."""
    plans = x.plans
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    return tokens * x.m[:, 0] * (plans.chips / plans.pp)


def _layer_gathers(model: CostModel, x: Columns) -> dict[str, FloatArray]:
    """Full-buffer bytes of the all-gathers and reduce-scatters of tp and cp, over all chips."""
    shapes, plans, ref = model.shapes, x.plans, model.job.reference_passes
    last = np.where(plans.sequence_parallel, 1.0, 2.0)[:, None]

    def exchanges(group: RecomputeGroup) -> FloatArray:
        again, experts = (repeats(model, plans, group, moe=moe) for moe in (False, True))
        per_layer = group.dense * shapes.tp_exchanges * (2.0 + ref + again.exchanges)
        of_experts = group.moe * shapes.moe_tp_exchanges * (2.0 + ref + experts.exchanges)
        return per_layer + of_experts - group.dense * again.last * last

    def turns(group: RecomputeGroup) -> FloatArray:
        again = repeats(model, plans, group, moe=False)
        return (group.dense + group.moe) * (3.0 + ref + again.context)

    exchanged = over_groups(x, exchanges)
    ring = np.where(plans.cp_mode == ALL_TO_ALL, 0.0, 1.0)
    rings = ring * plans.cp * over_groups(x, turns)
    shared = _shared_volume(model, x) if np.any(plans.etp > 1) else {}
    return {
        **shared,
        "tp": ACTIVATION_BYTES * _tokens(model, x) * shapes.hidden * exchanged,
        "cp": ACTIVATION_BYTES * _tokens(model, x) * _key_value_width(shapes, plans) * rings,
    }


def _shared_volume(model: CostModel, x: Columns) -> dict[str, FloatArray]:
    """Of those of etp: the tokens of all ranks that share experts, and their results."""
    a, plans, shapes = model.assumptions, x.plans, model.shapes
    nodes = x.nets["ep"].flat().domains
    copies: FloatArray | float = copies_sent(a, shapes, plans.ep, nodes)[0]
    if a.gathers_tokens:
        copies = plans.ep / max(shapes.experts_per_token, 1)

    def passes(group: RecomputeGroup) -> FloatArray:
        ahead = 2.0 + model.job.reference_passes
        return group.moe * (ahead + repeats(model, plans, group, moe=True).experts)

    whole = plans.etp * copies * _routed_bytes(model, x)
    return {"etp": 2 * whole * over_groups(x, passes)}


def _routed_bytes(model: CostModel, x: Columns) -> FloatArray:
    """(n,) bytes of the copies of tokens for all experts, the mean of the ways there and back."""
    both_ways = (model.assumptions.dispatch_bytes + ACTIVATION_BYTES) / 2
    shapes, own = model.shapes, both_ways * _tokens(model, x) / x.plans.tp
    return np.asarray(own * shapes.experts_per_token * shapes.expert_io)


def _key_value_width(shapes: Shapes, plans: PlanTable) -> FloatArray:
    """(n,) elements of keys and values per token on a chip."""
    heads = shapes.heads / plans.tp if shapes.latent else -(-shapes.kv_heads // plans.tp)
    return np.asarray(heads * (shapes.head_dim + shapes.value_dim), dtype=np.float64)


def _state_gathers(model: CostModel, x: Columns) -> dict[str, FloatArray]:
    """Gather volumes of weights and gradients by group (an all-reduce counts twice), all chips."""
    volumes = {}
    chips = x.plans.chips / x.plans.pp
    share, sent = trained_share(model.job), Gathers.of(model.job)
    zero3 = x.sharding == ZERO3
    kept = gathers_once(model.framework, x.plans.pp[:, None])
    turns = x.rounds
    passes = np.where(kept, 1.0, turns * (sent.forward + 1))
    weights = np.where(kept, sent.bytes_of(1), turns * sent.bytes_of(sent.forward + 1))
    scatters = np.where(kept, 1.0, turns)
    again = reduces_again(model.framework, x.plans.pp[:, None])
    reductions = 2 * np.where(again, turns, 1.0)  # of whole gradients
    zero2_scatters = np.where(x.sharding == ZERO2, turns, 1.0)
    wider = (WEIGHT_BYTES - sent.weight_bytes) * end_parameters(x.plans, x.stages, x.local)
    for prefix, parameters in zip(("", "expert_"), x.parameters, strict=True):
        gathered = weights * parameters + (0.0 if prefix else passes * wider)
        gradients = model.assumptions.gradient_wire_bytes * share * parameters
        updated = share * updated_bytes(model.assumptions, x.sharding) * parameters
        plain = zero2_scatters * gradients + updated
        plain = np.where(x.sharding == DDP, reductions * gradients, plain)
        across = reductions * gradients / x.nets[f"{prefix}shard"].size
        for group, table in (
            ("data", np.where(zero3, 0.0, plain)),
            ("shard", np.where(zero3, gathered + scatters * gradients, 0.0)),
            ("replica", np.where(zero3, across, 0.0)),
        ):
            volumes[prefix + group] = chips * x.over_stages(table)
    return volumes


def _exchange_volumes(model: CostModel, x: Columns) -> dict[str, FloatArray]:
    """Bytes sent in all-to-alls of a step, summed over chips."""
    shapes, plans, tokens = model.shapes, x.plans, _tokens(model, x)
    routed = _routed_bytes(model, x)
    queries = shapes.heads / plans.tp * (shapes.head_dim + shapes.value_dim)
    width = queries + _key_value_width(shapes, plans)
    swap = np.where(plans.cp_mode == ALL_TO_ALL, 1.0, 0.0) * ACTIVATION_BYTES * tokens * width

    ahead = 2.0 + model.job.reference_passes

    def of_experts(group: RecomputeGroup) -> FloatArray:
        return group.moe * (ahead + repeats(model, plans, group, moe=True).experts)

    def of_context(group: RecomputeGroup) -> FloatArray:
        again = repeats(model, plans, group, moe=False)
        return (group.dense + group.moe) * (ahead + again.context)

    return {
        "ep": 2 * routed * over_groups(x, of_experts),
        "cp": swap * over_groups(x, of_context),
    }


def _send_volume(model: CostModel, x: Columns) -> FloatArray:
    """Bytes of all pipeline messages of a step: 2 per micro-batch and border between chunks.

    Where layers have copies also the gradients that these exchange.
    """
    plans = x.plans
    divided = plans.sequence_parallel | model.assumptions.splits_p2p
    size = ACTIVATION_BYTES * model.shapes.hidden / np.where(divided, plans.tp, 1)
    borders = plans.pp * plans.interleave - 1
    ways = 2 + model.job.reference_passes
    sent = np.where(plans.pp > 1, ways * size * borders * _tokens(model, x), 0.0)
    if plans.schedules.any("bidirectional"):
        copied = x.over_stages(copied_bytes(model, x.nets, x.sharding, x.parameters))
        sent += plans.schedules.values("bidirectional") * (plans.chips / plans.pp * copied)
    return sent
