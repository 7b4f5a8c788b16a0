"""The Pareto front as a picture that needs no library to look at."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

from planner.report import machine_marks
from planner.report.frame import Axis
from planner.report.labels import Label, placed
from planner.report.scatter import is_logarithmic, shares
from planner.report.shapes import Box
from planner.report.words import (
    OBJECTIVES,
    best_apart,
    choice_words,
    front_job_words,
    front_title,
    is_best,
    mesh_words,
)
from planner.results import PlanResult, SolveResult
from planner.units import plural, show_bytes, show_joules, show_percent, show_seconds, unit_for

_WIDTH, _HEIGHT = 860, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 28, 84, 62
_SMALL, _NORMAL, _LARGE = 11, 12, 17
_NOTE_CHARACTERS = 130
_MOST_LABELS = 20
_BEST, _POINT, _LINE, _GRID, _GREY = "#d1495b", "#2f6690", "#9bb8d3", "#ececec", "#666"
_LEADER = "#aaa"
_LIGHT, _DARK = (0xA6, 0xCE, 0xE3), (0x08, 0x30, 0x6B)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """The front in pixels.

    Attributes:
        result: The answer.
        x, y: Axes of step time and energy, in the units below.
        time_unit, energy_unit: (SI units in one, name).
    """

    result: SolveResult
    x: Axis
    y: Axis
    time_unit: tuple[float, str]
    energy_unit: tuple[float, str]

    def at(self, point: PlanResult) -> tuple[float, float]:
        """The pixel of a plan."""
        return (
            self.x.at(point.step_time_s / self.time_unit[0]),
            self.y.at(point.energy_per_step_j / self.energy_unit[0]),
        )


def _picture(result: SolveResult) -> _Picture:
    shown = [*result.front, *best_apart(result)]
    times = [point.step_time_s for point in shown]
    energies = [point.energy_per_step_j for point in shown]
    seconds, joules = unit_for(max(times), "s"), unit_for(max(energies), "J")
    return _Picture(
        result=result,
        x=Axis.of([time / seconds[0] for time in times], _LEFT, _WIDTH - _RIGHT),
        y=Axis.of([energy / joules[0] for energy in energies], _HEIGHT - _BOTTOM, _TOP),
        time_unit=seconds,
        energy_unit=joules,
    )


def front_svg(result: SolveResult) -> str:
    """An SVG of step time against energy per step; the best plan is marked, points are labelled."""
    picture = _picture(result)
    labels, labelled = _labels(picture)
    notes = wrap(_note(result, labelled), _NOTE_CHARACTERS)
    height = _HEIGHT + 15 * len(notes)
    title = f"{front_title(result)}: {front_job_words(result)}"
    body = [
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        _text(_LEFT, 28, front_job_words(result), size=_LARGE, weight="bold"),
        _text(_LEFT, 48, front_title(result), size=_NORMAL),
        *_legend(result),
        *_axes(picture),
        _staircase(picture),
        *(
            _point(picture, point, fill)
            for point, fill in zip(result.front, _fills(result), strict=True)
        ),
        *_best_mark(picture),
        *labels,
        *(
            _text(_LEFT, _HEIGHT + 8 + 15 * line, words, size=_SMALL, fill=_GREY)
            for line, words in enumerate(notes)
        ),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" fill="#222">'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    weight: str = "normal",
    anchor: str = "start",
    fill: str = "#222",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'
    )


def _note(result: SolveResult, labelled: int) -> str:
    few = labelled < len(result.front)
    more = f" {labelled} of {len(result.front)} points are labelled." if few else ""
    return result.front_note + more


def _legend(result: SolveResult) -> list[str]:
    """What the marks mean, on the line above the picture."""
    x, y = float(_LEFT), 68.0
    parts: list[str] = []
    best = f"best plan: least {OBJECTIVES.get(result.objective_name, result.objective_name)}"
    mark = _diamond_at(x + 6, y - 4, 6) if best_apart(result) else _disc(x + 6, y - 4, 6, _BEST)
    if result.best is not None:
        parts += [mark, _text(x + 18, y, best, size=_SMALL)]
        x += 38 + 5.6 * len(best)
    if machine_marks.has_machines(result):
        return [*parts, *machine_marks.legend(result, x, y, _SMALL)]
    if all(is_best(point, result) for point in result.front):
        return parts
    if "memory" not in result.front_objectives:
        return [*parts, _disc(x + 5, y - 4, 5, _POINT), _text(x + 16, y, "front", size=_SMALL)]
    return parts + _memory_legend(result, x, y)


def _memory_legend(result: SolveResult, x: float, y: float) -> list[str]:
    """The colours of the points from the least to the most memory."""
    sizes = [point.memory_per_chip_bytes for point in result.front]
    scale = " (logarithmic)" if is_logarithmic(sizes) else ""
    words = f"memory per chip{scale}: {show_bytes(min(sizes))}"
    parts = [_text(x, y, words, size=_SMALL)]
    x += 10 + 5.8 * len(words)
    for step in range(24):
        colour = _colour(step / 23)
        parts.append(f'<rect x="{x + 4 * step:.1f}" y="{y - 9}" width="4" height="10" '
                     f'fill="{colour}"/>')  # fmt: skip
    return [*parts, _text(x + 102, y, show_bytes(max(sizes)), size=_SMALL)]


def _fills(result: SolveResult) -> list[str]:
    """The colour of each point: by memory where that is an objective."""
    if "memory" not in result.front_objectives:
        return [_POINT] * len(result.front)
    sizes = shares([point.memory_per_chip_bytes for point in result.front])
    return [_colour(size) for size in sizes]


def _colour(share: float) -> str:
    """From light (0) to dark (1)."""
    mixed = (round(a + share * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _disc(x: float, y: float, radius: float, fill: str) -> str:
    return (
        f'<path d="M{x - radius:.1f},{y:.1f} a{radius},{radius} 0 1,0 {2 * radius},0 '
        f'a{radius},{radius} 0 1,0 {-2 * radius},0" fill="{fill}"/>'
    )


def _diamond_at(x: float, y: float, radius: float) -> str:
    r = radius
    return f'<path d="M{x:.1f},{y - r:.1f} l{r},{r} l{-r},{r} l{-r},{-r} z" fill="{_BEST}"/>'


def _best_mark(picture: _Picture) -> list[str]:
    """The best plan on top of everything, where pointers see through to the point below."""
    marks = [
        _disc(*picture.at(point), 7, _BEST)
        for point in picture.result.front
        if is_best(point, picture.result) and point.machine is None
    ]
    marks += [_diamond_at(*picture.at(point), 8) for point in best_apart(picture.result)]
    return [f'<g pointer-events="none">{mark}</g>' for mark in marks]


def _axes(picture: _Picture) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    x_name = f"step time ({picture.time_unit[1]}{_scale(picture.x)})"
    y_name = f"energy per step ({picture.energy_unit[1]}{_scale(picture.y)})"
    parts = [
        _text((_LEFT + right) / 2, _HEIGHT - 20, x_name, size=13, anchor="middle"),
        f'<text transform="translate(18,{(_TOP + bottom) / 2:.1f}) rotate(-90)" font-size="13" '
        f'text-anchor="middle">{y_name}</text>',
    ]
    for value in picture.x.ticks():
        at = picture.x.at(value)
        parts.append(f'<path d="M{at:.1f},{bottom} V{_TOP}" stroke="{_GRID}"/>')
        parts.append(_text(at, bottom + 18, f"{value:g}", size=_NORMAL, anchor="middle"))
    for value in picture.y.ticks():
        at = picture.y.at(value)
        parts.append(f'<path d="M{_LEFT},{at:.1f} H{right}" stroke="{_GRID}"/>')
        parts.append(_text(_LEFT - 8, at + 4, f"{value:g}", size=_NORMAL, anchor="end"))
    parts.append(f'<path d="M{_LEFT},{_TOP} V{bottom} H{right}" fill="none" stroke="#555"/>')
    return parts


def _scale(axis: Axis) -> str:
    return ", logarithmic" if axis.logarithmic else ""


def _corners(picture: _Picture) -> list[tuple[float, float]]:
    """Points of the front that no other beats in time and energy, in pixels."""
    steps: list[PlanResult] = []
    for point in picture.result.front:
        if not steps or point.energy_per_step_j < steps[-1].energy_per_step_j:
            steps.append(point)
    return [picture.at(point) for point in steps]


def _staircase(picture: _Picture) -> str:
    """The border of what no plan reaches in time and energy: level to the next point, then down."""
    corners = _corners(picture)
    path = f"M{corners[0][0]:.1f},{corners[0][1]:.1f}"
    path += "".join(f" H{x:.1f} V{y:.1f}" for x, y in corners[1:])
    return f'<path d="{path}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>'


def _steps(picture: _Picture) -> list[Box]:
    """The staircase as thin boxes."""
    boxes = []
    for (x, y), (next_x, next_y) in pairwise(_corners(picture)):
        boxes.append(Box(left=x, top=y - 1, right=next_x, bottom=y + 1))
        boxes.append(Box(left=next_x - 1, top=y, right=next_x + 1, bottom=next_y))
    return boxes


def _point(picture: _Picture, point: PlanResult, fill: str) -> str:
    words = (
        f"{machine_marks.label_words(point)}{point.chips:,} chips: "
        f"{mesh_words(point.plan)}; {choice_words(point.plan)}; "
        f"{show_seconds(point.step_time_s)}, {show_joules(point.energy_per_step_j)}, "
        f"{show_bytes(point.memory_per_chip_bytes)} per chip, MFU {show_percent(point.mfu)}"
    )
    x, y = picture.at(point)
    if point.machine is not None:
        best = is_best(point, picture.result)
        ring = f'stroke="{_BEST}" stroke-width="3"' if best else 'stroke="white"'
        colour = machine_marks.colour_of(point, picture.result)
        shape = machine_marks.shape_of(point, picture.result)
        style = f'fill="{colour}" {ring}'
        return machine_marks.symbol(x, y, 8 if best else 6, shape, style, words)
    style = f'fill="{fill}" r="5" stroke="white"'
    if is_best(point, picture.result):
        style = f'fill="{_BEST}" r="7" stroke="{_BEST}" stroke-opacity="0.3" stroke-width="6"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" {style}><title>{escape(words)}</title></circle>'


def _labels(picture: _Picture) -> tuple[list[str], int]:
    """The plan beside each point, the best one's and those of the ends first; and how many."""
    result = picture.result
    shown = [*result.front, *best_apart(result)]
    best = {index for index, point in enumerate(shown) if is_best(point, result)}
    words = _label_words(shown)
    order = sorted(_chosen(shown, result), key=lambda i: (i not in best, 0 < i < len(shown) - 1, i))
    area = Box(left=_LEFT + 2, top=_TOP, right=_WIDTH - _RIGHT, bottom=_HEIGHT - _BOTTOM - 2)
    points = [picture.at(point) for point in shown]
    labels = placed(points, words, order, area, _SMALL, _steps(picture), best)
    parts = [_leader(label) for label in labels if label.leader]
    parts += [
        _text(
            label.x, label.y, words[label.index], size=_SMALL, anchor=label.anchor,
            weight="bold" if label.index in best else "normal",
        )
        for label in labels
    ]  # fmt: skip
    return parts, sum(label.index < len(result.front) for label in labels)


def _chosen(shown: Sequence[PlanResult], result: SolveResult) -> Collection[int]:
    """Which points to label: of a long front some on the way, or the least of each objective."""
    every = range(len(shown))
    if len(shown) <= _MOST_LABELS:
        return every
    best = {index for index in every if is_best(shown[index], result)}
    if "memory" not in result.front_objectives:
        return best.union(every[:: -(-len(shown) // _MOST_LABELS)], every[-1:])
    time = min(every, key=lambda i: shown[i].step_time_s)
    energy = min(every, key=lambda i: shown[i].energy_per_step_j)
    memory = min(every, key=lambda i: shown[i].memory_per_chip_bytes)
    return best | {time, energy, memory}


def _leader(label: Label) -> str:
    """The thin line from a point to its label."""
    if label.leader is None:
        return ""
    (x, y), (end_x, end_y) = label.leader.start, label.leader.end
    path = f"M{x:.1f},{y:.1f} L{end_x:.1f},{end_y:.1f}"
    return f'<path d="{path}" fill="none" stroke="{_LEADER}" stroke-width="0.8"/>'


def _label_words(shown: Sequence[PlanResult]) -> list[str]:
    """`512 chips: dp 16 x tp 8 x pp 4, clock 0.9`; the chips only where their number differs."""
    differ = len({point.chips for point in shown}) > 1
    return [
        ("" if point.machine is None else f"{point.machine.pes:,} {point.machine.pe_kind}s, ")
        + (f"{plural(point.chips, 'chip')}: " if differ and point.chips > 1 else "")
        + mesh_words(point.plan)
        + (f", clock {point.plan.clock:g}" if point.plan.clock != 1.0 else "")
        for point in shown
    ]
