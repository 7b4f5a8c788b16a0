"""Pictures as PNG: their SVG, drawn by resvg, which the extra `viz` brings."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.resources import as_file, files
from typing import Any

from planner.base.libraries import library
from planner.report.drawing.chart import Picture
from planner.report.drawing.svg import picture_svg

FONTS = ("Arimo-Regular.ttf", "Arimo-Bold.ttf")
"""In `fonts`, whose README says where they are from: text is the same on every machine."""
_SCALE = 2.0


def load_resvg(flag: str = "plot") -> Any:
    """The library that draws.

    Args:
        flag: Name of the option that needs it, for messages.

    Raises:
        InputError: It is not installed.
    """
    return library(
        "resvg_py",
        f"{flag}: resvg-py is not installed; install it with: "
        "pip install 'parallelism-planner[viz]'; .svg and .html need nothing more",
    )


def picture_png(picture: Picture) -> bytes:
    """A picture in light colours as the bytes of a PNG file, the same for the same picture.

    Raises:
        InputError: resvg-py is not installed.
    """
    return svg_png(picture_svg(picture))


def svg_png(svg: str, scale: float = _SCALE) -> bytes:
    """An SVG as the bytes of a PNG file.

    Letters that the font lacks (it has Latin, Greek, Cyrillic and signs) are drawn as boxes.

    Args:
        svg: Of `picture_svg`.
        scale: Pixels of the file for each of the SVG, along each side.

    Raises:
        InputError: resvg-py is not installed.
    """
    resvg = load_resvg()
    with ExitStack() as stack:
        folder = files("planner.report.drawing") / "fonts"
        fonts = [str(stack.enter_context(as_file(folder / name))) for name in FONTS]
        drawn = resvg.svg_to_bytes(
            svg_string=svg, zoom=scale, skip_system_fonts=True, font_files=fonts
        )
    return bytes(drawn)
