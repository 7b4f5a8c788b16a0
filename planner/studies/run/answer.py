"""What `planner goodput` answers: where the time of a run goes, for each number of chips."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from frozen_records import dataclass
from planner.base.printable import Shown
from planner.question.provenance import stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run on so many chips.

    Attributes:
        chips, nodes: Of the job.
        mtbf_s: Mean seconds between its failures.
        share: Goodput; with the next six it sums to 1.
        stalls, down, lost, stragglers, waits, maintenance: Checkpoints, detection and restart, work
            done again, slow chips, waiting for spares, planned maintenance.
        low, high: Goodput at the ends of the 80 % interval of the failure rate.
        checkpoint_every_s: Work between two checkpoints.
        checkpoint_stall_s, checkpoint_write_s: Of one.
        spares_wanted: Nodes that are enough at any time at the chance asked for.
        simulated, simulated_error: Goodput of simulated runs, and its standard error; None: none.
    """

    chips: int
    nodes: int
    mtbf_s: float
    share: float
    stalls: float
    down: float
    lost: float
    stragglers: float
    waits: float
    maintenance: float
    low: float
    high: float
    checkpoint_every_s: float
    checkpoint_stall_s: float
    checkpoint_write_s: float
    spares_wanted: int
    simulated: float | None = None
    simulated_error: float | None = None

    @property
    def difference(self) -> float | None:
        """Closed form over simulation, minus one."""
        return self.share / self.simulated - 1.0 if self.simulated else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Shown):
    """Goodput over chips.

    Attributes:
        rows: By number of chips, ascending.
        chip_hours_per_failure, chip_hours_low, chip_hours_high, rate: As in `RunGoodput`.
        detection_s, restart_s: What a failure costs.
        while_down: Whether failures strike meanwhile.
        spares: Nodes that wait; None: enough.
        spares_chance: Of `spares_wanted`.
        straggler_loss: Share of a step that slow chips take.
        law: What was simulated; empty: nothing.
        runs: How many.
        chips_at_half: Chips at which goodput is one half, failures alone; None where it never is.
    """

    rows: tuple[RunRow, ...]
    chip_hours_per_failure: float
    chip_hours_low: float
    chip_hours_high: float
    rate: str
    detection_s: float
    restart_s: float
    while_down: bool
    spares: int | None
    spares_chance: float
    straggler_loss: float
    law: str = ""
    runs: int = 0
    chips_at_half: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data."""
        fields = asdict(self)
        fields["rows"] = [{**asdict(row), "difference": row.difference} for row in self.rows]
        return stamped(fields)
