"""The answer to a question with values of one or two of its fields."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass
from planner.answers.varying.axes import Axis
from planner.answers.varying.turning import Turn
from planner.base.printable import Shown
from planner.question.asked.usual import BATCH
from planner.question.files.plan_text import plan_fields
from planner.question.provenance import stamped
from planner.results.plan import PlanResult
from planner.results.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """The answer for one value of each axis.

    Attributes:
        texts: The values, as they were written.
        answer: What `planner.solve` answers there.
        best: The best plan, at full clock where only a power cap lowers it; None: none fits, or
            none was found in time.
    """

    texts: tuple[str, ...]
    answer: SolveResult
    best: PlanResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What is known between two neighbouring values.

    Attributes:
        below, above: The values as they were written.
        turns: Where the best plan changes.
        within: Where one plan is best at both: by which share at most another may be better
            between; None: nothing is proved.
        searched: Whether changes were looked for.
    """

    below: str
    above: str
    turns: tuple[Turn, ...] = ()
    within: float | None = None
    searched: bool = False

    def to_dict(self, axis: Axis) -> dict[str, Any]:
        """The record as JSON-ready data."""
        turns = [
            {
                "below": turn.below.at,
                "above": turn.above.at,
                "located": turn.located,
                "proved": turn.proved,
                "plan_below": _plan(turn.below.best),
                "plan_above": _plan(turn.above.best),
            }
            for turn in self.turns
        ]
        return {
            "below": self.below,
            "above": self.above,
            "unit": "1" if axis.by_factor else axis.unit or "1",
            "searched": self.searched,
            "turns": turns,
            "within": self.within,
        }


def _plan(best: PlanResult | None) -> dict[str, Any] | None:
    return None if best is None else plan_fields(best.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class VaryResult(Shown):
    """The answers for all values.

    Attributes:
        subject: Model, chips and hardware of the question, in words.
        axes: One or two.
        points: Of each combination of values, the last axis fastest.
        between: Between neighbours of one axis; empty with two.
        seconds: Wall time.
    """

    subject: str
    axes: tuple[Axis, ...]
    points: tuple[Varied, ...]
    between: tuple[Between, ...] = ()
    seconds: float = 0.0

    @property
    def winners(self) -> tuple[PlanResult, ...]:
        """The different best plans, in the order of the points."""
        found = {point.best.plan: point.best for point in reversed(self.points) if point.best}
        order = dict.fromkeys(point.best.plan for point in self.points if point.best)
        return tuple(found[plan] for plan in order)

    @property
    def front(self) -> tuple[Varied, ...]:
        """Of batches those of which no smaller one takes as little time per token; else none."""
        if [axis.name for axis in self.axes] != [BATCH]:
            return ()
        found: list[Varied] = []
        for point in self.points:
            rate = point.best.tokens_per_s if point.best else 0.0
            least = max((one.best.tokens_per_s for one in found if one.best), default=0.0)
            found += [point] if rate > least else []
        return tuple(found)

    def letter(self, point: Varied) -> str:
        """A, B, ... by the plan that is best; `-` where none is."""
        plans = [one.plan for one in self.winners]
        if point.best is None:
            return "-"
        at = plans.index(point.best.plan)
        return chr(ord("A") + at) if at < 26 else f"#{at + 1}"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return stamped(
            {
                "subject": self.subject,
                "axes": [{"name": axis.name, "values": list(axis.texts)} for axis in self.axes],
                "points": [
                    {"values": list(point.texts), "letter": self.letter(point),
                     "answer": point.answer.to_dict()}
                    for point in self.points
                ],
                "between": [one.to_dict(self.axes[0]) for one in self.between],
                "front": [list(point.texts) for point in self.front],
                "seconds": self.seconds,
            }
        )  # fmt: skip
