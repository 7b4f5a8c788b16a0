"""Seconds of one layer and micro-batch in plain floats, from the published formulas.

Sources: GEMM, element-wise, host and overlap forms are those of the calibrated design (fitted to
published runs); wave quantization from NVIDIA's matrix-multiplication guide; attention FLOP from
FlashAttention-2, arXiv:2307.08691; tensor-parallel exchanges from Korthikanti et al.,
arXiv:2205.05198; ring and Ulysses from arXiv:2310.01889 and 2309.14509; MLA from arXiv:2405.04434.
"""

import math
from dataclasses import dataclass, field

from cost.reference_modules import elements_again, named
from cost.reference_network import Net
from cost.reference_products import Linear
from cost.reference_repeats import attention_again, last_share, mean_context, second_share
from cost.reference_routing import busiest_rank, places
from cost.reference_tuning import beside_s, passes, with_dropped, with_reference
from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job

CAUSES = ("compute", "memory", "tp", "cp", "ep")


@dataclass(frozen=True, kw_only=True)
class Where:
    """How one layer runs."""

    tp: int
    cp: int
    ep: int
    etp: int
    tokens: float
    sequence_parallel: bool
    cp_mode: str
    recompute: str
    clock: float
    nets: dict[str, Net]


@dataclass
class Layer:
    """Times of one layer: per pass and cause; `forward`, `backward` with the host."""

    forward: float = 0.0
    backward: float = 0.0
    weight_grad: float = 0.0
    kernels: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)


def layer(a: Assumptions, job: Job, kind: str, x: Where) -> Layer:
    """One dense or moe layer, before data parallelism and offloading."""
    model = job.model
    linear = Linear()
    _attention_linears(a, model, x, linear)
    if kind == "moe":
        _expert_linears(a, model, x, linear)
    else:
        _mlp(a, model, x, linear, (model.mlp.hidden or 0) / x.tp)
    core, core_back, scores, scores_back = _attention(a, job, x)
    memory = _elementwise(a, model, x, kind)
    adapters, norms = beside_s(a, job, linear)
    dropped = with_dropped(job, linear)
    memory += adapters
    widened = 0.0
    if job.kind == "lora" and job.frozen_weights != "16-bit":
        widened = a.widening_bytes * linear.weights / a.memory_bytes_per_s
    cast = a.quantized_bytes / a.memory_bytes_per_s
    tp = _tensor_exchange(a, model, x, kind)
    if x.nets["tp"].nodes() > 1:  # half of the stragglers of both passes
        tp += a.far_tp_wait_s * (x.tp - 1) / 2
    cp, cp_back = _context_exchange(a, job, x, core, core_back)
    ep = _expert_exchange(a, model, x) if kind == "moe" else 0.0
    weight_grad = linear.weight_grad if job.kind != "lora" else 0.0
    ahead = {"compute": linear.forward + core, "memory": memory + scores, "tp": tp, "cp": cp}
    ahead["memory"] += cast * linear.inputs + widened + norms
    ahead["ep"] = ep
    back = {
        "compute": linear.input_grad + weight_grad + core_back,
        "memory": a.elementwise_backward * memory + scores_back + cast * linear.outputs + widened,
        "tp": tp,
        "cp": cp_back,
        "ep": ep,
    }
    for one in (ahead, back):
        kernels = one["compute"] + one["memory"]
        one["ep"] -= min(a.ep_overlap * one["ep"], a.ep_cover * kernels)
    if kind == "moe" and a.shared_beside and model.moe is not None and model.moe.shared_experts:
        _hide_behind_shared_experts(a, job, x, ahead, back)
    again = memory
    if kind == "moe" and job.framework.selective == "up-projections":
        again -= _routing(a, model, x)  # what it gives is kept
    for cause, seconds in _recomputed(a, job, x, ahead, linear, (core, scores, again)).items():
        back[cause] += seconds
    for cause, seconds in _of_modules(a, job, kind, x, ahead, (core, scores, memory)).items():
        back[cause] += seconds
    experts = job.model.moe.experts / x.ep if kind == "moe" else 0.0
    ahead = with_reference(job, ahead, adapters + norms, widened, dropped)
    return _hosted(a, x, experts, ahead, back, weight_grad, 1 + passes(job))


def _hide_behind_shared_experts(
    a: Assumptions, job: Job, x: Where, ahead: dict[str, float], back: dict[str, float]
) -> None:
    """Two matrices, one while tokens go to their experts and one while they return."""
    model = job.model
    assert model.moe is not None
    width = model.moe.shared_experts * model.moe.shared_expert_hidden / x.tp
    up, down = Linear(), Linear()
    outputs = (2 if model.mlp.gated else 1) * width
    up.add(a, x.tokens, model.hidden, outputs, clock=x.clock)
    down.add(a, x.tokens, width, model.hidden, clock=x.clock)
    trained = job.kind != "lora"
    for one, times in (
        (ahead, (up.forward, down.forward)),
        (back, [m.input_grad + trained * m.weight_grad for m in (up, down)]),
    ):
        whole = one["ep"]
        parts = (a.dispatch_bytes / (a.dispatch_bytes + 2), 2 / (a.dispatch_bytes + 2))
        one["ep"] = sum(max(p * whole - t, 0.0) for p, t in zip(parts, times, strict=True))


def _attention_linears(a: Assumptions, model: Model, x: Where, linear: Linear) -> None:
    heads = model.heads / x.tp
    value = model.attention.v_head_dim
    linear.add(a, x.tokens, heads * value, model.hidden, clock=x.clock)
    if model.attention.kind != "mla":
        kv_heads = max(math.ceil(model.kv_heads / x.tp), 1)
        width = heads * model.head_dim + kv_heads * (model.head_dim + value)
        linear.add(a, x.tokens, model.hidden, width, clock=x.clock, matrices=3)
        return
    attention = model.attention
    rank, rope = attention.kv_lora_rank or 0, attention.qk_rope_head_dim or 0
    nope = attention.qk_nope_head_dim or 0
    linear.add(a, x.tokens, model.hidden, rank + rope, clock=x.clock)
    linear.add(a, x.tokens, rank, heads * (nope + value), clock=x.clock)
    query = heads * (nope + rope)
    if attention.q_lora_rank:
        linear.add(a, x.tokens, model.hidden, attention.q_lora_rank, clock=x.clock)
        linear.add(a, x.tokens, attention.q_lora_rank, query, clock=x.clock)
    else:
        linear.add(a, x.tokens, model.hidden, query, clock=x.clock)


def _mlp(a: Assumptions, model: Model, x: Where, linear: Linear, width: float) -> None:
    up = 2 if model.mlp.gated else 1
    linear.add(a, x.tokens, model.hidden, up * width, clock=x.clock, of="mlp", matrices=up)
    linear.add(a, x.tokens, width, model.hidden, clock=x.clock, of="mlp")


def _expert_linears(a: Assumptions, model: Model, x: Where, linear: Linear) -> None:
    moe = model.moe
    assert moe is not None
    local = moe.experts / x.ep
    all_tokens = x.etp * x.tokens  # of the ranks that share these experts
    tokens = all_tokens * moe.experts_per_token * x.ep / moe.experts / x.tp
    tokens *= busiest_rank(a, model, x)
    width = moe.expert_hidden / x.etp
    up = 2 if model.mlp.gated else 1
    slow = 1 / a.expert_efficiency if local > 1 else 1.0
    for inputs, outputs in (
        (model.hidden, up * width),
        (width, model.hidden),
    ):
        linear.add(
            a, tokens, inputs, outputs, clock=x.clock, copies=local, scale=slow, of="experts"
        )
    linear.add(a, x.tokens / x.tp, model.hidden, moe.experts, clock=x.clock, of="router")
    if moe.shared_experts:
        _mlp(a, model, x, linear, moe.shared_experts * moe.shared_expert_hidden / x.tp)


def _attention(a: Assumptions, job: Job, x: Where) -> tuple[float, float, float, float]:
    """Arithmetic forward and backward, memory forward and backward."""
    model = job.model
    dim = (model.head_dim + model.attention.v_head_dim) / 2
    heads = model.heads / x.tp
    context = mean_context(model, job.seq_len)
    flop = 4 * x.tokens * context * heads * dim
    if a.fused_attention:
        seconds = a.causal_share * flop / a.attention_flop_per_s / x.clock
        seconds *= 1 + a.attention_half_head_dim / dim
        seconds /= a.sink_attention if model.attention.sinks else 1.0
        return seconds, 2.5 * seconds, 0.0, 0.0
    seconds = flop / a.bmm_flop_per_s / x.clock
    scores = a.score_bytes * x.tokens * context * heads / a.memory_bytes_per_s
    return seconds, 2 * seconds, scores, 1.5 * scores


def _active_width(model: Model, kind: str) -> int:
    if kind == "dense" or model.moe is None:
        return model.mlp.hidden or 0
    moe = model.moe
    routed = moe.experts_per_token * moe.expert_hidden
    return routed + moe.shared_experts * moe.shared_expert_hidden


def _elementwise(a: Assumptions, model: Model, x: Where, kind: str) -> float:
    rows = a.row_bytes / (x.tp if x.sequence_parallel else 1) + a.tp_bytes / x.tp
    width = _active_width(model, kind) * (2 if model.mlp.gated else 1)
    moved = 2 * x.tokens * (model.hidden * rows + a.ffn_bytes * width / x.tp) * a.elementwise
    return moved / a.memory_bytes_per_s + (_routing(a, model, x) if kind == "moe" else 0.0)


def _routing(a: Assumptions, model: Model, x: Where) -> float:
    assert model.moe is not None
    biases = a.expert_bias_bytes if model.mlp.bias else 0.0
    elements = x.tokens * model.moe.experts_per_token * model.hidden / x.tp
    sent = a.routing_bytes * elements
    got = (a.routing_bytes + biases) * elements * x.etp
    return (sent + got) / a.memory_bytes_per_s


def _tensor_exchange(a: Assumptions, model: Model, x: Where, kind: str) -> float:
    """4 gathers or 2 all-reduces a pass; see `tp_gathers`."""
    gathers = tp_gathers(model, kind)
    size = 2 * x.tokens * model.hidden
    net = x.nets["tp"]
    whole = (
        gathers * net.gather_s(size) if x.sequence_parallel else gathers / 2 * net.reduce_s(size)
    )
    return whole * (1 - a.tp_overlap)


def tp_gathers(model: Model, kind: str) -> int:
    """Half with parallel blocks, and on layers whose experts are all routed."""
    routed = kind == "moe" and model.moe is not None and not model.moe.shared_experts
    return 2 if model.parallel_block or routed else 4


def kv_heads_on_chip(model: Model, tp: int) -> float:
    """Key-value heads per chip, replicated where tp exceeds them."""
    if model.attention.kind == "mla":
        return model.heads / tp
    return math.ceil(model.kv_heads / tp)


def _context_exchange(
    a: Assumptions, job: Job, x: Where, core: float, core_back: float
) -> tuple[float, float]:
    if x.cp == 1:
        return 0.0, 0.0
    model = job.model
    dims = model.head_dim + model.attention.v_head_dim
    kv = kv_heads_on_chip(model, x.tp) * dims
    net = x.nets["cp"]
    if x.cp_mode == "all-to-all":
        swap = net.exchange_s(2 * x.tokens * (kv + model.heads / x.tp * dims))
        return swap, swap
    ring = net.gather_s(2 * x.tokens * kv * x.cp)

    def exposed(cost: float, cover: float) -> float:
        return max(cost - a.cp_overlap * cover, a.cp_least_exposed * cost)

    if job.framework.gathers_context:
        gathered = exposed(ring, core_back / x.cp)
        return exposed(ring, core / x.cp), gathered + exposed(ring, core_back)
    return exposed(ring, core), exposed(2 * ring, core_back)


def _expert_exchange(a: Assumptions, model: Model, x: Where) -> float:
    assert model.moe is not None
    moe, net = model.moe, x.nets["ep"]
    k, nodes = moe.experts_per_token, net.nodes()
    elements = x.tokens / x.tp * model.hidden
    sharing = x.nets["etp"].gather_s
    if a.gathers_tokens:
        every = [size * elements * x.ep for size in (a.dispatch_bytes, 2)]
        return sum(net.gather_s(one) + sharing(x.etp * one) for one in every)
    busiest = busiest_rank(a, model, x)
    both = (a.dispatch_bytes * elements * busiest, 2 * elements * busiest)
    if a.sends_copies:
        return sum(net.exchange_s(k * each) + sharing(x.etp * k * each) for each in both)
    ranks, reached = places(model, x.ep, nodes)
    ranks, reached = min(ranks, x.ep / busiest), min(reached, nodes / busiest)
    return sum(
        net.relay_s(ranks * each, reached * each) + sharing(x.etp * ranks * each) for each in both
    )


def _recomputed(
    a: Assumptions,
    job: Job,
    x: Where,
    ahead: dict[str, float],
    linear: Linear,
    pieces: tuple[float, float, float],
) -> dict[str, float]:
    core, scores, memory = pieces
    last = last_share(job)
    if x.recompute == "full":
        exchanges = 2 if job.model.parallel_block else 4  # all-gathers or reduce-scatters
        behind = (1 if x.sequence_parallel else 2) / exchanges if last else 0.0
        compute = ahead["compute"] - last * linear.forward
        return {**ahead, "compute": compute, "tp": (1 - behind) * ahead["tp"]}
    if x.recompute != "selective":
        return {}
    if job.framework.selective == "half-matmuls":
        return {"compute": linear.forward / 2, "memory": memory}
    if job.framework.selective == "second-matmuls":
        return {"compute": second_share(job) * linear.forward, "memory": memory}
    if job.framework.selective == "up-projections":
        return {"compute": up_share(job.model) * linear.forward, "memory": memory}
    parts = {"compute": core, "memory": scores, "cp": ahead["cp"]}
    return parts if attention_again(job, fused=a.fused_attention) else {}


def _of_modules(
    a: Assumptions,
    job: Job,
    kind: str,
    x: Where,
    ahead: dict[str, float],
    pieces: tuple[float, float, float],
) -> dict[str, float]:
    """What single modules compute and exchange again."""
    names, model, linear = named(x.recompute, kind), job.model, Linear()
    latent, moe, attends = model.attention, model.moe, "core_attn" in names
    if "mlp" in names:
        _mlp(a, model, x, linear, (model.mlp.hidden or 0) / x.tp)
    if "moe" in names:
        _expert_linears(a, model, x, linear)
    if "shared_experts" in names and moe is not None and moe.shared_experts:
        _mlp(a, model, x, linear, moe.shared_experts * moe.shared_expert_hidden / x.tp)
    if "mla_up_proj" in names and latent.kind == "mla":
        heads, nope = model.heads / x.tp, latent.qk_nope_head_dim or 0
        rope, up = latent.qk_rope_head_dim or 0, heads * (nope + latent.v_head_dim)
        linear.add(a, x.tokens, latent.kv_lora_rank or 0, up, clock=x.clock)
        read = latent.q_lora_rank or model.hidden
        linear.add(a, x.tokens, read, heads * (nope + rope), clock=x.clock)
    core, scores, memory = pieces
    rows, ranks = elements_again(a, model, x.recompute, kind)
    again = 2 * a.elementwise * x.tokens / a.memory_bytes_per_s
    again *= rows / (x.tp if x.sequence_parallel else 1) + ranks / x.tp
    again += _routing(a, model, x) if "moe" in names else 0.0
    shares = moe is not None and moe.shared_experts > 0 and {"moe", "shared_experts"} & names
    cast = a.quantized_bytes / a.memory_bytes_per_s * linear.inputs
    return {
        "compute": linear.forward + attends * core,
        "memory": min(again, memory) + cast + attends * scores,
        "tp": 0.5 * ahead["tp"] * ("mlp" in names or bool(shares)),
        "cp": attends * ahead["cp"],
        "ep": ahead["ep"] * ("moe" in names),
    }


def up_share(model: Model) -> float:
    """Share of a layer's active matrices that latent attention projects up with."""
    latent, moe = model.attention, model.moe
    if latent.kind != "mla":
        return 0.0
    kind = "moe" if moe else "dense"
    idle = (moe.experts - moe.experts_per_token) * model.expert_parameters if moe else 0
    nope, rope = latent.qk_nope_head_dim or 0, latent.qk_rope_head_dim or 0
    keys_values = (latent.kv_lora_rank or 0) * (nope + latent.v_head_dim)
    up = model.heads * (keys_values + (latent.q_lora_rank or 0) * (nope + rope))
    return up / (model.layer_parameters(kind) - idle)


def _hosted(
    a: Assumptions,
    x: Where,
    experts: float,
    ahead: dict[str, float],
    back: dict[str, float],
    weight_grad: float,
    runs: int,
) -> Layer:
    """smoothmax4 of the device with the fixed time and of the host that feeds it."""
    per_rank = a.host_s_per_tp_rank
    if x.nets["pp"].nodes() > 1:
        per_rank += a.far_host_s_per_tp_rank
    host = a.host_s_per_layer + per_rank * (x.tp - 1)
    host *= a.launched_share if experts else 1.0
    host += a.moe_host_s + a.expert_host_s * experts if experts else 0.0
    share = a.host_forward_share
    again = share if x.recompute == "full" else 0.0
    again += share / 2 * bool({"moe" if experts else "mlp"} & {*x.recompute.split("+")})
    fixed = a.fixed_s_per_layer
    device = sum(ahead.values()), sum(back.values())
    forward = p_norm(device[0] + runs * share * fixed, runs * share * host, 4)
    backward = p_norm(device[1] + (1 - share) * fixed, (1 - share + again) * host, 4)
    parts = {cause: ahead[cause] + back[cause] for cause in CAUSES}
    parts["host"] = forward + backward - sum(device)
    kernels = parts["compute"] + parts["memory"] + parts["tp"]  # all at busy power
    return Layer(forward, backward, weight_grad, kernels, parts)


def p_norm(x: float, y: float, p: int) -> float:
    """(x^p + y^p)^(1/p), scaled so that small seconds do not underflow."""
    top = max(x, y)
    return 0.0 if top == 0 else top * ((x / top) ** p + (y / top) ** p) ** (1 / p)


def latest(n: float) -> float:
    """Expected largest of n standard normal numbers, by the limit of Gumbel."""
    root = math.sqrt(2 * math.log(n))
    location = root - (math.log(math.log(n)) + math.log(4 * math.pi)) / (2 * root)
    return location + 0.5772156649015329 / root
