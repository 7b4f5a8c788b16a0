"""Charts with matplotlib, for PNG files; what they look like otherwise is `chart_svg`."""

from __future__ import annotations

import io
from math import ceil
from textwrap import wrap
from typing import Any

from planner.report.chart import Area, Axis, Bar, Chart, Dot, Key, Line, Picture, Words
from planner.report.chart_frame import value_words
from planner.report.palette import LIGHT
from planner.report.plotting import load_pyplot

_INCH = 90.0
"""Pixels of `chart_svg` in an inch here."""
_WIDTH, _SIDE_BY_SIDE = 860.0 / _INCH, 560.0 / _INCH
_DPI = 144
_MARKERS = {
    "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "P",
    "hexagon": "h", "wedge": "v", "bar": "<", "star": "*",
}  # fmt: skip
_HATCHES = {"": "", "slant": "///", "backslant": "\\\\\\", "dots": "...", "cross": "xxx"}
_LEGEND_COLUMNS = 4
_NOTE_CHARACTERS = 15.5
"""Characters of a note in an inch."""
_FAINT = "22"
"""Opacity of areas and faint bars, as hexadecimal digits."""
_TOP = 8


def picture_png(picture: Picture) -> bytes:
    """A picture in light colours as the bytes of a PNG file, the same for the same picture.

    Raises:
        InputError: matplotlib is not installed.
    """
    plt = load_pyplot()
    columns = max(1, min(picture.columns, len(picture.charts)))
    rows = ceil(len(picture.charts) / columns)
    width = _WIDTH if columns == 1 else _SIDE_BY_SIDE
    heights = [
        max(_height(chart, width) for chart in picture.charts[row * columns : (row + 1) * columns])
        for row in range(rows)
    ]
    figure, grid = plt.subplots(
        rows, columns, figsize=(width * columns, sum(heights)), layout="constrained",
        squeeze=False, height_ratios=heights,
    )  # fmt: skip
    panels = list(grid.flat)
    for panel, chart in zip(panels, picture.charts, strict=False):
        _draw(panel, chart, width)
    for panel in panels[len(picture.charts) :]:
        panel.set_axis_off()
    if picture.title and [chart.title for chart in picture.charts] != [picture.title]:
        figure.suptitle(_plain(picture.title), fontweight="bold", fontsize=13)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    plt.close(figure)
    return buffer.getvalue()


def _height(chart: Chart, width: float) -> float:
    """Inches of a chart with its heading, legend and notes."""
    lines = len(_notes(chart, width)) + (2 if chart.subtitle else 1)
    legend = ceil(len(chart.legend) / _LEGEND_COLUMNS)
    return max(width * chart.height, 0.9) + 0.2 * lines + 0.24 * legend


def _notes(chart: Chart, width: float) -> list[str]:
    return [line for note in chart.notes for line in wrap(note, int(_NOTE_CHARACTERS * width))]


def _draw(panel: Any, chart: Chart, width: float) -> None:
    """One chart with everything around it."""
    _axes(panel, chart)
    for order, mark in enumerate(chart.marks):
        above = 2.0 + order / max(len(chart.marks), 1)
        match mark:
            case Area():
                _area(panel, mark)
            case Line():
                _line(panel, mark, above)
            case Bar():
                _bar(panel, mark, above)
            case Dot():
                _dot(panel, mark, above)
            case Words():
                _words(panel, mark)
    rows = ceil(len(chart.legend) / _LEGEND_COLUMNS)
    if chart.legend:
        panel.legend(
            handles=[_handle(key) for key in chart.legend], loc="lower left",
            bbox_to_anchor=(0.0, 1.0), ncols=min(len(chart.legend), _LEGEND_COLUMNS),
            frameon=False, fontsize=8.5, borderaxespad=0.2, handlelength=1.6,
        )  # fmt: skip
    pad = _TOP + 17 * rows
    if chart.subtitle:
        panel.annotate(
            _plain(chart.subtitle), (0, 1), xycoords="axes fraction", xytext=(0, pad),
            textcoords="offset points", color=LIGHT["muted"], fontsize=9.5,
        )  # fmt: skip
        pad += 15
    panel.set_title(_plain(chart.title), loc="left", fontweight="bold", pad=pad)
    _below(panel, chart, width)


def _below(panel: Any, chart: Chart, width: float) -> None:
    """The label of the horizontal axis, and under it the notes."""
    notes = _notes(chart, width)
    words = "" if chart.x.hidden else _plain(chart.x.label)
    panel.set_xlabel(words, color=LIGHT["ink"])
    if not notes:
        return
    depth = 6 if chart.x.hidden else 38 + 9 * _tick_lines(chart)
    panel.annotate(
        _plain("\n".join(notes)), (0, 0), xycoords="axes fraction", xytext=(0, -depth),
        textcoords="offset points", va="top", color=LIGHT["muted"], fontsize=8.5,
    )  # fmt: skip


def _tick_lines(chart: Chart) -> int:
    turned = _are_turned(chart.x)
    return max((len(words) // 3 for _, words in chart.x.ticks), default=0) if turned else 0


def _are_turned(axis: Axis) -> bool:
    return sum(len(words) + 2 for _, words in axis.ticks) > 90


def _axes(panel: Any, chart: Chart) -> None:
    panel.set(
        xscale="log" if chart.x.logarithmic else "linear",
        yscale="log" if chart.y.logarithmic else "linear",
        xlim=(chart.x.low, chart.x.high), ylim=_ends(chart.y),
    )  # fmt: skip
    panel.set_facecolor(LIGHT["paper"])
    panel.grid(visible=False)
    for axis, given, side in ((panel.xaxis, chart.x, "bottom"), (panel.yaxis, chart.y, "left")):
        if given.hidden:
            axis.set_visible(False)
            panel.spines[side].set_visible(False)
            continue
        panel.spines[side].set_color(LIGHT["muted"])
        axis.set_minor_locator(load_pyplot().NullLocator())
        if given.ticks:
            axis.set_ticks([value for value, _ in given.ticks])
            axis.set_ticklabels([_plain(words) for _, words in given.ticks], fontsize=8.5)
        else:
            axis.set_major_formatter(lambda value, _: value_words(value))
            axis.grid(visible=True, color=LIGHT["grid"], alpha=1.0)
    if _are_turned(chart.x):
        panel.tick_params(axis="x", rotation=35)
    if not chart.y.hidden:
        panel.set_ylabel(_plain(chart.y.label), color=LIGHT["ink"])


def _ends(axis: Axis) -> tuple[float, float]:
    return (axis.high, axis.low) if axis.downwards else (axis.low, axis.high)


def _area(panel: Any, mark: Area) -> None:
    colour = LIGHT[mark.tone]
    x, y = zip(*mark.corners, strict=True)
    panel.fill(
        x, y, facecolor=colour + _FAINT, edgecolor=colour + "66" if mark.hatch else "none",
        hatch=_HATCHES[mark.hatch], linewidth=0, zorder=0.5,
    )  # fmt: skip


def _line(panel: Any, mark: Line, above: float) -> None:
    x, y = zip(*mark.points, strict=True)
    width = 2.8 if mark.bold else 1.4
    style = "--" if mark.dashed else "-"
    panel.plot(x, y, style, color=LIGHT[mark.tone], linewidth=width, zorder=above)
    if mark.arrow and len(mark.points) > 1:
        panel.annotate(
            "", mark.points[-1], xytext=mark.points[-2], zorder=above, annotation_clip=True,
            arrowprops={"arrowstyle": "-|>", "color": LIGHT[mark.tone], "lw": width,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def _bar(panel: Any, mark: Bar, above: float) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415  (an extra, and only for pictures)

    colour = LIGHT[mark.tone]
    face, edge = (colour + _FAINT, colour) if mark.faint else (colour, LIGHT["paper"])
    panel.add_patch(
        Rectangle(
            (mark.left, mark.bottom), mark.right - mark.left, mark.top - mark.bottom,
            facecolor=face, edgecolor=edge, hatch=_HATCHES[mark.hatch], linewidth=0.6, zorder=above,
        )
    )  # fmt: skip
    if not mark.words:
        return
    written = panel.text(
        (mark.left + mark.right) / 2, (mark.bottom + mark.top) / 2, _plain(mark.words),
        ha="center", va="center", fontsize=8.5, zorder=above, clip_on=True,
        color=LIGHT["ink" if mark.faint else "paper"],
    )  # fmt: skip
    if not mark.faint:
        _halo(written, colour)
    box, ends = (
        written.get_window_extent(),
        panel.transData.transform([(mark.left, mark.bottom), (mark.right, mark.top)]),
    )
    wide, high = abs(ends[1] - ends[0])
    if box.width > wide or box.height > 1.15 * high:
        written.remove()


def _halo(written: Any, colour: str) -> None:
    from matplotlib.patheffects import withStroke  # noqa: PLC0415  (an extra)

    written.set_path_effects([withStroke(linewidth=2.5, foreground=colour)])


def _dot(panel: Any, mark: Dot, above: float) -> None:
    colour = LIGHT[mark.tone]
    size = 9 if mark.strong else 6.5
    panel.plot([mark.x], [mark.y], _MARKERS[mark.shape], color=colour, markersize=size,
               markeredgecolor=LIGHT["paper"], markeredgewidth=0.6, zorder=above + 2)  # fmt: skip
    if mark.strong:
        panel.plot([mark.x], [mark.y], "o", markersize=15, fillstyle="none", color=colour,
                   markeredgewidth=1.6, zorder=above + 2)  # fmt: skip
    if mark.words:
        written = panel.annotate(
            _plain(mark.words), (mark.x, mark.y), xytext=(8, 5), textcoords="offset points",
            fontsize=8.5, zorder=6, color=LIGHT["ink"],
            fontweight="bold" if mark.strong else "normal",
        )  # fmt: skip
        _halo(written, LIGHT["paper"])


def _words(panel: Any, mark: Words) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    written = panel.text(
        mark.x, mark.y, _plain(mark.words), ha=side, va="center", fontsize=8.5, zorder=6,
        rotation=mark.turned, rotation_mode="anchor", fontweight="bold" if mark.bold else "normal",
        color=LIGHT[mark.tone or "ink"],
    )  # fmt: skip
    _halo(written, LIGHT["paper"])


def _handle(key: Key) -> Any:
    """What stands for a key in the legend."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  (an extra, and only for pictures)
    from matplotlib.patches import Patch  # noqa: PLC0415

    colour, label = LIGHT[key.tone], _plain(key.words)
    if key.kind == "bar":
        face, edge = (colour + _FAINT, colour) if key.faint else (colour, LIGHT["paper"])
        return Patch(facecolor=face, edgecolor=edge, hatch=_HATCHES[key.hatch], label=label)
    if key.kind in ("line", "dashed"):
        return Line2D([], [], color=colour, linestyle="--" if key.kind == "dashed" else "-",
                      label=label)  # fmt: skip
    return Line2D([], [], color=colour, marker=_MARKERS[key.shape], linestyle="", label=label)


def _plain(words: str) -> str:
    """Words in which matplotlib sees no formulas."""
    return words.replace("$", r"\$")
