"""How sure an answer is, in words and as a table: intervals, and plans too close to call."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType
from rich.text import Text

from planner.base.units import is_change, plural, show_change, show_percent, show_seconds
from planner.objectives import TIME, Objective
from planner.report.tables.fitted import Fitted
from planner.report.tables.tables import section
from planner.results.parts import Spread
from planner.results.plan import RankedPlan
from planner.results.result import SolveResult
from planner.results.words import choice_words, join_words, mesh_words

NO_INTERVAL = "No interval: under these assumptions a time is a bound, not a prediction."


def interval_words(low: float, high: float, show: Callable[[float], str]) -> str:
    """`371-466 ms`: three digits, the unit once where both ends have the same."""
    first, last = show(float(f"{low:.3g}")), show(float(f"{high:.3g}"))
    number, _, unit = first.rpartition(" ")
    first = number if last.endswith(f" {unit}") else first
    return f"{first}-{last}"


def with_interval(
    value: float, low: float | None, high: float | None, show: Callable[[float], str]
) -> str:
    """`414.7 ms (80 %: 371-466 ms)`, or the value alone where there is no interval."""
    if low is None or high is None:
        return show(value)
    return f"{show(value)} (80 %: {interval_words(low, high, show)})"


def chance_words(chance: float) -> str:
    """A probability in percent; a small one as what it is less than."""
    return show_percent(chance) if chance >= 0.001 else "less than 0.1 %"


def spread_words(spread: Spread | None) -> str:
    """What an interval means and rests on, in a sentence."""
    if spread is None:
        return NO_INTERVAL
    runs = plural(spread.rows, "published run")
    sources = plural(spread.sources, "source")
    return (
        f"80 % intervals: of runs like this, 8 in 10 took {spread.low:.2f} to {spread.high:.2f} "
        f"times the predicted step ({spread.words}; {runs} of {sources})."
    )


def tie_words(spread: Spread | None, objective: Objective = TIME) -> str:
    """Which plans tie, in a sentence; empty where times are bounds."""
    if spread is None:
        return ""
    factor = spread.tie_factor ** max(objective.degree, 1)
    return (
        f"tie: {objective.distinguished_by} of two plans of one job less than "
        f"{show_percent(factor - 1)} apart cannot be told apart. Plans that differ in the clock "
        "alone share their error: they never tie."
    )


def ranked_view(result: SolveResult) -> list[RenderableType]:
    """The best plans that differ in mesh or micro-batch, which tie, and what to do about it."""
    if len(result.candidates.top) < 2:
        return []
    rows = [_row(number, plan) for number, plan in enumerate(result.candidates.top, start=1)]
    header = ("#", "mesh", "other choices", "step time", "against #1")
    view = Fitted(header, rows, right=("#",))
    title = "Best plans of different mesh or micro-batch, and those worth measuring"
    title += (
        ""
        if result.candidates.top_complete
        else " found (not proved: the time limit ended the search)"
    )
    return [section(title, view, *map(Text, _advice(result)))]


def _row(number: int, plan: RankedPlan) -> tuple[str, ...]:
    found = plan.result
    time = with_interval(
        found.step_time_s, found.step_time_low_s, found.step_time_high_s, show_seconds
    )
    against = f"+{show_change(plan.difference)}" if is_change(plan.difference) else "the same"
    if number == 1:
        against = "best"
    elif plan.tie:
        against += ", tie"
    return (f"{number}", mesh_words(found.plan), choice_words(found.plan), time, against)


def _advice(result: SolveResult) -> list[str]:
    """What to do with plans that tie."""
    if result.notes.spread is None:
        return []
    ranked = list(enumerate(result.candidates.top, start=1))
    tied = [f"#{n}" for n, plan in ranked if plan.tie and n > 1]
    measure = [f"#{n}" for n, plan in ranked if plan.measure]
    noise = show_percent(result.notes.spread.tie_factor - 1)
    if not tied:
        return [f"None of them is within the noise of two plans of one job ({noise}) of the best."]
    return [
        f"{join_words(tied)} {'is' if len(tied) == 1 else 'are'} within the noise of two plans of "
        f"one job ({noise}): cannot be told apart from #1. Measure {join_words(measure)} for a few "
        "steps each and keep the fastest: of all plans met, the best of these is expected to lose "
        "least."
    ]
