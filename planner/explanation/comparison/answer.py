"""What `planner compare` answers, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.base.printable import Shown
from planner.question.provenance import stamped
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the plans that are compared.

    Attributes:
        name: Its file, with the row of a front.
        evaluated: What it costs.
        tokens: Tokens of its step.
    """

    name: str
    evaluated: EvaluateResult
    tokens: float

    @property
    def result(self) -> PlanResult:
        """Its costs."""
        return self.evaluated.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field in which the plans differ.

    Attributes:
        group: "job", "machine", "mesh" or "choices".
        name: The field.
        values: Of each plan, in words.
    """

    group: str
    name: str
    values: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {"group": self.group, "name": self.name, "values": list(self.values)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One figure of every plan.

    Attributes:
        name: What it is, with its unit in the name.
        values: Of each plan; None where a plan has none.
        low, high: Ends of the 80 % intervals, where there are some.
        absolute, relative: Against the first plan: difference, and ratio minus one.
    """

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()

    @property
    def absolute(self) -> tuple[float | None, ...]:
        """Differences from the first plan."""
        first = self.values[0]
        return tuple(None if v is None or first is None else v - first for v in self.values)

    @property
    def relative(self) -> tuple[float | None, ...]:
        """Ratios to the first plan, minus one."""
        first = self.values[0]
        return tuple(None if v is None or not first else v / first - 1 for v in self.values)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        names = ("values", "low", "high", "absolute", "relative")
        return {"name": self.name, **{name: list(getattr(self, name)) for name in names}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """How the time of the first plan becomes that of another, part by part.

    Attributes:
        name: The other plan.
        start_s, end_s: Seconds of the first plan and of the other, for the same tokens.
        parts: Seconds by part of the step that the other takes more; they add up to the
            difference.
    """

    name: str
    start_s: float
    end_s: float
    parts: Mapping[str, float]

    def __post_init__(self) -> None:
        freeze(self, "parts")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "name": self.name,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "parts_s": thawed(self.parts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two plans beside each other.

    Attributes:
        left, right: Their names.
        overlap: Whether the 80 % intervals of their times overlap; None where a time is a bound.
        tie: Whether their times cannot be told apart; None alike.
        common: Whether they share most of their error: one job on one machine and as many chips.
        noise: Ratio of times up to which they tie: 1 where they differ in the clock alone; None
            where a time is a bound.
        dominates: The plan that is nowhere worse and somewhere better in time, energy and memory;
            empty: neither.
    """

    left: str
    right: str
    overlap: bool | None
    tie: bool | None
    common: bool
    noise: float | None
    dominates: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult(Shown):
    """The answer of `planner.compare`.

    Attributes:
        sides: The plans, in the order given; the others are compared with the first.
        basis_tokens: Tokens that times and energies are for: those of a step of the first plan.
        same_batch: Whether all steps have so many.
        differences: Fields in which they differ.
        costs: Figures of each.
        waterfalls: One for each plan but the first.
        pairs: Every two of them.
        warnings: What makes the comparison less than fair.
    """

    sides: tuple[Side, ...]
    basis_tokens: float
    same_batch: bool
    differences: tuple[Difference, ...]
    costs: tuple[Cost, ...] = field(repr=False)
    waterfalls: tuple[Waterfall, ...] = field(repr=False)
    pairs: tuple[Pair, ...] = field(repr=False)
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object."""
        return stamped(
            {
                "plans": [
                    {
                        "name": side.name,
                        **side.result.to_dict(),
                        "fits": side.evaluated.fits,
                        "warnings": list(side.evaluated.warnings),
                        "job": thawed(side.evaluated.question.job),
                    }
                    for side in self.sides
                ],
                "basis_tokens": self.basis_tokens,
                "differences": [one.to_dict() for one in self.differences],
                "costs": [one.to_dict() for one in self.costs],
                "waterfalls": [one.to_dict() for one in self.waterfalls],
                "pairs": [one.to_dict() for one in self.pairs],
                "warnings": list(self.warnings),
            }
        )
