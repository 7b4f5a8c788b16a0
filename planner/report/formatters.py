"""How answers print themselves: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from rich.console import RenderableType

from planner.answers.changes.two_answers import TwoAnswers
from planner.answers.explained import leaning_of
from planner.answers.run.lost import DownResult
from planner.answers.run.phased import PhasesResult
from planner.answers.varying.result import VaryResult
from planner.base.printable import formats
from planner.explanation.answer import ExplainResult
from planner.explanation.comparison.answer import CompareResult
from planner.report.pages.notebook import evaluate_html, plan_html, solve_html
from planner.report.section_names import EVALUATE, SOLVE, sections_in
from planner.report.tables.compare import compare_view
from planner.report.tables.down import down_view
from planner.report.tables.explain import explain_view
from planner.report.tables.export import export_view
from planner.report.tables.feasible import feasible_view
from planner.report.tables.fleet import fleet_view
from planner.report.tables.goodput_over_chips import goodput_view
from planner.report.tables.phases import phases_view
from planner.report.tables.screen import evaluate_screen, solve_screen
from planner.report.tables.sections import evaluate_view, solve_view
from planner.report.tables.sweep import status_view
from planner.report.tables.tables import text_of
from planner.report.tables.terminal import plan_view
from planner.report.tables.two_answers import two_answers_view
from planner.report.tables.vary import vary_view
from planner.results.export import ExportResult
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.studies.feasibility.answer import FeasibleResult
from planner.studies.fleet.answer import FleetResult
from planner.studies.run.answer import RunResult
from planner.studies.sweep.answer import SweepResult


def _register(
    kind: type,
    view: Callable[[Any], RenderableType],
    html: Callable[[Any], str] | None = None,
    sections: Callable[[Any, str], RenderableType] | None = None,
) -> None:
    """An answer that prints as a view; in a notebook as that text, or as tables of its own."""

    def text(result: Any) -> str:
        return text_of(view(result))

    def shown(result: Any, names: str) -> str:
        return text_of(sections(result, names)) if sections else text(result)

    formats(kind, text, html or (lambda result: f"<pre>{escape(text(result))}</pre>"), shown)


def _solve_sections(result: SolveResult, names: str) -> RenderableType:
    chosen = sections_in(names, SOLVE)
    return solve_view(result, chosen, leaning_of(result) if "leaning" in chosen else ())


_register(SolveResult, solve_screen, solve_html, _solve_sections)
_register(
    EvaluateResult,
    evaluate_screen,
    evaluate_html,
    lambda result, names: evaluate_view(result, sections_in(names, EVALUATE)),
)
_register(PlanResult, lambda result: plan_view("Plan", result), plan_html)
_register(FeasibleResult, feasible_view)
_register(ExplainResult, explain_view)
_register(CompareResult, compare_view)
_register(TwoAnswers, two_answers_view)
_register(ExportResult, export_view)
_register(VaryResult, vary_view)
_register(PhasesResult, phases_view)
_register(DownResult, down_view)
_register(RunResult, goodput_view)
_register(FleetResult, fleet_view)
_register(SweepResult, status_view)
