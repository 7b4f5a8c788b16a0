"""Answers as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from planner.base.units import show_bytes, show_joules, show_percent, show_seconds
from planner.report.tables.machine_marks import COLUMNS, cells, has_machines
from planner.report.tables.screen import LAID_OUT, Groups, evaluate_rows, solve_rows
from planner.report.tables.terminal import cost_rows
from planner.results.gains import nothing_found_words
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.results.words import (
    boundary_words,
    choice_words,
    front_title,
    is_best,
    job_words,
    marks_proved,
    mesh_words,
    plan_rows,
    proved_mark,
)

_COLUMNS = 80
"""Of bars and commands."""
_FIGURES = ("#", "chips", "step time", "energy/step", "MFU", "memory")


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: int = 0,
    bold: Sequence[int] = (),
) -> str:
    """A table; the first `right` columns are numbers, rows of `bold` stand out."""
    head = "".join(f"<th{_side(i, right)}>{escape(cell)}</th>" for i, cell in enumerate(header))
    body = ""
    for number, row in enumerate(rows):
        weight = ' style="font-weight:bold"' if number in bold else ""
        cells = "".join(f"<td{_side(i, right)}>{escape(cell)}</td>" for i, cell in enumerate(row))
        body += f"<tr{weight}>{cells}</tr>"
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _side(column: int, right: int) -> str:
    return ' style="text-align:right"' if column < right else ""


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>" if words else ""


def _plan(result: PlanResult) -> str:
    return _table((), [*plan_rows(result), *cost_rows(result)]) + _paragraph(boundary_words(result))


def _front(result: SolveResult) -> str:
    machines = has_machines(result)
    rows = [
        (
            f"{number}",
            *(cells(point) if machines else ()),
            f"{point.chips:,}",
            show_seconds(point.step_time_s),
            show_joules(point.energy_per_step_j),
            show_percent(point.mfu),
            show_bytes(point.memory_per_chip_bytes),
            *(one.shown(point.costs) for one in result.beside),
            *([proved_mark(result, number - 1)] if marks_proved(result) else []),
            mesh_words(point.plan),
            choice_words(point.plan),
        )
        for number, point in enumerate(result.front, start=1)
    ]
    best = [row for row, point in enumerate(result.front) if is_best(point, result)]
    figures = (_FIGURES[0], *(COLUMNS if machines else ()), *_FIGURES[1:])
    figures += tuple(one.short for one in result.beside)
    marks = ["proved"] if marks_proved(result) else []
    header = (*figures, *marks, "mesh", "other choices")
    return _table(header, rows, right=len(figures), bold=best)


def _proof(result: SolveResult) -> str:
    gap = "" if result.gap is None else f", gap {show_percent(result.gap)}"
    return f"status {result.status}{gap}"


def plan_html(result: PlanResult) -> str:
    """A fragment for a notebook: one plan and its costs."""
    return _plan(result)


def solve_html(result: SolveResult) -> str:
    """A fragment for a notebook: the one screen as a table, then the front."""
    head = f"<p><b>{escape(job_words(result))}</b>: {escape(_proof(result))}</p>"
    losses = "".join(_paragraph(f"Note: {line}.") for line in result.notes.losses)
    rows = _rows(solve_rows(result, None, _COLUMNS))
    if result.best is None:
        return head + losses + _no_plan(result) + rows
    title = f"<p><b>{escape(front_title(result))}</b></p>"
    return f"{head}{losses}{rows}{title}{_front(result)}{_paragraph(result.front.note)}"


def _rows(groups: Groups) -> str:
    """The rows of the one screen; bars, tables and commands keep their columns."""
    body = ""
    for name, lines in (row for group in groups for row in group if row[1]):
        text = escape("\n".join(lines))
        cell = f"<pre>{text}</pre>" if name in LAID_OUT else text.replace("\n", "<br>")
        body += f"<tr><td><b>{escape(name)}</b></td><td>{cell}</td></tr>"
    return f"<table><tbody>{body}</tbody></table>"


def _no_plan(result: SolveResult) -> str:
    if result.diagnosis is None:
        return _paragraph(nothing_found_words(result))
    remedies = "".join(f"<li>{escape(remedy)}</li>" for remedy in result.diagnosis.remedies)
    frees = f"<p>Any one of these frees it:</p><ul>{remedies}</ul>" if remedies else ""
    return _paragraph(f"No plan fits (proved). {result.diagnosis.explanation}.") + frees


def evaluate_html(result: EvaluateResult) -> str:
    """A fragment for a notebook: the one screen as a table."""
    fits = "fits in memory" if result.fits else "does not fit in memory"
    warnings = "".join(_paragraph(f"Warning: {line}") for line in result.warnings)
    head = f"<p><b>{escape(job_words(result))}</b>: {fits}</p>"
    return f"{head}{warnings}{_rows(evaluate_rows(result, None, _COLUMNS))}"
