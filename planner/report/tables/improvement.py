"""The better plans near to a launch: a table, and a diff for the best of each number of changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from planner.base.units import plural, show_bytes, show_percent, show_seconds
from planner.report.printing import print_document, print_text
from planner.report.tables.tables import print_view, section, spaced, table

_HEADINGS = ("changes", "what", "step time", "memory", "saves (80 %)", "sure")


def print_improvement(found: Mapping[str, Any]) -> None:
    """Prints `planner.explanation.improvement.answer.Improvements.to_dict`.

    Diffs go out as they are, for `patch`: no line is wrapped or cut, no tab becomes blanks.
    """
    print_view(_overview(found))
    for count, ones in found["by_changes"].items():
        if ones:
            one, title = ones[0], f"The best of {plural(int(count), 'change')}"
            reason = [] if one["diff"] else [Text(f"No diff: {one['why_no_diff']}.")]
            print_text("")
            print_view(section(title, *reason))
            print_document(one["diff"])


def _overview(found: Mapping[str, Any]) -> RenderableType:
    """The plans beside each other, and how many were compared."""
    every = [(count, one) for count, ones in found["by_changes"].items() for one in ones]
    parts: list[list[RenderableType]] = [[Text(_summary(found, len(every)))]]
    if every:
        rows = [_row(count, one) for count, one in every]
        view = table(_HEADINGS, rows, whole=("step time", "memory", "sure"))
        parts = [[section("Nearest better plans", view)], *parts]
    return spaced(parts)


def _summary(found: Mapping[str, Any], count: int) -> str:
    """How many plans were compared, in a sentence or two."""
    looked = (
        f"All {found['looked_at']:,} plans within three changes were looked at: "
        f"{found['runnable']:,} are launched by the framework, {found['fitting']:,} of them fit."
    )
    if not found["fits"]:
        looked += (
            " The launch itself does not fit, so that what it saves is of a time it cannot have."
        )
    return looked if count else f"No plan within three changes is faster. {looked}"


def _row(count: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    what = ", ".join(
        f"{name.replace('_', '-')} {old} to {new}" for name, (old, new) in one["changes"].items()
    )
    saves = show_percent(one["gain"]) if one["gain"] >= 0 else f"-{show_percent(-one['gain'])}"
    if one["gain_low"] is not None:
        saves += f" ({_percent(one['gain_low'])} to {_percent(one['gain_high'])})"
    sure = {True: "tie", False: "beyond noise", None: "a bound"}[one["tie"]]
    return (
        count,
        what,
        show_seconds(one["step_time_s"]),
        show_bytes(one["memory_per_chip_bytes"]),
        saves,
        sure,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
