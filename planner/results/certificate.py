"""What a search over uneven pipelines answers: plans, and the certificate that none is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from planner.base.arrays import FloatArray
from planner.plan import PlanTable
from solvers.solution import Status

TOLD = " told"
"""Ends the names of bounds of rows that are there once for each way to tell a target of them."""
ROUNDING = 1e-6
"""Of the integer tables, as a share of the objective: within it an answer is proved."""


def within(gap: float) -> float:
    """The gap at which a search may end so that its answer, rounded, is within the one given."""
    return max(gap - ROUNDING, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStage:
    """One step of the funnel of bounds; rows are meshes with placement and choices of the mesh.

    Attributes:
        name: "memory", "LB0", "LB1", "LB2", "stages", ...
        rows, meshes: That came in.
        dropped: Rows that it proved no better than the best plan.
        lowest: The least bound among those dropped; None where none was.
        unit: Of the bounds: "s" of a step time, "J" of the energy of a step, or of the objective
            that grows with one of them.
    """

    name: str
    rows: int
    meshes: int
    dropped: int
    lowest: float | None
    unit: str = "s"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStep:
    """What no plan of a range of step times goes below, a step of the proof of energy x time.

    Attributes:
        above_s, within_s: The range: plans slower than the one, and no slower than the other.
        energy_j: No plan within the limit takes less.
    """

    above_s: float
    within_s: float
    energy_j: float

    @property
    def product_js(self) -> float:
        """Joule seconds that no plan of the range goes below."""
        return self.above_s * self.energy_j

    def to_dict(self) -> dict[str, float]:
        """The record as JSON-ready data."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return {**own, "product_js": self.product_js}


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why no plan of the space is better, and by how much one could be at most.

    Attributes:
        uniform: Objective of the best uniform plan; None where none fits.
        objective, bound: Of the best plan; no plan of the space is below the bound.
        funnel: What each bound dropped, in order; with the objective edp on the way to the least
            energy, which is the first of `steps`.
        solved: Rows whose stage problem was solved to proof.
        stage_solves: Stage problems solved, those for the front included.
        left: Rows that were neither dropped nor solved when the search ended; where time ended
            before their placements were told apart, rows of LB0.
        lowest_left: The least bound among those left; None without any.
        solvers: Stage solves by the name of the solver.
        refused: Rows of LB0 that it left and their exchanges, before placements, that each rule of
            a target drops, by its name.
        steps: With the objective edp, what proves it range by range of the step time, the slowest
            first; else empty.
    """

    uniform: float | None
    objective: float
    bound: float
    funnel: tuple[FunnelStage, ...]
    solved: int
    stage_solves: int
    left: int
    lowest_left: float | None
    solvers: dict[str, int]
    refused: dict[str, int] = field(default_factory=dict)
    steps: tuple[TimeStep, ...] = ()

    def counted(self, objective: Callable[[float], float], units: tuple[str, str]) -> Certificate:
        """The same of an objective that grows with the one that was proved.

        Args:
            objective: What it makes of a value that was proved.
            units: Of what was proved, and of the objective.
        """
        proved, unit = units

        def counted(stage: FunnelStage) -> FunnelStage:
            if stage.unit != proved or stage.lowest is None:
                return stage
            return replace(stage, lowest=objective(stage.lowest), unit=unit)

        return replace(
            self,
            uniform=None if self.uniform is None else objective(self.uniform),
            objective=objective(self.objective),
            bound=objective(self.bound),
            funnel=tuple(map(counted, self.funnel)),
            lowest_left=None if self.lowest_left is None else objective(self.lowest_left),
        )

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return (self.objective - self.bound) / self.objective if self.objective > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "uniform": self.uniform,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "funnel": [stage.to_dict() for stage in self.funnel],
            "solved": self.solved,
            "stage_solves": self.stage_solves,
            "left": self.left,
            "lowest_left": self.lowest_left,
            "solvers": dict(self.solvers),
            **({"refused": dict(self.refused)} if self.refused else {}),
            "steps": [step.to_dict() for step in self.steps],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenFound:
    """The outcome of a search over uneven pipelines.

    Attributes:
        plans: Ascending in time: the best plan alone, or the front; uniform plans stay uniform.
        points: (f, 2) seconds and joules, as `planner.cost` evaluates the plans.
        status: OPTIMAL: proved (within `Certificate.gap`, the rounding of the integer tables).
            FEASIBLE: time or the wished gap ended it. INFEASIBLE, TIME_LIMIT: no plan.
        bound: (2,) no plan is below this in time, in energy.
        front_complete: Whether every point of the front is proved and none is missing.
        certificate: Of the first objective.
        seconds: Wall time.
    """

    plans: PlanTable
    points: FloatArray
    status: Status
    bound: FloatArray
    front_complete: bool
    certificate: Certificate | None
    seconds: float
