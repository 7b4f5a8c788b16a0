"""The front of `planner rack solve` as a file: picture, page, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from planner.errors import InputError
from planner.files import check_writable, write_atomically
from planner.flat import csv_text
from planner.rack.answer import RackAnswer
from planner.report.plotting import load_pyplot
from planner.report.rack_solve_view import HEADER, budget_lines, point_cells, sentence
from planner.version import SCHEMA_VERSION

_DRAWN = (".svg", ".html")


def check_front(path: Path) -> None:
    """Finds out before the search that the front can be written.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or matplotlib is missing.
    """
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"pareto: {path}: the front is written as {', '.join(_WRITERS)}")
    if path.suffix.lower() in _DRAWN:
        load_pyplot("pareto")
    check_writable(path)


def write_front(answer: RackAnswer, path: Path) -> None:
    """Writes the front as the ending of the file says, whole or not at all."""
    write_atomically(path, _WRITERS[path.suffix.lower()](answer))


def _csv(answer: RackAnswer) -> str:
    rest = {"workload": answer.question.workload.name, "schema_version": SCHEMA_VERSION}
    rows = [{**point.to_dict(), **rest} for point in answer.front]
    return csv_text(rows, last="schema_version")


def _json(answer: RackAnswer) -> str:
    return json.dumps(answer.to_dict(), indent=2, allow_nan=False) + "\n"


def _svg(answer: RackAnswer) -> str:
    from planner.report.rack_solve_picture import front_svg  # noqa: PLC0415  (matplotlib)

    return front_svg(answer)


def _html(answer: RackAnswer) -> str:
    """One self-contained page: the picture, the table, why the best plan wins."""
    from planner.report.page import drawing_page  # noqa: PLC0415  (only for pages)

    title = f"{answer.question.workload.title}: latency and energy"
    rows = [point_cells(answer, point) for point in answer.front]
    words = [sentence(answer), *answer.why, *budget_lines(answer)]
    return drawing_page(_svg(answer), title, sentence(answer), [("Front", HEADER, rows)], words[1:])


_WRITERS: dict[str, Callable[[RackAnswer], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".csv": _csv,
    ".json": _json,
}
