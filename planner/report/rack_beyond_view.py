"""The answer of `planner rack parallelism --beyond` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.rack.beyond import CHIPS, SEQ_LEN, SEQUENCES, BeyondAnswer, Change, Costs
from planner.report.tables import Widest, indented, section, table
from planner.units import plain, plural, show_bytes, show_joules, show_seconds

_HEADER = (
    "change", "plan", "time", "after", "ratio", "energy", "after ", "ratio ", "memory",
)  # fmt: skip
_KEPT: tuple[tuple[int, ...], ...] = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8), (0, 1, 2, 3, 4, 5, 7, 8), (0, 1, 2, 3, 4, 7, 8),
    (0, 1, 2, 3, 4, 7),
)  # fmt: skip
_WORDS = ("change", "plan")
_NAMED = 7


def beyond_view(answer: BeyondAnswer) -> RenderableType:
    """Everything that `planner rack parallelism --beyond` prints."""
    title = (
        f"What the report leaves out: {CHIPS} chips of {answer.hardware}, "
        f"{SEQUENCES} sequences of {SEQ_LEN:,} tokens"
    )
    rows = [_cells(change) for change in answer.changes]
    tables = [_columns(rows, keep) for keep in _KEPT]
    words = dict.fromkeys(
        f"{change.change}: {change.words} "
        f"({change.model}, before: {change.reference}"
        + (f"; changes {_changed(change)})" if change.changed else ")")
        for change in answer.changes
    )
    return Group(section(title, Widest(tables)), Text(), indented(list(words), by=0))


def _changed(change: Change) -> str:
    """The fields of the assumptions by name; of many, the first and where all are."""
    names = change.changed
    if len(names) <= _NAMED:
        return ", ".join(names)
    more = plural(len(names) - _NAMED, "more field")
    return f"{', '.join(names[:_NAMED])} and {more}; all with --json"


def _columns(rows: list[tuple[str, ...]], keep: Sequence[int]) -> RenderableType:
    header = [_HEADER[index] for index in keep]
    cells = [[row[index] for index in keep] for row in rows]
    right = [name for name in header if name not in _WORDS]
    return table(header, cells, right=right, whole=_WORDS)


def _cells(change: Change) -> tuple[str, ...]:
    before, after = change.before, change.after
    same_plan = before.plan == after.plan
    return (
        change.change,
        before.plan if same_plan else f"{before.plan} -> {after.plan}",
        show_seconds(before.step_time_s),
        show_seconds(after.step_time_s),
        plain(change.time_ratio),
        show_joules(before.energy_j),
        show_joules(after.energy_j),
        plain(change.energy_ratio),
        _memory(after) if same_plan else f"{_memory(before)} -> {_memory(after)}",
    )


def _memory(costs: Costs) -> str:
    """Bytes of the fullest chip, with a mark where it has not so many."""
    return show_bytes(costs.memory_bytes) + ("" if costs.fits else " (!)")
