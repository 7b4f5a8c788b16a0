"""The front of `planner rack solve` as a picture: topology as marker, PEs per chip as colour."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from planner.rack.answer import RackAnswer, RackPoint
from planner.rack.why import mesh_words
from planner.report.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, load_pyplot
from planner.units import plural, show_joules, show_seconds

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#b0366b", "#6b6b6b", "#2a8c9c", "#8a6d1f")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p")
_PAPER = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.0}
_LABELLED = 14


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
    _label(panel, points)
    items = plural(answer.question.batch, "item")
    found = "proved front" if answer.front_complete else "front so far"
    panel.set(
        title=f"{answer.question.workload.title}, {items}: {found}",
        xlabel="latency",
        ylabel="energy",
    )
    panel.margins(0.12)
    panel.xaxis.set_major_formatter(lambda value, _: show_seconds(value))
    panel.yaxis.set_major_formatter(lambda value, _: show_joules(value))
    panel.legend(handles=looks.handles(plt), fontsize=9, loc="best", framealpha=0.85)
    return figure


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


def _label(panel: Any, points: Sequence[RackPoint]) -> None:
    """Chips and mesh beside each point; beside some where there are many."""
    every = -(-len(points) // _LABELLED)
    middle = (points[0].latency_s + points[-1].latency_s) / 2
    for number, point in enumerate(points):
        if number % every:
            continue
        right = point.latency_s > middle  # where labels grow towards the middle
        panel.annotate(
            f"{point.chips} x {point.pes}, {mesh_words(point)}", (point.latency_s, point.energy_j),
            xytext=(-8 if right else 8, 8), ha="right" if right else "left",
            textcoords="offset points", fontsize=8, bbox=_PAPER, zorder=2.5,
        )  # fmt: skip


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
