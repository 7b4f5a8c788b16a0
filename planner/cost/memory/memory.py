"""Bytes that one chip holds, per class of pipeline stages; the fullest stage decides.

    M = W + G + O + C + max(A + H + buffers, optimizer phase)        (bytes, per stage)

W, G, O: weights, gradients and optimizer at w, g, o bytes per parameter, divided by the shards Z
of the sharding; A: saved activations of the micro-batches in flight; H: logits on the last stage;
buffers: gathered layers and their gradients (zero3), dummy weight gradients, residues; C: the
allocator's constant. Rules and bytes are `planner.frameworks.profiles`. Sources: Korthikanti et
al., arXiv:2205.05198, section 4; Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; checked
against published peak-memory figures.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product

import numpy as np

from frozen_records import dataclass
from planner.assumptions.number_formats import kept_operand_bytes
from planner.assumptions.optimizers import FROZEN, UNQUANTIZED
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.communication.data_parallel import gathers_once
from planner.cost.job import Job
from planner.cost.kernels.selection import kept_of
from planner.cost.kernels.shapes import Shapes
from planner.cost.memory.adapters import kept_beside, kept_widened, largest_made
from planner.cost.memory.in_flight import saved_at_once
from planner.cost.memory.parameters import LocalParameters, padded_vocab, trained_share
from planner.cost.memory.state import (
    end_parameters,
    gathered_bytes,
    offloaded,
    state_bytes,
    step_bytes,
)
from planner.cost.memory.tensors import (
    LayerTensors,
    dropped_bytes,
    layer_tensors,
    live_bytes,
    module_bytes,
)
from planner.cost.stages.layout import StageClasses
from planner.cost.stages.recomputation import RecomputeGroup
from planner.plan import (
    FULL,
    OFFLOAD_ACTIVATIONS,
    SELECTIVE,
    ZERO3,
    PlanTable,
)
from planner.plan.recomputations import has_modules

_KEPT_BELOW, _KEPT_AT_8 = 0.75, 0.4  # shares of `kept_share`: pp = 1 or tp <= 4; tp <= 8
_REFERENCE_LOGITS = 2.0  # bytes: they are not differentiated, and stay in 16 bits
MEMORY_PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes per chip.

    Attributes:
        parts: (n, s) by `MEMORY_PARTS`, per stage class; they add up to `total`.
        total: (n, s) bytes per stage class, 0 for classes that do not exist.
        host: (n, s) bytes that offloading keeps in host memory, per chip.
    """

    parts: dict[str, FloatArray]
    total: FloatArray
    host: FloatArray

    @property
    def peak(self) -> FloatArray:
        """(n,) bytes of the fullest stage, without the reserve outside the allocator."""
        return _row_max(self.total)

    @property
    def fullest(self) -> dict[str, FloatArray]:
        """(n,) bytes of the fullest stage, by `MEMORY_PARTS`."""
        rows, binding = np.arange(len(self.total)), self.binding_stage
        return {name: self.parts[name][rows, binding] for name in MEMORY_PARTS}

    @property
    def binding_stage(self) -> IntArray:
        """(n,) index of the class that is fullest."""
        return np.asarray(np.argmax(self.total, axis=1))

    @property
    def host_peak(self) -> FloatArray:
        """(n,) host bytes per chip of the stage that offloads most."""
        return _row_max(self.host)


def _row_max(table: FloatArray) -> FloatArray:
    result: FloatArray = table.max(axis=1)
    return result


def activation_bytes(
    shapes: Shapes,
    framework: FrameworkProfile,
    tp: IntArray,
    sequence_parallel: BoolArray,
    *,
    moe: bool,
    fused: bool,
    seq_len: float,
    operand: float = 2.0,
    adapters: FloatArray | float = 0.0,
    etp: IntArray | int = 1,
    named: bool = False,
) -> dict[str, FloatArray]:
    """Bytes per token and layer that backward needs, for each recomputation, shaped like `tp`.

        none = 2 n h / (tp if SP) + (2 q + 2 k + 2 v + 2 o + 4 heads + c_f f) / tp
        full = 2 h / (tp if SP)

    (n norm inputs and outputs, `Shapes.kept_inputs`: 4 with two norms; queries, keys, values,
    attention output, log-sum-exp; MLP). Without fused attention 5 heads s / tp more; a
    mixture-of-experts MLP keeps k (2 h (1 + etp) + c_f f_e) + c_f f_shared. Selective drops the
    scores, all but half of the matmul outputs, what up projections, norms and activations made, or
    what a `keeps` does not list. `working` is what recomputing one layer holds: all of it and its
    `gradients`. Where modules are `named`, what each drops is there too (`module_bytes`). Inputs
    of matrix products take `operand` bytes; where these are not 2, the projection keeps its input
    beside the output of attention. `adapters`: what `planner.cost.memory.adapters.kept_beside` has,
    which selective does not drop. Layers that are made of other parts are averaged; of recurrences
    see `planner.cost.kernels.recurrence`.
    """
    ranks = tp.astype(np.float64)
    rows = np.where(sequence_parallel, ranks, 1.0)
    less = 2.0 - operand
    x = layer_tensors(shapes, framework, ranks, moe=moe, operand=operand, etp=etp)
    attention = x.attention + adapters
    scores = 0.0 if fused else 5.0 * x.heads * seq_len / ranks
    reads = shapes.inputs_read(moe=moe)  # what of `kept_inputs` products read, and not norms
    inputs = (2.0 * shapes.kept_inputs - less * reads) * shapes.hidden / rows
    none = inputs + x.latent + (attention + x.mlp) / ranks + scores + x.scan / ranks
    full = 2.0 * shapes.hidden / rows
    if framework.selective == "core-attention":
        selective = none - scores
    elif framework.selective == "up-projections":
        dropped, out = (x.heads_width, x.out) if shapes.latent else (0.0, 0.0)
        held = operand * ((1 + shapes.gated) * x.width + x.routed)
        own = attention - dropped + out + held + x.scan
        ranked = 2.0 * (shapes.query_rank + shapes.kv_rank) * x.parts.attention
        norms = 2.0 * x.parts.blocks * shapes.hidden / rows + ranked
        selective = norms + own / ranks + scores
    elif kept := kept_of(framework.selective):
        columns = _listed_bytes(kept, x, shapes) + adapters
        outs = 2.0 * shapes.hidden / rows if "out" in kept else 0.0
        selective = np.minimum(none, full + outs + columns / ranks)
    else:
        columns = x.queries + x.keys_values
        outputs = (columns + (1 + shapes.gated) * x.width) / ranks + 2 * shapes.hidden / rows
        core = (x.out + 4.0 * x.heads + x.scan + adapters) / ranks
        selective = np.minimum(none, full + outputs + core)
    gradients = 4.0 * x.width / ranks + 4.0 * shapes.hidden / rows
    working = none + gradients
    if shapes.scan:
        working = working + x.parts.recurrence * shapes.scan.working / ranks
    found = {"none": none, "selective": selective, "full": full, "working": working}
    if shapes.parts or not named:
        return found
    by_module = module_bytes(shapes, x, ranks, rows, scores, moe=moe, operand=operand)
    return {**found, **by_module, "gradients": gradients}


def _listed_bytes(kept: Collection[str], x: LayerTensors, shapes: Shapes) -> FloatArray:
    """Bytes of the listed outputs that tp divides (`planner.cost.kernels.selection`)."""
    width = 2.0 * (1 + shapes.gated) * x.width if "up" in kept else np.zeros_like(x.keys_values)
    width = width + (2.0 * (x.queries + x.keys_values) if "qkv" in kept else 0.0)
    return np.asarray(width + (x.out + 4.0 * x.heads if "context" in kept else 0.0))


def kept_bytes(job: Job) -> float:
    """Bytes of an input of a matrix product that backward needs."""
    return kept_operand_bytes(job.precision) if job.framework.keeps_quantized else 2.0


def saved_bytes(kinds: dict[str, FloatArray], recompute: IntArray, *, moe: bool) -> FloatArray:
    """What each recomputation code keeps of `activation_bytes`."""
    selective = np.where(recompute == SELECTIVE, kinds["selective"], kinds["none"])
    kept = np.where(recompute == FULL, kinds["full"], selective)
    return kept - dropped_bytes(kinds, recompute, moe=moe) if has_modules(recompute).any() else kept


def kept_share(framework: FrameworkProfile, plans: PlanTable) -> FloatArray:
    """Share of the gathered column-parallel inputs that backward keeps, (n, 1).

    1 where the framework stores them, 0 where it gathers again. Where that is not known the
    expected share: of 1,133 published nanotron runs with tp > 1, those whose memory is nearer to
    the stored form are about 7 in 10 with pp = 1 or tp <= 4, 4 in 10 with tp = 8 and 1 in 10
    above; the values were chosen on these rows.
    """
    known = {"never": 0.0, "always": 1.0}.get(framework.keeps_gathered)
    if known is not None:
        return np.full((len(plans), 1), known)
    tp, pp = plans.tp[:, None], plans.pp[:, None]
    share = np.where(tp <= 8, _KEPT_AT_8, 0.0)
    return np.where((pp == 1) | (tp <= 4), _KEPT_BELOW, share)


def _gathered_inputs(
    shapes: Shapes, framework: FrameworkProfile, plans: PlanTable
) -> tuple[FloatArray | float, FloatArray | float]:
    """Bytes per token of gathered inputs under sequence parallelism, (n, 1) each.

    The first is kept per input that a layer reads (`Shapes.inputs_read`) and micro-batch in flight:
    2 h (1 - 1/tp), twice for two column-parallel blocks. The second exists once:
    the gathers and the gradients that wait for their reduce-scatter,
    `FrameworkProfile.gather_buffers` h (1 - 1/tp), and 2 h more where backward gathers the inputs
    again.
    """
    if framework.keeps_gathered == "never" and not framework.gather_buffers:
        return 0.0, 0.0
    tp = plans.tp[:, None].astype(np.float64)
    whole = shapes.hidden * (1 - 1 / tp) * plans.sequence_parallel[:, None]
    share = kept_share(framework, plans)
    kept = 2.0 * share * whole
    if not framework.gather_buffers:
        return kept, 0.0
    return kept, whole * (framework.gather_buffers + 2.0 * (1.0 - share))


def memory(
    job: Job,
    shapes: Shapes,
    plans: PlanTable,
    stages: StageClasses,
    local: LocalParameters,
    parameters: tuple[FloatArray, FloatArray],
    *,
    m: FloatArray,
    groups: tuple[RecomputeGroup, ...],
    sharding: IntArray,
    fused: bool,
    tower: FloatArray | float,
) -> Memory:
    """Bytes per chip of every stage class.

    Args:
        job: Model, sequence length and framework.
        shapes: Of the model at the job's sequence length.
        plans: n plans.
        stages: Their stage classes, (n, s).
        local: Parameters per chip before sharding, (n, 1).
        parameters: The same for every stage class: `stage_parameters`.
        m: (n, 1) micro-batches per step.
        groups: Layers by what is recomputed of them.
        sharding: (n, 1) or (n, s) codes.
        fused: Whether attention keeps no scores.
        tower: (n, s) activations of a vision tower (`planner.cost.vision.activations`).
    """
    framework = job.framework
    dense, experts = parameters
    state = state_bytes(job, plans, dense, experts, end_parameters(plans, stages, local), sharding)
    activations = _activations(job, shapes, plans, stages, m=m, groups=groups, fused=fused)
    logits = _logits(job, shapes, plans, stages, m)
    buffers = _buffers(job, plans, stages, local, dense + experts, sharding)
    weights, gradients, optimizer, host = offloaded(plans, state, local, sharding)
    stays, streams = activations
    if plans.offload.any():
        offloads = (plans.offload & OFFLOAD_ACTIVATIONS > 0)[:, None]
        host = host + np.where(offloads, stays, 0.0)
        stays = np.where(offloads, streams, stays)
    stays = stays + tower
    phase = step_bytes(job, plans, dense, experts, sharding)
    peak_phase = np.maximum(phase - stays - logits - buffers, 0.0)
    exists = stages.count > 0
    parts = {
        "weights": weights,
        "gradients": gradients,
        "optimizer": optimizer,
        "activations": stays,
        "logits": logits,
        "buffers": buffers + peak_phase,
        "constant": np.full(stages.count.shape, framework.constant_bytes),
    }
    parts = {name: np.where(exists, part, 0.0) for name, part in parts.items()}
    total = np.zeros(stages.count.shape)
    for name in MEMORY_PARTS:
        total = total + parts[name]
    return Memory(parts=parts, total=total, host=np.where(exists, host, 0.0))


def stage_parameters(
    plans: PlanTable, stages: StageClasses, local: LocalParameters
) -> tuple[FloatArray, FloatArray]:
    """(n, s) dense and expert parameters of one chip before data-parallel sharding."""
    layers = stages.dense * local.dense_layer + stages.moe * local.moe_layer
    return layers + end_parameters(plans, stages, local), stages.moe * local.experts


def _activations(
    job: Job,
    shapes: Shapes,
    plans: PlanTable,
    stages: StageClasses,
    *,
    m: FloatArray,
    groups: tuple[RecomputeGroup, ...],
    fused: bool,
) -> tuple[FloatArray, FloatArray]:
    """(n, s) saved activations, and what stays on the chip when they are offloaded (2 layers)."""
    tokens = (plans.micro_batch * job.seq_len / plans.cp)[:, None]
    gathered, once = _gathered_inputs(shapes, job.framework, plans)
    working = largest = np.zeros(stages.count.shape)
    saved = []
    for group, moe in product(groups, (False, True)):
        layers, full = group.layers(moe=moe), group.recompute == FULL
        if not layers.any():
            continue
        kinds = activation_bytes(
            shapes,
            job.framework,
            plans.tp[:, None],
            plans.sequence_parallel[:, None],
            moe=moe,
            fused=fused,
            seq_len=job.seq_len,
            operand=kept_bytes(job),
            adapters=kept_beside(job, moe=moe)
            + kept_widened(job, plans.expert_ranks[:, None], moe=moe) / tokens,
            etp=plans.etp[:, None],
            named=bool(has_modules(group.recompute).any()),
        )
        wide = shapes.inputs_read(moe=moe) * gathered
        one = saved_bytes(kinds, group.recompute, moe=moe) + np.where(full, 0.0, wide)
        saved.append((layers, None if group.chunks is None else group.chunks[..., int(moe)], one))
        again = live_bytes(kinds, group.recompute, moe=moe) + np.where(full, wide, 0.0)
        live = np.where(full, again, 2 * one)
        largest = np.maximum(largest, np.where(layers > 0, live, 0.0))
        working = np.maximum(working, np.where(layers > 0, again, 0.0))
    if job.framework.gather_buffers:
        working = working + np.where(largest > 0, once, 0.0)
    whole = saved_at_once(plans, stages, m, saved) + working
    return tokens * whole, tokens * np.minimum(largest, whole)


def _logits(
    job: Job, shapes: Shapes, plans: PlanTable, stages: StageClasses, m: FloatArray
) -> FloatArray:
    """(n, s) bytes of the logits and their loss, on the last stage; of a reference model too."""
    framework = job.framework
    tokens = (plans.micro_batch * job.seq_len / plans.cp)[:, None]
    ranks = plans.tp[:, None] if framework.vocab_parallel_loss else 1
    per_logit = framework.logits_bytes + np.where(m > 1, framework.lingering_logits_bytes, 0.0)
    columns = padded_vocab(shapes.vocab, plans.tp[:, None], framework.vocab_multiple)
    per_logit = per_logit + _REFERENCE_LOGITS * job.reference_passes
    return stages.last * tokens * columns / ranks * per_logit


def _buffers(
    job: Job,
    plans: PlanTable,
    stages: StageClasses,
    local: LocalParameters,
    stage: FloatArray,
    sharding: IntArray,
) -> FloatArray:
    """(n, s) gathered parameters and gradients under zero3, dummy gradients, residues.

    A stage that stays gathered does so of a reference model too; layers are gathered in turn.
    Dummy weight gradients are those of the layer in which backward begins, when memory is fullest
    (dense layers come before others). They exist once per weight shape: one for all experts.
    """
    framework, share = job.framework, trained_share(job)
    dense = np.where(stages.dense > 0, local.dense_layer, 0.0)
    layer = np.maximum(dense, np.where(stages.moe > 0, local.moe_layer + local.experts, 0.0))
    one_expert = job.model.expert_parameters / plans.etp[:, None]
    shapes = np.where(stages.moe > 0, local.moe_layer + one_expert, dense)
    ends = end_parameters(plans, stages, local)
    ends = ends - stages.first * (local.tower - local.tower_gathered)
    weight = gathered_bytes(job)
    whole = weight + framework.gradient_bytes * share  # of a gathered parameter and its gradient
    layers = framework.gathered_layers * layer
    live = np.maximum(layers, min(framework.live_parameters, job.model.total_parameters))
    apart = (framework.whole_gradient_bytes or framework.gradient_bytes) * share
    gathered = weight * live + apart * layers + 2.0 * ends
    once = gathers_once(framework, plans.pp[:, None])
    copies = FROZEN[UNQUANTIZED] * job.reference_copies
    gathered = np.where(once, (whole + copies) * stage + (2.0 - weight) * ends, gathered)
    kept = framework.weight_gradient_buffer * share * shapes
    kept = kept + framework.gradient_residue * share * stage
    kept = kept + framework.embedding_residue * stages.first * local.embedding
    made = largest_made(job)  # matrices that a product makes anew
    kept = kept + (np.where(layer > 0, made / plans.tp[:, None], 0.0) if made else 0.0)
    return np.where(sharding == ZERO3, gathered, 0.0) + kept
