"""The front of `planner rack solve` as a file: picture, page, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import check_writable
from planner.base.flat import csv_text
from planner.base.messages import did_you_mean, one_line
from planner.base.version import SCHEMA_VERSION
from planner.report.tables.rack_solve import budget_lines
from planner.studies.rack.solve.answer import RackAnswer


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
    from planner.report.charts.rack_solve import front_picture  # noqa: PLC0415  (only where a picture or page is written)
    from planner.report.drawing.svg import picture_svg  # noqa: PLC0415  (only for pictures)

    return picture_svg(front_picture(answer))


def _html(answer: RackAnswer) -> str:
    """One self-contained page: the picture, the table, why the best plan wins."""
    from planner.report.charts.rack_solve import front_picture  # noqa: PLC0415  (only where a picture or page is written)
    from planner.report.pages.page import picture_page  # noqa: PLC0415  (only for pages)

    return picture_page(front_picture(answer), [*answer.why, *budget_lines(answer)])


_WRITERS: dict[str, Callable[[RackAnswer], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".csv": _csv,
    ".json": _json,
}
