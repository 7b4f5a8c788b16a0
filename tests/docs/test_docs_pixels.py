"""Every picture of the documentation, drawn by resvg: it can be seen, and its text is all inside.

Previews, slides and makers of PDF draw as resvg does: without variables and media queries of CSS.
`tests/browser/test_browser_pixels.py` compares the same pictures with a browser's.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from support.cases import each
from support.pixels import box, colours

from docs.test_docs_pictures import PICTURES
from planner.report.drawing.png import svg_png
from planner.report.drawing.style.palette import LIGHT

SVG = "{http://www.w3.org/2000/svg}"
ElementTree.register_namespace("", SVG[1:-1])
FILES = sorted(PICTURES.glob("*.svg"))
FEWEST = 8
"""Colours of a picture: paper, ink, grid, two tones, and what smooth edges mix of them."""
SCALE = 0.5
MARGIN = 80.0
"""Pixels around a chart that are looked at for its text."""
HALO = 2.0
"""Pixels that the rim around letters may reach into them."""


def texts(svg: str) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """The text of each chart of a picture, and of the whole, as an SVG of its own with its size."""
    root = ElementTree.fromstring(svg)
    style = root.find(f"{SVG}style")
    assert style is not None
    for chart in root.iter(f"{SVG}svg"):
        alone = ElementTree.Element(f"{SVG}svg", {"class": "chart"})
        alone.append(style)
        inside = (one for one in chart if one.tag != f"{SVG}svg")
        alone.extend(text for one in inside for text in one.iter(f"{SVG}text"))
        left, top, width, height = map(float, (chart.get("viewBox") or "").split())
        assert (left, top) == (0.0, 0.0)
        yield alone, width, height


def outside(alone: ElementTree.Element, width: float, height: float) -> bool:
    """Whether anything is drawn around a frame of this size."""
    wide, high = width + 2 * MARGIN, height + 2 * MARGIN
    alone.set("viewBox", f"{-MARGIN:g} {-MARGIN:g} {wide:g} {high:g}")
    alone.attrib |= {"width": f"{wide:g}", "height": f"{high:g}"}
    seen = box(svg_png(ElementTree.tostring(alone, encoding="unicode"), SCALE))
    if seen is None:
        return False
    left, top, right, bottom = (side / SCALE for side in seen)
    near, far = MARGIN - HALO, MARGIN + HALO
    return min(left, top) < near or right > width + far or bottom > height + far


@each("name", [path.name for path in FILES])
def test_a_picture_is_seen_and_its_text_stays_inside(name: str) -> None:
    svg = (PICTURES / name).read_text(encoding="utf-8")
    found = colours(svg_png(svg, SCALE))
    assert len(found) >= FEWEST
    assert f"{LIGHT['paper'][1:]}ff" in found
    for alone, width, height in texts(svg):
        assert not outside(alone, width, height), [text.text for text in alone]


def test_what_would_fail() -> None:
    svg = FILES[0].read_text(encoding="utf-8")
    by_name = re.sub(r":(#[0-9a-f]{6})", r":var(--a,\1)", svg)
    assert LIGHT["ink"] in svg
    assert len(colours(svg_png(by_name, SCALE))) < FEWEST, (
        "resvg knows variables now: it needs no literal colours"
    )
    longer = svg.replace("</text>", " and a line that goes on and on beyond the frame</text>")
    assert any(outside(*one) for one in texts(longer))
    with pytest.raises(ValueError, match=r"."):
        svg_png(svg[:-20])
