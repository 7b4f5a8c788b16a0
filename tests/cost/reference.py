"""The cost of one plan in plain floats: an independent reading of the equations.

Stage by stage, no arrays: step time, its parts, energy, memory, utilization. `planner.cost` must
agree to rounding. Constants come from `Assumptions`; no formula is imported.

    T = m (t_max + c_mb + s p2p) + bubble + exposed reduction + optimizer + step overhead

Sources: arXiv:2104.04473, section 2.2 (Narayanan et al.); 2401.10241, section 2 (Qi et al.);
1910.02054, section 7 (Rajbhandari et al.); 2304.11277, section 3; 2204.02311, appendix B.
"""

import math
from dataclasses import dataclass, field

from cost.reference_energy import joules, utilization
from cost.reference_frozen import weights_s
from cost.reference_layer import Layer, Where, latest, layer, p_norm
from cost.reference_memory import (
    Local,
    StageSpec,
    layer_activations,
    local_parameters,
    reduces_each_time,
    shard_counts,
    stage_memory,
    stage_parameters,
    stages_of,
    stays_unsharded,
    summed,
    trained_share,
)
from cost.reference_network import Net, machine, nets
from cost.reference_products import Linear
from cost.reference_repeats import hooked_s
from cost.reference_sums import accumulation
from cost.reference_tuning import passes
from hardware_db import Chip, Cluster
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job
from planner.plan import Plan


@dataclass
class StageTimes:
    """One stage: seconds of a micro-batch and of the step, and what they are made of."""

    spec: StageSpec
    forward: float = 0.0
    backward: float = 0.0
    hides: float = 0.0
    ahead: float = 0.0
    accumulate: float = 0.0
    hooked: float = 0.0
    exposed: float = 0.0
    weight_grad: float = 0.0
    kernels: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    reduction: float = 0.0
    optimizer: float = 0.0
    late: float = 0.0
    optimizer_kernels: float = 0.0

    @property
    def total(self) -> float:
        """Both passes of one micro-batch with what data parallelism adds to each."""
        return self.forward + self.backward + self.accumulate + self.exposed + self.hooked


@dataclass
class Reference:
    """Everything about one plan, scalars; parts by the names of `planner.cost.breakdown`."""

    time: float
    time_parts: dict[str, float]
    energy: float
    energy_low: float
    energy_high: float
    static: float
    host: float
    memory: float
    memory_parts: dict[str, float]
    host_memory: float
    mfu: float
    hfu: float
    p2p: float
    stages: list[StageTimes]
    nets: dict[str, Net]
    micro_batches: float
    local: Local


def groups(job: Job, cluster: Cluster, a: Assumptions, plan: Plan) -> dict[str, Net]:
    """The groups of a plan; raises `IrregularError` where a group is not regular."""
    sizes = (plan.tp, plan.cp, plan.fsdp, plan.dp, plan.pp)
    return nets(machine(cluster, plan.chips, a), sizes, plan.order, plan.ep, plan.etp)


def evaluate(job: Job, cluster: Cluster, a: Assumptions, plan: Plan) -> Reference:
    """The cost of one plan."""
    job = summed(job, a)
    found = groups(job, cluster, a, plan)
    m = job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
    tokens = plan.micro_batch * job.seq_len / plan.cp
    specs = stages_of(plan, job.model)
    local = local_parameters(job, plan.tp, plan.ep * plan.etp)
    stages = [_stage(job, cluster.chip, a, plan, spec, found, m) for spec in specs]
    size = 2 * tokens * job.model.hidden
    if plan.sequence_parallel or a.splits_p2p:
        size /= plan.tp
    p2p = (2 + passes(job)) * a.p2p_exposed * found["pp"].send_s(size)
    slow = max(stages, key=lambda stage: stage.total)
    bubble = _bubble(a, plan, stages, slow, m, p2p)
    exposed = max(exposed_s(a, stage) for stage in stages)
    optimizer = max(stage.optimizer for stage in stages)
    factor = a.site_factor * math.exp(a.jitter * (latest(max(plan.chips, 8)) - latest(8)))
    v = plan.interleave
    sends = v if v == 1 else v * a.interleaved_p2p
    time = m * (slow.total + a.micro_batch_s + sends * p2p) + bubble + exposed + optimizer
    time = (time + a.step_s) * factor
    parts = {cause: m * slow.parts.get(cause, 0.0) for cause in _PARTS}
    late = max(stages, key=lambda stage: stage.optimizer).late
    parts["data_parallel"] += m * slow.exposed + exposed + late
    parts["host"] += m * a.micro_batch_s + a.step_s
    parts["pipeline_transfer"] = m * sends * p2p
    parts["bubble"], parts["optimizer"] = bubble, optimizer - late
    busy = [factor * (m * s.kernels + s.optimizer_kernels) for s in stages]
    energy, low, high, static, host = joules(cluster, plan, specs, time, busy)
    memory = [stage_memory(job, plan, spec, fused=a.fused_attention) for spec in specs]
    sums = [sum(part for name, part in one.items() if name != "host") for one in memory]
    fullest = memory[sums.index(max(sums))]
    mfu, hfu = utilization(job, cluster.chip, plan, time, fused=a.fused_attention)
    return Reference(
        time=time,
        time_parts={cause: part * factor for cause, part in parts.items()},
        energy=energy,
        energy_low=low,
        energy_high=high,
        static=static,
        host=host,
        memory=max(sums),
        memory_parts={name: part for name, part in fullest.items() if name != "host"},
        host_memory=max(one["host"] for one in memory),
        mfu=mfu,
        hfu=hfu,
        p2p=p2p,
        stages=stages,
        nets=found,
        micro_batches=m,
        local=local,
    )


_PARTS = (
    "compute", "memory_bound", "tensor_parallel", "context_parallel", "expert_parallel",
    "pipeline_transfer", "bubble", "data_parallel", "optimizer", "offload", "host",
)  # fmt: skip
_NAMES = {
    "compute": "compute",
    "memory": "memory_bound",
    "tp": "tensor_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "host": "host",
    "offload": "offload",
}


def _stage(
    job: Job,
    chip: Chip,
    a: Assumptions,
    plan: Plan,
    spec: StageSpec,
    found: dict[str, Net],
    m: float,
) -> StageTimes:
    tokens = plan.micro_batch * job.seq_len / plan.cp
    local = local_parameters(job, plan.tp, plan.ep * plan.etp)
    stage = StageTimes(spec, parts=dict.fromkeys(_PARTS, 0.0))
    where = Where(
        tp=plan.tp,
        cp=plan.cp,
        ep=plan.ep,
        etp=plan.etp,
        tokens=tokens,
        sequence_parallel=plan.sequence_parallel,
        cp_mode=plan.cp_mode,
        recompute=spec.recompute,
        clock=spec.clock,
        nets=found,
    )
    kinds = (("dense", spec.dense, local.dense, 0.0), ("moe", spec.moe, local.moe, local.experts))
    for kind, count, shared, experts in kinds:
        if not count:
            continue
        by_dense, by_experts = shard_counts(plan, "zero3") if spec.sharding == "zero3" else (1, 1)
        held = shared / by_dense + experts / by_experts
        one = _offloaded(job, chip, a, plan, kind, spec, layer(a, job, kind, where), held)
        again = accumulation(a, job, plan, spec.sharding, m) * (shared + experts)
        collective = _layer_collective(a, job, plan, spec, found, m, shared, experts)
        alone = one.forward + one.backward + again
        whole = p_norm(alone + (1 - a.zero3_overlap) * collective, collective, 6)
        stage.forward += count * one.forward
        stage.backward += count * one.backward
        hooked = hooked_s(a, job, spec.sharding, kind)
        waited = (p_norm(whole, hooked, 4) if hooked else whole) - whole
        stage.hides += count * (max(one.backward - (alone + collective - whole), 0.0) + waited)
        half = collective / 2  # with which the forward pass is counted by itself (GPipe)
        ahead = one.forward + again + (1 - a.zero3_overlap) * half
        stage.ahead += count * p_norm(ahead, half, 6)
        stage.accumulate += count * again
        stage.exposed += count * (whole - alone)
        stage.hooked += count * waited
        stage.weight_grad += count * one.weight_grad
        stage.kernels += count * (one.kernels + again)
        for cause, part in one.parts.items():
            stage.parts[_NAMES[cause]] += count * part
        stage.parts["memory_bound"] += count * again
        stage.parts["host"] += count * waited
    _ends(job, a, plan, spec, tokens, stage)
    _once_per_step(job, chip, a, plan, spec, found, stage)
    return stage


def _offloaded(
    job: Job,
    chip: Chip,
    a: Assumptions,
    plan: Plan,
    kind: str,
    spec: StageSpec,
    one: Layer,
    parameters: float,
) -> Layer:
    """Weights come in for each pass; activations leave forward and come back backward."""
    moved = 0.0
    if "weights" in plan.offload:
        moved += 2 * parameters
    if "activations" in plan.offload:
        saved = layer_activations(job, plan, kind, fused=a.fused_attention)[spec.recompute]
        moved += saved * plan.micro_batch * job.seq_len / plan.cp
    link = moved / chip.host_link_bandwidth_bytes_per_s
    shown = [link - a.host_link_overlap * min(link, own) for own in (one.forward, one.backward)]
    one.parts["offload"] = sum(shown)
    one.forward, one.backward = one.forward + shown[0], one.backward + shown[1]
    return one


def _ends(
    job: Job, a: Assumptions, plan: Plan, spec: StageSpec, tokens: float, stage: StageTimes
) -> None:
    """Embedding: 12 bytes per token and hidden element; head: three GEMMs at 16 bits, the loss."""
    model = job.model
    if spec.first:
        lookup = (1 + passes(job)) * 12 * tokens * model.hidden / a.memory_bytes_per_s
        stage.forward, stage.ahead = stage.forward + lookup, stage.ahead + lookup
        stage.kernels += lookup
        stage.parts["memory_bound"] += lookup
    if spec.last:
        unit = plan.tp * job.framework.vocab_multiple
        columns = math.ceil(model.vocab_size / unit) * unit / plan.tp
        head = Linear()
        head.add(a, tokens, model.hidden, columns, clock=spec.clock, rate=a.bf16_flop_per_s)
        logits = tokens * columns * (1 if job.framework.vocab_parallel_loss else plan.tp)
        loss = 2.5 * job.framework.logits_bytes * logits / a.memory_bytes_per_s
        forward = (1 + passes(job)) * (head.forward + loss / 3)
        grad = head.weight_grad if job.kind != "lora" else 0.0
        backward = head.input_grad + grad + 2 * loss / 3
        stage.forward, stage.ahead = stage.forward + forward, stage.ahead + forward
        stage.backward, stage.hides = stage.backward + backward, stage.hides + backward
        stage.weight_grad += grad
        stage.kernels += forward + backward
        stage.parts["memory_bound"] += (moved := (3 + passes(job)) * loss / 3)
        stage.parts["compute"] += forward + backward - moved


def _layer_collective(
    a: Assumptions,
    job: Job,
    plan: Plan,
    spec: StageSpec,
    found: dict[str, Net],
    m: float,
    shared: float,
    experts: float,
) -> float:
    """zero3: two gathers and a scatter; for all micro-batches but one zero2: a scatter."""
    if stays_unsharded(job, plan) and spec.sharding == "zero3":
        return 0.0
    wire, seconds, earlier = a.gradient_wire_bytes * trained_share(job), 0.0, (m - 1) / m
    again = earlier if reduces_each_time(job, plan) else 0.0
    for prefix, count in (("", shared), ("expert_", experts))[: 2 if experts else 1]:
        data, shard, replica = (found[prefix + name] for name in ("data", "shard", "replica"))
        if spec.sharding == "zero3":
            seconds += weights_s(job, shard, count, 2) + shard.gather_s(wire * count)
            seconds += again * replica.reduce_s(wire * count / shard.size)
        if spec.sharding == "ddp":
            seconds += again * data.reduce_s(wire * count)
        if spec.sharding == "zero2":
            seconds += earlier * data.gather_s(wire * count)
    return seconds


def _once_per_step(
    job: Job,
    chip: Chip,
    a: Assumptions,
    plan: Plan,
    spec: StageSpec,
    found: dict[str, Net],
    stage: StageTimes,
) -> None:
    local = local_parameters(job, plan.tp, plan.ep * plan.etp)
    dense, experts = stage_parameters(job, plan, spec, local)
    share = trained_share(job)
    pairs = (("", share * dense), ("expert_", share * experts))
    for prefix, count in [pair for pair in pairs if pair[1]]:  # a stage may hold nothing
        trio = tuple(found[prefix + name] for name in ("data", "shard", "replica"))
        stage.reduction += _reduction(a, spec.sharding, count, *trio)
    if spec.sharding == "zero3" and stays_unsharded(job, plan):  # as zero1, but all weights
        for prefix, count in (("", dense), ("expert_", experts)):
            net, wire = found[prefix + "shard"], a.gradient_wire_bytes * share * count
            if count:
                weights = weights_s(job, net, count, 1)
                stage.reduction += net.gather_s(wire) + (weights if a.hides_gather else 0.0)
                stage.late += 0.0 if a.hides_gather else weights
                stage.reduction += 2 * (net.nodes() - 1) * a.bucket_hop_s * wire / a.bucket_bytes
    ranks = shard_counts(plan, spec.sharding) if spec.sharding != "ddp" else (1.0, 1.0)
    owned = share * (dense / ranks[0] + experts / ranks[1])
    traffic = a.optimizer_traffic_bytes * owned
    if "optimizer" in plan.offload:
        moved = (a.gradient_wire_bytes + 2) * owned
        stage.optimizer = moved / chip.host_link_bandwidth_bytes_per_s
        stage.optimizer += traffic / chip.host_memory_bandwidth_bytes_per_s
    else:
        stage.optimizer = stage.optimizer_kernels = traffic / a.memory_bytes_per_s
    if not a.hides_gather and spec.sharding in ("zero1", "zero2"):
        for prefix, count in [pair for pair in pairs if pair[1]]:
            stage.late += found[prefix + "data"].gather_s(2 * count)
        tensors, ranks_of = 6 * (spec.dense + spec.moe) + spec.first + 2 * spec.last, found["data"]
        stage.late += a.slice_s * tensors * (ranks_of.size if ranks_of.size > 1 else 0)
    stage.optimizer += stage.late


def _reduction(
    a: Assumptions, sharding: str, count: float, data: Net, shard: Net, replica: Net
) -> float:
    wire = a.gradient_wire_bytes * count

    def hops(net: Net, size: float) -> float:
        return 2 * (net.nodes() - 1) * a.bucket_hop_s * size / a.bucket_bytes

    if sharding == "zero3":
        return replica.reduce_s(wire / shard.size) + hops(replica, wire / shard.size)
    if sharding == "ddp":
        return data.reduce_s(wire) + hops(data, wire)
    weights = data.gather_s(2 * count) if a.hides_gather else 0.0
    return weights + data.gather_s(wire) + hops(data, wire)


def exposed_s(a: Assumptions, stage: StageTimes) -> float:
    hidden = min(stage.reduction, a.dp_window * stage.hides)
    return stage.reduction - a.dp_overlap * hidden


def _bubble(
    a: Assumptions,
    plan: Plan,
    stages: list[StageTimes],
    slow: StageTimes,
    m: float,
    p2p: float,
) -> float:
    """Ramp up and down of the other stages; zero-bubble fills it with weight gradients.

    GPipe goes at the pace of the slowest forward and the slowest backward pass.
    """
    others = [stage for stage in stages if stage is not slow]
    v = plan.interleave
    idle = sum(stage.total for stage in others) / v
    idle += (plan.pp - 1) * (p2p + a.micro_batch_s / v)
    if plan.schedule == "gpipe":
        passes = max(stage.ahead for stage in stages)
        passes += max(stage.total - stage.ahead for stage in stages)
        return idle + (m - 1) * (passes - slow.total)
    if plan.schedule != "zero-bubble":
        return idle
    send = (p2p + a.micro_batch_s) / 2
    fills = []
    for stage in stages:
        w = stage.weight_grad
        f = stage.total - stage.backward + send
        b = stage.backward - w + send
        ramped = (min(plan.pp, m) - 1) / (plan.pp - 1) if plan.pp > 1 else 0.0
        fills.append(w + ramped * min(f, b, w))
    pairs = list(zip(stages, fills, strict=True))
    ends = max((m - 1) * stage.total + fill for stage, fill in pairs)
    ends += sum(stage.total - fill for stage, fill in pairs)
    return (plan.pp - 1) * (p2p + a.micro_batch_s) + max(ends - m * slow.total, 0.0)
