"""Pages that work offline: one style for all of them, and pictures as pages.

Templates are in `templates/`: `page.html` is the frame that others extend, `parts.html` has tables
and figures as macros. A page loads nothing, and its policy forbids that it does.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from planner.report.drawing.chart import Picture
from planner.report.drawing.style.palette import chart_css, theme_css
from planner.report.drawing.svg import WIDTH, chart_svg
from planner.report.pages.blocks import Block, Figure, Report

if TYPE_CHECKING:
    from jinja2 import Environment

_NARROW = 560.0
_MOST_COLUMNS = 3
_WIDTHS = (WIDTH, 560.0, 480.0)
"""Of the coordinates of one chart on a line, of each of two, and of small ones."""


def page_html(
    title: str,
    body: str,
    *,
    description: str = "",
    style: str = "",
    script: str = "",
    footer: Sequence[str] = (),
) -> str:
    """A whole page.

    Args:
        title: Of the page, plain text; its heading too.
        body: HTML of the main part; everything in it is escaped already.
        description: A sentence below the heading, plain text.
        style: Rules of this page beside the common ones.
        script: JavaScript at its end; the only one that the page's policy lets run.
        footer: Lines at the end, plain text.
    """
    return rendered("page.html", title=title, body=_trusted(body), description=description,
                    style=style, script=script, footer=footer)  # fmt: skip


def rendered(template: str, *, style: str = "", script: str = "", **values: Any) -> str:
    """A template of `templates/` that extends `page.html`; values are escaped, see `trusted`.

    Args:
        template: Its file name.
        style, script: See `page_html`.
        values: What it needs: `title` at least.
    """
    if "</" in script or "<!--" in script:
        raise ValueError("a script with '</' or '<!--' would end too early in a page")
    common = _environment().get_template("page.css").render()
    sheet = f"\n{theme_css()}{common}\n{chart_css()}{style}"
    page = _environment().get_template(template).render(
        {"description": "", "footer": (), "body": "", **values},
        policy=_policy(script, sheet), sheet=_trusted(sheet), script=_trusted(script),
    )  # fmt: skip
    return page if page.endswith("\n") else page + "\n"


def table_html(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: int = 0,
    strong: Sequence[int] = (),
) -> str:
    """A table of plain text; the first `right` columns are numbers, rows of `strong` stand out."""
    parts: Any = _environment().get_template("parts.html").module
    return str(parts.table(caption, header, rows, right, strong))


def picture_page(picture: Picture, lines: Sequence[str] = ()) -> str:
    """A page with the charts of a picture, and their figures as tables.

    Args:
        picture: What is shown.
        lines: Sentences below, plain text.
    """
    columns = max(1, min(picture.columns, len(picture.charts), _MOST_COLUMNS))
    width = picture.width or (WIDTH if columns == 1 else _NARROW)
    charts = [
        (chart, _trusted(chart_svg(chart, width=width, ident=f"c{at}")))
        for at, chart in enumerate(picture.charts)
    ]
    return rendered(
        "picture.html", title=picture.title, charts=charts, columns=columns, lines=lines
    )


def data_block(ident: str, data: Any) -> str:
    """Data for a page's script as an element that holds JSON: `JSON.parse(element.textContent)`."""
    words = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        words = words.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{ident}">{words}</script>'


def trusted(html: str) -> Any:
    """HTML that templates take as it is."""
    return _trusted(html)


def _trusted(html: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415  (only for pages)

    return Markup(html)  # noqa: S704  (is made of what has been escaped)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (only for pages)

    return Environment(
        loader=PackageLoader("planner.report.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=False,
    )


def _policy(script: str, sheet: str) -> str:
    """Nothing from elsewhere, and no script or style but the page's own."""
    scripts = f"script-src {_digest(script)}; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src {_digest(sheet)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """What a policy calls a text that it lets through."""
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


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
