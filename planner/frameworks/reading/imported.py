"""What an importer returns: the job and the plan of a launch, and what it did not read."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A setting of a launch with a remark.

    Attributes:
        name: As the launch spells it.
        value: Its value as text, "" for a switch.
        reason: One line.
    """

    name: str
    value: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """One JSON-ready object."""
        return {"name": self.name, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A launch as a plan.

    Attributes:
        source: Name of the target whose input it was.
        plan: The plan.
        job: Fields of the request that the launch states (seq_len, batch_tokens, precision, ...).
        model: Dimensions of the model that the launch states, by the names of `models_db.Model`.
        ignored: Settings that are known and have no part in a plan.
        unknown: Settings that are not known.
        assumed: What the launch leaves to defaults: as fields of the plan with the value taken.
        warnings: What the launch does otherwise than a plan of it is evaluated, one line each.
    """

    source: str
    plan: Plan
    job: dict[str, Any]
    model: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[Noted, ...] = ()
    unknown: tuple[Noted, ...] = ()
    assumed: tuple[Noted, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What was read beside the plan, JSON-ready."""
        lists = ("ignored", "unknown", "assumed")
        return {
            "source": self.source,
            **{name: [one.to_dict() for one in getattr(self, name)] for name in lists},
            "warnings": list(self.warnings),
        }
