"""The answers of `planner solve --vary` as tables: a row per value, or a map of two fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner.answers.varying.result import Between, VaryResult
from planner.answers.varying.turning import Turn
from planner.base.units import (
    plural,
    show_bytes,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)
from planner.question.asked.usual import BATCH
from planner.report.tables.goodput import days_only
from planner.report.tables.tables import indented, section, spaced, table
from planner.results.parts import TrainingRun
from planner.results.plan import PlanResult
from planner.results.words import choice_words, mesh_words

_NUMBERS = ("step time", "tokens/s", "energy", "power", "memory")
_OF_RUNS = ("steps", "days")
"""What the tokens of a run add to them."""


def vary_view(result: VaryResult) -> RenderableType:
    """The table, the plans behind its letters, and what is known between its rows."""
    body = _map(result) if len(result.axes) > 1 else _rows(result)
    blocks: list[Sequence[RenderableType]] = [[Text(title_of(result)), body]]
    blocks.append(
        [section("Best plans, proved at each value unless said", indented(_plans(result)))]
    )
    if result.between:
        blocks.append([section("Between the values", indented([*between_lines(result)]))])
    else:
        blocks.append([Text("Not searched between the values.")])
    if notes := list(dict.fromkeys(_notes(result))):
        blocks.append([section("Notes", indented(notes))])
    return spaced(blocks)


def title_of(result: VaryResult) -> str:
    """The question."""
    names = " and ".join(axis.name for axis in result.axes)
    return f"{result.subject}, at each value of {names}"


def _rows(result: VaryResult) -> RenderableType:
    axis, front = result.axes[0], result.front
    runs = any(point.answer.run for point in result.points)
    numbers = (*_NUMBERS, *(_OF_RUNS if runs else ()))
    rows = []
    for point in result.points:
        cells = (
            ("-",) * len(numbers) if point.best is None else _figures(point.best, point.answer.run)
        )
        row = (point.texts[0], result.letter(point), *cells, point.answer.status)
        rows.append((*row, "yes" if point in front else "no") if front else row)
    header = (axis.name, "plan", *numbers, "proof", *(("front",) if front else ()))
    return table(header, rows, right=(axis.name, *numbers), whole=header)


def _figures(best: PlanResult, run: TrainingRun | None) -> tuple[str, ...]:
    of_run = () if run is None else (show_count(run.steps), days_only(run))
    return (
        show_seconds(best.step_time_s),
        show_count(best.tokens_per_s),
        show_joules(best.energy_per_step_j),
        show_watts(best.power_per_chip_w * best.chips),
        show_bytes(best.memory_per_chip_bytes),
        *of_run,
    )


def _map(result: VaryResult) -> RenderableType:
    """Letters and step times: the first field downwards, the second across."""
    down, across = result.axes
    cells = {
        point.texts: f"{result.letter(point)} {show_seconds(point.best.step_time_s)}"
        if point.best
        else "-"
        for point in result.points
    }
    header = (f"{down.name} \\ {across.name}", *across.texts)
    rows = [(text, *(cells[text, other] for other in across.texts)) for text in down.texts]
    return table(header, rows, right=header, whole=header)


def _plans(result: VaryResult) -> list[str]:
    lines = winner_lines(result)
    letters = dict(
        zip(lines, dict.fromkeys(map(result.letter, filter(_has_plan, result.points))), strict=True)
    )
    return [f"{letter}  {line}" for line, letter in letters.items()]


def _has_plan(point: object) -> bool:
    return getattr(point, "best", None) is not None


def winner_lines(result: VaryResult) -> list[str]:
    """The best plans in words, no two alike."""
    return [_words(best, result.winners) for best in result.winners]


def _words(best: PlanResult, others: Sequence[PlanResult]) -> str:
    """A plan in words; where another one has the same, with its placement and its chips."""
    line = _line(best)
    alike = [one for one in others if one.plan != best.plan and _line(one) == line]
    return f"{line}; placement {', '.join(best.plan.order)}" if alike else line


def _line(best: PlanResult) -> str:
    return f"{mesh_words(best.plan)}; {choice_words(best.plan)}"


def between_lines(result: VaryResult) -> Iterator[str]:
    """What is known between neighbouring values, a line each."""
    if not result.axes[0].continuous:
        yield f"Other values of {result.axes[0].name} were not asked for."
        return
    for one in result.between:
        if one.searched:
            yield from (_turn(result, turn) for turn in one.turns)
        else:
            yield f"{one.below} to {one.above}: {_not_searched(one)}"


def _turn(result: VaryResult, turn: Turn) -> str:
    """`at 2.237x (2.236x to 2.238x): A, above B`."""
    axis = result.axes[0]
    ends = f"{axis.shown(turn.below.at)} and {axis.shown(turn.above.at)}"
    known = "both sides solved" if turn.located else "further changes may lie between"
    known += "" if turn.proved else "; not proved"
    sides = [best for best in (turn.below.best, turn.above.best) if best is not None]
    below, above = (
        "no plan" if place.best is None else _words(place.best, [*sides, *result.winners])
        for place in (turn.below, turn.above)
    )
    return f"between {ends} ({known}): from {below} to {above}"


def _not_searched(one: Between) -> str:
    words = "not searched between"
    if one.within is None:
        return words
    return (
        f"{words}; no plan is faster there than the best of both ends by more than "
        f"{show_percent(one.within)} (proved: more of this rate slows no step)"
    )


def _notes(result: VaryResult) -> Iterator[str]:
    if result.front:
        yield (
            "Front of time per token and batch: the batches of which no smaller one makes as many "
            "tokens a second. What a larger batch costs in steps to train is not counted."
        )
    if [axis.name for axis in result.axes] == [BATCH] and result.points[0].answer.run:
        yield (
            "Days are those of the same tokens in steps of each batch, tokens over batch, with "
            "failures. That a model learns less from a token of a larger batch is not modelled."
        )
    unmeasured = [
        point for point in result.points
        if point.answer.notes.spread is not None and not point.answer.notes.spread.is_measured
    ]  # fmt: skip
    if unmeasured:
        are = "is" if len(unmeasured) == 1 else "are"
        yield (
            f"Of {plural(len(result.points), 'machine')} {len(unmeasured)} {are} not measured: "
            "step times there have the interval of chips and jobs that no run of the fit is like."
        )
