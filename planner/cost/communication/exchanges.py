"""Seconds of what a layer exchanges in its forward pass, by axis; of context what is exposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.kernels.compute import AttentionSeconds
from planner.cost.kernels.routing import sent_once
from planner.cost.kernels.shapes import Shapes
from planner.network.collectives import GroupCosts
from planner.plan import ALL_TO_ALL

ACTIVATION_BYTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerInputs:
    """What the time of a layer depends on; every array broadcasts to (n, s).

    Attributes:
        tp, cp, ep, etp: Degrees.
        tokens: Tokens of a micro-batch on the chip: micro_batch * seq_len / cp.
        sequence_parallel: Activations between blocks are divided by tp.
        cp_mode, recompute: Codes of `planner.plan.plan`.
        clock: Relative clock.
        job: What is trained of the weights, with which adapters, and a reference beside it.
        selective: What selective recomputation drops, as `FrameworkProfile` has it.
        repeats_fused: Whether it runs fused attention again, likewise.
        stops_early: Whether full recomputation stops before the last product, likewise.
        gathers_context: Rings gather keys and values at once; see `FrameworkProfile`.
        tp_net, cp_net, ep_net, etp_net: Costs of the groups.
        pp_net: That of the pipeline; None: what depends on it is left out.
    """

    tp: IntArray
    cp: IntArray
    ep: IntArray
    etp: IntArray
    tokens: FloatArray
    sequence_parallel: npt.NDArray[np.bool_]
    cp_mode: IntArray
    recompute: IntArray
    clock: FloatArray
    job: Job
    selective: str
    repeats_fused: bool
    stops_early: bool
    gathers_context: bool
    tp_net: GroupCosts
    cp_net: GroupCosts
    ep_net: GroupCosts
    etp_net: GroupCosts
    pp_net: GroupCosts | None = None

    @property
    def trains_all(self) -> bool:
        """False when base weights get no gradient (LoRA)."""
        return self.job.trains_all


def tensor_bytes(shapes: Shapes, tokens: FloatArray) -> FloatArray:
    """Bytes of the whole buffer of one tensor-parallel collective: activations of all tokens."""
    return ACTIVATION_BYTES * tokens * shapes.hidden


def context_bytes(
    shapes: Shapes, tokens: FloatArray, tp: IntArray, cp: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Bytes of keys and values gathered by a ring over cp, and of what a member swaps."""
    kv_heads = -(-shapes.kv_heads // tp) if not shapes.latent else shapes.heads / tp
    kv_width = kv_heads * (shapes.head_dim + shapes.value_dim)
    qo_width = shapes.heads / tp * (shapes.head_dim + shapes.value_dim)
    swapped = ACTIVATION_BYTES * tokens * (kv_width + qo_width)
    return ACTIVATION_BYTES * tokens * kv_width * cp, swapped


def expert_bytes(shapes: Shapes, tokens: FloatArray, tp: IntArray) -> FloatArray:
    """Bytes that one all-to-all of the experts takes from each member, nothing deduplicated."""
    k = max(shapes.experts_per_token, 1)
    return ACTIVATION_BYTES * tokens / tp * k * shapes.expert_io


def tensor_exchange_s(shapes: Shapes, x: LayerInputs, *, moe: bool) -> FloatArray:
    """Tensor-parallel collectives of the forward pass over one layer.

    With sequence parallelism 4 all-gathers or reduce-scatters of 2 T h bytes, without it 2
    all-reduces (Korthikanti et al., arXiv:2205.05198, section 4.2.2); on a mixture-of-experts layer
    those of `moe_tp_exchanges`.
    """
    size = tensor_bytes(shapes, x.tokens)
    exchanges = shapes.moe_tp_exchanges if moe else shapes.tp_exchanges
    split = exchanges * x.tp_net.gather_s(size)
    whole = exchanges / 2 * x.tp_net.reduce_s(size)
    return np.where(x.sequence_parallel, split, whole)


def tensor_wait_s(a: Assumptions, x: LayerInputs) -> FloatArray:
    """Seconds of a pass over one layer in which collectives between nodes wait for stragglers.

    A collective ends when the last of its g ranks has come. Where each is late rarely, the delays
    of different ranks seldom coincide, so the expected latest of g is late by g - 1 times as much
    as one: to first order in g, the maximum of g independent delays (David and Nagaraja, Order
    Statistics, 2003, section 2.1). `far_tp_wait_s` is that of both passes.
    """
    return 0.5 * a.far_tp_wait_s * np.where(x.tp_net.domains > 1, x.tp - 1, 0)


def context_exchange_s(shapes: Shapes, x: LayerInputs) -> FloatArray:
    """Context-parallel exchange of the forward pass over one layer.

    Ring (Liu et al., Ring Attention, arXiv:2310.01889): keys and values of all others arrive.
    All-to-all (DeepSpeed Ulysses, arXiv:2309.14509): queries, keys, values and outputs change from
    sequence to head shards, each way.
    """
    if not np.any(x.cp > 1):
        return np.zeros(np.broadcast(x.tokens, x.tp).shape)
    gathered, swapped = context_bytes(shapes, x.tokens, x.tp, x.cp)
    ring, swaps = x.cp_net.gather_s(gathered), x.cp_net.exchange_s(swapped)
    return np.where(x.cp_mode == ALL_TO_ALL, swaps, ring)


def exposed_context_s(
    a: Assumptions, x: LayerInputs, sent: FloatArray, core: AttentionSeconds
) -> tuple[FloatArray, FloatArray]:
    """Exposed context-parallel exchange, forward and backward.

    A ring hides behind up to 80 % of attention and is at least 10 % exposed; backward it takes
    twice the bytes (gradients of keys and values travel too). Where keys and values are gathered at
    once, that hides behind a cp-th of attention only. An all-to-all is not hidden.
    """
    if not np.any(x.cp > 1):
        none = np.zeros_like(core.forward)
        return none, none

    def exposed(cost: FloatArray, cover: FloatArray) -> FloatArray:
        return np.maximum(cost - a.cp_overlap * cover, a.cp_least_exposed * cost)

    if x.gathers_context:
        forward = exposed(sent, core.forward / x.cp)
        backward = exposed(sent, core.backward / x.cp) + exposed(sent, core.backward)
    else:
        forward, backward = exposed(sent, core.forward), exposed(2 * sent, core.backward)
    switched = x.cp_mode == ALL_TO_ALL
    return np.where(switched, sent, forward), np.where(switched, sent, backward)


def copies_sent(
    a: Assumptions, shapes: Shapes, ep: IntArray, nodes: FloatArray
) -> tuple[FloatArray | float, FloatArray | float]:
    """Copies of a token over its k experts: that ranks inside nodes get, and that nodes get.

    Uniform over ranks and nodes. Where experts are divided into groups, a token's experts are in a
    few of them, and so on no more nodes than these fill (DeepSeek-V3, arXiv:2412.19437, section
    2.1.2, node-limited routing).
    """
    if a.sends_copies:
        return 1.0, 1.0
    k = max(shapes.experts_per_token, 1)
    reached = nodes
    if shapes.expert_groups > 1:
        filled = np.maximum(nodes / shapes.expert_groups, 1.0)
        reached = np.minimum(nodes, filled * shapes.groups_per_token)
    ranks, experts = ep.astype(np.float64), max(shapes.experts, 1)
    return sent_once(ranks, k, experts), sent_once(reached, k, experts * reached / nodes)


def expert_exchange_s(
    a: Assumptions, shapes: Shapes, x: LayerInputs, load: FloatArray | float
) -> FloatArray:
    """Dispatch and combine of one pass: T k h / tp elements there, and back in 2 bytes each.

    A token visits k experts. Three ways over ep:

        one copy per expert     two all-to-alls
        one copy per rank       the same of the share `copies_sent`; between nodes one copy per
                                node, which is handed on inside it (`GroupCosts.relay_s`)
        gathered tokens         an all-gather and a reduce-scatter over ep of all of T h / tp

    All wait for the busiest rank, to which `load` times the mean goes, but no token twice where
    copies are sent once. Ranks that share their experts (etp) then gather what each of them got,
    and scatter the sums of its results (Megatron-LM core_v0.14, token_dispatcher.py,
    `MoEAlltoAllTokenDispatcher`: all-to-all over ep, all-gather and reduce-scatter over its tp).
    """
    if a.gathers_tokens:
        all_tokens = x.tokens / x.tp * shapes.expert_io * x.ep
        there = x.ep_net.gather_s(a.dispatch_bytes * all_tokens)
        back = x.ep_net.gather_s(ACTIVATION_BYTES * all_tokens)
        return there + back + _sharing_s(a, x, ACTIVATION_BYTES * all_tokens)
    size = load * expert_bytes(shapes, x.tokens, x.tp)
    there = a.dispatch_bytes / ACTIVATION_BYTES * size
    if a.sends_copies:
        exchanged = x.ep_net.exchange_s(there) + x.ep_net.exchange_s(size)
        return exchanged + _sharing_s(a, x, size)
    near, far = copies_sent(a, shapes, x.ep, x.ep_net.domains)
    k = max(shapes.experts_per_token, 1)
    near, far = np.minimum(near, x.ep / k / load), np.minimum(far, x.ep_net.domains / k / load)
    sent = x.ep_net.relay_s(near * there, far * there) + x.ep_net.relay_s(near * size, far * size)
    return sent + _sharing_s(a, x, near * size)


def _sharing_s(a: Assumptions, x: LayerInputs, size: FloatArray) -> FloatArray | float:
    """Seconds in which ranks of etp gather the tokens of all of them, and scatter the results.

    `size`: 2 bytes for each element that one of them got.
    """
    if not np.any(x.etp > 1):
        return 0.0
    whole = x.etp * size
    gathered = x.etp_net.gather_s(a.dispatch_bytes / ACTIVATION_BYTES * whole)
    return gathered + x.etp_net.gather_s(whole)


def expert_crossing(
    a: Assumptions, shapes: Shapes, ep: IntArray, net: GroupCosts, kinds: Sequence[str]
) -> list[FloatArray]:
    """Bytes over each level per byte of `expert_bytes`.

    Args:
        a, shapes: How tokens travel.
        ep: (n,) degrees.
        net: Their groups.
        kinds: Of the levels: scale-up or scale-out.
    """
    if a.gathers_tokens:
        every = ep / max(shapes.experts_per_token, 1)
        return [every * net.crossing(level) for level in range(len(kinds))]
    near, far = copies_sent(a, shapes, ep, net.domains)
    handed_on = near if a.sends_copies else near * net.domains
    copies = [far if kind == "scale-out" else handed_on for kind in kinds]
    return [some * net.exchange_crossing(level) for level, some in enumerate(copies)]
