"""A report as one self-contained page."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from planner.report.drawing.svg import WIDTH, chart_svg
from planner.report.pages.blocks import Block, Figure, Report
from planner.report.pages.page import rendered, trusted

_WIDTHS = (WIDTH, 560.0, 480.0)
"""Of the coordinates of one chart on a line, of each of two, and of small ones."""


def page_of(report: Report) -> str:
    """The page of a report: HTML, style, script and pictures in one text that loads nothing."""
    blocks = {
        section.ident: [_drawn(block) for block in section.blocks] for section in report.sections
    }
    return rendered(
        "report.html",
        title=report.title,
        report=report,
        blocks=blocks,
        style=_text("report.css"),
        script=_text("report.js"),
        footer=(f"Versions: {report.made_by}.",),
    )


def _drawn(block: Block) -> tuple[str, Any, list[tuple[Any, Any]]]:
    """The kind of a block, what the template needs of it, and its charts as SVG."""
    kind = type(block).__name__
    if not isinstance(block, Figure):
        return kind, block, []
    charts = block.picture.charts
    columns = max(1, min(block.picture.columns, len(charts), len(_WIDTHS)))
    width = block.picture.width or _WIDTHS[columns - 1]
    drawn = [
        (chart, trusted(chart_svg(chart, width=width, ident=f"{block.ident}-{at}")))
        for at, chart in enumerate(charts)
    ]
    shape = {"ident": block.ident, "caption": block.caption, "columns": columns}
    return kind, shape, drawn


@lru_cache(maxsize=4)
def _text(name: str) -> str:
    """A file beside the templates."""
    return (files("planner.report.pages") / "templates" / name).read_text(encoding="utf-8")
