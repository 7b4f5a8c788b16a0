"""Bytes on the wire and FLOP of one step, collective by collective, in plain floats."""

from cost.reference import groups
from cost.reference_energy import forward_flop_per_token, repeated_flop_per_token
from cost.reference_frozen import gathered_bytes
from cost.reference_layer import kv_heads_on_chip, tp_gathers
from cost.reference_memory import (
    StageSpec,
    ends_of,
    local_parameters,
    reduces_each_time,
    stage_parameters,
    stages_of,
    stays_unsharded,
    trained_share,
)
from cost.reference_modules import named
from cost.reference_network import Net
from cost.reference_repeats import attention_again, last_share
from cost.reference_routing import places
from cost.reference_tuning import copies, dropped_parameters, passes
from hardware_db import Cluster
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job
from planner.plan import Plan


class Wire:
    """Adds up what all chips receive, in all and by level."""

    def __init__(self, levels: int) -> None:
        self.total = 0.0
        self.levels = [0.0] * levels

    def gather(self, net: Net, full_bytes: float, members: float) -> None:
        """`members` chips end an all-gather with `full_bytes`, or start a scatter with them."""
        self.total += members * full_bytes * (net.size - 1) / net.size
        for level, share in enumerate(net.received()):
            self.levels[level] += members * full_bytes * share

    def exchange(
        self, net: Net, sent_bytes: float, members: float, near: float = 1.0, far: float = 1.0
    ) -> None:
        """`members` chips send `sent_bytes` each, evenly over their group.

        Inside nodes `near` times as much, between nodes `far` times.
        """
        for level, share in enumerate(net.exchanged()):
            outside = net.host.levels[level].kind == "scale-out"
            moved = members * sent_bytes * share * (far if outside else near)
            self.levels[level] += moved
            self.total += moved

    def send(self, net: Net, message_bytes: float, messages: float) -> None:
        """Point-to-point messages."""
        self.total += messages * message_bytes
        for level, share in enumerate(net.sent()):
            self.levels[level] += messages * message_bytes * share


def wire(job: Job, cluster: Cluster, a: Assumptions, plan: Plan) -> Wire:
    """Bytes that all chips receive in one step."""
    found = groups(job, cluster, a, plan)
    book = Wire(len(cluster.levels))
    m = job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
    specs = stages_of(plan, job.model)
    for spec in specs:
        _activations(job, a, plan, spec, found, m, book)
        _states(job, a, plan, spec, found, m, book)
    if plan.pp > 1:
        size = 2 * plan.micro_batch * job.seq_len / plan.cp * job.model.hidden
        if plan.sequence_parallel or a.splits_p2p:
            size /= plan.tp
        borders = plan.pp * plan.interleave - 1
        book.send(found["pp"], size, (2 + passes(job)) * m * borders * plan.chips / plan.pp)
    return book


def _activations(
    job: Job,
    a: Assumptions,
    plan: Plan,
    spec: StageSpec,
    found: dict[str, Net],
    m: float,
    book: Wire,
) -> None:
    """Tensor, context and expert traffic of one stage: forward, backward, recomputed forward."""
    model = job.model
    members = plan.chips / plan.pp
    tokens = plan.micro_batch * job.seq_len / plan.cp
    runs = (3 if spec.recompute == "full" else 2) + passes(job)
    dims = model.head_dim + model.attention.v_head_dim
    kv = kv_heads_on_chip(model, plan.tp) * dims
    for kind, layers in (("dense", spec.dense), ("moe", spec.moe)):
        count = layers * m
        gathers = tp_gathers(model, kind)
        last = 1 if plan.sequence_parallel else 2  # of the output that is not made again
        left = last if spec.recompute == "full" and last_share(job) else 0
        names = named(spec.recompute, kind)
        core = spec.recompute == "selective" and attention_again(job, fused=a.fused_attention)
        attends = runs + ("core_attn" in names or core)
        shared = model.moe is not None and model.moe.shared_experts > 0
        half = "mlp" in names or (shared and bool({"moe", "shared_experts"} & names))
        times = members * count * (gathers * (runs + half / 2) - left)
        book.gather(found["tp"], 2 * tokens * model.hidden, times)
        if plan.cp_mode == "ring":
            book.gather(found["cp"], 2 * tokens * kv * plan.cp, members * count * (attends + 1))
        else:
            own = model.heads / plan.tp * dims
            book.exchange(found["cp"], 2 * tokens * (kv + own), members * count * attends)
        if kind == "moe" and model.moe is not None:
            size = (a.dispatch_bytes + 2) / 2 * tokens / plan.tp * model.hidden
            times, net = members * count * 2 * (runs + ("moe" in names)), found["ep"]
            got = size * model.moe.experts_per_token
            if a.gathers_tokens:
                got = size * plan.ep
                book.gather(net, got, times)
            elif a.sends_copies:
                book.exchange(net, got, times)
            else:
                ranks, nodes = places(model, plan.ep, net.nodes())
                got = ranks * size
                book.exchange(net, size, times, near=ranks * net.nodes(), far=nodes)
            book.gather(found["etp"], plan.etp * got, times)


def _states(
    job: Job,
    a: Assumptions,
    plan: Plan,
    spec: StageSpec,
    found: dict[str, Net],
    m: float,
    book: Wire,
) -> None:
    """Weights and gradients of one stage."""
    local = local_parameters(job, plan.tp, plan.ep * plan.etp)
    dense, experts = stage_parameters(job, plan, spec, local)
    share = trained_share(job)
    members = plan.chips / plan.pp
    reduced = m if reduces_each_time(job, plan) else 1
    for prefix, count in (("", dense), ("expert_", experts)):
        data, shard, replica = (found[prefix + name] for name in ("data", "shard", "replica"))
        gradients = a.gradient_wire_bytes * share * count
        if spec.sharding == "zero3":
            whole = stays_unsharded(job, plan)
            own, own_bytes = 2 + passes(job) - copies(job), gathered_bytes(job) * count
            if not prefix:  # embedding and head are not quantized
                own_bytes += (2 - gathered_bytes(job)) * ends_of(job, plan, spec, local)
            book.gather(shard, own_bytes, members * (1 if whole else own * m))
            book.gather(shard, 2 * count, members * copies(job) * (1 if whole else m))
            book.gather(shard, gradients, members if whole else m * members)
            book.gather(replica, gradients / shard.size, 2 * reduced * members)
        elif spec.sharding == "ddp":
            book.gather(data, gradients, 2 * reduced * members)
        else:
            book.gather(data, gradients, members * (m if spec.sharding == "zero2" else 1))
            book.gather(data, 2 * share * count, members)


def executed_flop(job: Job, a: Assumptions, plan: Plan) -> float:
    """FLOP of one step with recomputation; fused kernels skip masked scores, redo them backward."""
    linear, attention = forward_flop_per_token(job)
    matrices, scores = repeated_flop_per_token(job, plan, fused=a.fused_attention)
    share = a.causal_share if a.fused_attention else 1.0
    ref = passes(job)
    runs = (3 if job.kind != "lora" else 2) + ref
    backward = 2.5 if a.fused_attention else 2.0
    tokens = job.global_batch * job.seq_len
    matrices += sum(2 * 2 * dropped_parameters(job, kind) for kind in job.model.layer_kinds)
    computed = linear * runs + matrices + share * (attention * (1 + ref + backward) + scores)
    return tokens * computed
