"""The Pareto front in at most five lines: how many plans, its ends, and one between them."""

from __future__ import annotations

from planner.base.units import is_change, plural, show_change
from planner.report.tables.machine_marks import label_words
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from planner.results.words import choice_words, is_best, join_words, mesh_words

_LEAST = 20
"""Columns from which the plans stand behind their figures."""


def front_lines(result: SolveResult, room: int) -> list[str]:
    """A line about the front, and one for each plan that is shown; a long one loses its end."""
    if result.stages.pools:
        return []  # it is the plan above alone
    front = [*result.front]
    names = join_words(result.front.objectives)
    known = _known(result)
    if len(front) < 2:
        only = "the plan above alone" if front and is_best(front[0], result) else "one plan"
        return [f"{only}, of {names} ({known})"] if front else [f"no plan ({known})"]
    shown = sorted({0, len(front) // 2, len(front) - 1})
    figures = [_figures(front[at], front[0], result) for at in shown]
    widths = [max(map(len, column)) for column in zip(*figures, strict=True)]
    which = "" if len(front) == len(shown) else ", 3 of them"
    lines = [f"{len(front):,} plans of {names} ({known}){which}:"]
    for at, cells in zip(shown, figures, strict=True):
        left = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        words = f"  {_plan_words(front[at], result)}" if room - len(left) >= _LEAST else ""
        lines.append(_cut(f"{left}{words}", room))
    return lines


def _known(result: SolveResult) -> str:
    """How much of it is proved."""
    if result.front.complete:
        return "exact"
    proved = sum(result.front.is_proved(at) for at in range(len(result.front)))
    return f"{proved} of {len(result.front)} proved" if proved else "not proved"


def _figures(point: PlanResult, first: PlanResult, result: SolveResult) -> tuple[str, ...]:
    """The objectives, each beside its change against the first plan."""
    objectives = (result.across, *(one for one in result.compared if one != result.across))
    cells: list[str] = []
    for one in objectives:
        value, least = one.value_of(point.costs), one.value_of(first.costs)
        change = value / least - 1 if least else 0.0
        cells += [one.show(value), _signed(change) if is_change(change) else ""]
    return tuple(cells)


def _signed(change: float) -> str:
    """`(+8.98 %)`."""
    return f"({'+' if change > 0 else '-'}{show_change(change)})"


def _plan_words(point: PlanResult, result: SolveResult) -> str:
    """What the plan is, the plan of the answer by that name."""
    if is_best(point, result):
        return "the plan above"
    best, chips = result.best, ""
    if best is not None and point.chips != best.chips:
        chips = f"{plural(point.chips, 'chip')}: "
    words = f"{mesh_words(point.plan)}; {choice_words(point.plan)}"
    if best is not None and point.machine == best.machine and point.plan.mesh == best.plan.mesh:
        words = f"the same mesh; {_other_choices(point, best)}"
    return f"{chips}{label_words(point)}{words}"


def _other_choices(point: PlanResult, best: PlanResult) -> str:
    """The choices of a plan that another one has not."""
    known = choice_words(best.plan).split(", ")
    return ", ".join(word for word in choice_words(point.plan).split(", ") if word not in known)


def _cut(line: str, room: int) -> str:
    """A line of at most so many columns."""
    return line if len(line) <= room else f"{line[: room - 4].rstrip(' ,;:')} ..."
