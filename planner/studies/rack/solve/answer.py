"""What the joint search answers: the proved optimum, the front, what binds, what would free it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from frozen_records import dataclass
from planner.question.provenance import stamped
from planner.studies.rack.solve.question import RackQuestion


def underscored(values: Mapping[str, float]) -> dict[str, float]:
    """Values by names as keys of JSON: without blanks and dashes."""
    return {name.replace(" ", "_").replace("-", "_"): value for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPoint:
    """One plan and what it costs.

    Attributes:
        chips, pes: Chips, and processing elements of each.
        topology: Name of the network.
        mesh: Ranks of `dp`, `tp`, `pp`.
        zero: Whether data ranks share the weights (ZeRO).
        micro_batches: Parts of a rank's items that follow each other through the stages.
        latency_s, energy_j: By the model, in floating point.
        energy_by_part_j: The parts of `energy_j`.
        transfer_s: Seconds of each kind of communication, hidden or not.
        compute_s: Seconds of computing.
        links, ports: Of the topology; per chip.
        total_pes: PEs of all chips.
        weight_bytes_per_chip: What the fullest chip keeps.
        power_w: Rated power of all chips; area_m2: their silicon, None where unknown.
        solver_latency_s, solver_energy_j: What the solver minimized, multiples of its quanta.
    """

    chips: int
    pes: int
    topology: str
    mesh: dict[str, int]
    zero: bool
    micro_batches: int
    latency_s: float
    energy_j: float
    energy_by_part_j: dict[str, float]
    transfer_s: dict[str, float]
    compute_s: float
    links: int
    ports: int
    total_pes: int
    weight_bytes_per_chip: float
    power_w: float
    area_m2: float | None
    solver_latency_s: float
    solver_energy_j: float

    @property
    def edp_js(self) -> float:
        """Energy times latency."""
        return self.energy_j * self.latency_s

    @property
    def strategy(self) -> str:
        """`zero`, `dp + tp`, `one chip`, ..."""
        names = [
            {"dp": "zero" if self.zero else "dp"}.get(axis, axis)
            for axis, ranks in self.mesh.items()
            if ranks > 1
        ]
        return " + ".join(names) or "one chip"

    def value(self, objective: str) -> float:
        """The figure that an objective minimizes."""
        return {"time": self.latency_s, "energy": self.energy_j, "edp": self.edp_js}[objective]

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {name: underscored(plain[name]) for name in ("energy_by_part_j", "transfer_s")}
        return {"strategy": self.strategy, **plain, "edp_js": self.edp_js}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """A budget at the optimum.

    Attributes:
        name: Its flag.
        limit, used: In SI units.
        next_limit: The smallest larger budget that alone improves the objective by 0.1 % or more;
            None: there is none, the budget does not bind.
        next_point: The optimum under that budget.
    """

    name: str
    limit: float
    used: float
    next_limit: float | None
    next_point: RackPoint | None

    @property
    def binds(self) -> bool:
        """Whether a larger budget would be worth it."""
        return self.next_point is not None

    def to_dict(self, objective: str, best: RackPoint) -> dict[str, Any]:
        """For JSON; `gain` is the share of the objective that the next step saves."""
        after = None if self.next_point is None else self.next_point.value(objective)
        return {
            "name": self.name.replace("-", "_"),
            "limit": self.limit,
            "used": self.used,
            "binds": self.binds,
            "next_limit": self.next_limit,
            "next_objective": after,
            "gain": None if after is None else 1 - after / best.value(objective),
            "next_plan": self.next_point and self.next_point.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A smallest set of budgets that must grow, and to what, for any plan to fit; SI units."""

    budgets: dict[str, float]
    point: RackPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class RackAnswer:
    """The answer to a `RackQuestion`.

    Attributes:
        question: What was asked.
        objective: `time`, `energy` or `edp`.
        status: `optimal`, `feasible` (stopped by the time limit), `infeasible` or `time_limit`
            (it came before any plan).
        best: The optimum; None where no plan fits.
        bound: No plan is better; equal to the objective when proved, in its unit.
        resolution: Share of the objective that the integers of the solver resolve.
        front: The non-dominated plans, ascending in latency.
        front_complete: Whether the front is proved complete.
        budgets: Each budget at the optimum.
        remedies: Where no plan fits, the smallest changes that free one.
        why: What wins, from the optima without it.
        counts: Plans, rows, variables, branches, conflicts and solves.
        seconds: Of building, and of solving.
        defaults: What was assumed: name, value, reason.
    """

    question: RackQuestion
    objective: str
    status: str
    best: RackPoint | None
    bound: float | None
    resolution: float | None
    front: tuple[RackPoint, ...]
    front_complete: bool
    budgets: tuple[BudgetUse, ...]
    remedies: tuple[Remedy, ...]
    why: tuple[str, ...]
    counts: Mapping[str, int]
    seconds: Mapping[str, float]
    defaults: tuple[tuple[str, str, str], ...]

    @property
    def value(self) -> float | None:
        """The objective of the best plan."""
        return None if self.best is None else self.best.value(self.objective)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        document = {
            **self._asked(),
            **self._proved(),
            "best": self.best and self.best.to_dict(),
            "front": [point.to_dict() for point in self.front],
            "front_complete": self.front_complete,
            "why": list(self.why),
            "budgets": [
                budget.to_dict(self.objective, self.best)
                for budget in self.budgets
                if self.best is not None
            ],
            "remedies": [
                {"budgets": underscored(remedy.budgets), "plan": remedy.point.to_dict()}
                for remedy in self.remedies
            ],
            "counts": dict(self.counts),
            "seconds": dict(self.seconds),
            "defaults": [
                {"name": name, "value": value, "reason": reason}
                for name, value, reason in self.defaults
            ],
        }
        return stamped(document)

    def _asked(self) -> dict[str, Any]:
        """The question, for JSON."""
        question = self.question
        return {
            "workload": question.workload.name,
            "workload_title": question.workload.title,
            "batch": question.batch,
            "hardware": question.machine.chip.name,
            "precision": question.machine.precision,
            "space": {
                "chips": list(question.chips),
                "pes": list(question.pes),
                "topologies": list(question.machine.topologies),
                "strategies": list(question.strategies),
                "budgets": underscored(question.budgets),
            },
        }

    def _proved(self) -> dict[str, Any]:
        """Objective and bound, for JSON."""
        best, gap = self.value, None
        if best is not None and self.bound is not None:
            gap = max(0.0, (best - self.bound) / best)
        return {
            "objective_name": self.objective,
            "status": self.status,
            "objective": best,
            "bound": self.bound,
            "resolution": self.resolution,
            "gap": gap,
        }
