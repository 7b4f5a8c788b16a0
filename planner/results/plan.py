"""One plan and what it costs, and plans beside others, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.base.offered import offered
from planner.base.printable import Shown
from planner.base.vocabulary import BOUNDARIES
from planner.cost.breakdown import Breakdown
from planner.cost.context import CostModel, mesh_of
from planner.cost.energy.boundaries import Boundary, boundaries_of_plans, boundary_fields, printed
from planner.cost.evaluate import runs_of
from planner.cost.intervals import ends_of
from planner.cost.memory.risk import memory_risks, risk_word
from planner.cost.memory.state import trained_bytes
from planner.network.where import crossed_levels, torus_words
from planner.objectives import Costs, RunCosts
from planner.plan import Plan, PlanTable
from planner.question.files.plan_text import plan_fields
from planner.results.parts import Machine

if TYPE_CHECKING:
    from planner.results.export import ExportResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult(Shown):
    """One plan and what it costs; SI units in the names.

    Attributes:
        plan: The plan.
        levels: Mesh axis to the network levels that its groups cross, innermost first.
        torus: Which mesh axes each physical axis of a torus serves, in words; empty elsewhere.
        step_time_s, mfu, hfu, tokens_per_s: As in `planner.cost.breakdown.Breakdown`.
        energy_per_step_j, power_per_chip_w: Node and fabric, IT side (PUE 1).
        memory_per_chip_bytes: Of the fullest stage without the reserve.
        energy_low_j, energy_high_j: 80 % interval: 10 % and 90 % quantiles, from the errors of
            power and, where times are predictions, of the step time.
        boundaries: Energy and power of chips, nodes, nodes with fabric, and facility.
        step_time_low_s, step_time_high_s, memory_low_bytes, memory_high_bytes: Ends of the 80 %
            intervals (`planner.cost.intervals`); None where times are bounds, not predictions.
        reserve_bytes: Memory that the framework holds outside its allocator.
        out_of_memory_probability: Chance that a chip needs more than it has, see
            `planner.cost.memory.risk`.
        lacks_headroom: Whether the fullest chip is so full that the allocator may slow it down.
        host_memory_bytes: Offloaded bytes per chip.
        time_s, energy_j, memory_bytes: Parts; each set adds up to its whole (memory with the
            reserve). The split of energy into compute, memory and network is assumed.
        communication_s: Seconds of communication in a step by cause, hidden or not.
        micro_batches: Per step.
        machine: PEs and wirings, where those are a decision.
        share_tokens: What `micro_batch` counts where chips share tokens evenly, else 0 (sequences).
        run: What the whole run takes with it, where its tokens are known.
        job: Of plans in answers of a search, the job as plan files hold it; else empty.
    """

    plan: Plan
    levels: Mapping[str, tuple[str, ...]]
    step_time_s: float
    energy_per_step_j: float
    energy_low_j: float
    energy_high_j: float
    power_per_chip_w: float
    memory_per_chip_bytes: float
    reserve_bytes: float
    host_memory_bytes: float
    mfu: float
    hfu: float
    tokens_per_s: float
    micro_batches: int
    share_tokens: float = 0.0
    time_s: Mapping[str, float] = field(repr=False)
    energy_j: Mapping[str, float] = field(repr=False)
    memory_bytes: Mapping[str, float] = field(repr=False)
    communication_s: Mapping[str, float] = field(repr=False)
    boundaries: tuple[Boundary, ...] = field(repr=False)
    torus: str = ""
    step_time_low_s: float | None = None
    step_time_high_s: float | None = None
    memory_low_bytes: float | None = None
    memory_high_bytes: float | None = None
    out_of_memory_probability: float = 0.0
    lacks_headroom: bool = False
    machine: Machine | None = None
    run: RunCosts | None = field(default=None, repr=False)
    job: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        freeze(self, "levels", "time_s", "energy_j", "memory_bytes", "communication_s", "job")

    def export(
        self, to: str, version: str = "", *, launcher: str = "", allow_lossy: bool = False
    ) -> ExportResult:
        """The plan in the words of a target, as `planner export` writes it.

        Args:
            to: Name of the target, e.g. "megatron".
            version: Version of the target's input; empty: the default one.
            launcher: What starts it on all hosts, e.g. "slurm"; empty: the user does.
            allow_lossy: Write also what runs another plan than this one.

        Returns:
            Its `export.files` have names and texts.

        Raises:
            InputError: The target cannot run it, or this is no plan of an answer of a search.
        """
        written: ExportResult = offered("export")(
            self, to, version, launcher=launcher, allow_lossy=allow_lossy
        )
        return written

    @property
    def chips(self) -> int:
        """Chips that the plan uses."""
        return self.plan.chips

    @property
    def energy_per_token_j(self) -> float:
        """Joules of a step over its tokens, node and fabric as `energy_per_step_j`."""
        return self.energy_per_step_j / (self.tokens_per_s * self.step_time_s)

    def power_w(self, boundary: str) -> float:
        """Mean watts of all its chips inside one of `planner.base.vocabulary.BOUNDARIES`."""
        return self.boundaries[BOUNDARIES.index(boundary)].power_w * self.chips

    @property
    def costs(self) -> Costs:
        """What objectives are made of."""
        return Costs(
            step_time_s=self.step_time_s,
            energy_j=self.energy_per_step_j,
            memory_bytes=self.memory_per_chip_bytes,
            chips=self.chips,
            run=self.run,
        )

    def _of(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = plan_fields(self.plan)
        order = fields.pop("placement")
        return {
            "chips": self.chips,
            **({} if self.machine is None else {"machine": self.machine.to_dict()}),
            **fields,
            "placement": {
                "order": order,
                "levels": {axis: list(names) for axis, names in self.levels.items()},
                "torus": self.torus or None,
            },
            "micro_batches": self.micro_batches,
            **self._of("step_time_s", "step_time_low_s", "step_time_high_s"),
            "energy_per_step_j": self.energy_per_step_j,
            "energy_per_step_low_j": self.energy_low_j,
            "energy_per_step_high_j": self.energy_high_j,
            "energy_per_token_j": self.energy_per_token_j,
            "power_per_chip_w": self.power_per_chip_w,
            **boundary_fields(self.boundaries),
            **self._of("memory_per_chip_bytes", "memory_low_bytes", "memory_high_bytes"),
            "host_memory_per_chip_bytes": self.host_memory_bytes,
            "memory_risk": risk_word(self.out_of_memory_probability),
            **self._of("out_of_memory_probability", "lacks_headroom", "mfu", "hfu", "tokens_per_s"),
            "communication_s": thawed(self.communication_s),
            "breakdown": {
                "time_s": thawed(self.time_s),
                "energy_j": thawed(self.energy_j),
                "memory_bytes": thawed(self.memory_bytes),
            },
        }


def plan_results(model: CostModel, plans: PlanTable, costs: Breakdown) -> list[PlanResult]:
    """One record per row of an evaluated table."""
    mesh = mesh_of(plans)
    fabrics = [model.fabric(int(chips)) for chips in plans.chips]
    reserve = model.framework.reserve_bytes
    ends = ends_of(model, plans, costs)
    inside = boundaries_of_plans(plans, costs, ends)
    headline = [printed(found) for found in inside]
    chance, full = memory_risks(model, plans, costs.memory_per_chip_bytes)
    held = (trained_bytes(model.job, costs.memory_parts), costs.memory_per_chip_bytes)
    runs = runs_of(model, plans, costs.step_time_s, costs.energy.total, held)
    return [
        PlanResult(
            plan=plans.plan(row),
            levels=crossed_levels(fabrics[row], mesh.take(np.array([row]))),
            torus=torus_words(fabrics[row], plans.plan(row).ranks),
            step_time_s=float(costs.step_time_s[row]),
            energy_per_step_j=float(costs.energy.total[row]),
            energy_low_j=headline[row].energy_low_j,
            energy_high_j=headline[row].energy_high_j,
            power_per_chip_w=float(costs.power_per_chip_w[row]),
            memory_per_chip_bytes=float(costs.memory_per_chip_bytes[row]),
            reserve_bytes=reserve,
            host_memory_bytes=float(costs.host_memory_bytes[row]),
            mfu=float(costs.mfu[row]),
            hfu=float(costs.hfu[row]),
            tokens_per_s=float(costs.tokens_per_s[row]),
            share_tokens=model.job.seq_len if model.assumptions.token_granularity else 0.0,
            micro_batches=int(costs.micro_batches[row]),
            time_s=_row(costs.time_parts, row),
            energy_j=_row(costs.energy.parts, row),
            out_of_memory_probability=float(chance[row]),
            lacks_headroom=bool(full[row]),
            memory_bytes={**_row(costs.memory_parts, row), "reserve": reserve},
            communication_s=_row(costs.communication_s, row),
            boundaries=inside[row],
            run=None if runs is None else runs.row(row),
            **_row(ends, row),
        )
        for row in range(len(plans))
    ]


def _row(parts: dict[str, np.ndarray], row: int) -> dict[str, Any]:
    return {name: float(values[row]) for name, values in parts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """A plan one step away from the best one.

    Attributes:
        change: What is different, in words.
        result: Its cost, or None where it breaks a rule.
        verdict: "slower by 3.1 %", "memory: 92.1 of 80.0 GB", or the broken rule.
        tie: Whether its step time cannot be told apart from that of the best plan; None where it
            breaks a rule or a limit, or where times are bounds.
    """

    change: str
    result: PlanResult | None
    verdict: str
    tie: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        names = ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes")
        costs = self.result and {name: getattr(self.result, name) for name in names}
        return {"change": self.change, "verdict": self.verdict, "tie": self.tie, "costs": costs}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPlan:
    """One of the best plans that differ in mesh or micro-batch.

    Attributes:
        result: What it costs.
        difference: Its objective over that of the best plan, minus one.
        tie: Whether it cannot be told apart from the best plan (true of that plan); None where
            times are bounds, not predictions.
        measure: Whether it is one of those worth measuring for a few steps.
    """

    result: PlanResult
    difference: float
    tie: bool | None
    measure: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data: the keys of the plan, and the others of this record."""
        said = {"difference": self.difference, "tie": self.tie, "measure": self.measure}
        return {**self.result.to_dict(), **said}
