"""Targets, their versions and their launchers as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.frameworks.writing.launchers.table import Started
from planner.report.tables.tables import indented, section, table


def targets_view(rows: Sequence[Started], launchers: Sequence[str]) -> RenderableType:
    """The table, a mark for each refusal, and the reasons below it.

    Args:
        rows: A target each, or a target on some chips.
        launchers: Their names, a column each.
    """
    reasons = list(dict.fromkeys(why for row in rows for why in row.refusals.values() if why))
    marks = {why: f"no ({at})" for at, why in enumerate(reasons, start=1)}
    cells = [
        (
            row.target.name + (f" on {row.chips}" if row.chips else ""),
            ", ".join(filter(None, row.target.versions)) or "one",
            *(marks.get(row.refusals[name], "yes") for name in launchers),
        )
        for row in rows
    ]
    header = ("target", "versions", *launchers)
    notes = [f"({at}) {why}" for at, why in enumerate(reasons, start=1)]
    view = section("What plans are written for, and what starts them", table(header, cells))
    return Group(view, Text(), indented(notes))
