"""The answer of `planner fleet` as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import (
    plain,
    plural,
    show_percent,
    show_seconds,
    show_watt_hours,
    show_watts,
)
from planner.report.tables.tables import indented, section, table
from planner.studies.fleet.answer import FleetResult, JobRow, Late, Segment, Totals
from planner.studies.sweep.kept import clock_words, mesh_words

_NONE = "-"
_NUMBERS = (
    "chips", "start", "end", "deadline", "late", "money", "energy", "power", "priority", "used",
    "peak", "most power", "jobs late", "late days", "last end",
)  # fmt: skip


def fleet_view(result: FleetResult) -> RenderableType:
    """Everything that `planner fleet` prints."""
    if not result.jobs:
        return _without(result)
    parts: list[RenderableType] = [Text(_heading(result), style="bold"), _jobs(result), Text()]
    parts += [section("Clusters", _clusters(result)), Text()]
    parts += [section("All together", _totals(result)), Text()]
    if result.late:
        lines = [line for late in result.late for line in late_lines(late, result)]
        parts += [Text("Why late", style="bold"), indented(lines), Text()]
    parts.append(indented(list(notes(result)), by=0))
    return Group(*parts)


def _heading(result: FleetResult) -> str:
    return (
        f"{plural(len(result.jobs), 'job')} on {plural(len(result.clusters), 'cluster')} within "
        f"{result.days:g} days, in steps of {show_seconds(result.grid_s)}: {proof_words(result)}"
    )


def proof_words(result: FleetResult) -> str:
    """How the search ended."""
    name = result.objective_name
    if result.status == "optimal":
        return f"least {name}, proved"
    gap = "" if result.gap is None else f" (gap {show_percent(result.gap)})"
    return f"{name} not proved to be the least{gap}"


def _day(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4g}"


def _money(value: float | None) -> str:
    return _NONE if value is None else plain(value, 5)


def _energy(kwh: float) -> str:
    return show_watt_hours(kwh * 1e3)


def job_cells(result: FleetResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of the table of jobs; a job that changes its size has a row per size."""
    priced = any(job.money is not None for job in result.jobs)
    header: tuple[str, ...] = (
        "job", "cluster", "chips", "start", "end", "deadline", "late", "energy", "power", "plan",
    )  # fmt: skip
    if priced:
        header = (*header[:7], "money", *header[7:])
    rows = []
    for job in result.jobs:
        for at, segment in enumerate(job.segments):
            first = not at
            cells = [
                job.name if first else "",
                job.cluster if first else "",
                _chips(segment.chips, segment.held_chips),
                _day(segment.start_day),
                _day(segment.end_day),
                _day(job.deadline_day) if first else "",
                (_day(job.late_days) if job.late_days else _NONE) if first else "",
                _energy(job.energy_kwh) if first else "",
                show_watts(segment.power_w),
                plan_words(segment),
            ]
            if priced:
                cells.insert(7, _money(job.money) if first else "")
            rows.append(tuple(cells))
    return header, rows


def plan_words(segment: Segment) -> str:
    """`dp32, clock 0.9`; `--json` has all of a plan."""
    return ", ".join(filter(None, [mesh_words(segment.plan), clock_words(segment.plan)]))


def _chips(used: int, held: int) -> str:
    return f"{used:,}" if used == held else f"{used:,} of {held:,}"


def _jobs(result: FleetResult) -> RenderableType:
    header, rows = job_cells(result)
    return table(header, rows, right=_NUMBERS, whole=("job", "cluster"))


def _clusters(result: FleetResult) -> RenderableType:
    header = ("cluster", "hardware", "chips", "given whole", "used", "peak", "most power")
    rows = [
        (
            row.name,
            row.hardware,
            f"{row.chips:,}",
            f"{row.unit} of {row.unit_chips:,}",
            show_percent(row.used),
            f"{row.peak_chips:,}",
            show_watts(row.peak_power_w)
            + ("" if row.max_power_w is None else f" of {show_watts(row.max_power_w)}"),
        )
        for row in result.clusters
    ]
    return table(header, rows, right=_NUMBERS, whole=("cluster", "hardware"))


def _totals(result: FleetResult) -> RenderableType:
    header = ("schedule", "money", "energy", "jobs late", "late days", "last end")
    rows = [_total_cells("this one", result.totals)]
    rows.append(_total_cells("first come, first served", result.usual))
    return table(header, rows, right=_NUMBERS, whole=("schedule",))


def _total_cells(name: str, totals: Totals | None) -> tuple[str, ...]:
    if totals is None:
        return (name, "cannot be held within the limits", "", "", "", "")
    return (
        name,
        _money(totals.money),
        _energy(totals.energy_kwh),
        f"{totals.late_jobs}",
        f"{totals.late_days:.4g}",
        f"day {totals.end_day:.4g}",
    )


def late_lines(late: Late, result: FleetResult) -> Iterator[str]:
    """Why one job is late, and what changes buy."""
    job = next(one for one in result.jobs if one.name == late.job)
    yield f"{late.job}: {_cause(late, job)}"
    now = result.totals.late_days if result.totals else 0.0
    for bought in late.bought:
        known = "" if bought.proved else " (or better: not proved)"
        yield (
            f"  {bought.change}: late days of all {now:.4g} -> {bought.late_days:.4g}, of this job "
            f"{job.late_days:.4g} -> {bought.job_late_days:.4g}{known}"
        )


def _cause(late: Late, job: JobRow) -> str:
    deadline = job.deadline_day or 0.0
    if late.alone_day > deadline:
        return (
            f"even alone it ends on day {late.alone_day:.4g}, after its deadline ({deadline:.4g})"
        )
    beside = f"; beside it: {', '.join(late.waits_for)}" if late.waits_for else ""
    return f"alone it would end on day {late.alone_day:.4g}{beside}"


def notes(result: FleetResult) -> Iterator[str]:
    """What the figures mean."""
    yield (
        f"Days count from 0, on a grid of {show_seconds(result.grid_s)}; run times are rounded up "
        "to it. Late days count each job's priority."
    )
    if result.second:
        found = "(proved)" if result.second_proved else "that was found (not proved)"
        yield f"Of the schedules that are no later, this has the least {result.second} {found}."
    read = f" ({result.read:,} from the store)" if result.read else ""
    yield (
        f"Plans: the exact fronts of days and energy of {plural(result.solved, 'question')}{read}, "
        f"{result.choices:,} choices; scheduled in {result.seconds:.1f} s."
    )


def _without(result: FleetResult) -> RenderableType:
    """Where there is no schedule."""
    if not result.impossible:
        return Text(
            "no schedule was found within the time limit; more of --time-limit may find one"
        )
    parts: list[RenderableType] = [Text("no schedule is possible, proved", style="bold")]
    parts.append(indented(result.reasons))
    if result.changes:
        lines = [
            f"{change.limit}: {change.words}" + ("" if change.proved else " (less may do)")
            for change in result.changes
        ]
        parts += [
            Text(),
            Text("Any one of these makes one possible", style="bold"),
            indented(lines),
        ]
    return Group(*parts)
