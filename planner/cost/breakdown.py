"""What a plan costs, taken apart; the parts add up to the whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.columns import Columns
from planner.cost.communication.data_parallel import Gathers, gathers_once, late_gather_s
from planner.cost.communication.traffic import Traffic, model_flop_per_token, traffic
from planner.cost.context import CostModel
from planner.cost.energy.energy import Energy, Inside, Phases, energy_inside, split_energy
from planner.cost.kernels.executed import repeated_flop_per_token, repeats
from planner.cost.kernels.layer import LayerTimes
from planner.cost.layer_costs import EndCost, LayerCost
from planner.cost.memory.memory import Memory
from planner.cost.memory.parameters import trained_share
from planner.cost.stages.layout import stage_tensors
from planner.cost.stages.recomputation import RecomputeGroup
from planner.cost.step import StageCost, StepCost, StepInputs, busy_s, paced_messages, slowest_class
from planner.cost.terms import LayerTerms, data_nets, send_s
from planner.plan import ALL_TO_ALL

TIME_PARTS = (
    "compute",
    "memory_bound",
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline_transfer",
    "bubble",
    "data_parallel",
    "optimizer",
    "offload",
    "host",
)
COMMUNICATION = (
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline_transfer",
    "data_parallel",
)
_CAUSES = {
    "compute": "compute",
    "memory": "memory_bound",
    "tp": "tensor_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "host": "host",
    "offload": "offload",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """What n plans cost; arrays have shape (n,).

    Attributes:
        step_time_s: Seconds of one step.
        time_parts: Seconds by `TIME_PARTS` as the slowest stage sees them; they add up to
            `step_time_s`.
        communication_s: Seconds of the slowest stage's communication in the step, hidden or not,
            by those of `TIME_PARTS` that are communication.
        energy: Joules of one step over all chips, with low, high and parts.
        power_per_chip_w: Mean electrical power per chip, its share of node and network included.
        memory: Bytes per stage class, with parts.
        memory_per_chip_bytes: Bytes of the fullest stage, without the reserve.
        memory_parts: Bytes of that stage by `MEMORY_PARTS`.
        host_memory_bytes: Bytes that offloading keeps on the host, per chip.
        tokens_per_s: Of the whole job.
        mfu: Model FLOP (`planner.cost.communication.traffic.MFU_CONVENTION`) over peak FLOP.
        hfu: The same with what recomputation does again.
        flop: Executed FLOP of one step (causal attention counts the half that is computed).
        memory_traffic_bytes: Bytes between chips and their memories in one step, all chips.
        wire_bytes: Bytes received over each network level in one step, all chips.
        micro_batches: Per step and data rank.
    """

    step_time_s: FloatArray
    time_parts: dict[str, FloatArray]
    communication_s: dict[str, FloatArray]
    energy: Energy
    power_per_chip_w: FloatArray
    memory: Memory
    memory_per_chip_bytes: FloatArray
    memory_parts: dict[str, FloatArray]
    host_memory_bytes: FloatArray
    tokens_per_s: FloatArray
    mfu: FloatArray
    hfu: FloatArray
    flop: FloatArray
    memory_traffic_bytes: FloatArray
    wire_bytes: dict[str, FloatArray]
    micro_batches: FloatArray

    def __len__(self) -> int:
        return len(self.step_time_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What measurements of n runs are held against; as in `Breakdown`, without any parts."""

    step_time_s: FloatArray
    mfu: FloatArray
    memory_per_chip_bytes: FloatArray
    energy: Inside
    micro_batches: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The intermediate results that times are made from; see `planner.cost.evaluate`.

    `layers` and `costs` are those of each group of the columns.
    """

    columns: Columns
    layers: tuple[LayerTerms, ...]
    costs: tuple[tuple[LayerCost | None, LayerCost | None], ...]
    stages: list[StageCost]
    inputs: StepInputs
    step: StepCost

    def kinds(self) -> Iterator[tuple[RecomputeGroup, bool, LayerTimes, LayerCost]]:
        """Groups with their layers of one kind (dense, then mixtures of experts: True)."""
        for group, times, costs in zip(self.columns.groups, self.layers, self.costs, strict=True):
            for moe, time, cost in zip((False, True), (times.dense, times.moe), costs, strict=True):
                if time is not None and cost is not None:
                    yield group, moe, time, cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated(Timed):
    """The same with the memory: all that a breakdown is made from."""

    memory: Memory


def breakdown(model: CostModel, x: Evaluated, moved: Traffic | None = None) -> Breakdown:
    """The parts of n evaluated plans; `moved`: what they execute and move, where that is known."""
    phases = _phases(model, x)
    time, chips = phases.time, phases.chips
    moved = moved or traffic(model, x.columns)
    tokens, needed, peak = _rates(model, x, phases)
    again = tokens * repeated_flop_per_token(model, x.columns)
    return Breakdown(
        step_time_s=time,
        time_parts=time_parts(model, x),
        communication_s=_communication_s(model, x),
        energy=split_energy(model, phases, moved),
        power_per_chip_w=phases.total / time / chips,
        memory=x.memory,
        memory_per_chip_bytes=x.memory.peak,
        memory_parts=x.memory.fullest,
        host_memory_bytes=x.memory.host_peak,
        tokens_per_s=tokens,
        mfu=needed / peak,
        hfu=(needed + again) / peak,
        flop=moved.flop,
        memory_traffic_bytes=moved.memory_bytes,
        wire_bytes=_by_level(model, moved),
        micro_batches=x.inputs.m[:, 0],
    )


def figures(model: CostModel, x: Evaluated) -> Figures:
    """Those of the breakdown of n evaluated plans, whose parts are never made."""
    phases = _phases(model, x)
    _, needed, peak = _rates(model, x, phases)
    parted = model.assumptions.component_energy  # then the parts are all the energy there is
    energy: Inside = (
        split_energy(model, phases, traffic(model, x.columns))
        if parted
        else energy_inside(model, phases)
    )
    return Figures(
        step_time_s=phases.time,
        mfu=needed / peak,
        memory_per_chip_bytes=x.memory.peak,
        energy=energy,
        micro_batches=x.inputs.m[:, 0],
    )


def _phases(model: CostModel, x: Evaluated) -> Phases:
    """What energy is made from."""
    return Phases(
        chips=x.inputs.chips[:, 0],
        network_w=x.inputs.standing_w[:, 0] - model.chip.wait_w - model.chip.host_w,
        time=x.step.time[:, 0],
        busy=busy_s(x.stages, x.inputs, x.step.factor)[:, 0],
        total=x.step.energy[:, 0],
    )


def _rates(model: CostModel, x: Evaluated, phases: Phases) -> tuple[FloatArray, ...]:
    """(n,) tokens per second, their model FLOP per second, and what all chips could do."""
    tokens = x.columns.batch * model.job.seq_len / phases.time
    needed = tokens * model_flop_per_token(model.job, model.shapes)
    return tokens, needed, phases.chips * peak_flop_per_s(model)


def _by_level(model: CostModel, moved: Traffic) -> dict[str, FloatArray]:
    names = [level.name for level in model.cluster.levels]
    return dict(zip(names, moved.wire_bytes, strict=True))


def peak_flop_per_s(model: CostModel) -> float:
    """Peak of one chip at the job's precision (its 16-bit rate where it has no other)."""
    peaks = model.chip.peak_flop_per_s
    dtype = {"mxfp8": "fp8"}.get(model.job.precision, model.job.precision)
    for name in (dtype, "bf16", "fp16", "fp32"):
        if name in peaks:
            return peaks[name]
    return max(peaks.values())


def _communication_s(model: CostModel, x: Evaluated) -> dict[str, FloatArray]:
    """Seconds of communication in a step, hidden or not, as the slowest stage sees them.

    Of the collectives of a layer's forward pass, the backward pass repeats those of tp
    `tp_backward` times, those of a ring of cp twice and the others once, and recomputation (but for
    that of a last product which it leaves out) and a reference model all.
    """
    a, shapes, inputs = model.assumptions, model.shapes, x.inputs
    which = slowest_class(x.stages, inputs)[:, 0]
    ring = np.where(x.columns.plans.cp_mode == ALL_TO_ALL, 1.0, 2.0)[:, None]
    last = np.where(x.columns.plans.sequence_parallel, 1.0, 2.0)[:, None]
    parts = {name: np.zeros(len(which)) for name in COMMUNICATION}
    ref = model.job.reference_passes
    for group, moe, times, cost in x.kinds():
        again = repeats(model, x.columns.plans, group, moe=moe)
        left = again.last * last / max(shapes.tp_exchanges, 1.0)
        passes = {
            "tp": 1 + a.tp_backward + again.exchanges + ref - left,
            "cp": 1 + ring + again.context + ref,
            "ep": 2 + again.experts + ref,
        }
        layers = _of_class(group.layers(moe=moe), which)
        for axis, seconds in times.sent.items():
            one = shapes.blocks * _of_class(passes[axis] * seconds, which)
            parts[_CAUSES[axis]] += layers * one
        parts["data_parallel"] += layers * _of_class(cost.collective, which)
    first = _of_class(x.columns.stages.first, which)
    parts["tensor_parallel"] += first * inputs.ends.tower_sent[:, 0]
    m, turns = inputs.m[:, 0], inputs.rounds[:, 0]
    parts = {name: turns * part for name, part in parts.items()}
    parts["data_parallel"] += _of_class(np.hstack([s.collective for s in x.stages]), which)
    parts["data_parallel"] += _late_s(model, x)
    parts["pipeline_transfer"] += m * inputs.v[:, 0] * _sends_s(model, x)
    return {name: part * x.step.factor[:, 0] for name, part in parts.items()}


def _sends_s(model: CostModel, x: Evaluated) -> FloatArray:
    """(n,) seconds of the sends of a micro-batch between chunks."""
    plans = x.columns.plans
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    net = x.columns.nets["pp"].flat()
    return send_s(model, plans.tp, tokens, plans.sequence_parallel, net)


def _late_s(model: CostModel, x: Timed) -> FloatArray:
    """(n,) seconds of the longest optimizer step that gather weights with nothing to hide them."""
    columns = x.columns
    seconds = late_gather_s(
        model.assumptions,
        data_nets(columns.nets),
        columns.sharding,
        *columns.parameters,
        stage_tensors(columns.stages),
        gathers_once(model.framework, columns.plans.pp[:, None]),
        trained_share(model.job),
        Gathers.of(model.job),
    )
    longest = np.argmax(np.hstack([stage.optimizer for stage in x.stages]), axis=1)
    return _of_class(seconds, longest)


def _of_class(table: FloatArray, which: IntArray) -> FloatArray:
    """(n,) of a table per stage class, (n, s), or the same for all, (n, 1)."""
    return np.asarray(table[np.arange(len(which)), which if table.shape[1] > 1 else 0])


def _ends_s(ends: EndCost) -> dict[str, FloatArray]:
    """(n,) seconds of embedding and tower by `TIME_PARTS`, of those that they have."""
    other = ends.tower_memory + ends.tower_tp + ends.tower_host
    parts = {
        "compute": ends.tower - other,
        "memory_bound": ends.embedding - ends.tower + ends.tower_memory,
        "tensor_parallel": ends.tower_tp,
        "host": ends.tower_host,
    }
    return {name: part[:, 0] for name, part in parts.items()}


def time_parts(model: CostModel, x: Timed) -> dict[str, FloatArray]:
    """Seconds by cause as the slowest stage sees them; see `planner.cost.step`."""
    a, step, inputs = model.assumptions, x.step, x.inputs
    layout = x.columns.stages
    which = slowest_class(x.stages, inputs)[:, 0]

    def here(table: FloatArray) -> FloatArray:
        return _of_class(table, which)

    parts = {name: np.zeros(len(which)) for name in TIME_PARTS}
    for group, moe, times, cost in x.kinds():
        counts = group.layers(moe=moe)
        layers = here(counts)
        plain = np.zeros(len(which))
        for cause, part in times.parts.items():
            parts[_CAUSES[cause]] = parts[_CAUSES[cause]] + layers * here(part)
            plain = plain + here(part)
        accumulate = np.maximum(here(cost.kernels) - here(times.kernels), 0.0)
        parts["memory_bound"] = parts["memory_bound"] + layers * accumulate
        if (beside := inputs.beside) is not None:
            hidden = np.where(beside[:, 0], here(cost.paired), 0.0)
            parts["expert_parallel"] = parts["expert_parallel"] - layers * hidden
        hooks = here(cost.host)
        parts["host"] = parts["host"] + layers * hooks
        exposed = np.maximum(here(cost.total) - plain - accumulate - hooks, 0.0)  # no rounding dust
        parts["data_parallel"] = parts["data_parallel"] + layers * exposed
    for name, seconds in _ends_s(inputs.ends).items():
        parts[name] = parts[name] + here(layout.first) * seconds
    head, moved = inputs.ends.head[:, 0], inputs.ends.head_memory[:, 0]
    parts["compute"] += here(layout.last) * (head - moved)
    parts["memory_bound"] += here(layout.last) * moved
    m, turns = inputs.m[:, 0], inputs.rounds[:, 0]
    parts = {name: turns * part for name, part in parts.items()}
    parts["host"] += m * a.micro_batch_s + a.step_s
    paced = np.broadcast_to(paced_messages(a, inputs), inputs.p2p.shape)[:, 0]
    parts["pipeline_transfer"] += m * paced * inputs.p2p[:, 0]
    parts["bubble"] += step.bubble[:, 0]
    late = _late_s(model, x)
    parts["data_parallel"] += step.exposed[:, 0] + late
    parts["optimizer"] += step.optimizer[:, 0] - late
    return {name: part * step.factor[:, 0] for name, part in parts.items()}
