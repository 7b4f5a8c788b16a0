"""Pages with pictures keep their look under the policy that lets no other style through."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report.charts import ALL

from planner.report.drawing.chart import Picture
from planner.report.pages.page import picture_page

INK = "getComputedStyle(document.querySelector('.chart text:not([class])')).fill"


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a text as a page; at the end nothing may have been refused."""
    said: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))

    def show(text: str) -> Any:
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield show
    page.close()
    assert said == []


def test_charts_have_their_style(shown: Any) -> None:
    page = shown(picture_page(Picture(title="All", charts=ALL)))
    assert page.evaluate(INK) == "rgb(31, 35, 40)"
    assert "Helvetica" in page.evaluate("getComputedStyle(document.body).fontFamily")


def test_another_style_does_not_count(browser: Any, tmp_path: Path) -> None:
    text = picture_page(Picture(title="All", charts=ALL))
    file = tmp_path / "page.html"
    file.write_text(
        text.replace("</main>", "<style>h1{color:red}</style></main>").replace(
            "<h1>", '<h1 style="opacity:.5">'
        ),
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto(file.as_uri())
    colour, opacity = page.evaluate(
        "[getComputedStyle(document.querySelector('h1')).color,"
        " getComputedStyle(document.querySelector('h1')).opacity]"
    )
    page.close()
    assert colour != "rgb(255, 0, 0)"
    assert opacity == "1"
