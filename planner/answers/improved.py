"""`planner evaluate --from ... --improve`: nearest better plans of a launch, and their diffs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planner.answers.evaluation import limits_of, options_of
from planner.base.errors import InputError
from planner.explanation.improvement.answer import Improvements
from planner.explanation.improvement.improving import improvements
from planner.frameworks.targets import TARGETS
from planner.question.launch import LaunchRead
from planner.question.launch.edit import diff_to
from planner.question.resolved import Resolved


def improved(
    resolved: Resolved,
    read: LaunchRead,
    source: str,
    path: Path,
    given: Mapping[str, Any],
    fixes: Mapping[str, Iterable[str]],
) -> Improvements:
    """The fastest plans within three changes of a launch, each with the diff of its text.

    Args:
        resolved: The question.
        read: The launch.
        source, path, given, fixes: With which it was read.

    Raises:
        InputError: Its job is one of pools.
    """
    if read.request.pools is not None:
        raise InputError("improve: is about chips of one kind, not pools; leave one of them out")
    return improvements(
        resolved.cost,
        read.plan,
        limits_of(read.request),
        options_of(read.request, (TARGETS[read.imported.source],)),
        writes=lambda plan: diff_to(read, plan, source, path, given, fixes),
    )
