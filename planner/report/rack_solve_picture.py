"""The front of `planner rack solve` as a picture: topology as marker, PEs per chip as colour."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from planner.rack.answer import RackAnswer, RackPoint
from planner.rack.why import mesh_words
from planner.report.labels import placed
from planner.report.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, load_pyplot
from planner.report.scatter import is_logarithmic
from planner.report.shapes import Box, Pixel
from planner.units import plural, show_joules, show_seconds

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#b0366b", "#6b6b6b", "#2a8c9c", "#8a6d1f")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p")
_LETTERS = 8.0


def front_figure(answer: RackAnswer) -> Any:
    """A matplotlib figure of the front.

    Raises:
        InputError: matplotlib is missing.
    """
    plt = load_pyplot()
    figure, panel = plt.subplots(figsize=(8.2, 5.2), layout="constrained")
    points = answer.front
    panel.plot(
        [point.latency_s for point in points], [point.energy_j for point in points],
        color="#bbbbbb", linewidth=1.0, drawstyle="steps-post", zorder=1,
    )  # fmt: skip
    looks = _Looks(answer)
    for point in points:
        panel.plot(
            [point.latency_s], [point.energy_j], looks.marker(point), color=looks.colour(point),
            markersize=8, markeredgecolor=BLACK if point == answer.best else "white", zorder=3,
        )  # fmt: skip
    if answer.best is not None:
        panel.plot(
            [answer.best.latency_s], [answer.best.energy_j], "o", markersize=15,
            markerfacecolor="none", markeredgecolor=BLACK, zorder=2,
        )  # fmt: skip
    items = plural(answer.question.batch, "item")
    found = "proved front" if answer.front_complete else "front so far"
    panel.set(
        title=f"{answer.question.workload.title}, {items}: {found}",
        xlabel="latency",
        ylabel="energy",
    )
    panel.margins(0.12)
    for axis, values, show in (
        ("x", [point.latency_s for point in points], show_seconds),
        ("y", [point.energy_j for point in points], show_joules),
    ):
        _scale(panel, axis, values, show)
    panel.legend(handles=looks.handles(plt), fontsize=9, loc="best", framealpha=0.85)
    _label(figure, panel, answer)
    return figure


def _scale(panel: Any, axis: str, values: Sequence[float], show: Callable[[float], str]) -> None:
    """Ticks with units; a wide range is drawn logarithmic."""
    ticks = getattr(panel, f"{axis}axis")
    if values and is_logarithmic(values):
        from matplotlib.ticker import LogLocator  # noqa: PLC0415  (an extra)

        getattr(panel, f"set_{axis}scale")("log")
        ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ticks.set_minor_formatter(lambda *_: "")
    ticks.set_major_formatter(lambda value, _: show(value))


class _Looks:
    """Which marker and colour a point has."""

    def __init__(self, answer: RackAnswer) -> None:
        self.topologies = sorted({point.topology for point in answer.front})
        self.pes = sorted({point.pes for point in answer.front})

    def marker(self, point: RackPoint) -> str:
        return _MARKERS[self.topologies.index(point.topology) % len(_MARKERS)]

    def colour(self, point: RackPoint) -> str:
        return _COLOURS[self.pes.index(point.pes) % len(_COLOURS)]

    def handles(self, plt: Any) -> list[Any]:
        """Lines of the legend: topologies by marker, PEs by colour, the best one."""
        line = plt.Line2D
        shapes = [
            line([], [], marker=_MARKERS[i % len(_MARKERS)], color="#777777", linestyle="", label=n)
            for i, n in enumerate(self.topologies)
        ]
        colours = [
            line([], [], color=_COLOURS[i % len(_COLOURS)], linewidth=6,
                 label=f"{count} PEs per chip")
            for i, count in enumerate(self.pes)
        ]  # fmt: skip
        ring = {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": ""}
        return [*shapes, *colours, line([], [], color=BLACK, label="best", **ring)]


def _label(figure: Any, panel: Any, answer: RackAnswer) -> None:
    """Chips and mesh of each point where there is room, at the end of a line where it is crowded.

    The best plan and both ends of the front come first.
    """
    points = answer.front
    if not points:
        return
    figure.canvas.draw()  # places axes and legend
    figure.set_layout_engine("none")
    page = _Page(figure)
    best = next((at for at, point in enumerate(points) if point == answer.best), 0)
    order = list(dict.fromkeys([best, 0, len(points) - 1, *range(len(points))]))
    where = [(point.latency_s, point.energy_j) for point in points]
    corners = [(after[0], before[1]) for before, after in pairwise(where)]
    steps = [end for pair in zip_longest(where, corners) for end in pair if end is not None]
    pixels = [page.pixel(panel, *end) for end in steps]
    lines = [page.between(one, other) for one, other in pairwise(pixels)]
    found = placed(
        [page.pixel(panel, *end) for end in where],
        [_words(point) for point in points],
        order,
        page.box(panel.get_window_extent()),
        _LETTERS,
        [*lines, page.box(panel.get_legend().get_window_extent())],
        [best],
    )
    for label in found:
        if label.leader is not None:
            ends = [page.share(end) for end in (label.leader.start, label.leader.end)]
            figure.add_artist(_line(ends))
        x, y = page.share((label.x, label.y))
        horizontal = {"start": "left", "middle": "center", "end": "right"}[label.anchor]
        weight = "bold" if label.index == best else "normal"
        figure.text(
            x, y, _words(points[label.index]), fontsize=_LETTERS, ha=horizontal, va="baseline",
            weight=weight,
        )  # fmt: skip


def _words(point: RackPoint) -> str:
    """`6 x 64, dp 3 tp 2`: chips, PEs of each, and the mesh of several."""
    size = f"{point.chips} x {point.pes}"
    return size if point.chips == 1 else f"{size}, {mesh_words(point)}"


def _line(ends: Sequence[Pixel]) -> Any:
    """A thin leader line between two places of the page."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  (an extra)

    (x, y), (to_x, to_y) = ends
    return Line2D([x, to_x], [y, to_y], color="#777777", linewidth=0.6)


class _Page:
    """Places of a figure in points from its upper left corner, as labels are placed."""

    def __init__(self, figure: Any) -> None:
        self._scale = 72 / figure.dpi
        self._width, self._height = (72 * float(inches) for inches in figure.get_size_inches())

    def pixel(self, panel: Any, x: float, y: float) -> Pixel:
        """Where a point of the data is."""
        across, up = panel.transData.transform((x, y))
        return across * self._scale, self._height - up * self._scale

    def box(self, extent: Any) -> Box:
        """What something that is drawn covers."""
        return Box(
            left=extent.x0 * self._scale,
            right=extent.x1 * self._scale,
            top=self._height - extent.y1 * self._scale,
            bottom=self._height - extent.y0 * self._scale,
        )

    def between(self, one: Pixel, other: Pixel) -> Box:
        """The thin box of a straight line."""
        (left, right), (top, bottom) = sorted((one[0], other[0])), sorted((one[1], other[1]))
        return Box(left=left, right=right, top=top, bottom=bottom)

    def share(self, at: Pixel) -> tuple[float, float]:
        """A place as shares of the figure's width and height, from its lower left corner."""
        return at[0] / self._width, 1 - at[1] / self._height


def front_svg(answer: RackAnswer) -> str:
    """The picture as SVG, the same text for the same front.

    Raises:
        InputError: matplotlib is missing.
    """
    figure = front_figure(answer)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    load_pyplot().close(figure)
    return buffer.getvalue()
