"""Heading, legend, axes and notes of a chart as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.numerals import is_digits
from planner.report.drawing.chart import Axis, Chart, Key
from planner.report.drawing.geometry.chart_frame import (
    LINE,
    NORMAL,
    PAD,
    SMALL,
    SYMBOL,
    TITLE,
    TURNED,
    Frame,
)
from planner.report.drawing.geometry.lettering import clean
from planner.report.drawing.style.symbols import dot_symbol

DOTTED = "stroke-dasharray:1.8 3"
"""Rule of a dotted line; most pictures have none, so it is no rule of all."""


def number(value: float) -> str:
    """A coordinate to a hundredth of a pixel, as short as it gets."""
    return f"{round(value, 2) + 0.0:.10g}"


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = SMALL,
    anchor: str = "start",
    look: str = "",
    bold: bool = False,
    turned: float = 0.0,
) -> str:
    """A line of text; `turned` in degrees counter-clockwise around its anchor."""
    parts = [f'x="{number(x)}" y="{number(y)}" font-size="{size:g}"']
    parts += [f'text-anchor="{anchor}"'] if anchor != "start" else []
    parts += ['font-weight="bold"'] if bold else []
    parts += [f'class="{look}"'] if look else []
    if turned:
        parts.append(f'transform="rotate({number(-turned)} {number(x)} {number(y)})"')
    return f"<text {' '.join(parts)}>{clean(words)}</text>"


def heading(drawn: Frame) -> list[str]:
    """Title and subtitle."""
    parts = [
        text(PAD, PAD + 13 + 19 * row, line, size=TITLE, bold=True)
        for row, line in enumerate(drawn.title)
    ]
    return parts + [
        text(PAD, drawn.subtitle_top + 11 + 16 * row, line, size=NORMAL, look="muted")
        for row, line in enumerate(drawn.subtitle)
    ]


def legend(drawn: Frame, hatch_id: dict[tuple[str, str], str]) -> list[str]:
    """What the marks mean.

    Args:
        drawn: The chart in pixels.
        hatch_id: The pattern of each (hatch, tone); see `chart_marks.hatches`.
    """
    parts = []
    for entry in drawn.legend:
        sign = _sign(entry.key, entry.x, entry.y - 4, hatch_id)
        parts.append(f'<g class="tone-{entry.key.tone}">{sign}</g>')
        parts.append(text(entry.x + SYMBOL, entry.y, entry.key.words))
    return parts


def _sign(key: Key, x: float, y: float, hatch_id: dict[tuple[str, str], str]) -> str:
    if key.kind in ("line", "dashed", "dotted"):
        look = "line dashed" if key.kind == "dashed" else "line"
        rules = [f"stroke-opacity:{number(key.strength)}"] if key.strength != 1 else []
        rules += [DOTTED] if key.kind == "dotted" else []
        own = f' style="{";".join(rules)}"' if rules else ""
        return f'<path class="{look}"{own} d="M{number(x)},{number(y)} h17"/>'
    if key.kind in ("bar", "area"):
        place = f'x="{number(x + 1)}" y="{number(y - 5)}" width="15" height="10"'
        over = hatch_id.get((key.hatch, key.tone if is_soft(key) else "paper"))
        pattern = f'<rect {place} fill="url(#{over})"/>' if over else ""
        look = "soft" if key.kind == "area" else "faint" if key.faint else "fill"
        return f'<rect class="{look}" {place}/>{pattern}'
    return dot_symbol((x + 8, y), 5, key.shape, hollow=key.hollow)


def is_soft(key: Key) -> bool:
    """Whether the fill of a key is light, so that its hatch has the key's own tone."""
    return key.faint or key.kind == "area"


def notes(drawn: Frame) -> list[str]:
    """The lines below."""
    return [
        text(PAD, drawn.notes_top + 11 + LINE * row, line, look="muted")
        for row, line in enumerate(drawn.notes)
    ]


def grid(one: Chart, drawn: Frame) -> list[str]:
    """Thin lines at the ticks; none across an axis whose ticks are names of rows or columns."""
    area, lines = drawn.area, []
    if not is_named(one.x):
        ends = f"{number(area.bottom)} V{number(area.top)}"
        lines += [f"M{number(tick.at)},{ends}" for tick in drawn.x_ticks]
    if not is_named(one.y):
        left, right = number(area.left), number(area.right)
        lines += [f"M{left},{number(tick.at)} H{right}" for tick in drawn.y_ticks]
    return [f'<path class="grid" d="{" ".join(lines)}"/>'] if lines else []


def is_named(axis: Axis) -> bool:
    """Whether what is written at an axis are names, not values."""
    named = any(not is_digits(words[:1]) for _, words in axis.ticks if words)
    return named or axis.beside or (axis.downwards and bool(axis.ticks))


def axes(one: Chart, drawn: Frame) -> list[str]:
    """Both axes with what is written at them."""
    area, parts = drawn.area, []
    if not one.x.hidden:
        parts.append(_rule(f"M{number(area.left)},{number(area.bottom)} H{number(area.right)}"))
        parts += _below(one, drawn)
    if not one.y.hidden:
        parts.append(_rule(f"M{number(area.left)},{number(area.top)} V{number(area.bottom)}"))
        parts += [
            text(area.left - 7, tick.at + 4, tick.lines[0], anchor="end") for tick in drawn.y_ticks
        ]
        middle = (area.top + area.bottom) / 2
        parts += [
            text(PAD + 10 + 15 * row, middle, line, size=NORMAL, anchor="middle", turned=90)
            for row, line in enumerate(drawn.y_label)
        ]
    return parts


def _rule(path: str) -> str:
    return f'<path class="axis" d="{path}"/>'


def _below(one: Chart, drawn: Frame) -> list[str]:
    area, parts = drawn.area, []
    for tick in drawn.x_ticks:
        parts.append(_rule(f"M{number(tick.at)},{number(area.bottom)} v4"))
        if drawn.turned:
            parts.append(text(tick.at + 4, area.bottom + 13, tick.lines[0], anchor="end",
                              turned=TURNED))  # fmt: skip
            continue
        parts += _lines(tick.at, area.bottom + 17, tick.lines)
    if one.x.label:
        middle, low = (area.left + area.right) / 2, drawn.notes_top - 12
        parts.append(text(middle, low, one.x.label, size=NORMAL, anchor="middle"))
    return parts


def _lines(x: float, y: float, lines: Sequence[str]) -> list[str]:
    return [text(x, y + 13 * row, line, anchor="middle") for row, line in enumerate(lines)]
