"""Answers as reports: what a page shows beside the answer is worked out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.question.resolved import Resolved
    from planner.report.pages.blocks import Report
    from planner.results.plan import PlanResult
    from planner.results.result import EvaluateResult, SolveResult


def report_about(
    answer: SolveResult | EvaluateResult,
    plan: PlanResult | None,
    resolved: Resolved | None,
    objective: str | None = None,
) -> Report:
    """The report about an answer.

    Args:
        answer: What is reported.
        plan: The plan that its details are about; None where there is none.
        resolved: The job of that plan.
        objective: What an explanation compares plans by; default that of the answer, or time.
    """
    from planner.answers.explained import explain_plan  # noqa: PLC0415  (numpy; not for --help)
    from planner.report.pages.detail import detail_of  # noqa: PLC0415
    from planner.report.pages.sections import kind_of, report_of  # noqa: PLC0415

    if plan is None or resolved is None:
        return report_of(answer)
    if objective is None and kind_of(answer) == "solve":
        objective = getattr(answer, "objective_name", None)
    why = explain_plan(resolved, plan.plan, objective or "time")
    return report_of(answer, detail_of(answer, plan, resolved, why))


def page_about(
    answer: SolveResult | EvaluateResult, plan: PlanResult | None, resolved: Resolved | None
) -> str:
    """The page of `report_about`."""
    from planner.report.pages.report import page_of  # noqa: PLC0415  (not for --help)

    return page_of(report_about(answer, plan, resolved))
