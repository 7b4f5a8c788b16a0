"""The answer of `planner feasible` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_count, show_percent, show_seconds
from planner.report.tables.likely import interval_words
from planner.report.tables.tables import Widest, indented, section, table
from planner.studies.feasibility.answer import NOTHING, DeadlineRow, FeasibleResult, Row
from planner.studies.feasibility.strategies import STRATEGIES

_TITLES = {strategy.name: strategy.title for strategy in STRATEGIES}
_NONE = "-"


def feasible_view(result: FeasibleResult) -> RenderableType:
    """Everything that `planner feasible` prints."""
    parts: list[RenderableType] = []
    for _, group in groupby(result.rows, _case_of):
        rows = list(group)
        parts += [Text(_heading(result, rows[0]), style="bold"), _table(result, rows)]
        parts += [indented(_sentences(rows)), Text()]
    if result.deadlines:
        first, *_ = result.deadlines
        goal = f"{show_count(first.train_tokens)} tokens within {show_seconds(first.deadline_s)}"
        parts += [Text(f"The fewest chips for {goal}", style="bold")]
        parts.append(_deadline_table(result.deadlines))
        said = [f"{row.words}." for row in result.deadlines if row.plan is not None]
        parts += [indented(said), Text()]
    if result.notes:
        parts.append(indented(result.notes, by=0))
    if result.defaults:
        assumed = table(("what", "value", "why"), result.defaults, whole=("what",))
        parts += [Text(), section("Assumed", assumed)]
    return Group(*parts)


def _case_of(row: Row) -> tuple[object, ...]:
    """What the rows of one table share."""
    return (row.model, row.hardware, row.batch_tokens) + (
        (row.chips,) if row.max_chips is None and row.chips is not None else ()
    )


def _heading(result: FeasibleResult, row: Row) -> str:
    words = f"{row.model} on "
    words += f"{row.chips:,} x {row.hardware}" if result.question != "chips" else row.hardware
    if row.batch_tokens is not None:
        words += f", {tokens_words(row.batch_tokens)} tokens per step"
    return f"{words} ({result.assumptions})"


def _table(result: FeasibleResult, rows: Sequence[Row]) -> RenderableType:
    if result.question == "chips":
        return _largest_table(rows)
    if result.question == "verdict":
        return _verdict_table(rows)
    return _threshold_table(rows)


def _threshold_table(rows: Sequence[Row]) -> RenderableType:
    """Batches, degrees and what binds, a strategy per line."""
    header = (
        "strategy", "batch from", "peak from", "per chip", "whole from", "mesh", "fits", "max tp",
        "X_opt", "binds",
    )  # fmt: skip
    cells = [
        (
            _TITLES[row.strategy],
            tokens_words(row.min_batch_tokens_compute_bound),
            tokens_words(row.min_batch_tokens_at_peak),
            _per_chip(row),
            tokens_words(row.min_batch_tokens_whole_mesh),
            mesh_words(row.mesh),
            _fits(row),
            _number(row.max_tp),
            _number(row.x_opt),
            _short(row.binds),
        )
        for row in rows
    ]
    shown = {
        "peak from": any(row.min_batch_tokens_at_peak is not None for row in rows),
        "whole from": any(_differs(row) for row in rows),
    }
    keep = [at for at, name in enumerate(header) if shown.get(name, True)]
    return _columns(header, cells, keep)


# Columns that a narrow terminal goes without, one after the other.
_SPARED = (
    "80 %",
    "X_opt",
    "max tp",
    "peak from",
    "per chip",
    "whole from",
    "by the formula",
    "fits",
    "step",
    "margin",
)


def _differs(row: Row) -> bool:
    return row.min_batch_tokens_compute_bound != row.min_batch_tokens_whole_mesh


def _columns(
    header: Sequence[str], cells: Sequence[Sequence[str]], keep: Sequence[int]
) -> RenderableType:
    """Some columns of a table; those of numbers flush right."""
    words = ("strategy", "mesh", "binds", "verdict", "at peak")
    left, tables = list(keep), []
    for spared in (None, *_SPARED):
        left = [index for index in left if header[index] != spared]
        chosen = [header[index] for index in left]
        lines = [[line[index] for index in left] for line in cells]
        right = tuple(name for name in chosen if name not in words)
        tables.append(table(chosen, lines, right=right, whole=("strategy", "mesh", "verdict")))
    return Widest(tables)


def _verdict_table(rows: Sequence[Row]) -> RenderableType:
    header = (
        "strategy", "verdict", "at peak", "margin", "batch from", "mesh", "X_opt", "step", "80 %",
        "binds",
    )  # fmt: skip
    cells = [
        (
            _TITLES[row.strategy],
            "yes" if row.feasible else "no",
            {None: _NONE, True: "yes", False: "no"}[row.feasible_at_peak],
            _NONE if row.margin is None else f"{plain(row.margin)} x",
            tokens_words(row.min_batch_tokens_compute_bound),
            mesh_words(row.mesh),
            _number(row.x_opt),
            _NONE if row.step_time_s is None else show_seconds(row.step_time_s),
            _interval(row),
            _short(row.binds),
        )
        for row in rows
    ]
    peak = any(row.feasible_at_peak is not None for row in rows)
    keep = [at for at, name in enumerate(header) if peak or name != "at peak"]
    return _columns(header, cells, _with_interval(rows, keep, header.index("80 %")))


def _largest_table(rows: Sequence[Row]) -> RenderableType:
    header = ("strategy", "most chips", "by the formula", "mesh", "step", "80 %", "binds")
    cells = [
        (
            _TITLES[row.strategy],
            _NONE if row.max_chips is None else f"{row.max_chips:,}",
            _NONE if row.max_chips_continuous is None else f"{row.max_chips_continuous:,.0f}",
            mesh_words(row.mesh),
            _NONE if row.step_time_s is None else show_seconds(row.step_time_s),
            _interval(row),
            _short(row.binds),
        )
        for row in rows
    ]
    keep = [0, 1, *([2] if any(row.max_chips_continuous for row in rows) else []), 3, 4, 5, 6]
    return _columns(header, cells, _with_interval(rows, keep, 5))


_WITH_FAILURES = ("if nothing fails", "goodput")
"""Columns of deadlines where it is known how often chips fail."""


def _deadline_table(rows: Sequence[DeadlineRow]) -> RenderableType:
    header = ("model", "hardware", "tokens per step", "chips", "days", "if nothing fails", "step",
              "80 %", "goodput", "plan")  # fmt: skip
    cells = [
        (
            row.model,
            row.hardware,
            tokens_words(row.batch_tokens),
            _NONE if row.chips is None else f"{row.chips:,}",
            _NONE if row.days is None else plain(row.days),
            _NONE if row.ideal_days is None else plain(row.ideal_days),
            _NONE if row.step_time_s is None else show_seconds(row.step_time_s),
            _interval(row),
            _NONE if row.goodput is None else show_percent(row.goodput),
            row.words
            if row.plan is None
            else f"{mesh_words(row.plan['mesh'])}, {row.plan['sharding']}",
        )
        for row in rows
    ]
    right = ("tokens per step", "chips", "days", "if nothing fails", "step", "80 %", "goodput")
    keep = _with_interval(rows, range(len(header)), header.index("80 %"))
    if all(row.goodput is None for row in rows):
        keep = [column for column in keep if header[column] not in _WITH_FAILURES]
    return table(
        [header[i] for i in keep],
        [[line[i] for i in keep] for line in cells],
        right=right,
        whole=("model", "hardware"),
    )


def _interval(row: Row | DeadlineRow) -> str:
    """`371-466 ms`."""
    low, high = row.step_time_low_s, row.step_time_high_s
    return _NONE if low is None or high is None else interval_words(low, high, show_seconds)


def _with_interval(
    rows: Sequence[Row | DeadlineRow], keep: Sequence[int], column: int
) -> Sequence[int]:
    """The columns to show, without that of intervals where no row has one."""
    some = any(row.step_time_low_s is not None for row in rows)
    return [index for index in keep if some or index != column]


def _sentences(rows: Sequence[Row]) -> list[str]:
    """What binds each strategy, unless nothing does, and what X_opt rounds to."""
    lines = []
    for row in rows:
        words = [row.words] if row.binds != NOTHING or "continuous" in row.words else []
        words += _split_words(row)
        if words:
            lines.append(f"{_TITLES[row.strategy]}: {'; '.join(words)}.")
    return lines


def _split_words(row: Row) -> list[str]:
    """The whole split with the least communication, if there is one."""
    if row.x_opt is None or not row.x_opt_mesh:
        return []
    split = f"{row.x_opt_mesh['fsdp']} x {row.x_opt_mesh['tp']}"
    if row.x_opt_torus:
        return [f"least communication, proved: {split} with {row.x_opt_torus}"]
    if row.x_opt == row.x_opt_mesh["fsdp"]:
        return []
    return [f"X_opt {plain(row.x_opt)} rounds to {split}"]


def mesh_words(mesh: Mapping[str, int] | None) -> str:
    """`fsdp 1024 tp 4`."""
    if mesh is None:
        return _NONE
    order = [axis for axis in ("dp", "fsdp", "tp", "cp", "pp") if axis in mesh]
    return " ".join(f"{axis} {mesh[axis]}" for axis in order) or "one chip"


def tokens_words(value: float | None) -> str:
    """`963.3 k`, `3.482 M`; a dash for None."""
    return _NONE if value is None else show_count(round(value))


def _per_chip(row: Row) -> str:
    least = row.min_batch_tokens_compute_bound
    return _NONE if least is None or not row.chips else plain(least / row.chips)


def _fits(row: Row) -> str:
    """From which batch to which a strategy fits in memory."""
    if row.min_batch_tokens_fit is None:
        return _NONE
    low, high = tokens_words(row.min_batch_tokens_fit), row.max_batch_tokens_fit
    return f"from {low}" if high is None else f"{low} .. {tokens_words(high)}"


def _short(binds: str) -> str:
    """What binds, as narrow as a column."""
    return binds.replace("communication", "comm.")


def _number(value: float | None) -> str:
    return _NONE if value is None else plain(value)
