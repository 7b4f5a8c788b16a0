"""Seconds of one transformer layer and one micro-batch on one chip, by cause.

    forward  = smoothmax4(GEMMs + attention + element-wise + TP + CP + EP, 0.35 host)
    backward = smoothmax4(the same with both gradients and recomputation, 0.65 host)

Every communication is counted where it is exposed. Under `perfect_overlap` that is what the
kernels and the communication of the axes before it do not hide, so that a pass lasts as long as
the longest of them. The equations are those of the fitted
prototype; each helper names its own. Arrays broadcast to (n, s): n plans, s stages or clocks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.cost.communication.exchanges import (
    LayerInputs,
    context_exchange_s,
    expert_exchange_s,
    exposed_context_s,
    tensor_exchange_s,
    tensor_wait_s,
)
from planner.cost.kernels.adapters import adapters_s, dropped_products, weight_norms_s
from planner.cost.kernels.compute import AttentionSeconds, MatmulSeconds, attention_s, smooth_max
from planner.cost.kernels.linears import Linear, Shares, layer_operators, seconds
from planner.cost.kernels.passes import (
    PassTimes,
    elementwise_s,
    formats_s,
    routing_s,
    widened_s,
)
from planner.cost.kernels.routing import busiest_rank
from planner.cost.kernels.selection import (
    module_elements,
    module_operators,
    runs_again,
    selection,
    tensor_share,
)
from planner.cost.kernels.shapes import Shapes, left_out
from planner.cost.kernels.shared_experts import Halves, beside_shared_experts, shared_expert_s
from planner.plan import FULL, SELECTIVE
from planner.plan.recomputations import has_modules, names_module


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTimes:
    """Seconds per layer and micro-batch, (n, s).

    Attributes:
        forward, backward: With everything exposed.
        weight_grad: The part of backward that waits for nobody (weight gradients).
        kernels: Seconds at busy power, both passes with recomputation: kernels and, between
            them, the exposed collectives of tp.
        paired: Of these, what the passes save when a forward pass runs beside a backward pass,
            as bidirectional schedules have them: the share `beside_overlap` of the exposed
            all-to-alls.
        parts: `forward + backward` by cause: compute, memory, tp, cp, ep, host.
        sent: Seconds of the communication of one forward pass over one block, hidden or not, by
            axis: tp, cp, ep.
    """

    forward: FloatArray
    backward: FloatArray
    weight_grad: FloatArray
    kernels: FloatArray
    paired: FloatArray
    parts: dict[str, FloatArray]
    sent: dict[str, FloatArray]

    @property
    def total(self) -> FloatArray:
        """Both passes."""
        return self.forward + self.backward

    def rows(self, index: IntArray, *, apart: bool = False) -> LayerTimes:
        """The rows of `index`; with what they are made of only where that is wanted apart."""

        def taken(parts: dict[str, FloatArray]) -> dict[str, FloatArray]:
            return {name: np.take(part, index, axis=0) for name, part in parts.items() if apart}

        return LayerTimes(
            forward=np.take(self.forward, index, axis=0),
            backward=np.take(self.backward, index, axis=0),
            weight_grad=np.take(self.weight_grad, index, axis=0),
            kernels=np.take(self.kernels, index, axis=0),
            paired=np.take(self.paired, index, axis=0),
            parts=taken(self.parts),
            sent=taken(self.sent),
        )


def layer_times(a: Assumptions, shapes: Shapes, x: LayerInputs, *, moe: bool) -> LayerTimes:
    """The times of one dense or mixture-of-experts layer."""
    load = busiest_rank(a, shapes, x.tokens * x.etp, x.tp, x.ep) if moe else 1.0
    shares = Shares(tokens=x.tokens, tp=x.tp, ep=x.ep, etp=x.etp, load=load)
    operators = layer_operators(shapes, shares, moe=moe)
    linears, dropped = _products_s(a, shapes, operators, x)
    core = _attention_core(a, shapes, x, moe=moe)
    adapters = adapters_s(a, shapes, operators, x)
    memory = elementwise_s(a, shapes, x, moe=moe) + adapters
    formats, widened = formats_s(a, operators, x), widened_s(a, operators, x)
    sent = _sent_s(a, shapes, x, load if moe else None)
    tp = sent["tp"] * (1 - a.tp_overlap)
    cp = exposed_context_s(a, x, sent["cp"], core)
    weight_grad = linears.weight_grad * float(x.trains_all)
    norms = weight_norms_s(a, shapes, operators, x)
    forward = PassTimes(
        compute=linears.forward + core.forward,
        memory=memory + core.forward_memory + formats[0] + norms,
        tp=tp,
        cp=cp[0],
        ep=sent["ep"],
    )
    backward = PassTimes(
        compute=linears.input_grad + weight_grad + core.backward,
        memory=a.elementwise_backward * memory + core.backward_memory + formats[1],
        tp=a.tp_backward * tp,
        cp=cp[1],
        ep=sent["ep"],
    )
    forward, backward = _with_scan(a, shapes, x, forward, backward, moe=moe)
    beside = shared_expert_s(a, operators, x.clock, trains_all=x.trains_all) or (None, None)
    forward, backward = map(partial(_exposed_experts, a), (forward, backward), beside)
    backward += _recomputation(a, shapes, x, forward, linears, operators, core, memory, moe=moe)
    if x.job.reference_passes:
        forward += _reference(x, forward, dropped, adapters + norms, widened)
    if shapes.blocks != 1.0:
        forward, backward = forward.scaled(shapes.blocks), backward.scaled(shapes.blocks)
        weight_grad = weight_grad * shapes.blocks
    if a.perfect_overlap:
        forward, backward = forward.overlapped(), backward.overlapped()
    launched = _launched_s(a, shapes, x, moe=moe)
    return _with_host(a, x, forward, backward, weight_grad, sent, launched, moe=moe)


def _sent_s(
    a: Assumptions, shapes: Shapes, x: LayerInputs, load: FloatArray | float | None
) -> dict[str, FloatArray]:
    """Seconds of what one forward pass sends, by axis; `load` of experts, None without."""
    tp = tensor_exchange_s(shapes, x, moe=load is not None)
    ep = expert_exchange_s(a, shapes, x, load) if load is not None else np.zeros_like(tp)
    return {"tp": tp + tensor_wait_s(a, x), "cp": context_exchange_s(shapes, x), "ep": ep}


def _products_s(
    a: Assumptions, shapes: Shapes, operators: dict[str, list[Linear]], x: LayerInputs
) -> tuple[MatmulSeconds, FloatArray | float]:
    """Seconds of all products, and those forward that DoRA adds with dropped inputs."""
    linears = seconds(a, [one for each in operators.values() for one in each], x.clock)
    dropped = dropped_products(x.job, shapes, operators)
    if not dropped:
        return linears, 0.0
    more = seconds(a, dropped, x.clock)
    forward, input_grad = linears.forward + more.forward, linears.input_grad + more.input_grad
    return replace(linears, forward=forward, input_grad=input_grad), more.forward


def _reference(
    x: LayerInputs,
    forward: PassTimes,
    dropped: FloatArray | float,
    adapters: FloatArray | float,
    widened: FloatArray | float,
) -> PassTimes:
    """The forward pass of a reference model: that of the trained one without its adapters.

    A copy of its own has weights of 16 bits, which nothing widens (`planner.cost.memory.state`).
    """
    lacks = adapters + float(x.job.reference_copies) * widened
    alike = replace(forward, compute=forward.compute - dropped, memory=forward.memory - lacks)
    return alike.scaled(float(x.job.reference_passes))


def _with_scan(
    a: Assumptions,
    shapes: Shapes,
    x: LayerInputs,
    forward: PassTimes,
    backward: PassTimes,
    *,
    moe: bool,
) -> tuple[PassTimes, PassTimes]:
    """Both passes with the recurrence of the layers that have one."""
    share = shapes.parts_of(moe=moe).recurrence
    if shapes.scan is None or not share:
        return forward, backward
    from planner.cost.kernels.recurrence import scan_s  # noqa: PLC0415  (few models have one)

    scan = scan_s(a, shapes.scan, x.tokens, x.tp, clock=x.clock)
    return (
        replace(
            forward,
            compute=forward.compute + share * scan.forward,
            memory=forward.memory + share * scan.forward_memory,
        ),
        replace(
            backward,
            compute=backward.compute + share * scan.backward,
            memory=backward.memory + share * scan.backward_memory,
        ),
    )


def _attention_core(
    a: Assumptions, shapes: Shapes, x: LayerInputs, *, moe: bool
) -> AttentionSeconds:
    """Scores and weighted values; sinks slow fused kernels only.

    To unfused attention a sink is one more column of the softmax: its products stay as they are.
    """
    if not shapes.heads:
        none = np.zeros(np.broadcast(x.tokens, x.tp, x.clock).shape)
        return AttentionSeconds(none, none, none, none)
    mean_dim = (shapes.head_dim + shapes.value_dim) / 2
    width = shapes.heads / x.tp * mean_dim
    core = attention_s(a, x.tokens, shapes.context, width, mean_dim, clock=x.clock)
    if shapes.sinks and a.fused_attention:
        core = core.slowed(1 / a.sink_attention)
    return core.of_average(shapes.parts[moe].attention) if shapes.parts else core


def _exposed_experts(a: Assumptions, one: PassTimes, shared: Halves | None) -> PassTimes:
    """The pass with the part of its expert exchange that is exposed.

    Kernels hide the share `ep_overlap` of it, and no more than lasts `ep_cover` of them; what
    `shared` experts run beside the rest hides more of it.
    """
    hidden = np.minimum(a.ep_overlap * one.ep, a.ep_cover * one.kernels)
    left = one.ep - hidden
    return replace(one, ep=left if shared is None else beside_shared_experts(a, left, shared))


def _recomputation(
    a: Assumptions,
    shapes: Shapes,
    x: LayerInputs,
    forward: PassTimes,
    linears: MatmulSeconds,
    operators: dict[str, list[Linear]],
    core: AttentionSeconds,
    memory: FloatArray,
    *,
    moe: bool,
) -> PassTimes:
    """What the backward pass computes again.

    Full: the forward pass with its communication, without its last product and the exchange of
    that where it stops early. Selective: what `selection` has; up projections of latent attention
    run again with all element-wise work but that of routing, whose results products of experts
    read. Modules: `_of_modules`.
    """
    full = np.where(x.recompute == FULL, 1.0, 0.0)
    some = np.where(x.recompute == SELECTIVE, 1.0, 0.0)
    left = left_out(shapes, stops_early=x.stops_early and x.trains_all)
    once = selection(shapes, x.selective, left, spared=a.fused_attention and not x.repeats_fused)
    compute = once.products * linears.forward + once.scores * core.forward
    moved = once.elementwise * memory + once.scores * core.forward_memory
    if moe and x.selective == "up-projections":
        moved = moved - routing_s(a, shapes, x)
    sent = full + once.sends * some
    last = np.where(x.sequence_parallel, 1.0, 2.0) / shapes.tp_exchanges if left else 0.0
    again = PassTimes(
        compute=full * (forward.compute - left * linears.forward) + some * compute,
        memory=full * forward.memory + some * moved,
        tp=sent * (1.0 - last) * forward.tp,
        cp=(full + once.context * some) * forward.cp,
        ep=sent * forward.ep,
    )
    if not has_modules(x.recompute).any():
        return again
    return again + _of_modules(a, shapes, x, forward, operators, core, memory, moe=moe)


def _of_modules(
    a: Assumptions,
    shapes: Shapes,
    x: LayerInputs,
    forward: PassTimes,
    operators: dict[str, list[Linear]],
    core: AttentionSeconds,
    memory: FloatArray,
    *,
    moe: bool,
) -> PassTimes:
    """What single modules compute again: their products, casts, and element-wise work of those.

    With attention what cp exchanges, with a feed-forward or shared experts what tp does, and with
    the experts of a layer the ways of its tokens there and back.
    """
    runs, every = runs_again(x.recompute, moe=moe), module_operators(shapes, operators, moe=moe)
    none = np.zeros_like(forward.compute)
    compute = casts = moved = none
    work = module_elements(a, shapes, moe=moe)
    divided = np.where(x.sequence_parallel, x.tp, 1)
    for name, run in runs.items():
        if some := every.get(name):
            linears = [one for each in some.values() for one in each]
            compute = compute + run * seconds(a, linears, x.clock).forward
            casts = casts + run * formats_s(a, some, x)[0]
        rows, ranks = work.get(name, (0.0, 0.0))
        bytes_ = a.elementwise * 2 * x.tokens * (rows / divided + ranks / x.tp)
        moved = moved + run * bytes_ / a.memory_bytes_per_s
    if "moe" in runs:
        moved = moved + runs["moe"] * routing_s(a, shapes, x)
    scores, experts = (runs.get(name, 0.0) for name in ("core_attn", "moe"))
    return PassTimes(
        compute=compute + scores * core.forward,
        memory=np.minimum(moved, memory) + casts + scores * core.forward_memory,
        tp=none + tensor_share(shapes, runs, moe=moe) * forward.tp,
        cp=none + scores * forward.cp,
        ep=none + experts * forward.ep,
    )


def _launched_s(
    a: Assumptions, shapes: Shapes, x: LayerInputs, *, moe: bool
) -> tuple[FloatArray, float]:
    """Seconds in which the host launches both passes, and those fixed per layer.

        h + h_tp (tp - 1), or c (h + h_tp (tp - 1)) + h_moe + h_e E / ep on a layer with experts

    Of attention and norms, CUDA graphs leave the share c = `launched_share`; h_tp is more where
    the pipeline crosses nodes. A layer of one block, in place of two, has half of h and of what is
    fixed.
    """
    halves = shapes.parts_of(moe=moe).blocks / 2
    per_rank: FloatArray | float = a.host_s_per_tp_rank
    if a.far_host_s_per_tp_rank and x.pp_net is not None:
        per_rank = per_rank + np.where(x.pp_net.domains > 1, a.far_host_s_per_tp_rank, 0.0)
    host = halves * (per_rank * (x.tp - 1) + a.host_s_per_layer)
    if moe:
        host = a.launched_share * host + a.moe_host_s + a.expert_host_s * (shapes.experts / x.ep)
    return np.asarray(host, dtype=np.float64), halves * a.fixed_s_per_layer


def _beside_s(a: Assumptions, one: PassTimes) -> FloatArray:
    """Seconds on the device of a pass beside one of the opposite direction.

    All-to-alls hide, and take PEs from products meanwhile.
    """
    slower = 1 / a.beside_kernels - 1
    return one.device - a.beside_overlap * one.ep + slower * one.compute


def _with_host(
    a: Assumptions,
    x: LayerInputs,
    forward: PassTimes,
    backward: PassTimes,
    weight_grad: FloatArray,
    sent: dict[str, FloatArray],
    launched: tuple[FloatArray, float],
    *,
    moe: bool,
) -> LayerTimes:
    """The layer with the host that launches it: smoothmax4(device + fixed, host).

    Of what the host launches, 0.35 is forward, 0.65 backward, and 0.35 again with full
    recomputation, half of that where the MLP or all experts recompute, one of two blocks; the fixed
    time per layer (small kernels, synchronization) is divided alike.
    """
    share = a.host_forward_share
    block = 0.5 * names_module(x.recompute, "moe" if moe else "mlp")
    again = share * np.where(x.recompute == FULL, 1.0, block)
    host, fixed = launched

    def passes_s(ahead: FloatArray, back: FloatArray) -> tuple[FloatArray, FloatArray]:
        runs = (1 + x.job.reference_passes) * share
        t_forward = smooth_max(ahead + runs * fixed, runs * host, 4)
        return t_forward, smooth_max(back + (1 - share) * fixed, (1 - share + again) * host, 4)

    t_forward, t_backward = passes_s(forward.device, backward.device)
    paired = np.zeros_like(t_backward)
    if a.beside_overlap and np.any(forward.ep):
        beside = np.add(*passes_s(_beside_s(a, forward), _beside_s(a, backward)))
        paired = np.maximum(t_forward + t_backward - beside, 0.0)
    both = forward + backward
    parts = {name: getattr(both, name) for name in ("compute", "memory", "tp", "cp", "ep")}
    parts["host"] = t_forward + t_backward - both.device
    return LayerTimes(
        forward=t_forward,
        backward=t_backward,
        weight_grad=weight_grad + np.zeros_like(t_backward),
        kernels=both.kernels + both.tp,
        paired=paired,
        parts=parts,
        sent=sent,
    )
