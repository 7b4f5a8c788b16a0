"""The answer to a question about nodes that are down: what to run now, and whether that pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.printable import Shown
from planner.cost.goodput.outage import Detour
from planner.question.files.plan_text import plan_fields
from planner.question.provenance import stamped
from planner.question.request import Request
from planner.results.plan import PlanResult
from planner.results.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The best plan of some for the chips that are left.

    Attributes:
        request: What was asked.
        answer: What `planner.solve` answers to it.
        best: Its plan.
        refused: What keeps the checkpoint of the run from loading into it; empty: it loads.
        returns: Whether its own checkpoint loads into the plan of the run.
        share: Goodput; None where nobody knows how often chips fail.
        convert_s: What it takes to bring a checkpoint into another form: read, then written.
        write_s: What it takes to write one.
        detour: Its rate, and how long the job stands still.
        gained_s: Seconds of the whole job's work that it gains against waiting for the repair.
    """

    request: Request = field(repr=False)
    answer: SolveResult = field(repr=False)
    best: PlanResult
    refused: tuple[str, ...]
    returns: bool
    share: float | None
    convert_s: float
    write_s: float
    detour: Detour
    gained_s: float

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        proof, detour = self.answer.certificate, self.detour
        return {
            "status": proof.status,
            "objective": proof.objective,
            "bound": proof.bound,
            "chips": self.best.chips,
            "plan": plan_fields(self.best.plan),
            "step_time_s": self.best.step_time_s,
            "tokens_per_s": self.best.tokens_per_s,
            "goodput": self.share,
            "loads": not self.refused,
            "refused": list(self.refused),
            "returns": self.returns,
            "rate_tokens_per_s": float(detour.rate),
            "stop_s": float(detour.in_s),
            "return_s": float(detour.back_s),
            "break_even_s": float(detour.break_even_s),
            "gained_s": self.gained_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DownResult(Shown):
    """What to run on the chips that are left, and what it gains against waiting.

    Attributes:
        subject: Model and machine, in words.
        asked: The question, as a job file holds it.
        down: What is down, as it was asked.
        nodes: Nodes that are hit.
        spares: Spares that take their places.
        chips, left: Of the run, and what is left of them with the spares.
        running: The plan of the run, on all its chips.
        own_rate: Tokens per second of it, goodput counted where that is known.
        share: Its goodput; None where nobody knows how often chips fail.
        restart_s, repair_s: Of the job, and of a node.
        repair_given: Whether the question says the repair.
        checkpoint_bytes, store_bytes_per_s: Of one, and what the store takes in and gives out.
        form: Of the checkpoint; empty: none is known of such a plan.
        form_given: How it is chosen when a run saves it.
        others: Forms in which a plan of `ways` that does not load would, with how each is chosen.
        ways: The best plan that loads the checkpoint, and the best of all where that is another.
        missing: Why no plan that loads the checkpoint is among them; empty where one is.
        seconds: Wall time.
    """

    subject: str
    asked: Mapping[str, Any] = field(repr=False)
    down: str
    chips: int
    left: int
    running: PlanResult
    own_rate: float
    share: float | None
    restart_s: float
    repair_s: float
    repair_given: bool
    checkpoint_bytes: float
    store_bytes_per_s: float
    form: str
    form_given: str
    nodes: int = 0
    spares: int = 0
    others: tuple[tuple[str, str], ...] = ()
    ways: tuple[Way, ...] = ()
    missing: str = ""
    seconds: float = 0.0

    @property
    def covered(self) -> bool:
        """Whether spares take the place of all that is down."""
        return self.left == self.chips

    @property
    def now(self) -> Way | None:
        """What gains most until the repair, or loses least; None: no plan fits on what is left."""
        return max(self.ways, key=lambda way: way.gained_s, default=None)

    @property
    def pays(self) -> bool:
        """Whether going on is better than waiting."""
        return self.now is not None and self.now.gained_s > 0.0

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        own = (
            "subject", "down", "nodes", "spares", "covered", "chips", "left", "restart_s",
            "repair_s", "checkpoint_bytes", "store_bytes_per_s", "form", "missing", "pays",
            "seconds",
        )  # fmt: skip
        return stamped(
            {
                **{name: getattr(self, name) for name in own},
                "running": {
                    "plan": plan_fields(self.running.plan),
                    "step_time_s": self.running.step_time_s,
                    "tokens_per_s": self.running.tokens_per_s,
                    "goodput": self.share,
                    "rate_tokens_per_s": self.own_rate,
                },
                "others": [name for name, _ in self.others],
                "ways": [way.to_dict() for way in self.ways],
                "now": None if self.now is None else self.ways.index(self.now),
                "asked": dict(self.asked),
            }
        )
