"""What the planner answers, as plain immutable records that print well and turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from frozen_records import dataclass
from planner.base.errors import InfeasibleError, TimeLimitError
from planner.base.frozen import freeze, thawed
from planner.base.jsonfile import sealed
from planner.base.printable import Shown
from planner.base.version import SCHEMA_VERSION
from planner.cost.facts import PlanFacts
from planner.objectives import ENERGY, TIME, Objective, objective_asked
from planner.plan import Plan
from planner.question.files.result_layout import RESULT_VERSION
from planner.results.certificate import Certificate
from planner.results.parts import Diagnosis, Notes, Question, TrainingRun
from planner.results.plan import Neighbor, PlanResult, RankedPlan, plan_results
from planner.results.pool_use import PoolUse
from planner.results.solved_parts import Candidates, Front, Stages

if TYPE_CHECKING:
    from planner.results.operation_clocks import OperationClocks, OperationFront

__all__ = [
    "PASSED",
    "EvaluateResult",
    "Neighbor",
    "PlanResult",
    "RankedPlan",
    "SolveResult",
    "plan_results",
]

# What passes a stage of `Candidates.counts`; "considered" is that, what was dropped, and left.
PASSED = ("kept", "searched", "opened", "evaluated")


def simulated_s(plan: PlanResult, facts: PlanFacts) -> float | None:
    """The step time of a plan, simulated; without a pipeline the formula is exact."""
    return plan.step_time_s if plan.plan.pp == 1 else facts.simulated_step_time_s


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SolveResult(Shown):
    """The answer of `planner.solve`, made of parts.

    Attributes:
        certificate: How the search ended, the value of the best plan, and why none is better.
        best: The best plan on the chips asked for, of a range on any number within it, with its
            cost; where none uses all, on the most below with one; or None.
        facts: Its stages and network levels; None without a plan.
        front: The non-dominated plans.
        candidates: What was searched, and the plans that come near the best.
        stages: What was asked of the stages, and what the best plan gains by them.
        notes: What binds the best plan, what was assumed, and where the numbers come from.
        run: The whole training run, if its tokens were given.
        diagnosis: Why no plan fits, if none does.
        clocks: What clocks per operation save on the front, where they were asked for.
        question: What was asked, and the job as it was understood.
        versions: planner, schema, and the hashes of the databases.
    """

    certificate: Certificate
    best: PlanResult | None
    front: Front = field(repr=False)
    candidates: Candidates
    question: Question
    notes: Notes = field(repr=False)
    versions: Mapping[str, str] = field(repr=False)
    stages: Stages = field(default=Stages(), repr=False)
    facts: PlanFacts | None = field(default=None, repr=False)
    run: TrainingRun | None = None
    diagnosis: Diagnosis | None = None
    clocks: OperationFront | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze(self, "versions")

    @property
    def status(self) -> str:
        """How the search ended: `certificate.status`."""
        return self.certificate.status

    @property
    def objective_name(self) -> str:
        """What the best plan minimizes: `certificate.objective_name`."""
        return self.certificate.objective_name

    @property
    def objective(self) -> float | None:
        """The value of the best plan: `certificate.objective`."""
        return self.certificate.objective

    @property
    def bound(self) -> float | None:
        """No plan is below it: `certificate.bound`."""
        return self.certificate.bound

    @property
    def gap(self) -> float | None:
        """Their relative distance: `certificate.gap`."""
        return self.certificate.gap

    def require(self) -> PlanResult:
        """The best plan, for programs that cannot go on without one.

        Raises:
            InfeasibleError: It is proved that no plan satisfies the constraints.
            TimeLimitError: The time limit ended the search before it found a plan.
        """
        if self.best is not None:
            return self.best
        if self.diagnosis is None:
            raise TimeLimitError("time-limit: it ended the search before any plan was found")
        raise InfeasibleError(f"no plan fits: {self.diagnosis.explanation}")

    @property
    def plan(self) -> Plan | None:
        """The best plan; None where there is none."""
        return self.best.plan if self.best else None

    def to_dataframe(self, of: str = "front") -> Any:
        """A table of pandas, which the extra `dataframe` installs; nested fields have dotted names.

        Args:
            of: `front`: its plans, `candidates`: the best few plans, `stages`: those of the best.

        Returns:
            The `pandas.DataFrame`; empty where there is no plan.

        Raises:
            InputError: There is no such table, or no pandas.
        """
        from planner.results.dataframes import dataframe  # noqa: PLC0415  (few ask for one)

        rows = {
            "front": self.front_rows(),
            "candidates": [plan.to_dict() for plan in self.candidates.top],
            "stages": [stage.to_dict() for stage in self.facts.stages] if self.facts else [],
        }
        return dataframe(rows, of)

    @property
    def best_simulated_s(self) -> float | None:
        """The step time of the best plan, simulated; without a pipeline the formula is exact."""
        if self.best is None or self.facts is None:
            return None
        return simulated_s(self.best, self.facts)

    @property
    def gain_simulated(self) -> float | None:
        """Share of the simulated step time of the best uniform plan that the best plan saves."""
        return self.stages.gain_simulated(self.best_simulated_s)

    def front_rows(self) -> list[dict[str, Any]]:
        """The plans of the front as JSON-ready data."""
        return self.front.rows(self.question.plan_job, self.beside)

    @property
    def minimized(self) -> Objective:
        """What the best plan has the least of."""
        return objective_asked(self.objective_name, self.question.asked)

    @property
    def beside(self) -> tuple[Objective, ...]:
        """Objectives that plans are told apart by beside those that every table of plans has."""
        own = (self.minimized,) if self.objective_name else ()
        named = {one.name: one for one in (*self.compared, *own) if one.name in one.front}
        return tuple(one for name, one in named.items() if name not in (TIME.name, ENERGY.name))

    @property
    def across(self) -> Objective:
        """What is weighed on the front: the step time, or of whole runs what comes first."""
        return next((one for one in self.compared if one.of_run), TIME)

    @property
    def against(self) -> Objective:
        """What that is weighed against: the other axis of the picture of the front."""
        known = (TIME.name, self.across.name)
        return next((one for one in self.compared if one.name not in known), ENERGY)

    @property
    def compared(self) -> tuple[Objective, ...]:
        """What plans of the front are compared by."""
        asked = self.question.asked
        return tuple(objective_asked(name, asked) for name in self.front.objectives)

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object in the order of the print; docs/json.md documents its keys."""
        fields = {
            "schema_version": RESULT_VERSION,
            "question": self.question.to_dict(),
            "diagnosis": self.diagnosis.to_dict() if self.diagnosis else None,
            "best": self.best
            and self.best.to_dict() | (self.facts.to_dict() if self.facts else {}),
            "certificate": self.certificate.to_dict() | {"objective_unit": self.minimized.unit},
            "stages": self.stages.to_dict() | {"gain_simulated": self.gain_simulated},
            "candidates": self.candidates.to_dict(),
            "training_run": self.run.to_dict() if self.run else None,
            "front": self.front.to_dict(self.question.plan_job, self.beside),
            **({"operation_clocks": self.clocks.to_dict()} if self.clocks else {}),
            "notes": self.notes.to_dict(),
            "versions": thawed(self.versions),
        }
        return sealed(fields)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EvaluateResult(Shown):
    """The answer of `planner.evaluate`: one plan's cost and whether it fits and can run.

    Attributes:
        result: The costs.
        fits: Whether it fits in memory on chip and host.
        memory_limit_bytes: Bytes per chip that a search would let it fill, without the reserve; a
            plan that is given fits above them too, up to what the framework may use.
        warnings: Rules of the framework that it breaks, memory that it exceeds.
        launch: Of a launch that was read (`planner.frameworks.reading`): its framework (`source`),
            its file, and the settings that are `ignored` and `unknown`; empty for plans.
        pools: Where the job has pools of different chips, what the plan does on each; else empty.
        clocks: Clocks of its operations, where they were asked for.
        run, facts, notes, question, versions: As in `SolveResult`.
    """

    result: PlanResult
    fits: bool
    memory_limit_bytes: float
    warnings: tuple[str, ...]
    question: Question
    notes: Notes = field(repr=False)
    versions: Mapping[str, str] = field(repr=False)
    run: TrainingRun | None = None
    facts: PlanFacts | None = field(default=None, repr=False)
    pools: tuple[PoolUse, ...] = field(default=(), repr=False)
    launch: Mapping[str, Any] = field(default_factory=dict, repr=False)
    clocks: OperationClocks | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze(self, "versions", "launch")

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object."""
        notes = self.notes.to_dict()
        fields = {
            "schema_version": SCHEMA_VERSION,
            **self.question.to_dict(),
            "warnings": list(self.warnings),
            **self.result.to_dict(),
            **(self.facts.to_dict() if self.facts else {}),
            "fits": self.fits,
            "memory_limit_bytes": self.memory_limit_bytes,
            "interval": notes["interval"],
            "training_run": self.run.to_dict() if self.run else None,
            **{name: notes[name] for name in ("losses", "defaults", "mfu_convention")},
            "pools": [use.to_dict() for use in self.pools],
            **({"launch": thawed(self.launch)} if self.launch else {}),
            **({"operation_clocks": self.clocks.to_dict()} if self.clocks else {}),
            "versions": thawed(self.versions),
            "sources": notes["sources"],
        }
        return sealed(fields)
