"""The parts of a plan's costs in a terminal: figures, and bars of characters beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import is_change, show_bytes, show_change, show_percent, show_seconds
from planner.cost.facts import PlanFacts, StageFacts
from planner.report.charts.breakdown import Whole, wholes, words_of
from planner.report.charts.memory import recomputed_words
from planner.report.tables.tables import ByWidth, SplitTable, section, side_by_side, table, width_of
from planner.results.plan import PlanResult

_TITLES = {
    "time": "Time (slowest stage)",
    "energy": "Energy (split assumed)",
    "memory": "Memory (fullest chip)",
}
_BARS = (20, 16, 12)
"""Columns of the longest bar that are tried, the longest first."""
_GAP = 4
_FEW = 12


def breakdown_view(result: PlanResult, which: Collection[str] = tuple(_TITLES)) -> RenderableType:
    """Time, energy and memory by part, with bars where they cost at most one line of tables.

    Args:
        result: What the plan costs.
        which: Some of `time`, `energy` and `memory`.
    """
    every = zip(_TITLES, wholes(result), strict=True)
    shown = {_TITLES[name]: whole for name, whole in every if name in which}
    parts = [*shown.values()]

    def draw(room: int) -> RenderableType:
        plain = [_parts(title, whole, 0) for title, whole in shown.items()]
        most = min(_lines(plain, room) + 1, len(plain))
        bar, drawn = 0, plain
        for bar in _BARS:
            drawn = [_parts(title, whole, bar) for title, whole in shown.items()]
            if _lines(drawn, room) <= most:
                break
        else:
            bar, drawn = 0, plain
        hides = bar and any(whole.hidden for whole in parts)
        bars = "Bars: # part of the step, - communication that other work hides."
        notes = [bars if hides else "", *(whole.note for whole in parts)]
        return Group(side_by_side(drawn, _GAP), *map(Text, filter(None, notes)))

    return ByWidth(draw)


def _lines(views: Sequence[RenderableType], room: int) -> int:
    """How many lines `side_by_side` gives views; a view that is too wide counts as many."""
    count, used = 0, room
    for width in map(width_of, views):
        if not count or used + _GAP + width > room:
            count += 1 if width <= room else len(views)
            used = -_GAP
        used += _GAP + width
    return count


def _parts(title: str, whole: Whole, bar: int) -> RenderableType:
    """Parts of a whole, largest first, with their shares; zeros are left out."""
    parts = [part for part in whole.ranked() if part[1] > 0]
    longest = max((value + hidden for _, value, hidden in parts), default=0.0)
    rows = []
    for name, value, hidden in parts:
        cells = (words_of(name), whole.show(value), whole.share(value))
        drawn = _bar(value, "#", longest, bar) + _bar(hidden, "-", longest, bar)
        rows.append((*cells, drawn[:bar]) if bar else cells)
    header = ("part", "value", "share", *(("",) if bar else ()))
    return section(title, table(header, rows, right=("value", "share"), whole=("part", "")))


def _bar(value: float, mark: str, longest: float, columns: int) -> str:
    """As many marks as a value has columns; anything that can be seen has one."""
    share = value / longest if longest > 0 else 0.0
    return mark * max(round(share * columns), int(share >= 0.25 / max(columns, 1)))


def stage_view(facts: PlanFacts | None) -> list[RenderableType]:
    """Memory and passes of each pipeline stage; nothing without a pipeline.

    Stages in a row that are equal share a line; of many lines the first and the last are shown.
    """
    if facts is None or len(facts.stages) == 1:
        return []
    own = _own(facts.stages)
    header = ("stage", "layers", *own, "memory", "of limit", "forward", "backward")
    left_of = len(own) + 2
    groups = list(_alike(facts.stages))
    few = [*groups[: _FEW // 2], [], *groups[-_FEW // 2 :]] if len(groups) > _FEW else groups
    left = len(groups) - _FEW

    def draw(room: int) -> RenderableType:
        plain = [_stage_cells(group, facts, left, own) for group in few]
        bare = table(header, plain, right=header[left_of:], whole=header[:left_of])
        if width_of(bare) > room:
            return SplitTable(
                header,
                plain,
                by=("stage",),
                right=header[left_of:],
                together=(("memory", "of limit"), ("forward", "backward")),
            )
        bar = min(24, room - width_of(bare) - 3)
        if bar < 8:
            return bare
        rows = [
            (*cells, _filled(group, facts, bar)) for cells, group in zip(plain, few, strict=True)
        ]
        name = f"{'limit |':>{bar + 1}}"
        return table((*header, name), rows, right=header[left_of:], whole=(*header[:left_of], name))

    return [section("Pipeline stages (per chip; passes of one micro-batch)", ByWidth(draw))]


def simulated_words(facts: PlanFacts | None, step_time_s: float) -> list[str]:
    """The step time simulated operation by operation, or why it is not; for explicit stages."""
    if facts is not None and facts.simulated_step_time_s is not None:
        seconds = facts.simulated_step_time_s
        change = seconds / step_time_s - 1
        apart = f"{show_change(change)} {'above' if change > 0 else 'below'} the step time"
        apart = apart if is_change(change) else "as long as the step time"
        return [f"Simulated operation by operation: {show_seconds(seconds)}, {apart}."]
    if facts is not None and facts.not_simulated:
        return [f"Not simulated operation by operation: {facts.not_simulated}."]
    return []


def _alike(stages: Sequence[StageFacts]) -> Iterator[list[StageFacts]]:
    """Stages in a row that show the same figures."""
    group: list[StageFacts] = []
    for stage in stages:
        if group and _shown(group[0]) != _shown(stage):
            yield group
            group = []
        group.append(stage)
    yield group


_CHOICES: dict[str, Callable[[StageFacts], str]] = {
    "recompute": recomputed_words,
    "sharding": lambda stage: stage.sharding,
    "clock": lambda stage: f"{stage.clock:g}",
    "pool": lambda stage: stage.pool or "",
}


def _own(stages: Sequence[StageFacts]) -> tuple[str, ...]:
    """What stages choose differently."""
    return tuple(name for name, of in _CHOICES.items() if len({of(stage) for stage in stages}) > 1)


def _shown(stage: StageFacts) -> tuple[str, ...]:
    ends = "+ embedding" * stage.embedding + "+ head" * stage.head
    return (
        f"{stage.layers} {ends}".strip(),
        *(of(stage) for of in _CHOICES.values()),
        show_bytes(stage.total_bytes),
        show_seconds(stage.forward_s),
        show_seconds(stage.backward_s),
    )


def _stage_cells(
    group: Sequence[StageFacts], facts: PlanFacts, left: int, own: tuple[str, ...]
) -> tuple[str, ...]:
    if not group:
        return (f"{left} more", *("",) * (5 + len(own)))
    first, last = group[0], group[-1]
    numbers = f"{first.index}" if first is last else f"{first.index}-{last.index}"
    layers, *_, memory, forward, backward = _shown(first)
    choices = (_CHOICES[name](first) for name in own)
    limit = _limit_of(first, facts)
    share = show_percent(first.total_bytes / limit) if limit > 0 else "no room"
    return numbers, layers, *choices, memory, share, forward, backward


def _limit_of(stage: StageFacts, facts: PlanFacts) -> float:
    """Bytes that a stage may fill of a chip."""
    own = stage.memory_limit_bytes
    return facts.memory_limit_bytes if own is None else own


def _filled(group: Sequence[StageFacts], facts: PlanFacts, columns: int) -> str:
    """A bar up to the limit, which is a line; what does not fit goes beyond it."""
    if not group or _limit_of(group[0], facts) <= 0:
        return ""
    share = group[0].total_bytes / _limit_of(group[0], facts)
    marks = round(min(share, 1.0) * columns)
    return f"{'#' * marks:{columns}}{'>' if share > 1 else '|'}"
