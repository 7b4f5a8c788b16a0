"""Clocks per operation in a terminal: what they save, by the seconds that a change takes."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner.base.units import plain, plural, show_joules, show_percent, show_seconds
from planner.report.tables.tables import section, table
from planner.results.operation_clocks import WORTH, OperationClocks

_HEADER = ("a change takes", "energy", "saved", "at most", "changes")
_ROUNDING = 1e-6
_FRONT = ("step time", "per stage", "per operation", "mixed", "bound")


def clocks_lines(found: OperationClocks) -> list[str]:
    """What is used, in a sentence or two."""
    chosen = found.chosen
    what = (
        f"per operation {show_joules(chosen.energy_j)}, {show_percent(chosen.saved)} less than the "
        f"best clock per stage in the same {show_seconds(found.limit_s)}, if a change of the clock "
        f"takes {show_seconds(found.switching_s)}"
    )
    if found.worth:
        return [what]
    return [f"{what}: under {show_percent(WORTH)}, so they stay per stage"]


def clocks_view(found: OperationClocks) -> list[RenderableType]:
    """The comparison with the best clock per stage, and the front."""
    base = found.per_stage_j
    rows = [
        (
            show_seconds(one.switching_s) if one.switching_s else "0 s",
            show_joules(one.energy_j),
            show_percent(max(one.saved, 0.0)),
            show_percent(max(1 - one.bound_j / base, 0.0)),
            f"{one.switches:,}",
        )
        for one in found.choices
    ]
    points = [
        (
            show_seconds(one.step_time_s),
            *(show_joules(part) for part in (one.per_stage_j, one.per_operation_j, one.mixed_j)),
            show_joules(one.bound_j),
        )
        for one in found.front
    ]
    gap = (base - found.per_stage_bound_j) / base
    proved = "proved" if gap < _ROUNDING else f"proved to {show_percent(gap)}"
    stages = ", ".join(plain(clock) for clock in found.per_stage)
    words = (
        f"{plural(found.operations, 'operation')}; best clock per stage {show_joules(base)} "
        f"({stages}), {proved}. "
        "While a clock changes, the stage stands still."
    )
    fronts = "Longer steps, changes taking no time (mixed: two clocks within an operation)"
    return [
        section(
            "Clocks per operation in the same simulated time", Text(words),
            table(_HEADER, rows, right=_HEADER),
        ),
        section(fronts, table(_FRONT, points, right=_FRONT)),
    ]  # fmt: skip
