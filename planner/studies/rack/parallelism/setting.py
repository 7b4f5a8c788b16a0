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
    RackAssumptions,
)
from planner.studies.rack.model.machine import FULL_BLOCK, Machine, machine_of

_MOST = 10**6
READINGS = {
    "ring": RING_READINGS,
    "transfers": STAGE_TRANSFERS,
    "tensor": TENSOR_SPLITS,
    "in_stage": ("gathers", "none"),
    "scores": ("cross", "stay"),
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
        block_size: Threads of a block in the sweeps over GPUs.
        micro_batches: Parts of the batch that follow each other through a pipeline.
    """

    cluster: Cluster
    rack_chips: int | None = None
    ring: str = "slowest_link"
    transfers: str = "sharded"
    tensor: str = "columns"
    in_stage: str = "gathers"
    scores: str = "cross"
    block_size: int = 64
    micro_batches: int = 16

    def __post_init__(self) -> None:
        """Refuses what no figure can be drawn for, one line per fault."""
        lines = [
            f"{name.replace('_', '-')}: {not_one_of(given, allowed)}"
            for name, allowed in READINGS.items()
            if (given := getattr(self, name)) not in allowed
        ]
        for name, most in (
            ("rack_chips", _MOST),
            ("block_size", FULL_BLOCK),
            ("micro_batches", _MOST),
        ):
            given = getattr(self, name)
            if given is not None and not 1 <= given <= most:
                near = min(max(given, 1), most)
                lines.append(
                    f"{name.replace('_', '-')}: {given:,} is not from 1 to {most:,}; "
                    f"nearest: {near:,}"
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
        return replace(machine, rack_chips=self.rack_chips or machine.rack_chips)

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
        )
