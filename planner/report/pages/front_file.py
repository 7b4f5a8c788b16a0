"""The Pareto front as a file: CSV, JSON, SVG or a self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from planner.base.errors import InputError
from planner.base.flat import csv_text
from planner.base.frozen import thawed
from planner.base.jsonfile import sealed
from planner.base.version import SCHEMA_VERSION
from planner.question.provenance import versions
from planner.results.result import SolveResult


def front_csv(result: SolveResult) -> str:
    """One row per plan with its job; nested fields have dotted names.

    The version comes last: it is never empty, which shows that a row is whole.
    """
    job = {"job": thawed(result.question.plan_job)}
    rows = [{**job, **row, "schema_version": SCHEMA_VERSION} for row in result.front_rows()]
    return csv_text(rows, last="schema_version")


def front_json(result: SolveResult) -> str:
    """The job, the versions and the full plans."""
    fields = {
        "schema_version": SCHEMA_VERSION,
        "job": thawed(result.question.job),
        "plan_job": thawed(result.question.plan_job),
        "versions": versions(),
        "objectives": list(result.front.objectives),
        "complete": result.front.complete,
        "note": result.front.note,
        "front": result.front_rows(),
    }
    return json.dumps(sealed(fields), indent=2, allow_nan=False) + "\n"


def front_svg(result: SolveResult) -> str:
    """The picture of the front as a file of its own."""
    from planner.report.charts.front import front_picture  # noqa: PLC0415  (only where a picture or page is written)
    from planner.report.drawing.svg import picture_svg  # noqa: PLC0415  (only for pictures)

    return picture_svg(front_picture(result))


def front_page(result: SolveResult) -> str:
    """The front as a page: every plan of it in full, the best one, and the provenance."""
    from planner.report.pages.page import page_of  # noqa: PLC0415  (only for pages)
    from planner.report.pages.sections import report_of  # noqa: PLC0415
    from planner.results.words import front_job_words, front_title  # noqa: PLC0415

    title = f"{front_title(result)}: {front_job_words(result)}"
    return page_of(replace(report_of(result), title=title))


def writer_for(path: Path) -> Callable[[SolveResult], str]:
    """The writer that belongs to a file's ending.

    Raises:
        InputError: The ending is not one of .csv, .json, .svg, .html.
    """
    writers: dict[str, Callable[[SolveResult], str]] = {
        ".csv": front_csv,
        ".json": front_json,
        ".svg": front_svg,
        ".html": front_page,
    }
    if path.suffix.lower() not in writers:
        raise InputError(f"{path}: the front is written as {', '.join(writers)}")
    return writers[path.suffix.lower()]
