"""Seconds and joules of the einsums of each plan on its chips, by the within-chip model."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.chip.within_chip import OnChipCost, Operators, chip_array, on_chip_cost
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """What computing costs.

    Attributes:
        stage_s: (n, s) seconds in which a chip of each stage computes its share of the batch.
        latency_s: (n,) from the first input to the last output, pipeline fill included.
        energy_j: Joules of all chips by part: (n,) each.
        access_j: Joules of reads and of writes of each memory, e.g. `dram read`: (n,) each.
        dram_read_bytes, dram_write_bytes: (n,) of all chips.
    """

    stage_s: FloatArray
    latency_s: FloatArray
    energy_j: dict[str, FloatArray]
    access_j: dict[str, FloatArray]
    dram_read_bytes: FloatArray
    dram_write_bytes: FloatArray


def stages_of(workload: Workload, pp: IntArray, *, scores_stay: bool = False) -> IntArray:
    """(n, e) stage of every einsum: consecutive runs whose lengths differ by one at most.

    Where scores stay, einsums without weights that follow each other are in the first one's stage.
    """
    count = len(workload.einsums)
    stage = np.arange(count)[None, :] * np.minimum(pp, count)[:, None] // count
    if scores_stay:
        for to in _pooled(workload):
            stage[:, to] = stage[:, to - 1]
    return stage


def _pooled(workload: Workload) -> list[int]:
    """Einsums without weights right behind another one."""
    bare = [not einsum.has_weights for einsum in workload.einsums]
    return [at for at in range(1, len(bare)) if bare[at] and bare[at - 1]]


def items_per_rank(workload: Workload, plans: RackPlans) -> FloatArray:
    """(n,) items of the busiest data rank: whole ones, so that few items stop scaling early."""
    if workload.batch is None:
        return np.ones(len(plans))
    return np.ceil(workload.batch / plans.dp)


def operators_of(workload: Workload, plans: RackPlans, assumptions: RackAssumptions) -> Operators:
    """The (n * e,) multiplications of the busiest chip, plan by plan, einsum by einsum.

    Weights are shared by the items of a rank, which stack along the rows; tensor parallelism splits
    the outputs (or the inner dimension, see `RackAssumptions.tensor_split`); where there are no
    weights it splits the copies.
    """
    items, tp = items_per_rank(workload, plans), plans.tp
    columns: dict[str, list[FloatArray]] = {
        name: [] for name in ("m", "n", "k", "copies", "input_elements")
    }
    for einsum in workload.einsums:
        inner_split = einsum.splits_inner and assumptions.tensor_split == "megatron"
        by_copies = einsum.copies > 1 or not einsum.has_weights
        copies = np.ceil(einsum.copies / np.where(by_copies, tp, 1))
        m = einsum.rows * (items if einsum.has_weights else np.ones_like(items))
        k = np.ceil(einsum.inner / np.where(inner_split, tp, 1))
        n = np.ceil(einsum.outputs / np.where(inner_split | by_copies, 1, tp))
        distinct = einsum.input_elements * items if einsum.input_elements else m * k
        columns["m"].append(m)
        columns["n"].append(n)
        columns["k"].append(k)
        columns["copies"].append(copies * (1.0 if einsum.has_weights else items))
        columns["input_elements"].append(np.asarray(distinct, dtype=np.float64))
    stacked = {name: np.stack(parts, axis=1).ravel() for name, parts in columns.items()}
    return Operators(**stacked)


def compute(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Compute:
    """The cost of computing a batch.

    A pipeline of m micro-batches takes path / m + (m - 1) / m max(t_s) where its stages wait while
    it fills and drains, else max(t_s). The path is the longest chain of stages that read from each
    other: sum(t_s) in a row of stages (Narayanan et al., arXiv:2104.04473, section 2.2, with
    unequal stages), less where stages start side by side, such as query, key and value.
    """
    count = len(workload.einsums)
    array = chip_array(machine.chip, machine.precision, pes=np.repeat(plans.pes, count))
    operators = operators_of(workload, plans, assumptions)
    costs = on_chip_cost(operators, array)
    clock_hz = np.asarray(array.clock_hz, dtype=np.float64)
    passes = 1.0 + assumptions.backward_compute
    seconds = passes * _by_einsum(costs.cycles / clock_hz, count)
    if assumptions.scores_stay:
        seconds = seconds * _pooled_shares(workload, plans.pp)
    stage = stages_of(workload, plans.pp, scores_stay=assumptions.scores_stay)
    width = int(stage.max()) + 1
    stage_s = np.stack([(seconds * (stage == s)).sum(axis=1) for s in range(width)], axis=1)
    times = passes * _sharers(workload, plans, _by_einsum(operators.macs, count))
    m, slowest = plans.micro_batches, stage_s.max(axis=1)
    filled = _longest_path(workload, stage, stage_s) / m + (m - 1) / m * slowest
    return Compute(
        stage_s=stage_s,
        latency_s=filled if assumptions.bubbles else slowest,
        energy_j=_summed(costs.energy_j, times),
        access_j=_summed(costs.access_j, times),
        **_dram_bytes(costs, times),
    )


def _pooled_shares(workload: Workload, pp: IntArray) -> FloatArray:
    """(n, e) share of an einsum's time left where the chips of its stages are pooled."""
    apart, shares = stages_of(workload, pp), np.ones((len(pp), len(workload.einsums)))
    for to in _pooled(workload):
        half = np.where(apart[:, to] != apart[:, to - 1], 0.5, 1.0)
        shares[:, to - 1 : to + 1] *= half[:, None]
    return shares


def _longest_path(workload: Workload, stage: IntArray, stage_s: FloatArray) -> FloatArray:
    """(n,) seconds of the longest chain of stages of which each reads from the one before."""
    rows, end = np.arange(len(stage)), np.zeros_like(stage_s)
    for s in range(stage_s.shape[1]):
        start = np.zeros(len(stage))
        for to, producers in enumerate(workload.producers):
            for source in producers:
                earlier = (stage[:, to] == s) & (stage[:, source] < s)
                start = np.maximum(start, np.where(earlier, end[rows, stage[:, source]], 0.0))
        end[:, s] = start + stage_s[:, s]
    return np.asarray(end.max(axis=1))


def _sharers(workload: Workload, plans: RackPlans, busiest_macs: FloatArray) -> FloatArray:
    """(n, e) chips that share an einsum, in units of the busiest one's work.

    dp tp where they share evenly; less where some have fewer items or heads, or none.
    """
    items = plans.dp if workload.batch is None else np.full(len(plans), workload.batch)
    macs = np.array([einsum.macs for einsum in workload.einsums], dtype=np.float64)
    return np.asarray(items[:, None] * macs / busiest_macs)


def _summed(parts: dict[str, FloatArray], times: FloatArray) -> dict[str, FloatArray]:
    """(n,) of all einsums and chips, by part."""
    count = times.shape[1]
    return {name: (times * _by_einsum(part, count)).sum(axis=1) for name, part in parts.items()}


def _dram_bytes(costs: OnChipCost, times: FloatArray) -> dict[str, FloatArray]:
    names = ("dram_read_bytes", "dram_write_bytes")
    return _summed({name: getattr(costs, name) for name in names}, times)


def _by_einsum(flat: FloatArray, count: int) -> FloatArray:
    """(n * e,) as (n, e)."""
    return np.asarray(flat, dtype=np.float64).reshape(-1, count)
