"""The front of `planner rack solve` as a picture: topology as shape, PEs per chip as colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frozen_records import dataclass
from planner.base.units import plural, show_joules, show_seconds, unit_for
from planner.report.charts.breakdown import Whole, ranked_chart
from planner.report.drawing import chart
from planner.report.drawing.chart import SHAPES, Chart, Dot, Key, Line, Picture
from planner.report.drawing.geometry import frame
from planner.report.tables.rack_solve import HEADER, point_cells, sentence
from planner.studies.rack.solve.answer import RackAnswer, RackPoint
from planner.studies.rack.solve.why import mesh_words, plan_words

_TONES = ("blue", "orange", "green", "purple", "red", "teal", "brown")
_SHAPES = tuple(shape for shape in SHAPES if shape != "bar")
_PART_NAMES = {"mac": "compute", "dram": "DRAM", "sram": "SRAM"}
_MORE = 0.05
"""Share of an axis that stays free beside the usual margin, for labels."""
_PARTS_NOTE = "Transfers may hide behind computing: the parts may add up to more than the latency."


def front_picture(answer: RackAnswer) -> Picture:
    """Latency against energy of every plan of the front; the best one has a ring.

    Args:
        answer: One with a plan.
    """
    one = front_chart(answer)
    return Picture(title=one.title, charts=(one,))


def solve_picture(answer: RackAnswer) -> Picture:
    """The front, and the energy and the time of the best plan by part.

    Args:
        answer: One with a plan.
    """
    question = answer.question
    title = f"{question.workload.title}, {plural(question.batch, 'item')}"
    front = replace(front_chart(answer), title=_found(answer).capitalize())
    charts = (front, *(_parts(answer.best) if answer.best else ()))
    return Picture(title=title, charts=charts, columns=2)


def front_chart(answer: RackAnswer) -> Chart:
    """The chart of `front_picture`."""
    points = _points(answer)
    x = _scale("latency", [point.latency_s for point in points], "s")
    y = _scale("energy", [point.energy_j for point in points], "J")
    question = answer.question
    looks = _Looks(answer)
    dots = [_dot(answer, point, looks, (x.of(point.latency_s), y.of(point.energy_j)))
            for point in points]  # fmt: skip
    stairs = _staircase([(dot.x, dot.y) for dot in dots[: len(answer.front)]])
    return Chart(
        title=f"{question.workload.title}, {plural(question.batch, 'item')}: {_found(answer)}",
        x=x.axis,
        y=y.axis,
        marks=(*stairs, *sorted(dots, key=lambda dot: dot.strong)),
        legend=looks.keys(answer),
        notes=("Labels: chips x PEs of each, and the mesh.",),
        description=f"{_described(points)} {sentence(answer)}",
        header=HEADER,
        rows=tuple(point_cells(answer, point) for point in points),
    )


def _found(answer: RackAnswer) -> str:
    return "proved front" if answer.front_complete else "front so far"


def _points(answer: RackAnswer) -> list[RackPoint]:
    """The front, and the best plan where it is not on it."""
    apart = answer.best is not None and answer.best not in answer.front
    return [*answer.front, *([answer.best] if apart and answer.best else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """One quantity in the unit of its axis."""

    axis: chart.Axis
    unit: float

    def of(self, value: float) -> float:
        return value / self.unit


def _scale(name: str, values: Sequence[float], unit: str) -> _Scale:
    """An axis with a margin around the values, logarithmic where they range widely."""
    size, unit_name = unit_for(max(values), unit)
    found = frame.Axis.of([value / size for value in values], 0.0, 1.0)
    wide = found.logarithmic
    more = _MORE * (found.high - found.low)
    low, high = found.low - more, found.high + more
    low, high = (10.0**low, 10.0**high) if wide else (low, high)
    label = f"{name} ({unit_name}{', logarithmic' if wide else ''})"
    return _Scale(axis=chart.Axis(label=label, low=low, high=high, logarithmic=wide), unit=size)


def _staircase(places: Sequence[tuple[float, float]]) -> list[Line]:
    """The border of what no plan reaches: level to the next point, then down."""
    path = list(places[:1])
    for x, y in places[1:]:
        path += [(x, path[-1][1]), (x, y)]
    return [Line(points=tuple(path), tone="grey", width=0.7)] if len(path) > 1 else []


class _Looks:
    """Which shape and tone a point has."""

    def __init__(self, answer: RackAnswer) -> None:
        points = _points(answer)
        self.topologies = sorted({point.topology for point in points})
        self.pes = sorted({point.pes for point in points})

    def shape(self, point: RackPoint) -> str:
        return _SHAPES[self.topologies.index(point.topology) % len(_SHAPES)]

    def tone(self, point: RackPoint) -> str:
        return _TONES[self.pes.index(point.pes) % len(_TONES)]

    def keys(self, answer: RackAnswer) -> tuple[Key, ...]:
        """The best plan, topologies by shape, PEs by tone."""
        keys = []
        if answer.best is not None:
            words = f"best plan: least {_objective(answer)} (with a ring)"
            tone, shape = self.tone(answer.best), self.shape(answer.best)
            keys.append(Key(words=words, tone=tone, shape=shape))
        keys += [
            Key(words=name, tone="grey", shape=_SHAPES[at % len(_SHAPES)])
            for at, name in enumerate(self.topologies)
        ]
        keys += [
            Key(words=f"{count:,} PEs per chip", tone=_TONES[at % len(_TONES)], kind="bar")
            for at, count in enumerate(self.pes)
        ]
        return tuple(keys)


def _objective(answer: RackAnswer) -> str:
    """What was minimized, in words."""
    words = {"time": "latency", "edp": "energy times latency"}
    return words.get(answer.objective, answer.objective)


def _dot(answer: RackAnswer, point: RackPoint, looks: _Looks, place: tuple[float, float]) -> Dot:
    """One plan; the best one with a ring and in bold."""
    best = point == answer.best
    return Dot(
        x=place[0],
        y=place[1],
        tone=looks.tone(point),
        shape=looks.shape(point),
        words=_words(point),
        detail=("Best plan: " if best else "")
        + f"{plan_words(point)}: {show_seconds(point.latency_s)}, {show_joules(point.energy_j)}",
        strong=best,
    )


def _words(point: RackPoint) -> str:
    """`6 x 64, dp 3 tp 2`: chips, PEs of each, and the mesh of several."""
    size = f"{point.chips} x {point.pes}"
    return size if point.chips == 1 else f"{size}, {mesh_words(point)}"


def _described(points: Sequence[RackPoint]) -> str:
    """How many plans, from where to where."""
    words = f"{plural(len(points), 'plan')} of latency against energy"
    if len(points) > 1:
        ends = (f"{show_seconds(end.latency_s)} and {show_joules(end.energy_j)}"
                for end in (points[0], points[-1]))  # fmt: skip
        words += f", from {' to '.join(ends)}"
    return f"{words}."


def _parts(best: RackPoint) -> tuple[Chart, ...]:
    """Energy and time of one plan by part, the largest first."""
    energy = Whole(
        title="Energy of the best plan", unit="J", total=best.energy_j, hidden={},
        parts={_PART_NAMES.get(name, name): part for name, part in best.energy_by_part_j.items()},
        show=show_joules, sum_words=show_joules(best.energy_j),
    )  # fmt: skip
    seconds = {"compute": best.compute_s, **best.transfer_s}
    time = Whole(
        title="Latency of the best plan", unit="s", total=best.latency_s, hidden={},
        parts=seconds, show=show_seconds, sum_words=show_seconds(best.latency_s),
    )  # fmt: skip
    charts = [ranked_chart(whole) for whole in (energy, time) if whole.ranked()]
    return tuple(
        replace(one, subtitle=f"{plan_words(best)}; {one.subtitle}",
                notes=(_PARTS_NOTE,) if one.title == time.title else ())
        for one in charts
    )  # fmt: skip
