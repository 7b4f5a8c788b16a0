"""The answer of `planner validate` as Rich tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.messages import shown
from planner.base.units import plural, show_bytes
from planner.evidence.runs.reading import Skipped, is_unused
from planner.evidence.validation.answer import Validation
from planner.evidence.validation.collectives import LARGE_BYTES
from planner.evidence.validation.measured_runs import Runs
from planner.report.tables.energy import energy_tables
from planner.report.tables.failure_tables import failure_tables, memory_tables
from planner.report.tables.families import family_tables
from planner.report.tables.fitted import EASY, Fitted
from planner.report.tables.goodput_checked import goodput_tables
from planner.report.tables.left_out import left_out_tables
from planner.report.tables.tables import indented, section
from planner.report.tables.transfer import transfer_tables
from planner.report.tables.validation_tables import (
    LISTED,
    TEXT,
    Table,
    choice_table,
    collective_table,
    filled_table,
    has_factors,
    interval_table,
    memory_table,
    microbench_table,
    nccl_table,
    peer_table,
    power_table,
    row_table,
    rule_table,
    site_words,
    software_table,
    summary_table,
    target_table,
    time_table,
)

# Left out first where a line is too short; then columns from the right.
_LESS = ("where from", "test median", "gold", "p90", "in interval", "in 20 %", "test rows",
         "largest %", "median %", "test mean", "median")  # fmt: skip
_LESS_OF_CALLS = ("large rows", "large bias %", "mean %", "bias %", "large median %")
_SYSTEM = 30
"""Columns of the name of a system that are easy to read."""
_NAMED = 6
_WHOLE: dict[str, Callable[[Any], Iterable[Table]]] = {
    "failures": failure_tables,
    "energy": energy_tables,
    "memory": memory_tables,
    "sources_left_out": left_out_tables,
    "transfer": transfer_tables,
    "families": family_tables,
    "goodput": goodput_tables,
}
"""Field of `Validation` to the tables that it is printed as."""


def validation_view(answer: Validation, *, rules: bool = False) -> RenderableType:
    """Everything that `planner validate` prints; `rules`: the software of every row too."""
    parts: list[RenderableType] = []
    if answer.runs is not None:
        parts += _heeded_first(answer.runs)
    if answer.own is not None:
        parts += [Text(f"Warning: {line}", style="red") for line in answer.own.notes]
    for found in _tables(answer, rules=rules):
        parts += [section(found[0], fitting(found)), Text()]
    parts += _about_collectives(answer)
    if answer.runs is not None:
        parts += [*_skipped(answer.runs.data, answer.runs.skipped), *_notes(answer.runs)]
    if answer.own is not None:
        parts += _skipped(answer.own.name, answer.own.skipped)
    return Group(*parts)


def _tables(answer: Validation, *, rules: bool) -> Iterator[Table]:
    """All tables of what was asked for."""
    if answer.runs is not None:
        yield from run_tables(answer.runs)
        if rules:
            yield software_table(answer.runs)
    if answer.collectives is not None:
        yield from (collective_table(answer), nccl_table(answer))
    if answer.microbench is not None:
        yield microbench_table(answer)
    for name, tables in _WHOLE.items():
        found = getattr(answer, name)
        if found is not None:
            yield from tables(found)


def _about_collectives(answer: Validation) -> Iterator[RenderableType]:
    """What the constants are, and systems without a prediction."""
    if answer.collectives is not None:
        yield from (indented(_COLLECTIVES), Text())
    if answer.left_out:
        words = ", ".join(f"{name} ({count})" for name, count in answer.left_out.items())
        yield from (section("Systems that are not in the database", indented([words])), Text())


def fitting(found: Table) -> Fitted:
    """A table that folds on narrow screens, then says which columns it leaves out."""
    _, header, rows = found
    right = [name for name in header if name not in TEXT]
    where = "a wider terminal or --json shows them"
    calls = "large rows" in header
    return Fitted(
        header, rows, right=right, whole=("predicted",), less=_LESS_OF_CALLS if calls else _LESS,
        where=where, easy=_SYSTEM if calls else EASY,
    )  # fmt: skip


def run_tables(runs: Runs) -> list[Table]:
    """All tables about training runs that have rows."""
    scores = [*runs.sources, *runs.aggregates]
    tables = [time_table(scores, site=False)]
    if has_factors(runs):  # those asked for come first
        tables.insert(0 if runs.site_factors else 1, time_table(scores, site=True))
    if len(runs.sources) > 1:
        tables.insert(0, summary_table(runs))
    tables += [choice_table(scores), memory_table(scores), power_table(scores)]
    tables += [target_table(runs.targets), peer_table(runs.sources, runs.peers)]
    if len(runs.predictions) <= LISTED:
        tables.append(row_table(runs))
    tables += [interval_table(scores), rule_table(runs), filled_table(runs)]
    return [found for found in tables if found[2]]


def _skipped(name: str, skipped: Sequence[Skipped]) -> Iterator[RenderableType]:
    """Rows of a file that are left out: faults one by one, incomplete ones by reason."""
    if not skipped:
        return
    count = len({row.line for row in skipped})
    lines = [f"line {row.line} ({shown(row.key)}): {row.reason}" for row in skipped if row.is_fault]
    lines += _incomplete([row for row in skipped if not row.is_fault])
    yield section(f"Skipped: {plural(count, 'row')} of {name}", indented(lines))
    yield Text()


def _incomplete(skipped: Sequence[Skipped]) -> Iterator[str]:
    for reason, count in Counter(row.reason for row in skipped).most_common():
        named = [f"{shown(row.key)} (line {row.line})" for row in skipped if row.reason == reason]
        more = f" and {count - _NAMED:,} more (--json lists all)" if count > _NAMED + 1 else ""
        listed = named[:_NAMED] if more else named
        yield f"{plural(count, 'row')} {reason}: {', '.join(listed)}{more}"


_COLLECTIVES = (
    f"large: calls from {show_bytes(LARGE_BYTES)}.",
    "Plans take the constants of the training step, whose collectives run beside computing; "
    "`planner collective compare --system` takes those of NCCL.",
)
_LEGEND = (
    "Error: predicted over measured minus one; bias: its mean; the other columns: its size.",
    "gold: rows without known faults. test: rows that no constant was fitted to.",
    "in interval: share of the measurements inside the 80 % interval of their prediction.",
)


def _heeded_first(runs: Runs) -> Iterator[RenderableType]:
    """What is to be known before any figure is read: columns not used, and site factors."""
    lines = [Text(f"Warning: {line}", style="red") for line in runs.notes if is_unused(line)]
    if runs.site_factors:
        lines.append(Text(site_words(runs)))
    if lines:
        yield Group(*lines, Text())


def _notes(runs: Runs) -> Iterator[RenderableType]:
    notes = [line for line in runs.notes if not is_unused(line)]
    yield section("Notes", indented([*_LEGEND, *notes]))
