"""Answers as reports: what a page shows beside the answer is worked out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.answers.files.documents import Document
    from planner.base.progress import Progress
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
    from planner.report.pages.page import page_of  # noqa: PLC0415  (not for --help)

    return page_of(report_about(answer, plan, resolved))


def report_in(document: Document, on_progress: Progress | None = None) -> tuple[str, Report]:
    """The kind of an answer that was written down, and the report about it.

    Args:
        document: What its file holds.
        on_progress: Called with (what, done, of) meanwhile.

    Raises:
        InputError: It is no answer of this planner, or not the one that comes out again.
    """
    from planner.answers.files.result_file import read_result  # noqa: PLC0415  (not for --help)
    from planner.answers.files.run_file import is_of_run, read_run  # noqa: PLC0415

    if is_of_run(document.data):
        from planner.report.pages.run import run_report  # noqa: PLC0415  (few ask)

        found = read_run(document.data, document.name, document.path, on_progress)
        return "run", run_report(found)
    read = read_result(document)
    if on_progress is not None:
        on_progress("the report", 1, 2)
    return read.kind, report_about(read.answer, read.plan, read.resolved, read.objective)
