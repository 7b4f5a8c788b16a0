"""Pieces of generated pages: tables and escaped words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table; cells are HTML."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def code(text: str) -> str:
    """Words in the type of code, as HTML."""
    return f"<code>{escape(text)}</code>" if text else ""


def link(text: str, target: str) -> str:
    """A link, as HTML."""
    return f'<a href="{escape(target)}">{escape(text)}</a>'


def prose(text: str) -> str:
    """Words of a docstring or a help text as HTML; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def plain(text: str) -> str:
    """Words that Markdown leaves as they are."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in text)
