"""Answers as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planner.base.messages import distinguished
from planner.base.units import (
    plain,
    show_bytes,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_steps,
    show_watt_hours,
    show_watts,
)
from planner.cost.energy.boundaries import WORDS
from planner.cost.memory.risk import risk_word
from planner.report.tables.breakdown import breakdown_view
from planner.report.tables.certificate import uneven_proof_words
from planner.report.tables.fitted import Fitted
from planner.report.tables.goodput import days_words, deadline_rows, goodput_rows
from planner.report.tables.likely import chance_words, with_interval
from planner.report.tables.tables import ByWidth, indented, pairs, section, spaced, table
from planner.results.gains import nothing_found_words
from planner.results.parts import TrainingRun
from planner.results.plan import PlanResult
from planner.results.result import PASSED, EvaluateResult, SolveResult
from planner.results.words import asked_words, boundary_words, plan_rows

_PANEL_WIDTH = 96
"""Columns from which decisions and costs stand side by side."""


def cost_rows(result: PlanResult) -> list[tuple[str, str]]:
    """The headline figures of a plan."""
    memory = with_interval(
        result.memory_per_chip_bytes, result.memory_low_bytes, result.memory_high_bytes, show_bytes
    )
    time = with_interval(
        result.step_time_s, result.step_time_low_s, result.step_time_high_s, show_seconds
    )
    if result.reserve_bytes:
        memory += f" + {show_bytes(result.reserve_bytes)} reserve"
    chance = result.out_of_memory_probability
    rows = [
        ("step time", time),
        ("MFU", f"{show_percent(result.mfu)} (HFU {show_percent(result.hfu)})"),
        ("throughput", f"{show_count(result.tokens_per_s)} tokens/s"),
        ("memory per chip", memory),
        ("out of memory", f"{risk_word(chance)}: {chance_words(chance)} likely"),
        ("energy per step", _energy(result)),
        ("energy per token", show_joules(result.energy_per_token_j)),
        ("power per chip", show_watts(result.power_per_chip_w)),
        ("power in all", show_watts(result.power_per_chip_w * result.chips)),
    ]
    if result.host_memory_bytes > 0:
        rows.insert(5, ("host memory", f"{show_bytes(result.host_memory_bytes)} per chip"))
    return rows


def plan_view(title: str, result: PlanResult) -> RenderableType:
    """What a plan decides, what it costs, and the parts of its time, energy and memory."""
    parts = (panel_view(title, result), boundary_view(result), breakdown_view(result))
    return spaced([[part] for part in parts])


def panel_view(title: str, result: PlanResult) -> RenderableType:
    """What a plan decides and what it costs, side by side where there is room."""
    decisions, costs = pairs(plan_rows(result)), pairs(cost_rows(result))

    def draw(room: int) -> RenderableType:
        if room < _PANEL_WIDTH:
            return Group(decisions, Text(), costs)
        side = Table.grid(padding=(0, 2), expand=True)
        side.add_column(ratio=1)
        side.add_column(ratio=1)
        side.add_row(decisions, costs)
        return side

    return Group(
        Panel(ByWidth(draw), title=Text(title), title_align="left"), Text(boundary_words(result))
    )


def _energy(result: PlanResult) -> str:
    """Joules of a step, with their interval where the time is a prediction."""
    if result.step_time_low_s is None:
        return show_joules(result.energy_per_step_j)
    ends = (result.energy_low_j, result.energy_high_j)
    return with_interval(result.energy_per_step_j, *ends, show_joules)


def boundary_rows(result: PlanResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: energy and power by boundary, with intervals of predictions."""
    rows = [
        (
            WORDS[b.name],
            show_joules(b.energy_j),
            show_watts(b.power_w),
            show_watts(b.power_w * result.chips),
            f"{show_watts(b.power_low_w)} to {show_watts(b.power_high_w)}",
        )
        for b in result.boundaries
    ]
    header = ("boundary", "energy per step", "power per chip", "power in all", "per chip, 80 %")
    shown = len(header) - (result.step_time_low_s is None)  # bounds have no interval
    return header[:shown], [row[:shown] for row in rows]


def boundary_view(result: PlanResult) -> RenderableType:
    """Energy and power inside each boundary, with 80 % intervals where times are predictions."""
    header, rows = boundary_rows(result)
    return section("Energy and power by boundary", Fitted(header, rows, right=header[1:]))


def run_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """A whole training run, as (name, words)."""
    return [*size_rows(run), *goodput_rows(run), *bill_rows(run)]


def size_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """How large and how long a run is."""
    return [
        ("tokens", show_count(run.tokens)),
        ("steps", show_steps(run.steps)),
        ("time", days_words(run)),
        *deadline_rows(run),
    ]


def bill_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """Energy of a run, and what it costs."""
    rows = []
    if run.energy_mwh is not None and run.facility_energy_mwh is not None:
        rows.append(("energy", show_watt_hours(run.energy_mwh * 1e6)))
        rows.append(("with the facility", show_watt_hours(run.facility_energy_mwh * 1e6)))
    if run.cost is not None:
        rows.append(("price", _price_words(run, run.cost)))
    if run.electricity_cost is not None:
        rows.append(("electricity", plain(run.electricity_cost, 4)))
    if run.co2_t is not None:
        rows.append(("CO2", f"{plain(run.co2_t, 4)} t"))
    rows += [("at", words) for words in run.prices]
    return rows


def _price_words(run: TrainingRun, cost: float) -> str:
    """Money of the chip-hours, as sure as the days are."""
    words = plain(cost, 4)
    if run.days is None or run.days_low is None:
        return words
    high = "no end" if run.days_high is None else plain(cost * run.days_high / run.days, 4)
    return f"{words} (80 %: {plain(cost * run.days_low / run.days, 4)} to {high})"


def run_view(run: TrainingRun | None) -> list[RenderableType]:
    """The whole training run; nothing where its tokens are not known."""
    return [] if run is None else [section("Whole training run", pairs(run_rows(run)))]


def defaults_view(defaults: Sequence[tuple[str, str, str]]) -> list[RenderableType]:
    """What is assumed, as a table; nothing where nothing is."""
    if not defaults:
        return []
    return [section("Assumed", table(("what", "value", "why"), defaults, whole=("what",)))]


def proof_words(result: SolveResult) -> str:
    """How good the answer is proved to be."""
    if result.stages.may_differ:
        return uneven_proof_words(result, result.certificate)
    seconds = result.candidates.seconds
    candidates = result.candidates.counts.get("candidates", {})
    evaluated = candidates.get("evaluated", 0)
    if result.status == "optimal":
        least = result.minimized.noun
        if result.beside and result.objective is not None:
            least += f" than {result.minimized.show(result.objective)}"
        return (
            f"Proved optimal in {seconds:.2f} s: no plan in the space has less {least} "
            f"({evaluated:,} candidates costed, the rest excluded by rules, memory and proved "
            "bounds)."
        )
    gap = "" if result.gap is None else f"; at most {show_percent(result.gap)} from optimal"
    return f"Not proved optimal: the time limit ended the search{gap}."


def count_rows(
    stages: Mapping[str, Mapping[str, int]],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: what each stage of a search was given, passed on and dropped."""
    rows: list[tuple[str, ...]] = []
    for stage, counts in stages.items():
        passed = sum(counts.get(name, 0) for name in PASSED)
        dropped = [
            f"{name.replace('_', ' ')} {n:,}"
            for name, n in counts.items()
            if n and name not in PASSED and name not in ("considered", "left")
        ]
        if counts.get("left"):
            dropped.append(f"time limit {counts['left']:,}")
        words = ", ".join(dropped) or "nothing"
        rows.append(
            (stage.replace("_", " "), f"{counts.get('considered', 0):,}", f"{passed:,}", words)
        )
    return ("stage", "considered", "passed", "dropped by"), rows


def counts_view(result: SolveResult) -> list[RenderableType]:
    """What each stage of the search was given, passed on and dropped."""
    header, rows = count_rows(result.candidates.counts)
    if not rows:
        return []
    view = table(header, rows, right=("considered", "passed"), whole=("stage",))
    title = "Candidates" if not result.stages.may_differ else "Candidates with uniform stages"
    title = "Candidates" if result.stages.pools else title
    return [section(title, view)]


def head(words: str, losses: Sequence[str], warnings: Sequence[str] = ()) -> list[RenderableType]:
    """What an answer is about, what the cluster gives away, and what to beware of."""
    return [
        Text(words, style="bold"),
        *(Text(f"Note: {loss}.", style="yellow") for loss in losses),
        *(Text(f"Warning: {line}", style="red") for line in warnings),
    ]


def solve_head(result: SolveResult) -> list[RenderableType]:
    """What is asked, what the cluster gives away, and why there is no plan where there is none."""
    parts = head(asked_words(result), result.notes.losses)
    return parts if result.best is not None else [*parts, *no_plan_view(result)]


def no_plan_view(result: SolveResult) -> list[RenderableType]:
    """Why there is no plan, and what frees one."""
    if result.diagnosis is None:
        return [Text(nothing_found_words(result))]
    lines: list[RenderableType] = [
        Text("No plan fits (proved).", style="bold"),
        indented([f"{result.diagnosis.explanation}."]),
    ]
    if result.diagnosis.remedies:
        lines.append(indented(["Any one of these frees it:"]))
        lines.append(indented(result.diagnosis.remedies, by=4))
    return lines


def fits_words(result: EvaluateResult) -> str:
    """Whether a plan fits, with the figures."""
    if not result.fits:
        return "The plan does not fit in memory."
    costs = result.result
    if result.pools:
        full = [use.name for use in result.pools if use.memory_bytes > use.memory_limit_bytes]
        above = f", on {' and '.join(full)} more than searches fill" if full else ""
        return f"The plan fits: every pool has room for its stages{above}."
    held, limit = costs.memory_per_chip_bytes, result.memory_limit_bytes
    if held <= limit:
        beside = f"{show_bytes(held)} of the {show_bytes(limit)} of each chip that may be filled"
    else:
        beside = " of each chip, above the ".join(distinguished(held, limit, show_bytes))
        beside += " that searches fill"
    words = f"The plan fits: it fills {beside}"
    if costs.reserve_bytes > 0:
        words += f", with {show_bytes(costs.reserve_bytes)} reserve outside"
    if costs.host_memory_bytes > 0:
        words += f", and {show_bytes(costs.host_memory_bytes)} of its host"
    return f"{words}."


def fits_view(result: EvaluateResult) -> Text:
    """The same as a line."""
    return Text(fits_words(result), style="green" if result.fits else "bold red")
