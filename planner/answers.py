"""Small parts of answers: a whole training run, why no plan fits, how far a time may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """What a whole training run takes with a plan.

    Attributes:
        tokens, steps, days: Size and duration.
        energy_mwh: Node and fabric, IT side (PUE 1).
        facility_energy_mwh: With what the facility adds.
        cost: Chips times hours times the price given, or None.
        co2_t: Tonnes at the carbon intensity given, or None.
    """

    tokens: float
    steps: float
    days: float
    energy_mwh: float
    facility_energy_mwh: float
    cost: float | None
    co2_t: float | None

    def to_dict(self) -> dict[str, float | None]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why no plan fits, and the smallest changes that free it.

    Attributes:
        constraint: The binding constraint.
        explanation: One sentence with the figures.
        needed, available: In the unit of the constraint, where it has one.
        remedies: Changes that were checked to make a plan possible, smallest first.
    """

    constraint: str
    explanation: str
    needed: float | None = None
    available: float | None = None
    remedies: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "constraint": self.constraint,
            "explanation": self.explanation,
            "needed": self.needed,
            "available": self.available,
            "remedies": list(self.remedies),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the intervals of an answer rest on.

    Attributes:
        level: Share of measurements that an interval is made to contain.
        situation: The class of the prediction; words: the rule that chose it.
        low, high: Factors on the step time, 10 % and 90 % quantile.
        rows, sources: Published runs behind them, and where they come from.
        tie_factor: Two plans whose step times differ by less cannot be told apart.
    """

    level: float
    situation: str
    words: str
    low: float
    high: float
    rows: int
    sources: int
    tie_factor: float

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}
