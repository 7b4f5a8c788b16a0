"""The mesh of a plan drawn on the levels of its network, the outermost level on top.

Each level is one box, a domain of it, with the domains of the level inside as columns of cells:
one cell for each axis that crosses the level, with the position on that axis. One of the columns
leads to the box of the next level. So a picture stays as large for 16,384 chips as for 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frozen_records import dataclass
from planner.base.units import plural, show_bytes, show_percent, show_seconds
from planner.cost.facts import LevelFacts, PlanFacts
from planner.plan import Plan
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.drawing.style.looks import look_of
from planner.results.plan import PlanResult

_NAMES = {
    "tp": "tensor parallel",
    "cp": "context parallel",
    "ep": "expert parallel",
    "etp": "tensor parallel of experts",
    "fsdp": "sharded data parallel",
    "dp": "data parallel",
    "pp": "pipeline parallel",
}
_WIDTH = 560.0
"""Pixels of the chart beside another; all lengths below are such pixels."""
_MOST_COLUMNS = 8
_AXIS_NAME = 92.0
"""Room of the name of a physical axis."""
_INDENT, _LINE, _CELL, _PAD, _GAP = 22.0, 17.0, 20.0, 5.0, 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBox:
    """What is drawn of one level.

    Attributes:
        facts: The level.
        inside: Chips of a domain of the level inside.
        columns: Domains of the level inside in one of this level.
        cells: Of each column that is drawn, (axis, words) of its cells, innermost axis first.
        share: Of the step, if its bytes went over it at its full rate and nothing else happened.
        busiest: Whether no level has a larger share; False of the only one, and where none has any.
    """

    facts: LevelFacts
    inside: int
    columns: int
    cells: tuple[tuple[tuple[str, str], ...], ...]
    share: float
    busiest: bool


def level_boxes(result: PlanResult, facts: PlanFacts) -> tuple[LevelBox, ...]:
    """The levels that a plan reaches, outermost first; none for one chip."""
    most = max((level.busy_s for level in facts.levels), default=0.0)
    boxes, inside = [], 1
    for level in facts.levels:
        columns = -(-level.domain_chips // inside)
        boxes.append(
            LevelBox(
                facts=level,
                inside=inside,
                columns=columns,
                cells=tuple(
                    tuple(_cells(result.plan, level, column * inside, inside))
                    for column in range(min(columns, _MOST_COLUMNS))
                ),
                share=level.busy_s / result.step_time_s,
                busiest=len(facts.levels) > 1 and level.busy_s == most > 0,
            )
        )
        inside = level.domain_chips
    return tuple(reversed(boxes))


def _cells(plan: Plan, level: LevelFacts, first: int, chips: int) -> Iterator[tuple[str, str]]:
    """The positions on each axis that crosses a level of some chips side by side."""
    for axis in dict(plan.ranks):
        if axis not in level.members:
            continue
        found = sorted({_position(plan, axis, first + chip) for chip in range(chips)})
        whole = found == list(range(found[0], found[-1] + 1))
        ends = f"{found[0]}" if len(found) == 1 else f"{found[0]}-{found[-1]}"
        yield axis, f"{axis} {ends}" if whole else f"{axis} {found[0]}.."


def _position(plan: Plan, axis: str, rank: int) -> int:
    """The position of a rank on an axis, of which a layout may have several parts."""
    position, weight, stride = 0, 1, 1
    for name, size in plan.ranks:
        if name == axis:
            position += weight * (rank // stride % size)
            weight *= size
        stride *= size
    return position


def mesh_picture(result: PlanResult, facts: PlanFacts) -> Picture:
    """The picture of `mesh_chart`."""
    chart = mesh_chart(result, facts)
    return Picture(title=chart.title, charts=(chart,))


def mesh_chart(result: PlanResult, facts: PlanFacts) -> Chart:
    """Which axis of the mesh lies on which level, and what each level carries in a step.

    Args:
        result: A plan on more than one chip.
        facts: Its levels.
    """
    boxes = level_boxes(result, facts)
    marks: list[Mark] = []
    top = 0.0
    for depth, box in enumerate(boxes):
        marks += _level(box, depth, top, last=depth == len(boxes) - 1)
        top += _height(box) + _GAP
    used = [axis for axis in _NAMES if any(axis in box.facts.members for box in boxes)]
    return Chart(
        title="The mesh on the levels of the network",
        subtitle=f"{plural(result.chips, 'chip')}; on each level one domain is drawn",
        x=Axis(label="", low=0.0, high=_WIDTH, hidden=True),
        y=Axis(label="", low=0.0, high=top, hidden=True, downwards=True),
        marks=tuple(marks),
        legend=tuple(
            Key(words=f"{axis}: {_NAMES[axis]}", tone=look_of(axis)[0], hatch=look_of(axis)[1],
                kind="bar")
            for axis in used if axis not in ("ep", "etp")
        ),
        notes=tuple(_notes(result, boxes)),
        spelled=True,
        description="; ".join(f"{_head(box)}: {_axes_words(box)}; {_traffic(box)}" for box in boxes)
        + ".",
        header=("level", "chips", "domains", "axes", "rate per chip", "bytes per chip and step",
                "time at that rate", "share of step"),
        rows=tuple(map(_row, boxes)),
        height=top / _WIDTH,
    )  # fmt: skip


def _height(box: LevelBox) -> float:
    rows = len(box.facts.torus) or max(map(len, box.cells), default=1)
    return 3 * _LINE + 2 * _PAD + _CELL * rows + 4


def _level(box: LevelBox, depth: int, top: float, *, last: bool) -> Iterator[Mark]:
    """The words, the box with its columns, and the way to the next level."""
    left = _INDENT * depth
    tone = "red" if box.busiest else ""
    lines = (_head(box), _axes_words(box), _traffic(box) + (", the busiest" if box.busiest else ""))
    for row, words in enumerate(lines):
        yield Words(x=left, y=top + 8 + _LINE * row, words=words, anchor="start",
                    bold=row == 0, tone=tone if row == 2 else "")  # fmt: skip
    upper, lower = top + 3 * _LINE + 2, top + _height(box)
    yield Bar(left=left, right=_WIDTH, bottom=lower, top=upper, tone=tone or "grey",
              detail=f"{_head(box)}: {_traffic(box)}", faint=True)  # fmt: skip
    draw = _torus if box.facts.torus else _columns
    yield from draw(box, left + _PAD, upper + _PAD)
    if not last:
        x = left + 0.5 * _INDENT
        end = top + _height(box) + _GAP + 8
        yield Line(points=((x, lower), (x, end), (left + _INDENT - 4, end)), tone="grey",
                   arrow=True)  # fmt: skip


def _columns(box: LevelBox, left: float, upper: float) -> Iterator[Mark]:
    """The domains of the level inside, each with its position on every axis."""
    shown = len(box.cells)
    more = box.columns > shown
    wide = (_WIDTH - _PAD - left) / (shown + more)
    for column, cells in enumerate(box.cells):
        for row, (axis, words) in enumerate(cells):
            detail = f"{_one(box, column)}: {_NAMES[axis]} {words}"
            start = left + wide * column
            yield _cell(start, start + wide, upper + _CELL * row, axis, words, detail)
    if more:
        middle = 0.5 * _CELL * max(map(len, box.cells))
        yield Words(x=left + wide * (shown + 0.5), y=upper + middle, words=f"... {box.columns:,}")


def _torus(box: LevelBox, left: float, upper: float) -> Iterator[Mark]:
    """The physical axes of a torus, each with the parts of the mesh along it."""
    for row, axis in enumerate(box.facts.torus):
        top = upper + _CELL * row
        words = f"{axis.name}: {'ring' if axis.closed else 'line'} of {axis.length}"
        yield Words(x=left + 2, y=top + 0.5 * _CELL, words=words, anchor="start")
        start = left + _AXIS_NAME
        wide = (_WIDTH - _PAD - start) / max(len(axis.parts), 1)
        for at, (name, size) in enumerate(axis.parts):
            part = f"{name} {size}"
            detail = f"{words}: {_NAMES[name]} {part}"
            yield _cell(start + wide * at, start + wide * (at + 1), top, name, part, detail)


def _cell(left: float, right: float, top: float, axis: str, words: str, detail: str) -> Bar:
    tone, hatch = look_of(axis)
    return Bar(left=left + 1, right=right - 1, bottom=top + _CELL - 1, top=top + 1,
               tone=tone, hatch=hatch, words=words, detail=detail)  # fmt: skip


def _one(box: LevelBox, column: int) -> str:
    if box.inside == 1:
        return f"chip {column} of {box.columns:,}"
    return f"domain {column} of {box.columns:,}, {plural(box.inside, 'chip')}"


def _head(box: LevelBox) -> str:
    """`leaf: 8 domains of 8 chips`, `nvlink: 8 chips`, and how many of them there are."""
    facts = box.facts
    held = plural(box.columns, "chip")
    if box.inside > 1:
        held = f"{box.columns:,} x {plural(box.inside, 'chip')}"
    many = f", {facts.domains:,} of these" if facts.domains > 1 else ""
    return f"{facts.name}: {held}{many}"


def _axes_words(box: LevelBox) -> str:
    """`tp 8, dp 2 of 16`: the ranks that a domain brings together, of those in all."""
    words = []
    for axis, (below, now, size) in box.facts.members.items():
        if below == 1:
            part = f"{axis} {now}"
        elif now % below == 0:
            part = f"{axis} {now // below} x {below} inside"
        else:
            part = f"{axis} {now}"
        words.append(part if now == size else f"{part} of {size}")
    return ", ".join(words) or "no axis crosses it"


def _traffic(box: LevelBox) -> str:
    facts = box.facts
    per_chip = facts.wire_bytes / (facts.domains * facts.domain_chips)
    if not per_chip:
        return f"{show_bytes(facts.bytes_per_s)}/s per chip; nothing goes over it"
    return (
        f"{show_bytes(per_chip)} per chip and step at {show_bytes(facts.bytes_per_s)}/s: "
        f"{show_seconds(facts.busy_s)}, {show_percent(box.share)} of the step"
    )


def _notes(result: PlanResult, boxes: Sequence[LevelBox]) -> Iterator[str]:
    if any(box.share for box in boxes):
        yield ("Bytes over a level would take that share of the step at its achieved rate, one "
               "after the other and with nothing hidden. What goes through several levels of "
               "switches counts on each.")  # fmt: skip
    if result.torus:
        yield f"Physical axes of the torus: {result.torus}."
    if result.plan.ep > 1:
        yield f"Groups of {result.plan.ep} ranks share experts (ep); they lie over the other axes."
    if result.plan.etp > 1:
        yield f"Groups of {result.plan.etp} ranks share each expert (etp); they lie there likewise."


def _row(box: LevelBox) -> tuple[str, ...]:
    facts = box.facts
    per_chip = facts.wire_bytes / (facts.domains * facts.domain_chips)
    return (
        facts.name, f"{facts.domain_chips:,}", f"{facts.domains:,}", _axes_words(box),
        f"{show_bytes(facts.bytes_per_s)}/s", show_bytes(per_chip), show_seconds(facts.busy_s),
        show_percent(box.share),
    )  # fmt: skip
