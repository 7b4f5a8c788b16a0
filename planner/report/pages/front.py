"""The front in a report: the picture, the full record of every plan, and a table of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from planner.base.units import show_bytes, show_joules, show_percent, show_seconds
from planner.report.charts.breakdown import STATIC
from planner.report.charts.front import front_picture
from planner.report.pages.blocks import Block, Cell, Figure, Prose, Records, Section, Table
from planner.report.pages.blocks import words_table as of_words
from planner.report.tables.machine_marks import COLUMNS, cells, has_machines
from planner.report.tables.terminal import cost_rows
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from planner.results.words import (
    best_apart,
    choice_words,
    front_title,
    is_best,
    marks_proved,
    mesh_words,
    plan_rows,
    proved_mark,
)

HINT = (
    "Choose a point to see its whole plan: point at it, click it, or press Enter on it; the arrow "
    "keys walk along the front, Escape goes back."
)
_WIDTH = 720.0
"""Of the coordinates of the front's picture, which has the panel of a plan beside it."""
_CHOICES = "other choices"
_OF_ONE = "The pictures further down are of one plan alone."


def key_of(number: int) -> str:
    """The name of a plan of the front, from 1, on the page and in its address."""
    return f"front-{number}"


def front_section(answer: SolveResult, *, pictured: bool) -> Section:
    """The front of an answer; `pictured`: pictures of one plan follow."""
    if not answer.front:
        return Section(ident="front", title="The front", blocks=())
    blocks: list[Block] = []
    if len(answer.front) > 1:
        blocks.append(front_figure(answer))
    blocks += [_records(answer), _table(answer), Prose(lines=(answer.front_note,))]
    lead = _lead(answer, pictured=pictured)
    return Section(ident="front", title=front_title(answer), blocks=tuple(blocks), lead=lead)


def _lead(answer: SolveResult, *, pictured: bool) -> str:
    count = len(answer.front)
    if count == 1:
        return "One plan is better than every other in all objectives."
    more = f"{HINT} {_OF_ONE}" if pictured else HINT
    return f"{count:,} plans, none of which another one beats in everything. {more}"


def _title(number: int, point: PlanResult, answer: SolveResult) -> str:
    best = " (the best plan)" if is_best(point, answer) else ""
    return f"Plan {number} of {len(answer.front)}{best}: {mesh_words(point.plan)}"


def _records(answer: SolveResult) -> Records:
    """Every plan of the front, and the best one where it is not among them."""
    front = tuple(
        (key_of(number), _title(number, point, answer), plan_tables(point))
        for number, point in enumerate(answer.front, start=1)
    )
    apart = tuple(
        ("best", f"The best plan, not on the front: {mesh_words(best.plan)}", plan_tables(best))
        for best in best_apart(answer)
    )
    return Records(label="Plans of the front", records=(*front, *apart))


def plan_tables(point: PlanResult) -> tuple[Table, ...]:
    """A whole plan: what it decides, costs, and the parts of that."""
    memory = point.memory_per_chip_bytes + point.reserve_bytes
    return (
        of_words("What it decides", (), plan_rows(point)),
        of_words("What it costs", (), cost_rows(point)),
        _parts("Time", point.time_s, point.step_time_s, show_seconds),
        _parts(f"Energy. {STATIC}", point.energy_j, point.energy_per_step_j, show_joules),
        _parts("Memory of the fullest chip", point.memory_bytes, memory, show_bytes),
    )


def _parts(
    caption: str, parts: Mapping[str, float], whole: float, show: Callable[[float], str]
) -> Table:
    """Parts of a whole, largest first; zeros are left out."""
    rows = [
        (name.replace("_", " "), show(value), show_percent(value / whole))
        for name, value in sorted(parts.items(), key=lambda item: -item[1])
        if value > 0
    ]
    return of_words(caption, ("part", "value", "share"), rows, right=(1, 2))


def _table(answer: SolveResult) -> Table:
    """All plans; the numbers lead to their records."""
    machines = has_machines(answer)
    rows = tuple(_row(number, point, answer) for number, point in enumerate(answer.front, start=1))
    names = (*(COLUMNS if machines else ()), "chips", "step time", "energy/step", "MFU", "memory")
    names += tuple(one.short for one in answer.beside)
    right = [0, *(at + 1 for at, name in enumerate(names) if name != "wiring")]
    return Table(
        caption="All plans of the front",
        header=("#", *names, *(["proved"] if marks_proved(answer) else []), "mesh", _CHOICES),
        rows=rows,
        right=tuple(right),
        strong=tuple(at for at, point in enumerate(answer.front) if is_best(point, answer)),
        sortable=len(rows) > 1,
    )


def _row(number: int, point: PlanResult, answer: SolveResult) -> tuple[Cell, ...]:
    figures = (
        (f"{point.chips:,}", float(point.chips)),
        (show_seconds(point.step_time_s), point.step_time_s),
        (show_joules(point.energy_per_step_j), point.energy_per_step_j),
        (show_percent(point.mfu), point.mfu),
        (show_bytes(point.memory_per_chip_bytes), point.memory_per_chip_bytes),
        *((one.shown(point.costs), one.value_of(point.costs)) for one in answer.beside),
    )
    pes, wiring = cells(point)
    machine = point.machine
    own = (Cell(words=pes, value=0.0 if machine is None else machine.pes), Cell(words=wiring))
    return (
        Cell(words=f"{number}", value=number, link=key_of(number)),
        *(own if has_machines(answer) else ()),
        *(Cell(words=words, value=value) for words, value in figures),
        *([Cell(words=proved_mark(answer, number - 1))] if marks_proved(answer) else []),
        Cell(words=mesh_words(point.plan)),
        Cell(words=choice_words(point.plan)),
    )


def front_figure(answer: SolveResult) -> Figure:
    """The picture of the front; its points are named by `key_of`, its figures are the table's.

    The note of the front stands below the table.
    """
    picture = front_picture(answer)
    charts = tuple(
        replace(
            chart,
            header=(),
            rows=(),
            notes=tuple(line for line in chart.notes if line != answer.front_note),
        )
        for chart in picture.charts
    )
    shown = replace(picture, charts=charts, width=_WIDTH)
    return Figure(ident="front-figure", picture=shown)
