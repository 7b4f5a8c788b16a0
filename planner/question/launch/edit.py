"""The text of a launch changed so that it launches another plan, as a unified diff.

A change counts only where the changed text reads back as that plan and the same job.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

from models_db import load_model
from planner.base.errors import InputError
from planner.frameworks.reading.edits import edited
from planner.frameworks.registry import framework_of_target
from planner.frameworks.targets import TARGETS
from planner.plan import Plan
from planner.question.launch.read import LaunchRead, launch_in, part_of, text_of

_CONTEXT = 1
_UNENDED = "\\ No newline at end of file"
_FREE = ("split", "schedule", "order", "clock", "layout")
"""Fields of a plan that a reader names by rules of its own."""


def diff_to(
    read: LaunchRead,
    plan: Plan,
    source: str,
    path: Path,
    changes: Mapping[str, Any],
    fixes: Mapping[str, Iterable[str]],
) -> tuple[str, str]:
    """What changes in a launch so that it runs another plan, or why nothing is shown.

    Args:
        read: The launch as it is.
        plan: The other plan.
        source, path, changes, fixes: With which it was read.
    """
    if str(path) == "-":
        return "", "standard input has no lines to change"
    framework = framework_of_target(TARGETS[read.imported.source])
    text = text_of(path)
    batch = int(read.request.batch_tokens or 0) // int(read.request.seq_len or 1)
    layers = load_model(read.request.model).layers
    found = framework.settings_between(read.plan, plan, batch, layers, text)
    if found is None:
        return "", "what the launch is of has no setting for it that is known here"
    settings, anchors = found
    start, end = part_of(text, str(path).partition("::")[2])
    for part in edited(text[start:end], settings, anchors):
        new = text[:start] + part + text[end:]
        if _says(read, plan, source, path, changes, fixes, new):
            return _diff(text, new, path), ""
    return "", "no change of single lines reads back as this plan"


def _says(
    read: LaunchRead,
    plan: Plan,
    source: str,
    path: Path,
    changes: Mapping[str, Any],
    fixes: Mapping[str, Iterable[str]],
    text: str,
) -> bool:
    """Whether a text launches a plan of the same job."""
    try:
        found = launch_in(text, source, path, {"chips": plan.chips, **changes}, fixes)
    except InputError:
        return False
    same = found.request.batch_tokens == read.request.batch_tokens
    return same and _compared(found.plan) == _compared(plan)


def _compared(plan: Plan) -> Plan:
    stages = None if plan.stages is None else tuple(plan.stages)
    fresh = {name: getattr(Plan(dp=1), name) for name in _FREE}
    return replace(plan, **fresh, stages=stages)


def _patched(path: Path) -> str:
    """What `patch -p0` takes for a file: it refuses names outside of the folder it runs in."""
    file, folder = path.resolve(), Path.cwd().resolve()
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else path.name


def _diff(text: str, new: str, path: Path) -> str:
    name = _patched(Path(str(path).partition("::")[0]))
    lines = unified_diff(_lines(text), _lines(new), name, name, n=_CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n{_UNENDED}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends, which are as `patch` has them: no form feed ends one."""
    return list(io.StringIO(text, newline="\n"))
