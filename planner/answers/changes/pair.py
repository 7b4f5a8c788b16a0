"""Two answers of which the plan of one was costed again by the versions of the other."""

from __future__ import annotations

from frozen_records import dataclass
from planner.answers.changes.answer_changes import BY_VERSION, OF_QUESTION, SAME, Answer, others
from planner.answers.changes.two_answers import Change
from planner.objectives import Objective
from planner.results.result import EvaluateResult


def behind(one: Answer, other: Answer) -> str:
    """What two answers may rest on that is not the same, in words."""
    found = [BY_VERSION[name] for name in others(one.versions, other.versions)]
    if not found:
        found = ["another cost model of this version number"]
    if one.names_files:
        found.append("a file that it names")
    return " or ".join(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The answer whose plan was costed again, and that of this installation.

    Attributes:
        theirs, mine: The two.
        again: What the plan of theirs costs now.
        changes: In which they differ.
        reverse: Whether mine is the older one.
    """

    theirs: Answer
    mine: Answer
    again: EvaluateResult
    changes: list[Change]
    reverse: bool

    @property
    def recosted(self) -> float:
        """The objective of that plan now."""
        return self.theirs.value(self.again)

    @property
    def least(self) -> float:
        """That of the plan of mine."""
        return float(self.mine.objective or 1.0)

    @property
    def recost(self) -> float:
        """By which share the objective of that plan moved."""
        return self.share(float(self.theirs.objective or 1.0), self.recosted)

    @property
    def minimized(self) -> Objective:
        """What both have the least of."""
        return self.mine.file.minimized

    @property
    def is_asked_otherwise(self) -> bool:
        """Whether what was asked or assumed is another."""
        return self.moved(*OF_QUESTION)

    @property
    def rests_on_another(self) -> bool:
        """Whether what the answers rest on is another, as far as can be seen."""
        return bool(self.versions) or abs(self.recost) > SAME

    @property
    def is_of_two_versions(self) -> bool:
        """Whether another version, or cost model, is known to be behind one of them.

        What moved under the same versions may be of a file that the question names.
        """
        return bool(self.versions) or (self.rests_on_another and not self.theirs.names_files)

    @property
    def versions(self) -> tuple[str, ...]:
        """In which versions they differ, of `BY_VERSION`."""
        return others(self.theirs.versions, self.mine.versions)

    @property
    def behind(self) -> str:
        """All that may have moved what plans cost, in words."""
        return behind(self.theirs, self.mine)

    @property
    def names(self) -> tuple[str, str]:
        """What theirs and mine are called."""
        names = ("the older answer", "the newer answer")
        return names[::-1] if self.reverse else names

    def share(self, theirs: float, mine: float) -> float:
        """By which share a figure moved from the older answer to the newer one."""
        return theirs / mine - 1 if self.reverse else mine / theirs - 1

    def moved(self, *groups: str) -> bool:
        """Whether they differ in a field of these groups."""
        return any(one.group in groups for one in self.changes)
