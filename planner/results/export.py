"""What `planner export` answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frozen_records import dataclass
from planner.base.printable import Shown
from planner.frameworks.targets import Target
from planner.frameworks.writing import Export, Lost
from planner.plan import Plan
from planner.question.provenance import stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult(Shown):
    """A plan as written for a target, and what the cost model says of it.

    Attributes:
        export: The texts, with what they do not carry.
        target: What runs them.
        plan: The plan.
        job: The job, as results show it.
        step_time_s: Predicted.
        warnings: What does not fit, or is predicted less surely.
    """

    export: Export
    target: Target
    plan: Plan
    job: dict[str, Any]
    step_time_s: float
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it."""
        export = self.export
        fields = {
            "target": export.target,
            "target_version": export.version,
            "framework_version": export.framework_version,
            "launcher": export.launcher,
            "job": self.job,
            "step_time_s": self.step_time_s,
            "files": {file.name: file.text for file in export.files},
            "command": export.command,
            "environment": dict(export.environment),
            "hosts": list(export.hosts),
            "lossy": _fields(export.lossy),
            "unsupported": _fields(export.unsupported),
            "warnings": list(self.warnings),
        }
        return stamped(fields)


def _fields(lost: Sequence[Lost]) -> list[dict[str, str]]:
    return [{"field": one.field, "reason": one.reason} for one in lost]
