"""The Pareto front as a picture: step time against energy, and what lies one step away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import log10

from frozen_records import dataclass
from planner.base.units import plural, show_bytes, show_joules, show_percent, show_seconds, unit_for
from planner.objectives import Objective
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Line, Mark, Picture
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.report.drawing.svg import SIDE_BY_SIDE
from planner.report.tables.machine_marks import (
    COLUMNS,
    cells,
    has_machines,
    label_words,
    look_of,
    machine_keys,
)
from planner.report.tables.scatter import is_logarithmic, shares
from planner.results.plan import Neighbor, PlanResult
from planner.results.result import SolveResult
from planner.results.words import (
    best_apart,
    choice_words,
    front_job_words,
    front_title,
    is_best,
    mesh_words,
)

_MOST_LABELS = 20
_SCALED = ("s", "J", "W", "B")
"""Units that take prefixes."""
_MARGIN = 0.06
"""Share of the range of values that stays free on each side."""
_NEAR, _NEAR_ONE = 0.6, 0.06
"""Neighbours are drawn where they are outside of the front by at most this share of its range, or
of its largest value."""
_BEST, _POINT, _NEAR_TONE, _REFUSED = "red", "blue", "grey", "brown"
_MEMORY_LOOKS = (("teal", "triangle"), ("blue", "circle"), ("purple", "square"))
"""From the least to the most memory, where that is an objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """One quantity in the unit of its axis."""

    axis: Axis
    unit: float

    def of(self, value: float) -> float:
        return value / self.unit


def front_picture(result: SolveResult) -> Picture:
    """Step time against energy per step of every plan of the front; the best one is marked.

    Args:
        result: An answer with a front of at least one plan.
    """
    title = f"{front_title(result)}: {front_job_words(result)}"
    return Picture(title=title, charts=(replace(front_chart(result), title=title),))


def front_chart(result: SolveResult) -> Chart:
    """The chart of `front_picture`."""
    near, far = _neighbors(result)
    points = [*result.front, *best_apart(result)]
    every = [*points, *(neighbor for _, neighbor in near)]
    across, other = result.across, result.against
    x = _scale(across.noun, [across.value_of(point.costs) for point in every], across.unit)
    y = _scale(other.noun, [other.value_of(point.costs) for point in every], other.unit)
    dots = [
        *(_neighbor_dot(neighbor, cost, (x, y), (across, other)) for neighbor, cost in near),
        *_front_dots(result, points, x, y),
    ]
    marks: list[Mark] = [_staircase(result, x, y), *dots]
    chart = Chart(
        title=front_title(result),
        x=x.axis,
        y=y.axis,
        marks=tuple(marks),
        legend=_legend(result, [neighbor for neighbor, _ in near]),
        notes=_notes(result, far),
        description=_description(result),
        header=_header(result),
        rows=tuple(_row(number, point, result) for number, point in enumerate(points, start=1)),
    )
    labelled = len(labels_of(chart, frame_of(chart, SIDE_BY_SIDE)))
    if labelled == len(points):
        return chart
    return replace(chart, notes=(*chart.notes, "Points are labelled where there is room."))


def _scale(name: str, values: Sequence[float], unit: str) -> _Scale:
    """An axis with a margin around the values, logarithmic where they range widely."""
    size, unit_name = unit_for(max(values), unit) if unit in _SCALED else (1.0, unit)
    shown = [value / size for value in values]
    wide = is_logarithmic(shown)
    low, high = (log10(min(shown)), log10(max(shown))) if wide else (min(shown), max(shown))
    margin = _MARGIN * (high - low) if high > low else 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    words = [] if unit_name in name.split() else [unit_name]  # money is its own unit
    words += ["logarithmic"] if wide else []
    label = f"{name} ({', '.join(words)})" if words else name
    ends = (10.0**low, 10.0**high) if wide else (low, high)
    return _Scale(axis=Axis(label=label, low=ends[0], high=ends[1], logarithmic=wide), unit=size)


def _staircase(result: SolveResult, x: _Scale, y: _Scale) -> Line:
    """The border of what no plan reaches on both axes: level to the next point, then down."""
    steps: list[tuple[float, float]] = []
    for point in result.front:
        height = result.against.value_of(point.costs)
        if not steps or height < steps[-1][1]:
            steps.append((result.across.value_of(point.costs), height))
    path = [(x.of(steps[0][0]), y.of(steps[0][1]))]
    for value, height in steps[1:]:
        right = x.of(value)
        path += [(right, path[-1][1]), (right, y.of(height))]
    return Line(points=tuple(path), tone=_POINT)


def _front_dots(
    result: SolveResult, points: Sequence[PlanResult], x: _Scale, y: _Scale
) -> list[Dot]:
    """A dot per plan, numbered as the front is; the best one last, on top of all others."""
    words, labelled = _labels(points), _chosen(points, result)
    looks = _looks(result)
    dots = []
    for at, point in enumerate(points):
        best = is_best(point, result)
        apart = at >= len(result.front)
        tone, shape = (_BEST, "diamond") if apart else looks[at]
        dots.append(
            Dot(
                x=x.of(result.across.value_of(point.costs)),
                y=y.of(result.against.value_of(point.costs)),
                tone=_BEST if best and point.machine is None else tone,
                shape=shape,
                words=words[at] if at in labelled else "",
                detail=plan_detail(point, "Best plan: " if best else ""),
                key="best" if apart else f"front-{at + 1}",
                strong=best,
            )
        )
    return sorted(dots, key=lambda dot: dot.strong)


def plan_detail(point: PlanResult, head: str = "") -> str:
    """A plan with its costs in one line."""
    return (
        f"{head}{label_words(point)}{plural(point.chips, 'chip')}: {mesh_words(point.plan)}; "
        f"{choice_words(point.plan)}; {show_seconds(point.step_time_s)}, "
        f"{show_joules(point.energy_per_step_j)}, "
        f"{show_bytes(point.memory_per_chip_bytes)} per chip, MFU {show_percent(point.mfu)}"
    )


def _looks(result: SolveResult) -> list[tuple[str, str]]:
    """Tone and shape of each point: by its machine, by its memory, or one for all."""
    if has_machines(result):
        return [look_of(point, result) for point in result.front]
    if "memory" not in result.front.objectives:
        return [(_POINT, "circle")] * len(result.front)
    return [_MEMORY_LOOKS[third] for third in _thirds(result)]


def _thirds(result: SolveResult) -> list[int]:
    """Of each point, in which third of the range of memory it is."""
    sizes = shares([point.memory_per_chip_bytes for point in result.front])
    return [min(int(3 * size), 2) for size in sizes]


def _labels(points: Sequence[PlanResult]) -> list[str]:
    """`512 chips: dp 16 x tp 8 x pp 4, clock 0.9`; the chips only where their number differs."""
    differ = len({point.chips for point in points}) > 1
    return [
        ("" if point.machine is None else f"{point.machine.pes:,} {point.machine.pe_kind}s, ")
        + (f"{plural(point.chips, 'chip')}: " if differ and point.chips > 1 else "")
        + mesh_words(point.plan)
        + (f", clock {point.plan.clock:g}" if point.plan.clock != 1.0 else "")
        for point in points
    ]


def _chosen(points: Sequence[PlanResult], result: SolveResult) -> Collection[int]:
    """Which points to label: of a long front some on the way, or the least of each objective."""
    every = range(len(points))
    if len(points) <= _MOST_LABELS:
        return every
    best = {index for index in every if is_best(points[index], result)}
    if "memory" not in result.front.objectives:
        return best.union(every[:: -(-len(points) // _MOST_LABELS)], every[-1:])
    time = min(every, key=lambda i: points[i].step_time_s)
    energy = min(every, key=lambda i: points[i].energy_per_step_j)
    memory = min(every, key=lambda i: points[i].memory_per_chip_bytes)
    return best | {time, energy, memory}


def _neighbors(result: SolveResult) -> tuple[list[tuple[Neighbor, PlanResult]], int]:
    """Plans one step from the best one that are near the front, and how many are not.

    None where the plans are of several machines: those of the best one say nothing of the others.
    """
    if has_machines(result):
        return [], 0
    points = [*result.front, *best_apart(result)]
    known = {point.plan for point in points}
    near, far = [], 0
    for neighbor in result.candidates.neighbors:
        if neighbor.result is None or neighbor.result.plan in known:
            continue
        if _is_near(neighbor.result, points, (result.across, result.against)):
            near.append((neighbor, neighbor.result))
        else:
            far += 1
    return near, far


def _is_near(
    plan: PlanResult, points: Sequence[PlanResult], axes: tuple[Objective, Objective]
) -> bool:
    pairs = [
        (axis.value_of(plan.costs), [axis.value_of(point.costs) for point in points])
        for axis in axes
    ]
    for own, others in pairs:
        low, high = min(others), max(others)
        margin = max(_NEAR * (high - low), _NEAR_ONE * high)
        if not max(low - margin, 0.5 * low) <= own <= high + margin:
            return False
    return True


def is_refused(neighbor: Neighbor) -> bool:
    """Whether a limit or a flag forbids a plan, so that its verdict is no comparison."""
    return neighbor.verdict.startswith("not asked for") or ": " in neighbor.verdict


def _neighbor_dot(
    neighbor: Neighbor,
    cost: PlanResult,
    scales: tuple[_Scale, _Scale],
    axes: tuple[Objective, Objective],
) -> Dot:
    (x, y), (across, other) = scales, axes
    refused = is_refused(neighbor)
    tie = "; a tie: not to be told from the best plan" if neighbor.tie else ""
    return Dot(
        x=x.of(across.value_of(cost.costs)),
        y=y.of(other.value_of(cost.costs)),
        tone=_REFUSED if refused else _NEAR_TONE,
        shape="cross" if refused else "wedge",
        detail=plan_detail(cost, f"One step away ({neighbor.change}), {neighbor.verdict}: ") + tie,
    )


def _legend(result: SolveResult, near: Sequence[Neighbor]) -> tuple[Key, ...]:
    """What the marks mean."""
    best = "" if result.best is None else f"best plan: least {result.minimized.noun}"
    apart = bool(best_apart(result))
    keys = []
    if result.best is not None:
        looks = dict(zip(map(id, result.front), _looks(result), strict=True))
        own = next((looks[id(p)][1] for p in result.front if is_best(p, result)), "diamond")
        keys.append(Key(words=best, tone=_BEST, shape="diamond" if apart else own))
    if has_machines(result):
        keys = [replace(key, words=f"{best} (with a ring)") for key in keys]
        return (*keys, *machine_keys(result))
    if "memory" in result.front.objectives:
        keys += _memory_keys(result)
    elif not all(is_best(point, result) for point in result.front):
        keys.append(Key(words="front", tone=_POINT))
    refused = [is_refused(neighbor) for neighbor in near]
    if not all(refused):
        keys.append(Key(words="one step from the best plan", tone=_NEAR_TONE, shape="wedge"))
    if any(refused):
        keys.append(Key(words="one step away, not allowed", tone=_REFUSED, shape="cross"))
    return tuple(keys)


def _memory_keys(result: SolveResult) -> list[Key]:
    """The looks of the thirds that hold a point, with the bytes of their plans."""
    thirds = _thirds(result)
    keys = []
    for third, (tone, shape) in enumerate(_MEMORY_LOOKS):
        sizes = [
            point.memory_per_chip_bytes
            for point, own in zip(result.front, thirds, strict=True)
            if own == third
        ]
        if not sizes:
            continue
        ends = list(dict.fromkeys((show_bytes(min(sizes)), show_bytes(max(sizes)))))
        keys.append(Key(words=f"{' to '.join(ends)} per chip", tone=tone, shape=shape))
    return keys


def _notes(result: SolveResult, far: int) -> tuple[str, ...]:
    words = [result.front.note]
    if far:
        words.append(f"{plural(far, 'plan')} one step from the best one "
                     f"{'lies' if far == 1 else 'lie'} outside of the picture.")  # fmt: skip
    return tuple(filter(None, words))


def _description(result: SolveResult) -> str:
    """For people who do not see it: how many plans, from where to where, and the best one."""
    first, last = result.front[0], result.front[-1]
    across, other = result.across, result.against
    words = f"{plural(len(result.front), 'plan')} of {across.noun} against {other.noun}"
    if len(result.front) > 1:
        words += (
            f", from {across.shown(first.costs)} and {other.shown(first.costs)}"
            f" to {across.shown(last.costs)} and {other.shown(last.costs)}"
        )
    if result.best is None:
        return f"{words}."
    return f"{words}. {plan_detail(result.best, 'Best plan: ')}."


def _header(result: SolveResult) -> tuple[str, ...]:
    machine = COLUMNS if has_machines(result) else ()
    own = (one.short for one in result.beside)
    figures = ("chips", "step time", "energy/step", "MFU", "memory", *own)
    return ("#", *machine, *figures, "mesh", "other choices")


def _row(number: int, point: PlanResult, result: SolveResult) -> tuple[str, ...]:
    return (
        f"{number}" if number <= len(result.front) else "best",
        *(cells(point) if has_machines(result) else ()),
        f"{point.chips:,}",
        show_seconds(point.step_time_s),
        show_joules(point.energy_per_step_j),
        show_percent(point.mfu),
        show_bytes(point.memory_per_chip_bytes),
        *(one.shown(point.costs) for one in result.beside),
        mesh_words(point.plan),
        choice_words(point.plan),
    )
