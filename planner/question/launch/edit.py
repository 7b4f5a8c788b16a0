"""The text of a launch changed so that it launches another plan, as a unified diff.

A change counts only where the changed text reads back as that plan and the same job.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import unified_diff
from itertools import product
from pathlib import Path
from typing import Any

from models_db import load_model
from planner.base.errors import InputError
from planner.frameworks.reading.edits import Setting, edited
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.registry import framework_of_target
from planner.frameworks.targets import TARGETS
from planner.plan import Plan
from planner.question.launch.read import LaunchRead, file_beside, launch_in, part_of, text_of

_CONTEXT = 1
_SETTINGS = re.compile(r"(?<![\w./-])[\w./-]+\.(?:toml|ya?ml|json)\b")
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
    file, _, function = str(path).partition("::")

    def says(text: str, changed: Mapping[Path, str] | None = None) -> bool:
        """Whether a text launches the other plan, of the same job."""
        given = {"chips": plan.chips, **changes}
        try:
            found = launch_in(text, source, path, given, fixes, changed=changed)
        except InputError:
            return False
        same = found.request.batch_tokens == read.request.batch_tokens
        return same and _compared(found.plan) == _compared(plan)

    start, end = part_of(text, function)
    for part in _edited(text[start:end], settings, anchors):
        if says(new := text[:start] + part + text[end:]):
            return _diff(text, new, Path(file)), ""
    for place in _settings_beside(text, Path(file)):  # where a script has them in a file
        own = text_of(place)
        for part, new in _both(text, own, settings, anchors):
            if says(part, {place: new}):
                return _diff(text, part, Path(file)) + _diff(own, new, place), ""
    return "", "no change of single lines reads back as this plan"


def _edited(text: str, settings: tuple[Setting, ...], anchors: tuple[str, ...]) -> Iterator[str]:
    """The text with settings changed: first without those that only say what stays."""
    needed = [setting for setting in settings if not setting.spare]
    first = edited(text, needed, anchors) if needed else []
    yield from first
    yield from (one for one in edited(text, settings, anchors) if one not in first)


def _both(
    text: str, own: str, settings: tuple[Setting, ...], anchors: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """A script and a file beside it with settings changed: in the file, else where each stands."""
    yield from ((text, new) for new in _edited(own, settings, anchors))
    here = tuple(setting for setting in settings if edited(text, (setting,), ()))
    there = tuple(setting for setting in settings if setting not in here)
    if here and there:
        yield from product(_edited(text, here, ()), _edited(own, there, ()))


def _settings_beside(text: str, path: Path) -> list[Path]:
    """The files of settings beside a script that it names."""
    named = (found[0] for found in _SETTINGS.finditer(text)) if looks_like_shell(text) else ()
    paths = (name for one in named for name in (one, one.rpartition("/")[2]))
    return list(dict.fromkeys(place for name in paths if (place := file_beside(path, name))))


def _compared(plan: Plan) -> Plan:
    stages = None if plan.stages is None else tuple(plan.stages)
    fresh = {name: getattr(Plan(dp=1), name) for name in _FREE}
    return replace(plan, **fresh, stages=stages)


def _patched(path: Path) -> str:
    """What `patch -p0` takes for a file: it refuses names outside of the folder it runs in.

    A tab ends a name with spaces.
    """
    file, folder = path.resolve(), Path.cwd().resolve()
    name = str(file.relative_to(folder)) if file.is_relative_to(folder) else path.name
    return f"{name}\t" if " " in name else name


def _diff(text: str, new: str, path: Path) -> str:
    name = _patched(path)
    lines = unified_diff(_lines(text), _lines(new), name, name, n=_CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n{_UNENDED}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends, which are as `patch` has them: no form feed ends one."""
    return list(io.StringIO(text, newline="\n"))
