"""Latency and energy of plans of a workload on a rack: computing plus communication."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.communication import (
    Transfer,
    gradient_all_reduce,
    stage_transfers,
    tensor_gathers,
    weight_fetch,
)
from planner.studies.rack.model.compute import Compute, compute
from planner.studies.rack.model.loading import Loading, loading
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload

FORWARD = ("weight fetch", "tensor forward", "pipeline forward")
BACKWARD = ("gradient all-reduce", "tensor backward", "pipeline backward")


@dataclass(frozen=True, slots=True, kw_only=True)
class RackCost:
    """What n plans cost; arrays of shape (n,).

    Attributes:
        latency_s: Of the batch.
        busy_s: Of computing, and of loading from main memory where that takes time, at once.
        energy_j: Joules of all chips by part: those of computing (`mac`, `dram`, `sram`,
            `registers`), `main memory`, `network` (inside racks), `network between racks` and
            `static`.
        compute: Computing alone.
        loading: What comes from and goes to the hosts' memory; None where it does not count.
        transfers: Communication by kind (`FORWARD`, `BACKWARD`).
    """

    latency_s: FloatArray
    busy_s: FloatArray
    energy_j: dict[str, FloatArray]
    compute: Compute
    loading: Loading | None
    transfers: dict[str, Transfer]

    @property
    def access_j(self) -> dict[str, FloatArray]:
        """`energy_j` with each memory's reads and writes apart: `dram read`, `dram write`, ..."""
        memories = {name.split()[0] for name in self.compute.access_j}
        parts = dict(self.compute.access_j)
        if self.loading is not None:
            parts["dram write"] = parts["dram write"] + self.loading.chip_write_j
            parts["dram read"] = parts["dram read"] + self.loading.chip_read_j
            parts |= {"main memory read": self.loading.read_j}
            parts |= {"main memory write": self.loading.write_j}
        left_out = {*memories, "main memory"}
        return parts | {n: joules for n, joules in self.energy_j.items() if n not in left_out}

    @property
    def total_j(self) -> FloatArray:
        """Joules of all parts."""
        return np.asarray(sum(self.energy_j.values()), dtype=np.float64)


def evaluate(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> RackCost:
    """The cost of every plan.

    Args:
        workload: What is computed.
        plans: n plans.
        machine: Chips and links.
        assumptions: What is left out or read how.
    """
    computed = compute(workload, plans, machine, assumptions)
    transfers = _transfers(workload, plans, machine, assumptions)
    energy = dict(computed.energy_j)
    loaded = loading(workload, plans, machine, assumptions) if assumptions.main_memory else None
    busy = (
        computed.latency_s if loaded is None else np.maximum(computed.latency_s, loaded.latency_s)
    )
    latency = _latency(busy, transfers, assumptions)
    if loaded is not None:
        energy["main memory"] = loaded.read_j + loaded.write_j
        energy["dram"] = energy["dram"] + loaded.chip_read_j + loaded.chip_write_j
    energy["network"] = np.asarray(sum(t.inner_j for t in transfers.values()))
    energy["network between racks"] = np.asarray(sum(t.outer_j for t in transfers.values()))
    if assumptions.static_power:
        energy["static"] = plans.chips * machine.chip.idle_w * latency
    return RackCost(
        latency_s=latency,
        busy_s=busy,
        energy_j=energy,
        compute=computed,
        loading=loaded,
        transfers=transfers,
    )


def _transfers(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> dict[str, Transfer]:
    """Communication by kind; an exchange of tensor or pipeline ranks goes back as it came."""
    given = (workload, plans, machine, assumptions)
    tensor, pipeline = tensor_gathers(*given), stage_transfers(*given)
    found = {
        "weight fetch": weight_fetch(*given),
        "tensor forward": tensor,
        "pipeline forward": pipeline,
    }
    if assumptions.backward:
        found |= {
            "gradient all-reduce": gradient_all_reduce(*given),
            "tensor backward": tensor,
            "pipeline backward": pipeline,
        }
    return found


def _latency(
    busy: FloatArray, transfers: dict[str, Transfer], assumptions: RackAssumptions
) -> FloatArray:
    """Computing and communication, hidden behind each other where the assumptions say so."""
    fetch = transfers["weight fetch"].latency_s
    others = np.asarray(sum(t.latency_s for name, t in transfers.items() if name != "weight fetch"))
    busy = np.maximum(busy, fetch) if assumptions.hides_fetch else busy + fetch
    return np.asarray(np.maximum(busy, others) if assumptions.hides_collectives else busy + others)
