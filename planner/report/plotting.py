"""Matplotlib as our pictures use it: set once, the same bytes for the same figures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.files import check_writable, write_bytes
from planner.report.page import Table, drawing_page
from planner.report.picture_file import check_ending

BLUE, ORANGE, GREEN, PURPLE, BLACK = "#3b6ea5", "#c2571a", "#3a7d44", "#7a4b94", "#222222"
_SETTINGS: dict[Any, Any] = {  # matplotlib types its keys as literals
    "svg.hashsalt": "planner",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
}
_SWEEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a page says about its picture.

    Attributes:
        title: Its heading.
        description: What the picture shows, for people who do not see it.
        tables: The figures as (caption, header, rows).
    """

    title: str
    description: str
    tables: tuple[Table, ...] = ()


def check_plot(plot: Path | None) -> None:
    """Finds out before anything is computed that a picture could not be written.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or matplotlib is missing.
    """
    if plot is None:
        return
    check_ending(plot)
    load_pyplot()
    check_writable(plot)


def load_pyplot(flag: str = "plot") -> Any:
    """Pyplot with our settings, without a display.

    Args:
        flag: Name of the option that needs it, for messages.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra, and only for pictures)
    except ImportError as error:
        raise InputError(
            f"{flag}: matplotlib is not installed; install it with: pip install 'planner[viz]'"
        ) from error
    mpl.use("agg")
    mpl.rcParams.update(_SETTINGS)
    from matplotlib import pyplot  # noqa: PLC0415  (after its backend is chosen)

    return pyplot


def save(figure: Any, path: Path, about: About | None = None) -> None:
    """Writes a figure as its file's ending says, without the date, whole or not at all.

    Args:
        figure: What is drawn; it is closed.
        path: An .svg, .png or .html file.
        about: What a page says; needed for .html.

    Raises:
        InputError: The file cannot be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    content = figure_bytes(figure, "svg" if kind == "html" else kind)
    if kind == "html":
        assert about is not None
        page = drawing_page(content.decode(), about.title, about.description, about.tables)
        content = page.encode()
    write_bytes(path, content)


def figure_bytes(figure: Any, kind: str) -> bytes:
    """A figure as the bytes of an svg or png file, without the date; it is closed."""
    buffer = io.BytesIO()
    same = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=144, metadata=same)
    load_pyplot().close(figure)
    return buffer.getvalue()


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Heights of labels at least `least` apart, as near to the wanted heights as sweeps get."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = [heights[at] for at in order]
    for _ in range(_SWEEPS):
        for low in range(len(placed) - 1):
            overlap = least - (placed[low + 1] - placed[low])
            if overlap > 1e-9:
                placed[low] -= overlap / 2
                placed[low + 1] += overlap / 2
    return [placed[order.index(at)] for at in range(len(heights))]
