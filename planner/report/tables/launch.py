"""What an answer shows of a launch that was read: what of it had no part, and what to ask next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner.base.commands import path_word
from planner.base.units import plural
from planner.report.tables.tables import indented, section, spaced, table
from planner.results.result import EvaluateResult

_TUNING = (
    "job", "lora_rank", "adapter", "lora_targets", "lora_dropout", "frozen_weights", "reference",
    "optimizer",
)  # fmt: skip
"""Fields of a job that are said where it has them."""
_ASKED = ("model", "hardware", "batch_tokens", "seq_len", "precision", "framework", "era")


def launch_view(result: EvaluateResult) -> list[RenderableType]:
    """What was not read, and the commands that look further; nothing for plans."""
    if not result.launch:
        return []
    beaten = section("What would beat it", indented(next_commands(result)))
    return [spaced([*([one] for one in unread_view(result)), [beaten]])]


def unread_view(result: EvaluateResult) -> list[RenderableType]:
    """Settings that are not known, then how many are ignored; nothing for plans."""
    launch = result.launch
    if not launch:
        return []
    parts: list[RenderableType] = []
    if launch["unknown"]:
        rows = _rows(launch["unknown"])
        view = table(("setting", "value", "why"), rows, whole=("setting",))
        parts.append(section("Not known, so not counted", view))
    if count := len(launch["ignored"]):
        have = "has" if count == 1 else "have"
        words = f"{plural(count, 'setting')} {have} no part in a plan; --json lists them."
        parts.append(Text(words))
    return parts


def _rows(settings: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    return [(one["name"], one["value"], one["reason"]) for one in settings]


def next_commands(result: EvaluateResult) -> list[str]:
    """The commands that explain the plan and that search for a better one of the same job."""
    launch, job = result.launch, result.question.plan_job
    asked = [word for name in _ASKED for word in (f"--{name.replace('_', '-')}", job[name])]
    for name in _TUNING:
        if (value := job.get(name)) not in (None, "pretrain"):
            words = ",".join(value) if isinstance(value, list | tuple) else value
            asked += [f"--{name.replace('_', '-')}", words]
    asked += [word for one in job.get("set") or () for word in ("--set", one)]
    return [
        _command(
            "explain",
            "--from",
            launch.get("asked", launch["source"]),
            path_word(launch["file"]),
            *launch["flags"],
        ),
        _command(
            "solve", *asked, "--chips", result.result.chips, "--runnable-in", launch["source"]
        ),
    ]


def _command(*words: object) -> str:
    return shlex.join(["planner", *map(str, words)])
