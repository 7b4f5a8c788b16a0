"""Studies in a terminal: how far one is, what a run would take, rows of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.commands import path_typed
from planner.base.units import plain, plural, show_bytes, show_joules, show_percent, show_seconds
from planner.question.asked import BY_NAME
from planner.question.asked.values import symbol_of, value_words
from planner.report.tables.tables import SplitTable, indented, pairs, section
from planner.studies.sweep.answer import SweepResult
from planner.studies.sweep.columns import NONE_CHOSEN, cell
from planner.studies.sweep.question.study import Study
from planner.studies.sweep.rows import Row
from planner.studies.sweep.running.run import Estimate

_NONE = "-"
_SHOWN = 3
_HOUR_S = 3600.0
_UNITS = {"_s": show_seconds, "_j": show_joules, "_bytes": show_bytes}
_WRITTEN = {"_per_s": "1/s", "_s": "s", "_j": "J", "_bytes": "B", "_w": "W", "_mwh": "MWh"}
_SHARES = ("mfu", "hfu", "gap", "share")


def cell_words(name: str, value: Any) -> str:
    """A value of a column with its unit."""
    if value is None or value == "":
        return _NONE
    if name in BY_NAME:
        return value_words(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    last = name.rpartition(".")[2]
    if last in _SHARES:
        return show_percent(value)
    for ending, show in _UNITS.items():
        if last.endswith(ending) and not last.endswith("per_s"):
            return show(value)
    return f"{value:,}" if isinstance(value, int) else plain(value, 4)


def column_words(name: str) -> str:
    """`step time (s)`: the name of a column for people; fields of the question keep theirs."""
    if symbol := symbol_of(name):
        return f"{name} ({symbol})"
    where, _, last = name.rpartition(".")
    if where not in ("best", "training_run") and not where.startswith("best."):
        return name
    for ending, unit in _WRITTEN.items():
        if last.endswith(ending):
            return f"{last.removesuffix(ending).replace('_', ' ')} ({unit})"
    return last.replace("_", " ")


def status_view(result: SweepResult) -> RenderableType:
    """What `planner sweep status` prints."""
    counts = result.counts
    left = counts.points - counts.done
    rows = [
        ("study", result.file or "from Python"),
        ("axes", ", ".join(result.axes) or "none"),
        ("points", f"{counts.points:,}"),
        ("done", f"{counts.done:,} ({_share(counts.done, counts.points)})"),
        ("to do", f"{left:,}"),
    ]
    for status, count in sorted(counts.by_status.items()):
        rows.append((f"  {status}", f"{count:,}"))
    if stale := result.age().words:
        rows.append(("stale", stale))
    rows.append(("CPU", _hours(counts.cpu_s)))
    if running := result.running:
        rows.append(("running", running))
    reasons = result.reasons() if counts.failed else []
    body: list[RenderableType] = [pairs(rows)]
    if reasons:
        body += [Text(), indented(reasons)]
    store = path_typed(result.path)
    more = []
    if left and not running:
        study = path_typed(result.file) if result.file else "STUDY"
        more.append(f"planner sweep run {study} -o {store}")
    more.append(f"planner sweep {'table' if counts.done else 'status'} {store}")
    return Group(section(str(result.path), *body), Text(), Text("Next: " + "\n      ".join(more)))


def _share(part: int, whole: int) -> str:
    return show_percent(part / whole) if whole else _NONE


def estimate_view(study: Study, found: Estimate) -> RenderableType:
    """What `planner sweep run --dry-run` prints."""
    rows = [
        (
            "axes",
            ", ".join(f"{'+'.join(g.names)} ({len(g.rows):,})" for g in study.groups) or "none",
        ),
        ("points", f"{found.points:,}"),
        ("left out", f"{found.left_out:,} by {plural(len(study.conditions), 'condition')}"),
        ("neighbours", f"{plural(found.families, 'pair')} of a model and a cluster"),
        (
            "CPU",
            f"about {_hours(found.cpu_s)}, from {plural(len(found.solved), 'point')} solved now",
        ),
    ]
    if not study.conditions:
        rows.pop(2)
    shown = found.solved[:: max(len(found.solved) // _SHOWN, 1)][:_SHOWN]
    header = (*study.names, "status", "best plan", "step time", "CPU")
    lines = [_tried(study.names, values, solved) for values, solved in shown]
    table = SplitTable(header, lines, by=study.names[:1] or ("status",), right=("step time", "CPU"))
    return Group(section(study.file or "study", pairs(rows)), Text(), table)


def _hours(seconds: float) -> str:
    return f"{seconds / _HOUR_S:.3g} h" if seconds >= _HOUR_S else f"{seconds:.3g} s"


def _tried(names: Sequence[str], values: Mapping[str, Any], solved: Any) -> tuple[str, ...]:
    row = Row(0, dict(values), {}, "", solved.status, dict(solved.answer), None, solved.cpu_s)
    step = cell(row, "best.step_time_s")
    plan = cell(row, "plan") or cell(row, "reason")
    return (
        *(cell_words(name, values.get(name)) for name in names),
        solved.status,
        plan or _NONE,
        cell_words("step_time_s", step),
        f"{solved.cpu_s:.3g} s",
    )


def rows_view(
    result: SweepResult, names: Sequence[str], rows: Iterable[tuple[Any, ...]], most: int
) -> RenderableType:
    """The first rows of a table."""
    found = iter(rows)
    first = list(islice(found, most))
    more = sum(1 for _ in found)
    cells = [
        tuple(cell_words(name, value) for name, value in zip(names, row, strict=True))
        for row in first
    ]
    numbers = [
        name for at, name in enumerate(names)
        if any(isinstance(row[at], int | float) for row in first)
    ]  # fmt: skip
    by = [name for name in result.axes if name in names] or list(names[:1])
    ordered = [*by, *(name for name in names if name not in by)]
    places = [list(names).index(name) for name in ordered]
    table = SplitTable(
        ordered, [tuple(row[at] for at in places) for row in cells], by=by, right=numbers
    )
    note = f"{more:,} more rows: --rows, or --csv for all" if more else ""
    if not first:
        note = f"no rows: {NONE_CHOSEN}"
    return Group(table, *([Text(), Text(note)] if note else []))


def picture_view(
    title: str, header: Sequence[str], rows: Sequence[tuple[str, ...]], most: int = 40
) -> RenderableType:
    """The table of what a picture shows."""
    more = len(rows) - most
    table = SplitTable(header, rows[:most], by=header[:1], right=header[1:])
    note = [Text(), Text(f"{more:,} more rows")] if more > 0 else []
    return Group(section(title, table), *note)
