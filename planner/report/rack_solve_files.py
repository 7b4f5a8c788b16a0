"""The front of `planner rack solve` as a file: picture, page, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from planner.errors import InputError
from planner.files import check_writable
from planner.flat import csv_text
from planner.messages import did_you_mean, one_line
from planner.rack.answer import RackAnswer
from planner.report.rack_solve_view import budget_lines
from planner.version import SCHEMA_VERSION


def check_front(path: Path) -> None:
    """Finds out before the search that the front can be written.

    Raises:
        InputError: The ending is unknown, or the file cannot be written.
    """
    ending = path.suffix.lower()
    if ending not in _WRITERS:
        near = did_you_mean(ending, _WRITERS) if ending else ""
        shown = one_line(str(path))
        raise InputError(f"pareto: {shown}: the front is written as {', '.join(_WRITERS)}{near}")
    check_writable(path)


def front_text(answer: RackAnswer, path: Path) -> str:
    """What a file of this name holds; for `files.write_all`.

    Args:
        answer: One with a plan.
        path: A file that `check_front` allows.
    """
    return _WRITERS[path.suffix.lower()](answer)


def _csv(answer: RackAnswer) -> str:
    rest = {"workload": answer.question.workload.name, "schema_version": SCHEMA_VERSION}
    rows = [{**point.to_dict(), **rest} for point in answer.front]
    return csv_text(rows, last="schema_version")


def _json(answer: RackAnswer) -> str:
    return json.dumps(answer.to_dict(), indent=2, allow_nan=False) + "\n"


def _svg(answer: RackAnswer) -> str:
    from planner.report.chart_svg import picture_svg  # noqa: PLC0415  (only for pictures)
    from planner.report.rack_solve_chart import front_picture  # noqa: PLC0415

    return picture_svg(front_picture(answer))


def _html(answer: RackAnswer) -> str:
    """One self-contained page: the picture, the table, why the best plan wins."""
    from planner.report.page import picture_page  # noqa: PLC0415  (only for pages)
    from planner.report.rack_solve_chart import front_picture  # noqa: PLC0415

    return picture_page(front_picture(answer), [*answer.why, *budget_lines(answer)])


_WRITERS: dict[str, Callable[[RackAnswer], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".csv": _csv,
    ".json": _json,
}
