"""Which algorithms a plan assumes for its collectives, as a table."""

from __future__ import annotations

from rich.console import RenderableType

from planner.base.units import show_bytes, show_seconds
from planner.cost.facts import PlanFacts
from planner.report.tables.tables import SplitTable, section


def collective_rows(facts: PlanFacts) -> list[tuple[str, ...]]:
    """Axis with its members, collective, size, time of one, algorithm, levels."""
    return [
        (
            f"{one.axis} ({one.members})",
            f"{one.collective}, {one.what}",
            show_bytes(one.size_bytes),
            show_seconds(one.time_s),
            one.words,
            ", ".join(one.levels),
        )
        for one in facts.collectives
    ]


def collectives_view(facts: PlanFacts | None) -> list[RenderableType]:
    """The table; nothing for one chip."""
    if facts is None or not facts.collectives:
        return []
    header = ("axis", "collective", "of", "one takes", "algorithm assumed", "over")
    rows = collective_rows(facts)
    view = SplitTable(
        header, rows, by=("axis", "collective"), right=("of", "one takes"), together=[header[2:4]]
    )
    return [section("Collectives", view)]
