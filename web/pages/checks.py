"""What must hold of built pages: links and pictures lead somewhere, one heading, a title.

Plain Python over the HTML. The builder checks links between Markdown pages; this sees what the
reader's browser gets, generated tables, the theme and the front page of the app included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

APP = "app"
"""The folder of the page in which the planner runs; its own tests hold what is inside."""
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_FOUND = "404.html"


class Page(HTMLParser):
    """What one page says.

    Attributes:
        title: Text of its title.
        headings: How many first-level headings it has.
        names: Places inside of it that a link may name.
        links: Addresses that a reader may follow.
        loaded: Addresses that a browser loads by itself.
        silent: Pictures without a description.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title, self.headings = "", 0
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.silent: list[str] = []
        self._in_title = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes names, links, headings and what is loaded."""
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if given.get(name)}
        self.headings += tag == "h1"
        self._in_title = tag == "title" and not self.title
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (name := _LOADED.get(tag)) and name in given and given.get("rel") not in _POINTERS:
            self.loaded.append(given[name])
        if tag == "img" and not given.get("alt"):
            self.silent.append(given.get("src", ""))

    def handle_data(self, data: str) -> None:
        """Notes the title."""
        if self._in_title:
            self.title += data.strip()

    def handle_endtag(self, tag: str) -> None:
        """Ends the title."""
        self._in_title = self._in_title and tag != "title"


_POINTERS = ("canonical", "next", "prev", "alternate")
"""Links of a head that say where other pages are, and load nothing."""


def mistakes(site: Path, pages: Iterable[str]) -> list[str]:
    """A line for each mistake of a built site.

    Args:
        site: Its folder.
        pages: Those that must be there, as paths of Markdown.
    """
    wanted = {_built(name) for name in pages}
    read = {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if path.relative_to(site).parts[0] != APP
    }
    found = [f"{name}: was not built" for name in sorted(wanted - read.keys())]
    for name, page in read.items():
        found += [f"{name}: {line}" for line in _of(name, page, read, site)]
    return found


def _built(name: str) -> str:
    """Where the page of a Markdown file is."""
    return re.sub(r"README\.md$", "index.html", name).removesuffix(".md").removesuffix(
        ".html"
    ) + ".html"  # fmt: skip


def _of(name: str, page: Page, read: dict[str, Page], site: Path) -> Iterator[str]:
    """What is wrong on one page."""
    if not page.title:
        yield "has no title"
    if page.headings != 1:
        yield f"has {page.headings} headings of the first level, not one"
    yield from (f"the picture {source} has no description" for source in page.silent)
    outside = (one for one in page.loaded if re.match(r"([a-z]+:)?//", one, re.IGNORECASE))
    yield from (f"{one} is loaded from another host" for one in outside)
    if name == _NOT_FOUND:
        return  # it is shown at any address, so its links begin at the root of the host
    for address in dict.fromkeys((*page.links, *page.loaded)):
        if not re.match(r"([a-z][a-z+.-]*:|//)", address, re.IGNORECASE):
            yield from _leads(name, address, read, site)


def _leads(name: str, address: str, read: dict[str, Page], site: Path) -> Iterator[str]:
    """A line, where an address inside of the site leads nowhere."""
    path, _, anchor = address.partition("#")
    path = unquote(path.partition("?")[0])
    target = (site / name).parent / path if path else site / name
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        yield f"{address} leads nowhere"
        return
    resolved = target.resolve()
    if not resolved.is_relative_to(site.resolve()):
        yield f"{address} leads out of the site"
        return
    other: Any = read.get(resolved.relative_to(site.resolve()).as_posix())
    if anchor and other is not None and unquote(anchor) not in other.names:
        yield f"{address} names a place that the page does not have"
