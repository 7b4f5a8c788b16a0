"""Where the time, the energy and the memory of plans go, as bars with their shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from frozen_records import dataclass
from planner.base.units import show_bytes, show_joules, show_seconds, unit_for
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Mark, Picture, Words
from planner.report.drawing.geometry.chart_frame import SMALL
from planner.report.drawing.geometry.lettering import width_of
from planner.report.drawing.style.looks import Look, is_known, level_look, look_of
from planner.results.plan import PlanResult

_ROW, _FRAME = 0.052, 0.12
"""Height of a row of bars and of what is around them, over the width of a chart."""
_LEAST_ROOM = 330.0
"""Pixels of the axis of a small chart: behind each bar its figures must fit."""
STATIC = "Static energy: the idle power of chips, and the power of switches."


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One quantity of a plan, taken apart.

    Attributes:
        title: What it is.
        unit: SI unit.
        total: What the parts add up to.
        parts: By name; zeros are of no concern.
        hidden: Of parts that are communication, what other work hides; beside the total.
        show: A value in words.
        sum_words: The total in words, as a sum where it has a reserve in it.
        note: What the name of a part does not say.
    """

    title: str
    unit: str
    total: float
    parts: Mapping[str, float]
    hidden: Mapping[str, float]
    show: Callable[[float], str]
    sum_words: str
    note: str = ""

    def in_all(self) -> str:
        """`7.93 s in all`, `66.7 GB + 2.68 GB reserve = 69.4 GB in all`."""
        total = self.show(self.total)
        return f"{'' if self.sum_words == total else f'{self.sum_words} = '}{total} in all"

    def ranked(self) -> list[tuple[str, float, float]]:
        """(name, value, hidden) of the parts that are there, largest first."""
        names = [n for n, value in self.parts.items() if value > 0 or self.hidden.get(n, 0.0) > 0]
        found = [(name, self.parts[name], self.hidden.get(name, 0.0)) for name in names]
        return sorted(found, key=lambda part: (-part[1], -part[2]))

    def share(self, value: float) -> str:
        """`20.3 %` of the total."""
        return f"{100 * value / self.total:.1f} %" if self.total else "0.0 %"


def wholes(result: PlanResult) -> tuple[Whole, Whole, Whole]:
    """Time of the slowest stage, energy of all chips, memory of the fullest chip."""
    sent = result.communication_s
    step = result.step_time_s
    hidden = {name: sent[name] - result.time_s[name] for name in sent}
    memory = result.memory_per_chip_bytes + result.reserve_bytes
    return (
        Whole(
            title="Step time (slowest stage)",
            unit="s",
            total=step,
            parts=result.time_s,
            hidden={name: value for name, value in hidden.items() if value > 1e-6 * step},
            show=show_seconds,
            sum_words=show_seconds(step),
        ),
        Whole(
            title="Energy per step (split assumed)",
            unit="J",
            total=result.energy_per_step_j,
            parts=result.energy_j,
            hidden={},
            show=show_joules,
            sum_words=show_joules(result.energy_per_step_j),
            note=STATIC if result.energy_j.get("static", 0.0) > 0 else "",
        ),
        Whole(
            title="Memory of the fullest chip",
            unit="B",
            total=memory,
            parts=result.memory_bytes,
            hidden={},
            show=show_bytes,
            sum_words=_filled_words(result),
        ),
    )


def _filled_words(result: PlanResult) -> str:
    """`66.7 GB + 2.68 GB reserve`: what is compared with the limit, and what lies outside of it."""
    words = show_bytes(result.memory_per_chip_bytes)
    if not result.reserve_bytes:
        return words
    return f"{words} + {show_bytes(result.reserve_bytes)} reserve"


def look(name: str, names: Sequence[str]) -> Look:
    """Tone and hatch of a part among others; `network: LEVEL` by its level, innermost first."""
    if is_known(name):
        return look_of(name)
    return level_look([other for other in names if not is_known(other)].index(name))


def words_of(name: str) -> str:
    """`tensor parallel`."""
    return name.replace("_", " ")


def breakdown_picture(results: Sequence[tuple[str, PlanResult]]) -> Picture:
    """Time, energy and memory: of one plan ranked by size, of several side by side.

    Args:
        results: Names of plans and what they cost, at least one.
    """
    return Picture(title="What the plan costs" if len(results) == 1 else "What the plans cost",
                   charts=breakdown_charts(results), columns=2)  # fmt: skip


def breakdown_charts(results: Sequence[tuple[str, PlanResult]]) -> tuple[Chart, ...]:
    """The charts of `breakdown_picture`: time, energy, memory."""
    if len(results) == 1:
        return tuple(map(ranked_chart, wholes(results[0][1])))
    names = [name for name, _ in results]
    by_plan = [wholes(result) for _, result in results]
    return tuple(_stacked(names, of_all) for of_all in zip(*by_plan, strict=True))


def ranked_chart(whole: Whole) -> Chart:
    """A bar per part, the largest first; behind it what of it other work hides."""
    parts = whole.ranked()
    longest = max(value + hidden for _, value, hidden in parts)
    unit, unit_name = unit_for(longest, whole.unit)
    names = list(whole.parts)
    marks: list[Mark] = []
    far = 0.0
    for row, (name, value, hidden) in enumerate(parts):
        tone, hatch = look(name, names)
        figures = f"{whole.show(value)}, {whole.share(value)}"
        marks.append(_bar(row, 0.0, value / unit, tone, hatch, f"{words_of(name)}: {figures}"))
        if hidden:
            figures += f" (+ {whole.show(hidden)} hidden)"
            end = (value + hidden) / unit
            detail = f"{words_of(name)}: {whole.show(hidden)} hidden behind other work"
            marks.append(_bar(row, value / unit, end, tone, "", detail, faint=True))
        end = (value + hidden + 0.018 * longest) / unit
        marks.append(Words(x=end, y=row, words=figures, anchor="start"))
        far = max(far, _far(end, figures))
    light = "Lightly drawn: communication that other work hides; it is not part of the step."
    notes = (light if whole.hidden else "", whole.note)
    return Chart(
        title=whole.title,
        subtitle=whole.in_all(),
        x=Axis(label=unit_name, low=0.0, high=far),
        y=_rows_axis([words_of(name) for name, _, _ in parts]),
        marks=tuple(marks),
        notes=tuple(filter(None, notes)),
        spelled=True,
        description=f"{whole.title}, {whole.in_all()}: "
        + "; ".join(f"{words_of(n)} {whole.show(v)}, {whole.share(v)}" for n, v, _ in parts),
        header=("part", "value", "share", *(("hidden",) if whole.hidden else ())),
        rows=tuple(
            (words_of(n), whole.show(v), whole.share(v))
            + ((whole.show(h) if h else "",) if whole.hidden else ())
            for n, v, h in parts
        ),
        height=_FRAME + _ROW * len(parts),
    )


def _stacked(plans: Sequence[str], of_all: Sequence[Whole]) -> Chart:
    """A bar per plan, its parts side by side in the same order and on one scale."""
    first = of_all[0]
    longest = max(whole.total for whole in of_all)
    unit, unit_name = unit_for(longest, first.unit)
    every = list(dict.fromkeys(name for whole in of_all for name in whole.parts))
    names = [name for name in every if any(w.parts.get(name, 0.0) > 0 for w in of_all)]
    marks: list[Mark] = []
    far = 0.0
    for row, (plan, whole) in enumerate(zip(plans, of_all, strict=True)):
        left = 0.0
        for name in names:
            value = whole.parts.get(name, 0.0)
            if value <= 0:
                continue
            tone, hatch = look(name, every)
            hidden = whole.hidden.get(name, 0.0)
            more = f"; {whole.show(hidden)} more are hidden" if hidden else ""
            detail = f"{plan}: {words_of(name)} {whole.show(value)}, {whole.share(value)}{more}"
            marks.append(_bar(row, left / unit, (left + value) / unit, tone, hatch, detail,
                              words=whole.share(value)))  # fmt: skip
            left += value
        end = (left + 0.012 * longest) / unit
        marks.append(Words(x=end, y=row, words=whole.sum_words, anchor="start"))
        far = max(far, _far(end, whole.sum_words))
    return Chart(
        title=first.title,
        x=Axis(label=unit_name, low=0.0, high=far),
        y=_rows_axis(plans),
        marks=tuple(marks),
        legend=tuple(_key(name, every) for name in names),
        notes=_notes(of_all),
        spelled=True,
        description=f"{first.title}: "
        + "; ".join(f"{p} {w.sum_words}" for p, w in zip(plans, of_all, strict=True)),
        header=("part", *plans),
        rows=tuple(
            (words_of(name), *(whole.show(whole.parts.get(name, 0.0)) for whole in of_all))
            for name in names
        ),
        height=_FRAME + 1.4 * _ROW * len(plans),
    )


def _key(name: str, names: Sequence[str]) -> Key:
    """What a part looks like among others."""
    tone, hatch = look(name, names)
    return Key(words=words_of(name), tone=tone, kind="bar", hatch=hatch)


def _notes(of_all: Sequence[Whole]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(whole.note for whole in of_all if whole.note))


def _far(end: float, words: str) -> float:
    """How far an axis goes that has room for words from some value on."""
    return end * _LEAST_ROOM / max(_LEAST_ROOM - width_of(words, SMALL), 0.3 * _LEAST_ROOM)


def _bar(
    row: int, left: float, right: float, tone: str, hatch: str, detail: str,
    *, words: str = "", faint: bool = False,
) -> Bar:  # fmt: skip
    return Bar(left=left, right=right, bottom=row + 0.36, top=row - 0.36, tone=tone, hatch=hatch,
               words=words, detail=detail, faint=faint)  # fmt: skip


def _rows_axis(names: Sequence[str]) -> Axis:
    ticks = tuple((float(row), name) for row, name in enumerate(names))
    return Axis(label="", low=-0.6, high=len(names) - 0.4, ticks=ticks, downwards=True)
