"""What the planner answers, as plain immutable records that print well and turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.base.errors import InfeasibleError, TimeLimitError
from planner.base.frozen import freeze, thawed
from planner.base.jsonfile import sealed
from planner.base.printable import Shown
from planner.base.version import SCHEMA_VERSION
from planner.cost.communication.traffic import MFU_CONVENTION
from planner.cost.facts import PlanFacts
from planner.machine.wiring import MACHINE_FIELDS
from planner.objectives import ENERGY, OBJECTIVES, TIME, Objective
from planner.results.certificate import Certificate
from planner.results.parts import (
    Diagnosis,
    FrontLimits,
    MachineSearch,
    Spread,
    TrainingRun,
)
from planner.results.plan import Neighbor, PlanResult, RankedPlan, plan_results
from planner.results.pool_use import PoolUse

__all__ = [
    "PASSED",
    "EvaluateResult",
    "Neighbor",
    "PlanResult",
    "RankedPlan",
    "SolveResult",
    "plan_results",
]

_GIVEN = ("job", "plan_job", "asked", "versions", "sources")
_PROVED = ("status", "objective", "objective_name", "bound", "gap", "seconds")
# What passes a stage of `SolveResult.counts`; "considered" is that, what was dropped, and left.
PASSED = ("kept", "searched", "opened", "evaluated")


def _named(defaults: tuple[tuple[str, str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "value": value, "reason": why} for name, value, why in defaults]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveResult(Shown):
    """The answer of `planner.solve`.

    Attributes:
        status: optimal, feasible (stopped early, with a bound), infeasible or time_limit.
        objective_name: What the best plan minimizes.
        objective, bound, gap: Its value, a proved lower bound, and their relative distance.
        best: The best plan on exactly the chips asked for (of objectives over chips on at most
            these), or None.
        front: Non-dominated plans, ascending in time.
        front_objectives: What they are compared by: time, energy and, if asked, memory.
        front_complete: Whether the front is proved to be all of it; False after a time limit.
        front_note: What the front ranges over and, for a single point, why it is one.
        front_proved: Of a front that is not complete, which of its plans are proved to be on it;
            empty: none.
        front_limits: Where the front is made of plans within limits on the step time, how many of
            these are proved; else None.
        top: The best three plans on exactly the chips asked for that differ in mesh or
            micro-batch, best first; only the best where memory is the objective.
        top_complete: Whether it is proved that no other mesh and micro-batch has a better plan.
        spread: What the intervals rest on; None where times are bounds, not predictions.
        why: Sentences on what binds the best plan.
        neighbors: Real evaluations of plans one step away.
        run: The whole training run, if its tokens were given.
        diagnosis: Why no plan fits, if none does.
        losses: What the cluster gives away at this number of chips.
        defaults: What was assumed: (name, value, reason).
        counts: What was considered, dropped for each reason, left when time ran out, and passed,
            at each stage of the search that proved `best`, on exactly the chips asked for; see
            `planner.search.uniform.engine.Found`. front_counts: the same for the rest of the front.
        seconds: Wall time of the search.
        machines: Where PEs or wirings are a decision, what was searched of each machine.
        facts: The stages and the network levels of the best plan.
        layout: What was asked of the stages: uniform, uneven, or the layers of every chunk.
        certificate: Where stages may differ, why no plan is better; None where they may not.
        uniform: Where stages may differ, the best plan whose stages do not; None where none fits.
        uniform_simulated_s: Its step time, simulated operation by operation, to compare with that
            of the best plan; None where the two are not compared.
        pools: Where the job has pools of different chips, what the best plan does on each; else
            empty.
        job: Resolved job, for display and JSON; plan_job: as plan files hold it; asked: the
            question, as a job file holds it.
        versions: planner, schema, and the hashes of the databases.
    """

    status: str
    objective_name: str
    objective: float | None
    bound: float | None
    gap: float | None
    best: PlanResult | None
    front: tuple[PlanResult, ...] = field(repr=False)
    front_objectives: tuple[str, ...]
    front_complete: bool
    front_note: str
    why: tuple[str, ...]
    neighbors: tuple[Neighbor, ...] = field(repr=False)
    run: TrainingRun | None
    diagnosis: Diagnosis | None
    losses: tuple[str, ...]
    defaults: tuple[tuple[str, str, str], ...] = field(repr=False)
    counts: Mapping[str, Mapping[str, int]] = field(repr=False)
    seconds: float
    job: Mapping[str, Any]
    versions: Mapping[str, str] = field(repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    front_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    plan_job: Mapping[str, Any] = field(default_factory=dict, repr=False)
    mfu_convention: str = field(repr=False, default=MFU_CONVENTION)
    top: tuple[RankedPlan, ...] = field(default=(), repr=False)
    top_complete: bool = False
    spread: Spread | None = field(default=None, repr=False)
    machines: tuple[MachineSearch, ...] = field(default=(), repr=False)
    facts: PlanFacts | None = field(default=None, repr=False)
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)
    layout: str = "uniform"
    certificate: Certificate | None = field(default=None, repr=False)
    uniform: PlanResult | None = field(default=None, repr=False)
    uniform_simulated_s: float | None = field(default=None, repr=False)
    pools: tuple[PoolUse, ...] = field(default=(), repr=False)
    front_proved: tuple[bool, ...] = field(default=(), repr=False)
    front_limits: FrontLimits | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze(self, "counts", "front_counts", *_GIVEN)

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
    def best_simulated_s(self) -> float | None:
        """The step time of the best plan, simulated; without a pipeline the formula is exact."""
        if self.best is not None and self.best.plan.pp == 1:
            return self.best.step_time_s
        return None if self.facts is None else self.facts.simulated_step_time_s

    @property
    def gain_simulated(self) -> float | None:
        """Share of the simulated step time of the best uniform plan that the best plan saves."""
        if self.best_simulated_s is None or self.uniform_simulated_s is None:
            return None
        return 1 - self.best_simulated_s / self.uniform_simulated_s

    def is_proved(self, at: int) -> bool:
        """Whether the plan of the front at a place, from 0, is proved to be on it."""
        return self.front_complete or (bool(self.front_proved) and self.front_proved[at])

    def values(self, point: PlanResult) -> dict[str, float]:
        """By name, what a plan has of the objectives `beside`."""
        return {one.name: one.value_of(point.costs) for one in self.beside}

    def front_rows(self) -> list[dict[str, Any]]:
        """The plans of the front as JSON-ready data; with their jobs, where each has a machine."""
        job = {name: self.plan_job[name] for name in self.plan_job if name not in MACHINE_FIELDS}
        return [
            {
                **point.to_dict(),
                "proved": self.is_proved(at),
                **({"objectives": self.values(point)} if self.beside else {}),
                **(
                    {}
                    if point.machine is None
                    else {"job": thawed({**job, **point.machine.fields})}
                ),
            }
            for at, point in enumerate(self.front)
        ]

    @property
    def minimized(self) -> Objective:
        """What the best plan has the least of."""
        return OBJECTIVES[self.objective_name].priced(self.asked.get("price_per_chip_hour"))

    @property
    def beside(self) -> tuple[Objective, ...]:
        """Objectives that plans are told apart by beside those that every table of plans has."""
        own = (self.minimized,) if self.objective_name else ()
        named = {one.name: one for one in (*self.compared, *own) if one.name in one.front}
        return tuple(one for name, one in named.items() if name not in (TIME.name, ENERGY.name))

    @property
    def against(self) -> Objective:
        """What the step time is weighed against on the front: the other axis of its picture."""
        return next((one for one in self.compared if one.name != TIME.name), ENERGY)

    @property
    def compared(self) -> tuple[Objective, ...]:
        """What plans of the front are compared by."""
        price = self.asked.get("price_per_chip_hour")
        return tuple(OBJECTIVES[name].priced(price) for name in self.front_objectives)

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object; its keys are documented in docs/json.md."""
        fields = {
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(self, name) for name in _PROVED},
            "objective_unit": self.minimized.unit,
            **{name: thawed(getattr(self, name)) for name in ("counts", "front_counts")},
            "layout": self.layout,
            "certificate": self.certificate and self.certificate.to_dict(),
            "uniform": self.uniform and self.uniform.to_dict(),
            **{name: getattr(self, name) for name in ("uniform_simulated_s", "gain_simulated")},
            "best": self.best
            and self.best.to_dict() | (self.facts.to_dict() if self.facts else {}),
            "front": self.front_rows(),
            "front_objectives": list(self.front_objectives),
            **{name: getattr(self, name) for name in ("front_complete", "front_note")},
            "front_limits": self.front_limits and self.front_limits.to_dict(),
            "top": [plan.to_dict() for plan in self.top],
            "top_complete": self.top_complete,
            "interval": self.spread.to_dict() if self.spread else None,
            "why": list(self.why),
            "neighbors": [neighbor.to_dict() for neighbor in self.neighbors],
            "training_run": self.run.to_dict() if self.run else None,
            "diagnosis": self.diagnosis.to_dict() if self.diagnosis else None,
            "losses": list(self.losses),
            "defaults": _named(self.defaults),
            "mfu_convention": self.mfu_convention,
            "pools": [use.to_dict() for use in self.pools],
            "machines": [searched.to_dict() for searched in self.machines],
            **{name: thawed(getattr(self, name)) for name in _GIVEN},
        }
        return sealed(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateResult(Shown):
    """The answer of `planner.evaluate`: one plan's cost and whether it fits and can run.

    Attributes:
        result: The costs.
        fits: Whether it fits in memory on chip and host.
        memory_limit_bytes: Bytes per chip that it may fill, without the reserve.
        warnings: Rules of the framework that it breaks, memory that it exceeds.
        launch: Of a launch that was read (`planner.frameworks.reading`): its framework (`source`),
            its file, and the settings that are `ignored` and `unknown`; empty for plans.
        pools: Where the job has pools of different chips, what the plan does on each; else empty.
        run, defaults, job, plan_job, asked, versions, sources, spread, ...: As in `SolveResult`.
    """

    result: PlanResult
    fits: bool
    memory_limit_bytes: float
    warnings: tuple[str, ...]
    run: TrainingRun | None
    losses: tuple[str, ...]
    defaults: tuple[tuple[str, str, str], ...] = field(repr=False)
    job: Mapping[str, Any]
    versions: Mapping[str, str] = field(repr=False)
    plan_job: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    mfu_convention: str = field(repr=False, default=MFU_CONVENTION)
    spread: Spread | None = field(default=None, repr=False)
    facts: PlanFacts | None = field(default=None, repr=False)
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)
    pools: tuple[PoolUse, ...] = field(default=(), repr=False)
    launch: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        freeze(self, *_GIVEN, "launch")

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object."""
        fields = {
            "schema_version": SCHEMA_VERSION,
            **self.result.to_dict(),
            **(self.facts.to_dict() if self.facts else {}),
            "fits": self.fits,
            "memory_limit_bytes": self.memory_limit_bytes,
            "interval": self.spread.to_dict() if self.spread else None,
            "warnings": list(self.warnings),
            "training_run": self.run.to_dict() if self.run else None,
            "losses": list(self.losses),
            "defaults": _named(self.defaults),
            "mfu_convention": self.mfu_convention,
            "pools": [use.to_dict() for use in self.pools],
            **({"launch": thawed(self.launch)} if self.launch else {}),
            **{name: thawed(getattr(self, name)) for name in _GIVEN},
        }
        return sealed(fields)
