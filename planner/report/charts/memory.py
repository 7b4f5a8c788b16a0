"""Bytes of every pipeline stage against what may be filled and what the chip has."""

from __future__ import annotations

from dataclasses import replace

from planner.base.units import plural, show_bytes, show_percent, unit_for
from planner.cost.facts import PlanFacts, StageFacts
from planner.cost.memory.memory import MEMORY_PARTS
from planner.report.charts.breakdown import words_of
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.drawing.style.looks import look_of

_MOST_TICKS = 16
_MOST_TOTALS = 12
_ROOM = 1.13
"""Length of the axis over the capacity: the sums of the stages stand above all lines."""


def recomputed_words(stage: StageFacts) -> str:
    """`full`, or `3 full` where it is not all layers, or `1 selective, 3 full`."""
    if stage.recompute != "mixed":
        return stage.recompute
    counts = {"selective": stage.selective_layers, "full": stage.full_layers}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def stage_words(stage: StageFacts) -> str:
    """`stage 0 (20 layers, recompute 3 full, embedding)`."""
    parts = [plural(stage.layers, "layer")]
    if stage.moe_layers:
        parts.append(f"{stage.moe_layers} with experts")
    if stage.recompute == "mixed":
        parts.append(f"recompute {recomputed_words(stage)}")
    parts += ["embedding"] * stage.embedding + ["head"] * stage.head
    return f"stage {stage.index} ({', '.join(parts)})"


def memory_picture(facts: PlanFacts, reserve_bytes: float = 0.0) -> Picture:
    """The picture of `memory_chart`."""
    chart = memory_chart(facts, reserve_bytes)
    return Picture(title=chart.title, charts=(chart,))


def memory_chart(facts: PlanFacts, reserve_bytes: float = 0.0) -> Chart:
    """A stack of bytes per stage, with the limit and the capacity as lines.

    One stage lies on its side.

    Args:
        facts: Of one plan.
        reserve_bytes: What the framework holds outside its allocator, drawn below the capacity.
    """
    stages = facts.stages
    piped = len(stages) > 1
    most = max(facts.chip_memory_bytes, facts.memory_limit_bytes, *(s.total_bytes for s in stages))
    unit, unit_name = unit_for(most, "B")
    names = [name for name in MEMORY_PARTS if any(s.memory_bytes[name] > 0 for s in stages)]
    ends = (-0.5, len(stages) - 0.5)
    around, around_keys = _limits(facts, reserve_bytes, ends, unit)
    marks: list[Mark] = [
        bar for stage in stages for bar in _stack(stage, names, unit, alone=not piped)
    ]
    if piped and len(stages) <= _MOST_TOTALS:
        marks += [_total(stage, 1.07 * most / unit) for stage in stages]
    across = Axis(label="stage" if piped else "", low=ends[0], high=ends[1],
                  ticks=_ticks(len(stages)))  # fmt: skip
    along = Axis(label=unit_name, low=0.0, high=(_ROOM if piped else 1.03) * most / unit)
    marks += around
    keys = [Key(words=words_of(n), tone=look_of(n)[0], hatch=look_of(n)[1], kind="bar")
            for n in names]  # fmt: skip
    return Chart(
        title="Memory per chip of each pipeline stage" if piped else "Memory per chip",
        subtitle=_subtitle(facts, reserve_bytes),
        x=across if piped else along,
        y=along if piped else across,
        marks=tuple(marks) if piped else tuple(map(_on_its_side, marks)),
        legend=(*keys, *around_keys),
        description=_description(facts),
        header=("stage", *map(words_of, names), "in all", "of the limit"),
        rows=tuple(_row(stage, names, facts.memory_limit_bytes) for stage in stages),
        height=0.5 if piped else 0.19,
    )


def _subtitle(facts: PlanFacts, reserve_bytes: float) -> str:
    """`66.7 GB of the 70.7 GB that may be filled; 2.68 GB more are the reserve`."""
    fullest = max(stage.total_bytes for stage in facts.stages)
    where = "fullest stage: " if len(facts.stages) > 1 else ""
    words = f"{where}{show_bytes(fullest)} of the {show_bytes(facts.memory_limit_bytes)}"
    more = f", + {show_bytes(reserve_bytes)} reserve" if reserve_bytes else ""
    return f"{words} that may be filled{more}"


def _on_its_side(mark: Mark) -> Mark:
    """A mark of a chart with the axes changed for one another."""
    if isinstance(mark, Bar):
        return replace(mark, left=mark.bottom, right=mark.top, bottom=mark.left, top=mark.right)
    if isinstance(mark, Line):
        return replace(mark, points=tuple((y, x) for x, y in mark.points))
    raise TypeError(type(mark).__name__)


def _row(stage: StageFacts, names: list[str], limit: float) -> tuple[str, ...]:
    sizes = (*(stage.memory_bytes[name] for name in names), stage.total_bytes)
    return (stage_words(stage), *map(show_bytes, sizes), _share(stage.total_bytes, limit))


def _limits(
    facts: PlanFacts, reserve_bytes: float, ends: tuple[float, float], unit: float
) -> tuple[list[Mark], list[Key]]:
    """What a chip has, what of it is outside the allocator, and what may be filled."""
    marks: list[Mark] = []
    keys: list[Key] = []
    capacity = facts.chip_memory_bytes
    if reserve_bytes:
        words = f"reserve outside the allocator: {show_bytes(reserve_bytes)}"
        tone, hatch = look_of("reserve")
        low, high = (capacity - reserve_bytes) / unit, capacity / unit
        marks.append(Bar(left=ends[0], right=ends[1], bottom=low, top=high, tone=tone,
                         hatch=hatch, detail=words, faint=True))  # fmt: skip
        keys.append(Key(words=words, tone=tone, kind="bar", hatch=hatch, faint=True))
    for name, value, dashed in (
        ("a chip has", capacity, False),
        ("may be filled", facts.memory_limit_bytes, True),
    ):
        words = f"{name}: {show_bytes(value)}"
        level = ((ends[0], value / unit), (ends[1], value / unit))
        marks.append(Line(points=level, tone="red", dashed=dashed, bold=not dashed, detail=words))
        keys.append(Key(words=words, tone="red", kind="dashed" if dashed else "line"))
    return marks, keys


def _stack(stage: StageFacts, names: list[str], unit: float, *, alone: bool) -> list[Bar]:
    bars, low = [], 0.0
    for name in names:
        value = stage.memory_bytes[name]
        if value <= 0:
            continue
        tone, hatch = look_of(name)
        share = _share(value, stage.total_bytes)
        bars.append(
            Bar(
                left=stage.index - 0.36,
                right=stage.index + 0.36,
                bottom=low / unit,
                top=(low + value) / unit,
                tone=tone,
                hatch=hatch,
                words=show_bytes(value) if alone else "",
                detail=f"{stage_words(stage)}: {words_of(name)} {show_bytes(value)}, {share}",
            )
        )
        low += value
    return bars


def _total(stage: StageFacts, at: float) -> Words:
    return Words(x=stage.index, y=at, words=show_bytes(stage.total_bytes), bold=True)


def _ticks(stages: int) -> tuple[tuple[float, str], ...]:
    if stages == 1:
        return ((0.0, "all layers"),)
    step = -(-stages // _MOST_TICKS)
    return tuple((float(index), f"{index}") for index in range(0, stages, step))


def _share(value: float, whole: float) -> str:
    return show_percent(value / whole) if whole > 0 else "no room"


def _description(facts: PlanFacts) -> str:
    fullest = max(facts.stages, key=lambda stage: stage.total_bytes)
    emptiest = min(facts.stages, key=lambda stage: stage.total_bytes)
    words = (
        f"{stage_words(fullest)} is fullest with {show_bytes(fullest.total_bytes)} of the "
        f"{show_bytes(facts.memory_limit_bytes)} that may be filled of a chip of "
        f"{show_bytes(facts.chip_memory_bytes)}"
    )
    if len(facts.stages) > 1:
        words += f"; {stage_words(emptiest)} holds least, {show_bytes(emptiest.total_bytes)}"
    return f"{words[0].upper()}{words[1:]}."
