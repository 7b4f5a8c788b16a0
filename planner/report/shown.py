"""How results print themselves: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from rich.console import RenderableType

from planner.explanation.answer import ExplainResult
from planner.explanation.compare_answer import CompareResult
from planner.export_result import ExportResult
from planner.feasibility.answer import FeasibleResult
from planner.report.compare_view import compare_view
from planner.report.explain_view import explain_view
from planner.report.export_view import export_view
from planner.report.feasible_view import feasible_view
from planner.report.html import evaluate_html, plan_html, solve_html
from planner.report.tables import text_of
from planner.report.terminal import evaluate_view, plan_view, solve_view
from planner.results import EvaluateResult, SolveResult

_VIEWS: tuple[tuple[type[Any], Callable[[Any], RenderableType]], ...] = (
    (SolveResult, solve_view),
    (EvaluateResult, evaluate_view),
    (FeasibleResult, feasible_view),
    (ExplainResult, explain_view),
    (CompareResult, compare_view),
    (ExportResult, export_view),
)


def as_text(result: Any) -> str:
    """What the command line prints for an answer or one of its plans."""
    for kind, view in _VIEWS:
        if isinstance(result, kind):
            return text_of(view(result))
    return text_of(plan_view("Plan", result))


def as_html(result: Any) -> str:
    """A fragment of HTML for an answer or one of its plans."""
    if isinstance(result, SolveResult):
        return solve_html(result)
    if isinstance(result, EvaluateResult):
        return evaluate_html(result)
    if isinstance(result, FeasibleResult | ExplainResult | CompareResult | ExportResult):
        return f"<pre>{escape(as_text(result))}</pre>"
    return plan_html(result)
