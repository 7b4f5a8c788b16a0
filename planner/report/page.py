"""Pages that work offline: one style for all of them, and pictures as pages.

Templates are in `templates/`: `page.html` is the frame that others extend, `parts.html` has tables
and figures as macros. A page loads nothing, and its policy forbids that it does.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from planner.report.chart import Picture
from planner.report.chart_svg import WIDTH, chart_svg
from planner.report.palette import chart_css, theme_css

if TYPE_CHECKING:
    from jinja2 import Environment

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Caption, header and rows, all plain text."""
_NARROW = 560.0
_MOST_COLUMNS = 3
_WIDE_POINTS = 900.0
"""Width of a drawing from which its page is wider than others."""
_WIDE_STYLE = "body{max-width:100rem}\n"


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


def rendered(
    template: str, *, style: str = "", script: str = "", drawing: str = "", **values: Any
) -> str:
    """A template of `templates/` that extends `page.html`; values are escaped, see `trusted`.

    Args:
        template: Its file name.
        style, script: See `page_html`.
        drawing: The SVG of a library that the page holds; its style is let through.
        values: What it needs: `title` at least.
    """
    if "</" in script or "<!--" in script:
        raise ValueError("a script with '</' or '<!--' would end too early in a page")
    common = _environment().get_template("page.css").render()
    sheet = f"\n{theme_css()}{common}\n{chart_css()}{style}"
    page = _environment().get_template(template).render(
        {"description": "", "footer": (), "body": "", "svg": _trusted(drawing), **values},
        policy=_policy(script, sheet, drawing), sheet=_trusted(sheet), script=_trusted(script),
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
    width = WIDTH if columns == 1 else picture.width or _NARROW
    charts = [
        (chart, _trusted(chart_svg(chart, width=width, ident=f"c{at}")))
        for at, chart in enumerate(picture.charts)
    ]
    return rendered(
        "picture.html", title=picture.title, charts=charts, columns=columns, lines=lines
    )


def drawing_page(
    svg: str,
    title: str,
    description: str,
    tables: Sequence[Table] = (),
    lines: Sequence[str] = (),
) -> str:
    """A page with a picture that a library drew.

    Args:
        svg: The picture as a file.
        title: Of the page.
        description: What the picture shows, for people who do not see it.
        tables: Its figures.
        lines: Sentences below, plain text.
    """
    label = escape(description)
    inside = svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    width = re.search(r'<svg [^>]*?width="([0-9.]+)pt"', inside)
    wide = width is not None and float(width[1]) > _WIDE_POINTS
    return rendered("drawing.html", title=title, description=description, drawing=inside,
                    tables=tables, lines=lines, style=_WIDE_STYLE if wide else "")  # fmt: skip


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

    return Markup(html)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    return Environment(
        loader=PackageLoader("planner.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=False,
    )


def _policy(script: str, sheet: str, drawing: str) -> str:
    """Nothing from elsewhere, and no script or style but the page's own.

    Drawings of a library have style elements and attributes of their own; attributes cannot be
    let through one by one.
    """
    sheets = [sheet, *(unescape(text) for text in _STYLES.findall(drawing))]
    scripts = f"script-src {_digest(script)}; " if script else ""
    attributes = "style-src-attr 'unsafe-inline'; " if _STYLED.search(drawing) else ""
    return (
        f"default-src 'none'; {scripts}style-src {' '.join(map(_digest, sheets))}; {attributes}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


_STYLES = re.compile(r"<style\b[^>]*>(.*?)</style>", re.DOTALL)
_STYLED = re.compile(r"<[^>]*\sstyle=")


def _digest(text: str) -> str:
    """What a policy calls a text that it lets through."""
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
