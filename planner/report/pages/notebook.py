"""Answers as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from planner.base.units import show_bytes, show_joules, show_percent, show_seconds
from planner.report.tables.likely import spread_words
from planner.report.tables.machine_marks import COLUMNS, cells, has_machines
from planner.report.tables.terminal import cost_rows, run_rows
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


def _defaults(result: SolveResult | EvaluateResult) -> str:
    if not result.defaults:
        return ""
    return f"<p><b>Assumed</b></p>{_table(('what', 'value', 'why'), result.defaults)}"


def plan_html(result: PlanResult) -> str:
    """A fragment for a notebook: one plan and its costs."""
    return _plan(result)


def solve_html(result: SolveResult) -> str:
    """A fragment for a notebook: best plan, proof, front."""
    head = f"<p><b>{escape(job_words(result))}</b>: {escape(_proof(result))}</p>"
    if result.best is None:
        return head + _no_plan(result) + _defaults(result)
    run = [] if result.run is None else run_rows(result.run)
    whole = f"<p><b>Whole training run</b></p>{_table((), run)}" if run else ""
    return (
        f"{head}{_plan(result.best)}{_paragraph(spread_words(result.spread))}{whole}<p><b>{escape(front_title(result))}</b></p>"
        f"{_front(result)}{_paragraph(result.front_note)}{_defaults(result)}"
    )


def _no_plan(result: SolveResult) -> str:
    if result.diagnosis is None:
        return _paragraph(nothing_found_words(result))
    remedies = "".join(f"<li>{escape(remedy)}</li>" for remedy in result.diagnosis.remedies)
    frees = f"<p>Any one of these frees it:</p><ul>{remedies}</ul>" if remedies else ""
    return _paragraph(f"No plan fits (proved). {result.diagnosis.explanation}.") + frees


def evaluate_html(result: EvaluateResult) -> str:
    """A fragment for a notebook: the plan and its costs."""
    fits = "fits in memory" if result.fits else "does not fit in memory"
    warnings = "".join(_paragraph(f"Warning: {line}") for line in result.warnings)
    run = "" if result.run is None else _table((), run_rows(result.run))
    head = f"<p><b>{escape(job_words(result))}</b>: {fits}</p>"
    spread = _paragraph(spread_words(result.spread))
    return f"{head}{warnings}{_plan(result.result)}{spread}{run}{_defaults(result)}"
