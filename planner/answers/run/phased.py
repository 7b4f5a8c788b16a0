"""The answer to a question with phases: each with its plan, their sum, and what loads into what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.printable import Shown
from planner.question.files.plan_text import plan_fields
from planner.question.provenance import stamped
from planner.question.request import Request
from planner.results.parts import TrainingRun
from planner.results.plan import PlanResult
from planner.results.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of a run.

    Attributes:
        request: What it asks alone.
        answer: What `planner.solve` answers to that; with `same` the plan is that of the phases
            that share it.
        same: Whether it keeps the plan of the phase before.
    """

    request: Request = field(repr=False)
    answer: SolveResult
    same: bool = False

    @property
    def best(self) -> PlanResult | None:
        """Its plan; None: none fits, or none was found in time."""
        return self.answer.best

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        best, job, run = self.best, self.answer.question.job, self.answer.run
        proof = self.answer.certificate
        diagnosis = self.answer.diagnosis
        return {
            "same": self.same,
            "batch_tokens": job["batch_tokens"],
            "seq_len": job["seq_len"],
            "status": proof.status,
            "objective": proof.objective,
            "bound": proof.bound,
            "chips": None if best is None else best.chips,
            "plan": None if best is None else plan_fields(best.plan),
            "plan_job": dict(self.answer.question.plan_job),
            "step_time_s": None if best is None else best.step_time_s,
            "tokens_per_s": None if best is None else best.tokens_per_s,
            "memory_per_chip_bytes": None if best is None else best.memory_per_chip_bytes,
            "training_run": None if run is None else run.to_dict(),
            "diagnosis": None if diagnosis is None else diagnosis.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Whether the next plan can load the checkpoint of a plan, as their framework has it.

    Attributes:
        form: The form of the checkpoint; empty: none is known of such a plan.
        said: How it is chosen when a run saves it.
        refused: What keeps it from loading; empty: it loads.
        others: Forms of the same run that do load, with how each is chosen.
    """

    form: str
    said: str = ""
    refused: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def loads(self) -> bool:
        """Whether that form does."""
        return bool(self.form) and not self.refused

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "loads": self.loads,
            "form": self.form,
            "refused": list(self.refused),
            "others": [name for name, _ in self.others],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """What all phases take together.

    Attributes:
        run: Days, energy, money and CO2, summed, with the stops from phase to phase; its `goodput`
            is None: each phase has its own.
        stops_s: Seconds of these stops.
        share: Days if nothing failed over days, stops left out; None where nobody knows how often
            chips fail.
        failures: Expected, of all phases; None where that is not known.
        objective, bound: What is minimized, summed over the steps, and what no plans go below,
            stops left out; both None where it has no sum, as memory has none.
    """

    run: TrainingRun
    stops_s: float
    share: float | None
    failures: float | None
    objective: float | None
    bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        run = self.run.to_dict()
        del run["goodput"], run["break_even_chip_hours"]
        own = ("stops_s", "share", "failures", "objective", "bound")
        return run | {name: getattr(self, name) for name in own}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesResult(Shown):
    """The answers of all phases, and their sum.

    Attributes:
        subject: Model and machine, in words.
        asked: The question, as a job file holds it.
        phases: In order.
        passages: From each phase to the next; empty where one has no plan.
        total: Their sum; None where a phase has no plan.
        seconds: Wall time.
    """

    subject: str
    asked: Mapping[str, Any] = field(repr=False)
    phases: tuple[Phase, ...]
    passages: tuple[Passage, ...] = ()
    total: Sum | None = None
    seconds: float = 0.0

    @property
    def plans(self) -> Sequence[PlanResult]:
        """The different plans, in order."""
        found = {phase.best.plan: phase.best for phase in reversed(self.phases) if phase.best}
        order = dict.fromkeys(phase.best.plan for phase in self.phases if phase.best)
        return [found[plan] for plan in order]

    def letter(self, phase: Phase) -> str:
        """A, B, ... by the plan; `-` where there is none."""
        if phase.best is None:
            return "-"
        at = [one.plan for one in self.plans].index(phase.best.plan)
        return chr(ord("A") + at) if at < 26 else f"#{at + 1}"

    @property
    def status(self) -> str:
        """optimal: every phase is proved; else the status of the first that is not."""
        return next(
            (p.answer.status for p in self.phases if p.answer.status != "optimal"), "optimal"
        )

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        passages = [passage.to_dict() for passage in self.passages]
        return stamped(
            {
                "subject": self.subject,
                "status": self.status,
                "objective_name": self.phases[0].answer.objective_name,
                "phases": [phase.to_dict() for phase in self.phases],
                "passages": passages,
                "total": None if self.total is None else self.total.to_dict(),
                "seconds": self.seconds,
                "asked": dict(self.asked),
            }
        )
