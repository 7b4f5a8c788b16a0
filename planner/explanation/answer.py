"""What `planner explain` answers, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.base.jsonfile import sealed
from planner.base.printable import Shown
from planner.explanation.causes import Binding
from planner.explanation.contenders import Rival
from planner.explanation.judging import Refusal
from planner.explanation.sensitivity.elasticities import Elasticity, Overtaking
from planner.objectives import Objective
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult

DIRECTIONS = ("plan", "machine", "slower", "scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step in one direction would change.

    Attributes:
        change: What is different, in words.
        direction: "plan" (another choice), "machine" (the same plan on a changed machine, a
            what-if), "slower" (the same plan where one resource is slower) or "scale" (more chips,
            a larger batch).
        result: What it costs; None where it breaks a rule.
        refusal: What forbids it; None where it may be had.
        verdict: Time against the plan's, or what forbids it, in words.
        time, energy: Relative change of the time and the energy of a token; None where it breaks
            a rule.
        memory: Relative change of the bytes of the fullest chip; None alike.
        tie: Whether its time cannot be told apart from that of the plan; None where that is not
            known: on other machines, where times are bounds, where it may not be had.
    """

    change: str
    direction: str
    result: PlanResult | None = field(repr=False)
    refusal: Refusal | None
    verdict: str
    time: float | None
    energy: float | None
    memory: float | None
    tie: bool | None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        costs = None
        if self.result is not None:
            names = (
                "step_time_s", "step_time_low_s", "step_time_high_s", "energy_per_step_j",
                "memory_per_chip_bytes", "tokens_per_s",
            )  # fmt: skip
            costs = {name: getattr(self.result, name) for name in names}
        refused = None
        if self.refusal is not None:
            fields = ("reason", "words", "source", "needed", "allowed")
            refused = {name: getattr(self.refusal, name) for name in fields}
        return {
            "change": self.change,
            "direction": self.direction,
            "verdict": self.verdict,
            "relative": {"time": self.time, "energy": self.energy, "memory": self.memory},
            "tie": self.tie,
            "refused": refused,
            "costs": costs,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Why a plan costs what it costs.

    Attributes:
        objective: What plans are compared by.
        binding: What binds it.
        why: What binds it and what comes next, in sentences.
        steps: One step in every direction: what may be had first, the best first.
        refused: How many steps of the plan each limit and rule forbids.
        elasticities: What the answer leans on, largest first.
        better: Other plans that may be had and are better already, the best first.
        overtakings: At which values of the numbers that were tried a worse plan becomes better.
        numbers: How many numbers were changed; those without effect are not in `elasticities`.
        left_out: Fields of the assumptions that have no small change.
    """

    objective: Objective
    binding: Binding
    why: tuple[str, ...]
    steps: tuple[Step, ...] = field(repr=False)
    refused: Mapping[str, int]
    elasticities: tuple[Elasticity, ...] = field(repr=False)
    better: tuple[Rival, ...] = field(repr=False)
    overtakings: tuple[Overtaking, ...] = field(repr=False)
    numbers: int
    left_out: tuple[str, ...] = field(repr=False)

    def __post_init__(self) -> None:
        freeze(self, "refused")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "objective_name": self.objective.name,
            "binding": self.binding.to_dict(),
            "why": list(self.why),
            "steps": [step.to_dict() for step in self.steps],
            "refused": thawed(self.refused),
            "elasticities": [one.to_dict() for one in self.elasticities],
            "better": [one.to_dict() for one in self.better],
            "overtakings": [one.to_dict() for one in self.overtakings],
            "numbers": self.numbers,
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainResult(Shown):
    """The answer of `planner.explain`: one plan's cost, and why it is that.

    Attributes:
        evaluated: What the plan costs, as `planner.evaluate` says it.
        explained: Why.
    """

    evaluated: EvaluateResult
    explained: Explained

    @property
    def result(self) -> PlanResult:
        """The costs of the plan."""
        return self.evaluated.result

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object: that of `planner evaluate`, and the explanation."""
        fields = self.evaluated.to_dict()
        tail = {name: fields.pop(name) for name in ("job", "versions")}
        return sealed({**fields, **self.explained.to_dict(), **tail})
