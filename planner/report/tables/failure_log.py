"""How often the chips of one's own log fail, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.commands import path_typed
from planner.base.units import plain, plural, show_percent
from planner.evidence.failure_log.result import Cause, FailureRate
from planner.report.tables.tables import indented, section, table


def failure_log_view(found: FailureRate) -> RenderableType:
    """Everything that `planner calibrate --failures` prints."""
    heading = (
        f"{plural(found.all.failures, 'failure')} in {plain(found.chip_hours)} chip-hours "
        f"({plural(found.rows, 'row')}, up to {plural(found.chips, 'chip')})"
    )
    header = ("cause", "failures", "share", "chip-hours per failure", "80 %")
    rows = [_row(one) for one in (found.all, *found.causes)]
    parts: list[RenderableType] = [
        Text(heading, style="bold"),
        table(header, rows, right=("failures", "share", "chip-hours per failure")),
    ]
    if found.notes:
        parts += [Text(), section("Notes", indented(found.notes))]
    ending = f"Written to {found.file}. Use it: planner solve ... --train-tokens 1T "
    return Group(*parts, Text(), Text(f"{ending}--failure-site {path_typed(found.file)}"))


def _row(one: Cause) -> tuple[str, ...]:
    return (
        one.cause,
        f"{one.failures:,}",
        show_percent(one.share),
        plain(one.chip_hours_per_failure),
        f"{plain(one.low)} to {plain(one.high)}",
    )
