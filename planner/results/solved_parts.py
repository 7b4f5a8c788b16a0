"""Parts of an answer of `planner.solve`: its front, its candidates, and the stages of its plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, overload

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.machine.wiring import MACHINE_FIELDS
from planner.objectives import Objective
from planner.results.parts import FrontLimits, MachineSearch
from planner.results.plan import Neighbor, PlanResult, RankedPlan
from planner.results.pool_use import PoolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Front(Sequence[PlanResult]):
    """The non-dominated plans, ascending in time; a sequence of them.

    Attributes:
        plans: The plans.
        objectives: What they are compared by: time, energy and, if asked, memory.
        complete: Whether the front is proved to be all of it; False after a time limit.
        note: What the front ranges over and, for a single point, why it is one.
        proved: Of a front that is not complete, which of its plans are proved to be on it; empty:
            none.
        limits: Where the front is made of plans within limits on the step time, how many of these
            are proved; else None.
    """

    plans: tuple[PlanResult, ...] = field(repr=False)
    objectives: tuple[str, ...]
    complete: bool
    note: str = ""
    proved: tuple[bool, ...] = field(default=(), repr=False)
    limits: FrontLimits | None = field(default=None, repr=False)

    @overload
    def __getitem__(self, at: int) -> PlanResult: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[PlanResult, ...]: ...
    def __getitem__(self, at: int | slice) -> PlanResult | tuple[PlanResult, ...]:
        return self.plans[at]

    def __iter__(self) -> Iterator[PlanResult]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def is_proved(self, at: int) -> bool:
        """Whether the plan at a place, from 0, is proved to be on the front."""
        return self.complete or (bool(self.proved) and self.proved[at])

    def rows(
        self, plan_job: Mapping[str, Any], beside: Sequence[Objective] = ()
    ) -> list[dict[str, Any]]:
        """The plans as JSON-ready data; with their jobs, where each has a machine.

        Args:
            plan_job: The job, as plan files hold it.
            beside: Objectives whose values are told too, by name.
        """
        job = {name: plan_job[name] for name in plan_job if name not in MACHINE_FIELDS}
        return [
            {
                **point.to_dict(),
                "proved": self.is_proved(at),
                **_values(point, beside),
                **(
                    {}
                    if point.machine is None
                    else {"job": thawed({**job, **point.machine.fields})}
                ),
            }
            for at, point in enumerate(self.plans)
        ]

    def to_dict(self, plan_job: Mapping[str, Any], beside: Sequence[Objective]) -> dict[str, Any]:
        """The record as JSON-ready data; arguments as of `rows`."""
        return {
            "plans": self.rows(plan_job, beside),
            "objectives": list(self.objectives),
            "complete": self.complete,
            "note": self.note,
            "limits": self.limits and self.limits.to_dict(),
        }


def _values(point: PlanResult, beside: Sequence[Objective]) -> dict[str, Any]:
    """What a plan has of some objectives, under their names."""
    if not beside:
        return {}
    return {"objectives": {one.name: one.value_of(point.costs) for one in beside}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider:
    """What a search finds that lifts one wish of the question.

    Attributes:
        lifted: The wish: a field of the question.
        plan: The best plan without it, where it is better than the best plan; else None.
        proved: Whether no plan is better than that one or, without one, than the best plan.
    """

    lifted: str
    plan: RankedPlan | None
    proved: bool

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        plan = None if self.plan is None else self.plan.to_dict()
        return {"lifted": self.lifted, "plan": plan, "proved": self.proved}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What was searched for the best plan, and the plans that come near it.

    Attributes:
        top: The best three plans on exactly the chips asked for that differ in mesh or
            micro-batch, best first; only the best where memory is the objective. After them those
            that are worth measuring in their place. Found when they are first looked at.
        top_complete: Whether it is proved that no other mesh and micro-batch has a better plan
            than the third.
        neighbors: Real evaluations of plans one step away from the best, made when they are first
            looked at.
        wider: What lifting a wish that was assumed would give, searched when it is first looked
            at; nothing where it was not.
        counts: What was considered, dropped for each reason, left when time ran out, and passed,
            at each stage of the search that proved the best plan, on exactly the chips asked for;
            see `planner.search.uniform.engine.UniformSpace`.
        front_counts: The same for the rest of the front.
        machines: Where PEs or wirings are a decision, what was searched of each machine.
        seconds: Wall time of the search.

    Counts and seconds say how the search went, which depends on what was known before it: answers
    that differ in them alone are equal.
    """

    counts: Mapping[str, Mapping[str, int]] = field(repr=False, compare=False)
    seconds: float = field(compare=False)
    front_counts: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict, repr=False, compare=False
    )
    top: Sequence[RankedPlan] = field(default=(), repr=False)
    top_complete: bool = False
    neighbors: Sequence[Neighbor] = field(default=(), repr=False)
    wider: Sequence[Wider] = field(default=(), repr=False)
    machines: tuple[MachineSearch, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        freeze(self, "counts", "front_counts")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "top": [plan.to_dict() for plan in self.top],
            "top_complete": self.top_complete,
            "neighbors": [neighbor.to_dict() for neighbor in self.neighbors],
            "wider": [one.to_dict() for one in self.wider],
            "counts": thawed(self.counts),
            "front_counts": thawed(self.front_counts),
            "machines": [searched.to_dict() for searched in self.machines],
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What was asked of the stages of a pipeline, and what the best plan gains by them.

    Attributes:
        layout: uniform, uneven, or the layers of every chunk.
        uniform: Where stages may differ, the best plan whose stages do not; None where none fits,
            and where none differ.
        uniform_simulated_s: Its step time, simulated operation by operation, to compare with that
            of the best plan; None where the two are not compared.
        pools: Where the job has pools of different chips, what the best plan does on each; else
            empty.
    """

    layout: str = "uniform"
    uniform: PlanResult | None = field(default=None, repr=False)
    uniform_simulated_s: float | None = None
    pools: tuple[PoolUse, ...] = field(default=(), repr=False)

    @property
    def may_differ(self) -> bool:
        """Whether the stages of a plan may differ."""
        return self.layout != "uniform"

    def gain_simulated(self, best_s: float | None) -> float | None:
        """Share of the simulated step time of the best uniform plan that a best plan saves.

        Args:
            best_s: The simulated step time of the best plan, if it is simulated.
        """
        if best_s is None or self.uniform_simulated_s is None:
            return None
        return 1 - best_s / self.uniform_simulated_s

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "layout": self.layout,
            "uniform": self.uniform and self.uniform.to_dict(),
            "uniform_simulated_s": self.uniform_simulated_s,
            "pools": [use.to_dict() for use in self.pools],
        }
