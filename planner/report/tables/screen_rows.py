"""The rows of the one-screen print: each a name and what is said in a line or two."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from planner.base.messages import distinguished
from planner.base.units import (
    is_change,
    plural,
    show_bytes,
    show_change,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)
from planner.cost.facts import PlanFacts
from planner.cost.memory.risk import DOES_NOT_FIT, risk_word
from planner.report.charts.breakdown import words_of
from planner.report.tables.bar import bar, lettered
from planner.report.tables.certificate import uneven_proof_words
from planner.report.tables.likely import chance_words, interval_words, with_interval
from planner.report.tables.pools import alone_words
from planner.results.parts import Notes, TrainingRun
from planner.results.plan import PlanResult, RankedPlan
from planner.results.result import SolveResult
from planner.results.words import RESUMED, choice_words, join_words, mesh_words, plan_line

Row = tuple[str, list[str]]
SPENT = "time spent"
"""The row of the bar; its lines are not wrapped."""
_ASSUMED_LINES = 2
GLUE = "\u00a0"
"""A blank at which no line ends."""
_UNIT = re.compile(r"(?<=[0-9]) (?=(?:%|[kMGTmun]?(?:B|s|J|W|Wh))(?!\w))")
_COUNTED = "nodes and fabric, not the facility (PUE 1)"


def wrapped(text: str, room: int) -> list[str]:
    """A text in lines; a number stays with its unit, and glued words stay together."""
    glued = _UNIT.sub(GLUE, text)
    lines = textwrap.wrap(glued, room, break_on_hyphens=False, break_long_words=False)
    return [line.replace(GLUE, " ") for line in lines]


def cost_rows(
    plan: PlanResult, notes: Notes, facts: PlanFacts | None, room: int, verdict: str = ""
) -> list[Row]:
    """The plan, its step time, memory and energy, and where the time goes.

    Args:
        plan: With its costs.
        notes: What its intervals rest on.
        facts: The memory that it may fill; None: not known.
        room: Columns of a line.
        verdict: Whether it fits, where that is asked.
    """
    return [
        ("plan", [f"{plan_line(plan)}, {plural(plan.chips, 'chip')}"]),
        ("step time", [_time_words(plan), *_evidence(notes)]),
        ("memory", [_memory_words(plan, facts, verdict)]),
        ("energy", [_energy_words(plan)]),
        (SPENT, _spent(plan, room)),
    ]


def _time_words(plan: PlanResult) -> str:
    ends = (plan.step_time_low_s, plan.step_time_high_s)
    time = with_interval(plan.step_time_s, *ends, show_seconds)
    tokens = f"{show_count(plan.tokens_per_s)} tokens/s"
    return f"{time}, {tokens}, MFU {show_percent(plan.mfu)}"


def _evidence(notes: Notes) -> list[str]:
    """What the interval rests on, in short."""
    spread = notes.spread
    if spread is None:
        return ["a bound under these assumptions, not a prediction: no interval"]
    runs = f"{plural(spread.rows, 'published run')} of {plural(spread.sources, 'source')}"
    none = "" if spread.is_seen else ", none of such a job with this framework and chip"
    none = none if spread.is_fitted else ": not of these constants, which are changed by hand"
    none = none if spread.is_measured else ": not of this machine, which nobody measured"
    return [f"interval from {runs}{none} (--show evidence)"]


def _of_limit(held_bytes: float, limit_bytes: float) -> tuple[str, str]:
    """What a plan holds, and beside it the limit of searches, which it may be above."""
    if held_bytes <= limit_bytes:
        return show_bytes(held_bytes), f" of {show_bytes(limit_bytes)}"
    held, limit = distinguished(held_bytes, limit_bytes, show_bytes)
    return held, f", above the {limit} of searches,"


def _memory_words(plan: PlanResult, facts: PlanFacts | None, verdict: str) -> str:
    """What the fullest chip holds of what it may, and how likely it runs out."""
    held, of = show_bytes(plan.memory_per_chip_bytes), ""
    if facts is not None:
        held, of = _of_limit(plan.memory_per_chip_bytes, facts.memory_limit_bytes)
    words = f"{held}{of} per chip"
    if plan.memory_low_bytes is not None and plan.memory_high_bytes is not None:
        ends = interval_words(plan.memory_low_bytes, plan.memory_high_bytes, show_bytes)
        words += f" (80 %: {ends})"
    if plan.reserve_bytes:
        words += f" + {show_bytes(plan.reserve_bytes)} reserve"
    if plan.host_memory_bytes > 0:
        words += f", {show_bytes(plan.host_memory_bytes)} of the host"
    chance = plan.out_of_memory_probability
    risk = "" if verdict == DOES_NOT_FIT else f"{risk_word(chance)}: "
    judged = f"{verdict}: " if verdict else ""
    return f"{judged}{words}; {risk}{chance_words(chance)} likely to run out"


def _energy_words(plan: PlanResult) -> str:
    """Joules of a step, watts, and what a meter would have to be around."""
    joules = show_joules(plan.energy_per_step_j)
    if plan.step_time_low_s is not None:
        ends = (plan.energy_low_j, plan.energy_high_j)
        joules = with_interval(plan.energy_per_step_j, *ends, show_joules)
    power = show_watts(plan.power_per_chip_w * plan.chips)
    each = show_watts(plan.power_per_chip_w)
    token = show_joules(plan.energy_per_token_j)
    return f"{joules} a step, {token} a token, {power} ({each} a chip); counted: {_COUNTED}"


def _spent(plan: PlanResult, room: int) -> list[str]:
    """A bar of the step time, and what its letters are."""
    total = sum(plan.time_s.values())
    if total <= 0:
        return []
    parts = lettered({words_of(n): value / total for n, value in plan.time_s.items() if value > 0})
    words = [f"{mark} {name} {100 * share:.1f} %".replace(" ", GLUE) for mark, name, share in parts]
    return [bar(parts, room), *wrapped(", ".join(words), room)]


def objective_rows(result: SolveResult) -> list[Row]:
    """What the plan was chosen for, and what the front compares, beside time and energy."""
    if result.best is None:
        return []
    shown = [f"{one.noun} {one.shown(result.best.costs)}" for one in result.beside]
    return [("objective", [", ".join(shown)])] if shown else []


def proof_row(result: SolveResult) -> Row:
    """How good the plan is proved to be."""
    if result.stages.may_differ:
        line = uneven_proof_words(result, result.certificate)
        return ("proof", [f"{line[0].lower()}{line[1:]}", *_gain(result)])
    if result.status == "optimal":
        seconds, least = result.candidates.seconds, result.minimized.noun
        line = f"proved optimal in {seconds:.2f} s: no plan in the space has less {least}"
        return ("proof", [line])
    gap = "" if result.gap is None else f"; at most {show_percent(result.gap)} from optimal"
    return ("proof", [f"not proved optimal: the time limit ended the search{gap}"])


def _gain(result: SolveResult) -> list[str]:
    """What uneven stages gain, in short."""
    if result.stages.pools:
        return alone_words(result)
    uniform, best = result.certificate.uniform, result.objective
    if not uniform or best is None or result.stages.uniform is None:
        return []
    gain, least = 1 - best / uniform, result.minimized.noun
    if not is_change(gain):
        return [f"uneven stages gain nothing: the best uniform plan has as little {least}"]
    word = "less" if gain > 0 else "more"
    value = result.minimized.show(uniform)
    return [f"{show_change(gain)} {word} {least} than the best uniform plan, {value}"]


def ties_row(result: SolveResult) -> list[Row]:
    """Which of the best plans cannot be told apart, and what to measure."""
    top, spread = result.candidates.top, result.notes.spread
    if len(top) < 2:
        return []
    others = [*enumerate(top[1:], start=2)]
    lines = [_rival(number, plan) for number, plan in others]
    if spread is None:
        return [("runners-up", lines)]
    noise = show_percent(spread.tie_factor - 1)
    tied = [f"#{number}" for number, plan in others if plan.tie]
    measure = [f"#{number}" for number, plan in enumerate(top, start=1) if plan.measure]
    if not tied:
        return [("runners-up", [f"none ties with it (within a noise of {noise})", *lines])]
    advice = (
        f"{join_words(tied)} {'ties' if len(tied) == 1 else 'tie'} with it (noise {noise}): "
        f"measure {join_words(measure)} for a few steps."
    )
    return [("runners-up", [advice, *lines])]


def _rival(number: int, ranked: RankedPlan) -> str:
    change = f"+{show_change(ranked.difference)}" if is_change(ranked.difference) else "the same"
    plan = ranked.result.plan
    return f"#{number} {change}: {mesh_words(plan)}; {choice_words(plan)}"


def caveats_row(result: SolveResult) -> list[Row]:
    """What must not be missed."""
    others = [line for line in result.notes.caveats if not line.startswith(RESUMED)]
    return [("note", others)] if others else []


def resumed_row(result: SolveResult) -> list[Row]:
    """What a plan gains against the layout of the run that it goes on from."""
    gain = [line for line in result.notes.caveats if line.startswith(RESUMED)]
    return [("gain", gain)] if gain else []


def run_rows(run: TrainingRun | None) -> list[Row]:
    """The whole training run."""
    if run is None:
        return []
    from planner.report.tables.run_screen import run_lines  # noqa: PLC0415  (few ask)

    return [("run", run_lines(run))]


def assumed_row(defaults: Sequence[tuple[str, str, str]], room: int) -> Row:
    """What was assumed, on two lines at most."""
    items = [
        f"{name} {value.partition(' = ')[0]}".replace(" ", GLUE) for name, value, _ in defaults
    ]
    for shown in range(len(items), 0, -1):
        left = len(items) - shown
        more = f", and {left} more (--show assumed)" if left else ""
        lines = wrapped(", ".join(items[:shown]) + more, room)
        if len(lines) <= _ASSUMED_LINES:
            return ("assumed", lines)
    return ("assumed", items[:1])


def quiet_words(plan: PlanResult) -> str:
    """The plan and its step time in a line."""
    ends = (plan.step_time_low_s, plan.step_time_high_s)
    time = with_interval(plan.step_time_s, *ends, show_seconds)
    return f"{plan_line(plan)}, {plural(plan.chips, 'chip')}: {time} per step"
