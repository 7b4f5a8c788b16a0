"""What a search over uneven pipelines answers: plans, and the certificate that none is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.plan import PlanTable
from solvers.solution import Status

LAUNCHABLE = " launchable"
"""Ends the names of bounds of rows that are there once for each way to launch them on a target."""
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
    """How a search ended, and why no plan of its space is better than the best one.

    Attributes:
        status: optimal, feasible (stopped early, with a bound), infeasible or time_limit.
        objective_name: What the best plan minimizes.
        objective: Its value; None without a plan.
        bound: No plan of the space is below it; None where nothing is known.
        uniform: Objective of the best plan whose stages are equal; None where none is known.
        funnel: Where stages may differ, what each bound dropped, in order; with the objective edp
            on the way to the least energy, which is the first of `steps`.
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

    status: str
    objective_name: str
    objective: float | None = None
    bound: float | None = None
    uniform: float | None = None
    funnel: tuple[FunnelStage, ...] = ()
    solved: int = 0
    stage_solves: int = 0
    left: int = 0
    lowest_left: float | None = None
    solvers: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    steps: tuple[TimeStep, ...] = ()

    def counted(self, objective: Callable[[float], float], units: tuple[str, str]) -> Certificate:
        """The same of an objective that grows with the one that was proved.

        Args:
            objective: What it makes of a value that was proved.
            units: Of what was proved, and of the objective.
        """
        proved, unit = units

        def of(value: float | None) -> float | None:
            return None if value is None else objective(value)

        def counted(stage: FunnelStage) -> FunnelStage:
            if stage.unit != proved or stage.lowest is None:
                return stage
            return replace(stage, lowest=objective(stage.lowest), unit=unit)

        return replace(
            self,
            uniform=of(self.uniform),
            objective=of(self.objective),
            bound=of(self.bound),
            funnel=tuple(map(counted, self.funnel)),
            lowest_left=of(self.lowest_left),
        )

    @property
    def gap(self) -> float | None:
        """(objective - bound) / objective; None without a plan."""
        if self.objective is None or self.bound is None:
            return None
        return (self.objective - self.bound) / self.objective if self.objective > 0 else 0.0

    def of_plan(self, objective: float, status: Status) -> Certificate:
        """The same proof, of a plan with another value; its bound is not above that."""
        bound = None if self.bound is None else min(self.bound, objective)
        return replace(self, status=status.value, objective=objective, bound=bound)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        numbers = ("status", "objective_name", "objective", "bound", "gap", "uniform")
        return {
            **{name: getattr(self, name) for name in numbers},
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
        certificate: Of the objective that was asked for.
        seconds: Wall time.
    """

    plans: PlanTable
    points: FloatArray
    status: Status
    bound: FloatArray
    front_complete: bool
    certificate: Certificate
    seconds: float
