"""Why the answer to one question is another than before, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from frozen_records import dataclass
from planner.base.messages import distinguished
from planner.base.printable import Shown
from planner.objectives import Objective
from planner.question.asked.values import value_words
from planner.question.provenance import stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field in which the answers differ.

    Attributes:
        group: "question", "default", "job", "version", "plan", "counts" or "answer".
        name: The field.
        old, new: Its values, JSON-ready; None: absent.
    """

    group: str
    name: str
    old: Any
    new: Any

    @property
    def in_words(self) -> tuple[str | None, str | None]:
        """Both values as people say them, with the digits that tell them apart; None: absent."""
        old, new = self.old, self.new
        if isinstance(old, int | float) and isinstance(new, int | float):
            return distinguished(old, new, partial(value_words, self.name))
        first, second = (
            None if value is None else value_words(self.name, value) for value in (old, new)
        )
        return first, second


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A part of the change.

    Attributes:
        cause: "question", "cost", "space", "search" or "unknown".
        change: By which share it moves the objective; None: not known.
        words: It in a sentence.
    """

    cause: str
    change: float | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TwoAnswers(Shown):
    """Why an answer changed.

    Attributes:
        names: Of the files, the older one first.
        minimized: What the best plans have the least of.
        statuses, objectives: How the searches ended, and what they found; None: no plan.
        changes: Fields in which they differ that say why, the first ones of each group.
        changes_left_out: How many more there are, by group.
        parts_s: Time parts of one plan under both models, where it was costed again: the older
            figure first.
        reasons: What moved the objective, in the order in which the parts multiply.
    """

    names: tuple[str, str]
    minimized: Objective
    statuses: tuple[str, str]
    objectives: tuple[float | None, float | None]
    changes: tuple[Change, ...]
    changes_left_out: Mapping[str, int]
    parts_s: Mapping[str, tuple[float, float]]
    reasons: tuple[Reason, ...]

    @property
    def change(self) -> float | None:
        """The share by which the objective moved; None where one answer has no plan."""
        old, new = self.objectives
        return None if old is None or new is None else new / old - 1

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object."""
        return stamped(
            {
                "files": list(self.names),
                "objective_name": self.minimized.name,
                "objective_unit": self.minimized.unit,
                "statuses": list(self.statuses),
                "objectives": list(self.objectives),
                "change": self.change,
                "reasons": [asdict(one) for one in self.reasons],
                "changes": [asdict(one) for one in self.changes],
                "changes_left_out": dict(self.changes_left_out),
                "parts_s": {name: list(both) for name, both in self.parts_s.items()},
            }
        )
