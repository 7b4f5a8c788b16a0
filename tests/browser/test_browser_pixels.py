"""Every picture of the docs looks in a browser as resvg draws it, dark where screens are."""

from base64 import b64encode
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from docs.test_docs_pixels import FILES
from numpy.typing import NDArray
from support.pixels import pixels

from planner.report.drawing.png import FONTS, svg_png
from planner.report.drawing.style.palette import DARK

BLOCK = 16
"""Pixels of a square whose mean is compared: smooth edges differ, what is drawn does not."""
MOST = 0.06
"""Difference of a mean from 0 to 1: less than a letter, a hatch or a line that is not there."""
OUTSIDE = """() => [...document.querySelectorAll('text')].filter(text => {
    const [own, frame] = [text, text.ownerSVGElement].map(one => one.getBoundingClientRect())
    return own.left < frame.left - 1 || own.right > frame.right + 1
        || own.top < frame.top - 1 || own.bottom > frame.bottom + 1
}).map(text => text.textContent)"""


def faces() -> str:
    """The font of PNG files under the name that pictures ask for first."""
    folder = files("planner.report.drawing") / "fonts"
    rules = [
        f"@font-face{{font-family:Helvetica;font-weight:{weight};src:url(data:font/ttf;base64,"
        f"{b64encode((folder / name).read_bytes()).decode()})}}"
        for name, weight in zip(FONTS, (400, 700), strict=True)
    ]
    return "".join(rules)


def shown(page: Any, svg: str) -> NDArray[np.float64]:
    """What the browser draws."""
    style = f"{faces()}body{{margin:0}}svg{{display:block}}"
    page.set_content(f"<!doctype html><style>{style}</style>{svg}")
    page.evaluate("document.fonts.ready")
    return pixels(page.locator("svg").first.screenshot())


def coarse(drawn: NDArray[np.float64], high: int, wide: int) -> NDArray[np.float64]:
    """The mean colour of each block of the upper left part of a picture."""
    rows, columns = high // BLOCK, wide // BLOCK
    inside = drawn[: rows * BLOCK, : columns * BLOCK, :3]
    return inside.reshape(rows, BLOCK, columns, BLOCK, 3).mean((1, 3))


def difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest difference of a block."""
    high, wide = np.minimum(one.shape, other.shape)[:2]
    assert max(map(abs, np.subtract(one.shape, other.shape))) <= 1, "a pixel that is cut by the end"
    return float(np.abs(coarse(one, high, wide) - coarse(other, high, wide)).max())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_look_as_resvg_draws_them(browser: Any, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    for file in FILES:
        svg = file.read_text(encoding="utf-8")
        seen = shown(page, svg)
        assert page.evaluate(OUTSIDE) == [], file.name
        if scheme == "light":
            assert difference(seen, pixels(svg_png(svg, 1.0))) < MOST, file.name
        else:
            paper = [int(DARK["paper"][at : at + 2], 16) / 255 for at in (1, 3, 5)]
            assert seen[2, 2, :3] == pytest.approx(paper, abs=0.01), file.name
    page.close()


def test_a_mark_that_is_missing_is_a_difference(browser: Any) -> None:
    page = browser.new_page(color_scheme="light")
    svg = FILES[0].read_text(encoding="utf-8")
    seen = shown(page, svg)
    page.close()
    bare = svg.replace(".chart text{fill:", ".chart text{opacity:0;fill:")
    assert difference(seen, pixels(svg_png(bare, 1.0))) > MOST
