"""Seconds and joules of the einsums of each plan on its chips, by the within-chip model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.cost.within_chip import OnChipCost, Operators, chip_array, on_chip_cost
from planner.plan import FloatArray, IntArray
from planner.rack.assumptions import RackAssumptions
from planner.rack.machine import Machine
from planner.rack.plans import RackPlans
from planner.rack.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """What computing costs.

    Attributes:
        stage_s: (n, s) seconds in which a chip of each stage computes its share of the batch.
        latency_s: (n,) from the first input to the last output, pipeline fill included.
        energy_j: Joules of all chips by part: (n,) each.
        dram_read_bytes, dram_write_bytes: (n,) of all chips.
    """

    stage_s: FloatArray
    latency_s: FloatArray
    energy_j: dict[str, FloatArray]
    dram_read_bytes: FloatArray
    dram_write_bytes: FloatArray


def stages_of(workload: Workload, pp: IntArray) -> IntArray:
    """(n, e) stage of every einsum: consecutive runs whose lengths differ by one at most."""
    count = len(workload.einsums)
    return np.arange(count)[None, :] * np.minimum(pp, count)[:, None] // count


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

    A pipeline of p stages and m micro-batches takes sum(t_s) / m + (m - 1) / m max(t_s) where its
    stages wait while it fills and drains (Narayanan et al., arXiv:2104.04473, section 2.2, with
    unequal stages), else max(t_s).
    """
    count = len(workload.einsums)
    array = chip_array(machine.chip, machine.precision, pes=np.repeat(plans.pes, count))
    costs = on_chip_cost(operators_of(workload, plans, assumptions), array)
    clock_hz = np.asarray(array.clock_hz, dtype=np.float64)
    passes = 1.0 + assumptions.backward_compute
    seconds = passes * _by_einsum(costs.cycles / clock_hz, count)
    stage = stages_of(workload, plans.pp)
    width = int(stage.max()) + 1
    stage_s = np.stack([(seconds * (stage == s)).sum(axis=1) for s in range(width)], axis=1)
    chips = plans.dp * plans.tp
    m, slowest = plans.micro_batches, stage_s.max(axis=1)
    filled = stage_s.sum(axis=1) / m + (m - 1) / m * slowest
    return Compute(
        stage_s=stage_s,
        latency_s=filled if assumptions.bubbles else slowest,
        energy_j={
            name: passes * chips * _by_einsum(joules, count).sum(axis=1)
            for name, joules in costs.energy_j.items()
        },
        **_dram_bytes(costs, count, np.asarray(passes * chips, dtype=np.float64)),
    )


def _dram_bytes(costs: OnChipCost, count: int, times: FloatArray) -> dict[str, FloatArray]:
    return {
        name: times * _by_einsum(getattr(costs, name), count).sum(axis=1)
        for name in ("dram_read_bytes", "dram_write_bytes")
    }


def _by_einsum(flat: FloatArray, count: int) -> FloatArray:
    """(n * e,) as (n, e)."""
    return np.asarray(flat, dtype=np.float64).reshape(-1, count)
