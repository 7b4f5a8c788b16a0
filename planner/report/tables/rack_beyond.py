"""The answer of `planner rack parallelism --beyond` as Rich tables for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, plural, show_bytes, show_joules, show_seconds
from planner.report.tables.tables import SplitTable, indented, section
from planner.studies.rack.parallelism.beyond import (
    CHIPS,
    SEQ_LEN,
    SEQUENCES,
    BeyondAnswer,
    Change,
    Costs,
)

_WORDS = ("change", "plan")
_NAMED = 7
_TIME = ("time\nbefore", "time\nafter", "time\nratio")
_ENERGY = ("energy\nbefore", "energy\nafter", "energy\nratio")
_FIGURES = (*_TIME, *_ENERGY, "memory")


def beyond_view(answer: BeyondAnswer) -> RenderableType:
    """Everything that `planner rack parallelism --beyond` prints."""
    title = (
        f"What the report leaves out: {CHIPS} chips of {answer.hardware}, "
        f"{SEQUENCES} sequences of {SEQ_LEN:,} tokens"
    )
    rows = [_cells(change) for change in answer.changes]
    view = SplitTable(
        (*_WORDS, *_FIGURES), rows, by=_WORDS, right=_FIGURES, together=(_TIME, _ENERGY)
    )
    words = dict.fromkeys(
        f"{change.change}: {change.words} "
        f"({change.model}, before: {change.reference}"
        + (f"; changes {_changed(change)})" if change.changed else ")")
        for change in answer.changes
    )
    return Group(section(title, view), Text(), indented(list(words), by=0))


def _changed(change: Change) -> str:
    """The fields of the assumptions by name; of many, the first and where all are."""
    names = change.changed
    if len(names) <= _NAMED:
        return ", ".join(names)
    more = plural(len(names) - _NAMED, "more field")
    return f"{', '.join(names[:_NAMED])} and {more}; all with --json"


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
