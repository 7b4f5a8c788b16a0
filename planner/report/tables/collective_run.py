"""The answer of `planner collective simulate` as Rich tables for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_bytes, show_seconds
from planner.collectives.questions.answers import FrontAnswer
from planner.collectives.questions.simulation import RunAnswer
from planner.collectives.runs.resynthesis import Resynthesis
from planner.collectives.runs.times import cell_name
from planner.report.tables.collective import heading
from planner.report.tables.tables import SplitTable, indented, section


def run_view(answer: RunAnswer) -> RenderableType:
    """Everything that `planner collective simulate` prints."""
    parts: list[RenderableType] = [heading(answer.question), Text()]
    if answer.changed is None:
        parts += [section("Simulated times", _times(answer)), Text(), _notes(answer)]
        return Group(*parts)
    parts += [section(f"Simulated on {answer.changed.changed}", _changed(answer.changed))]
    lines = []
    if answer.changed.reroutes:
        lines.append("Sends over failed links take a shortest way round, stored and forwarded.")
    if answer.found is not None:
        made = _made(answer.found)
        lines.append(f"Made for the machine as it is now: {made}, in rounds of its lanes.")
    if answer.without is not None:
        lines.append(f"Made as if slow links had failed: {_made(answer.without)}.")
    lines.append(
        "Re-synthesized is the fastest of these and of those made for the healthy machine."
    )
    if any(row.what == "lower bound" for row in answer.changed.rows):
        lines.append(
            "Lower bounds: of runs with barriers (synchronous), and of those without (dependent)."
        )
    return Group(*parts, Text(), indented(lines, by=0))


def _made(found: FrontAnswer) -> str:
    """`(2,2,3), (6,3,7) (not proved)`."""
    if not found.rows:
        return f"none ({found.front.ends})"
    return ", ".join(
        f"{cell_name(row.schedule)}{'' if row.proved else ' (not proved)'}" for row in found.rows
    )


def _times(answer: RunAnswer) -> RenderableType:
    """A row per size and schedule: both modes beside the formula."""
    header = ("size L", "(C,S,R)", "formula", "synchronous", "dependent", "dependent / formula")
    rows = []
    best = answer.best
    for at, size in enumerate(answer.sizes_bytes.tolist()):
        for row, schedule in enumerate(answer.schedules):
            formula = float(answer.formula_s[row, at])
            modes = [float(answer.times_s[mode][row, at]) for mode in ("synchronous", "dependent")]
            star = " *" if len(answer.schedules) > 1 and best[at] == row else ""
            rows.append((
                show_bytes(size) if row == 0 else "", f"{cell_name(schedule)}{star}",
                show_seconds(formula), *map(show_seconds, modes), plain(modes[1] / formula),
            ))  # fmt: skip
    return SplitTable(header, rows, by=header[:2], right=(header[0], *header[2:]))


def _notes(answer: RunAnswer) -> RenderableType:
    lines = [
        "formula: start + the sum over steps of the slowest link's latency and turns; "
        "dependent: no barriers between steps, each link keeps its order."
    ]
    if len(answer.schedules) > 1:
        lines.append(f"* the fastest at this size, {answer.mode}.")
    return indented(lines, by=0)


def _changed(table: Resynthesis) -> RenderableType:
    """Healthy, oblivious, re-synthesized and the bound, size by size."""
    header = ("size L", "", "(C,S,R)", "synchronous", "dependent", "over healthy")
    rows = []
    for at, size in enumerate(table.sizes_bytes.tolist()):
        for number, row in enumerate(table.rows):
            dependent = show_seconds(float(row.dependent_s[at]))
            rows.append((
                "" if number else show_bytes(size), row.what, row.schedules[at] or "-",
                show_seconds(float(row.time_s[at])), dependent,
                f"{plain(float(row.over_healthy[at]))} x",
            ))  # fmt: skip
    return SplitTable(header, rows, by=header[:2], right=(header[0], *header[3:]))
