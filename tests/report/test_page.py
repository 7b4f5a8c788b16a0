"""Pages: they load nothing, are marked up for everybody, and print."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from support.cases import each

from planner.report.drawing.chart import Picture
from planner.report.pages.page import data_block, page_html, picture_page, table_html
from report.charts import ALL, PLANE

VOID = {"meta", "br", "link", "input", "img", "hr", "path", "rect", "circle", "polygon"}
PICTURE = Picture(title="All <kinds> & more", charts=ALL, columns=2)


class Outline(HTMLParser):
    """Elements with their attributes; fails where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def policy(page: str) -> str:
    (content,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    return content.replace("&#39;", "'")


@each("page", [picture_page(PICTURE), page_html("A page", "<p>words</p>")])
def test_a_page_loads_nothing_and_forbids_it(page: str) -> None:
    outline = Outline(page)
    assert policy(page).startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy(page)
    assert not {"link", "img", "iframe", "object", "script"} & {tag for tag, _ in outline.found}
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_a_page_is_marked_up() -> None:
    outline = Outline(picture_page(PICTURE))
    assert outline.named("html") == [{"lang": "en"}]
    assert [len(outline.named(tag)) for tag in ("h1", "main", "header")] == [1, 1, 1]
    skip = outline.named("a")[0]
    assert skip["href"] == f"#{outline.named('main')[0]['id']}"
    assert len(outline.named("figure")) == len(outline.named("figcaption")) == len(ALL)
    spelled = Picture(title="a", charts=(replace(PLANE, spelled=True),))
    assert "<figcaption>" not in picture_page(spelled)
    assert f'<desc id="c0-desc">{PLANE.description}' in picture_page(spelled)
    ids = [attributes["id"] for _, attributes in outline.found if attributes.get("id")]
    assert len(ids) == len(set(ids))


def test_figures_are_there_as_a_table_too() -> None:
    page = picture_page(Picture(title="one", charts=(PLANE,)))
    outline = Outline(page)
    assert len(outline.named("details")) == 1
    assert [cell.get("scope") for cell in outline.named("th")] == ["col", "col", "row", "row"]
    assert "<caption>Plane of &lt;one&gt; &amp; another socket</caption>" in page
    assert "&lt;compute&gt;" in page


def test_what_users_write_is_escaped() -> None:
    odd = "<script>alert(1)</script>"
    page = page_html(odd, "<p>fine</p>", description=odd, footer=(odd,))
    assert "<script>" not in page
    assert page.count("&lt;script&gt;alert(1)") == 4
    assert "<script>" not in table_html(odd, (odd,), ((odd,),))


def test_only_the_script_of_a_page_may_run() -> None:
    script = "document.title = 'é & <b>';"
    page = page_html("t", "", script=script)
    (inside,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert inside == script
    assert digests(page, "script-src") == [hashed(inside)]
    with pytest.raises(ValueError, match="end too early"):
        page_html("t", "", script="x = '</script>'")


def digests(page: str, kind: str) -> list[str]:
    """What the policy lets through."""
    (part,) = re.findall(rf"{kind} ([^;]*);", policy(page).replace("&#43;", "+"))
    return list(re.findall(r"'sha256-([^']+)'", part))


def hashed(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def test_only_the_style_of_a_page_counts() -> None:
    page = page_html("t", "", style="p::before{content:'<é & \\201c'}")
    (inside,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert digests(page, "style-src") == [hashed(inside)]
    assert not re.search(r"<[^>]*\sstyle=", picture_page(PICTURE))
    assert "unsafe" not in policy(page)


def test_data_of_a_page_is_json_that_ends_no_element() -> None:
    data = {"name": "</script><!-- \u2028 &", "rows": [1, None, 0.5]}
    block = data_block("d", data)
    (inside,) = re.findall(r'<script type="application/json" id="d">(.*)</script>', block)
    assert "<" not in inside
    assert json.loads(inside) == data


def test_tables_have_captions_and_scopes() -> None:
    table = Outline(table_html("c", ("a", "b"), (("1", "2"), ("3", "4")), right=1, strong=(1,)))
    assert [cell["scope"] for cell in table.named("th")] == ["col", "col", "row", "row"]
    assert [row.get("class") for row in table.named("tr")] == [None, None, "strong"]
    assert [cell.get("class") for cell in table.named("th")] == ["right", None, "right", "right"]


def test_a_page_is_made_for_print_and_for_dark_screens() -> None:
    page = picture_page(PICTURE)
    for rule in ("@media print", "prefers-color-scheme:dark", "[data-theme=dark]", "break-inside"):
        assert rule in page


def test_the_same_picture_is_the_same_page() -> None:
    assert picture_page(PICTURE) == picture_page(PICTURE)
