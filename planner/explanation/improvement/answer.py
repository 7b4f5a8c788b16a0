"""The answer of `planner evaluate --improve`: better plans by how many decisions differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A plan that is faster than the one asked about.

    Attributes:
        changes: Decisions that differ, by field, as (before, after) in words.
        plan: It.
        step_time_s: Seconds of a step.
        memory_per_chip_bytes: Bytes of the fullest chip.
        gain: Share of the step time that it saves.
        gain_low, gain_high: The 80 % interval of that; None where times are bounds.
        tie: Whether the two cannot be told apart; None where times are bounds.
        diff: What changes in the launch, as a unified diff that reads back as this plan; empty:
            none could be made.
        why_no_diff: One line, where there is none.
    """

    changes: Mapping[str, tuple[str, str]]
    plan: Plan = field(repr=False)
    step_time_s: float
    memory_per_chip_bytes: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    tie: bool | None
    diff: str = field(default="", repr=False)
    why_no_diff: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "changes": {name: list(pair) for name, pair in self.changes.items()},
            "step_time_s": self.step_time_s,
            "memory_per_chip_bytes": self.memory_per_chip_bytes,
            "gain": self.gain,
            "gain_low": self.gain_low,
            "gain_high": self.gain_high,
            "tie": self.tie,
            "diff": self.diff,
            "why_no_diff": self.why_no_diff,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvements:
    """The best plans near to one.

    Attributes:
        found: By how many decisions differ: the best ones, the fastest first; empty where none is
            faster than what fewer changes give.
        fits: Whether the plan that was asked about fits in memory.
        looked_at: Plans within the distance whose numbers divide.
        runnable: Those of them that break no rule of the framework.
        fitting: Those of them that fit.
    """

    found: Mapping[int, tuple[Improvement, ...]]
    fits: bool
    looked_at: int
    runnable: int
    fitting: int

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "by_changes": {
                str(count): [one.to_dict() for one in ones] for count, ones in self.found.items()
            },
            "fits": self.fits,
            "looked_at": self.looked_at,
            "runnable": self.runnable,
            "fitting": self.fitting,
        }
