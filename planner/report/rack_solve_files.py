"""The front of `planner rack solve` as a file: picture, page, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from pathlib import Path

from planner.errors import InputError
from planner.files import check_writable, write_atomically
from planner.flat import csv_text
from planner.rack.answer import RackAnswer
from planner.report.plotting import load_pyplot
from planner.report.rack_solve_view import HEADER, budget_lines, point_cells, sentence
from planner.version import SCHEMA_VERSION

_STYLE = (
    "body{font-family:Helvetica,Arial,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;"
    "color:#222;line-height:1.4}svg{max-width:100%;height:auto}table{border-collapse:collapse}"
    "td,th{padding:.25em .8em;text-align:left;border-bottom:1px solid #ddd}"
)
_DRAWN = (".svg", ".html")


def check_front(path: Path) -> None:
    """Finds out before the search that the front can be written.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or matplotlib is missing.
    """
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"pareto: {path}: the front is written as {', '.join(_WRITERS)}")
    if path.suffix.lower() in _DRAWN:
        load_pyplot()
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
    picture = _svg(answer)
    picture = picture[picture.index("<svg") :]
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in point_cells(answer, point))
        + "</tr>"
        for point in answer.front
    )
    words = "".join(
        f"<p>{escape(line)}</p>" for line in (sentence(answer), *answer.why, *budget_lines(answer))
    )
    title = escape(f"{answer.question.workload.title}: latency and energy")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{picture}"
        f"<table><tr>{head}</tr>{rows}</table>{words}</body></html>\n"
    )


_WRITERS: dict[str, Callable[[RackAnswer], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".csv": _csv,
    ".json": _json,
}
