"""What the report on energy and latency leaves open, as a setting of its figures."""

from __future__ import annotations

from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.studies.rack.model.assumptions import (
    RACK_ENERGY,
    RING_READINGS,
    STAGE_TRANSFERS,
    TENSOR_SPLITS,
    WEIGHT_LOADS,
    RackAssumptions,
)
from planner.studies.rack.model.machine import FULL_BLOCK, Machine, machine_of
from planner.studies.rack.model.workloads import Workload, attention, feed_forward

_MOST = 10**6
HEADS = 32
"""Of attention: those of Llama-3-8B, 8 of them of keys and values."""
BLOCK_SIZES = (64, 128, 256, 512, 1024)
"""Threads of a block that the report sweeps."""
READINGS = {
    "ring": RING_READINGS,
    "transfers": STAGE_TRANSFERS,
    "tensor": TENSOR_SPLITS,
    "in_stage": ("gathers", "none"),
    "scores": ("cross", "stay"),
    "weight_loads": WEIGHT_LOADS,
}
"""What the report's text leaves open, and the ways to read it; the first is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the figures are drawn for.

    Attributes:
        cluster: Chips and links.
        rack_chips: Chips of a rack; None: as in the cluster's record.
        ring: Time of a ring collective, as `RackAssumptions.ring_reading`.
        transfers: What goes to the next stage, as `RackAssumptions.stage_transfers`.
        tensor: How TP splits matrices, as `RackAssumptions.tensor_split`.
        in_stage: Whether tensor ranks gather and scatter inside pipeline stages.
        scores: Whether attention scores cross stages.
        weight_loads: How often pipelines load weights, as `RackAssumptions.weight_loads`.
        memory_chips: GPUs that main memory feeds at their own rate, as
            `RackAssumptions.shared_memory_chips`; 0: loading takes no time.
        block_size: Threads of a block in the sweeps over GPUs.
        block_sizes: Threads of a block in the sweeps over blocks.
        micro_batches: Parts of the batch that follow each other through a pipeline.
        sequences, seq_len: Of the batch, and tokens of each.
        hidden, width: Of the residual stream, a multiple of `HEADS`, and of the MLP.
        sram_bytes: Of a GPU with its own PEs; None: as the record. It grows with `pes`.
        pes: PEs of a GPU; None: as the record.
    """

    cluster: Cluster
    rack_chips: int | None = None
    ring: str = "slowest_link"
    transfers: str = "sharded"
    tensor: str = "columns"
    in_stage: str = "gathers"
    scores: str = "cross"
    weight_loads: str = "once"
    memory_chips: int = 0
    block_size: int = 64
    block_sizes: tuple[int, ...] = BLOCK_SIZES
    micro_batches: int = 16
    sequences: int = 16
    seq_len: int = 2048
    hidden: int = 4096
    width: int = 14_336
    sram_bytes: float | None = None
    pes: int | None = None

    def __post_init__(self) -> None:
        """Refuses what no figure can be drawn for, one line per fault."""
        lines = [
            f"{name.replace('_', '-')}: {not_one_of(given, allowed)}"
            for name, allowed in READINGS.items()
            if (given := getattr(self, name)) not in allowed
        ]
        for name, (least, most) in _BOUNDS.items():
            given = getattr(self, name)
            for number in given if isinstance(given, tuple) else (given,):
                lines += _outside(name.replace("_", "-"), number, least, most)
        if self.hidden % HEADS:
            near = max(round(self.hidden / HEADS), 1) * HEADS
            lines.append(
                f"hidden: {self.hidden:,} is no multiple of the {HEADS} heads; nearest: {near:,}"
            )
        if self.rack_chips is not None and len(self.cluster.levels) == 1:
            lines.append(
                f"rack-chips: {self.cluster.name} has one level of links, so no racks to size; "
                "leave it out"
            )
        if lines:
            raise InputError("\n".join(lines))

    @property
    def machine(self) -> Machine:
        """Chips and links, with racks of the size asked for."""
        machine = machine_of(self.cluster)
        chip = machine.chip
        if self.sram_bytes is not None:
            chip = replace(chip, sram_bytes=self.sram_bytes)
        return replace(machine, chip=chip, rack_chips=self.rack_chips or machine.rack_chips)

    @property
    def gpu_pes(self) -> int:
        """PEs of a GPU."""
        return self.pes or self.cluster.chip.pe_count

    def workload(self, name: str) -> Workload:
        """`ffn` or `attention`, of the sizes asked for."""
        if name == "ffn":
            return feed_forward(self.sequences * self.seq_len, self.hidden, self.width)
        return attention(self.sequences, self.seq_len, self.hidden, HEADS)

    @property
    def assumptions(self) -> RackAssumptions:
        """The preset `RACK_ENERGY` with the readings of this setting."""
        return replace(
            RACK_ENERGY,
            ring_reading=self.ring,
            stage_transfers=self.transfers,
            tensor_split=self.tensor,
            gathers_inside_stages=self.in_stage == "gathers",
            scores_stay=self.scores == "stay",
            weight_loads=self.weight_loads,
            shared_memory_chips=self.memory_chips,
        )


_BOUNDS = {
    "rack_chips": (1, _MOST),
    "memory_chips": (0, _MOST),
    "block_size": (1, FULL_BLOCK),
    "block_sizes": (1, FULL_BLOCK),
    "micro_batches": (1, _MOST),
    "sequences": (1, _MOST),
    "seq_len": (1, _MOST),
    "hidden": (HEADS, _MOST),
    "width": (1, _MOST),
    "pes": (1, _MOST),
}
"""The least and the most of each number."""


def _outside(name: str, given: int | None, least: int, most: int) -> list[str]:
    """A line about a number outside of its bounds."""
    if given is None or least <= given <= most:
        return []
    near = min(max(given, least), most)
    return [f"{name}: {given:,} is not from {least:,} to {most:,}; nearest: {near:,}"]
