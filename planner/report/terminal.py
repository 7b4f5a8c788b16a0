"""Answers as Rich tables for a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planner.report.scatter import scatter
from planner.report.words import mesh_words, plan_rows, schedule_words
from planner.results import EvaluateResult, PlanResult, SolveResult, TrainingRun
from planner.units import (
    show_bytes,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)

PLAIN_WIDTH = 110
_FEW = 12


def console() -> Console:
    """Standard output; wide enough for the tables where it is not a terminal."""
    screen = Console(highlight=False)
    if not screen.is_terminal:
        screen = Console(highlight=False, width=PLAIN_WIDTH)
    return screen


def _pairs(rows: list[tuple[str, str]], title: str | None = None) -> Table:
    table = Table(box=None, show_header=False, title=title, title_justify="left", pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in rows:
        table.add_row(name, words)
    return table


def _parts(title: str, parts: dict[str, float], total: float, show: object) -> Table:
    """Parts of a whole, largest first, with their shares; zeros are left out."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("value", justify="right")
    table.add_column("share", justify="right")
    for name, value in sorted(parts.items(), key=lambda item: -item[1]):
        if value > 0:
            words = show(value)  # type: ignore[operator]
            table.add_row(name.replace("_", " "), words, f"{100 * value / total:.1f} %")
    return table


def cost_rows(result: PlanResult) -> list[tuple[str, str]]:
    """The headline figures of a plan."""
    spread = (result.energy_high_j - result.energy_low_j) / 2
    return [
        ("step time", show_seconds(result.step_time_s)),
        ("MFU", f"{show_percent(result.mfu)} (HFU {show_percent(result.hfu)})"),
        ("throughput", f"{show_count(result.tokens_per_s)} tokens/s"),
        (
            "memory per chip",
            f"{show_bytes(result.memory_per_chip_bytes)}"
            + (f" + {show_bytes(result.reserve_bytes)} reserve" if result.reserve_bytes else ""),
        ),
        (
            "energy per step",
            f"{show_joules(result.energy_per_step_j)} ± {show_joules(spread)} (node and network)",
        ),
        (
            "power",
            f"{show_watts(result.power_per_chip_w)} per chip, "
            f"{show_watts(result.power_per_chip_w * result.chips)} in all",
        ),
    ]


def _plan_panel(title: str, result: PlanResult) -> Panel:
    """What a plan decides beside what it costs."""
    side = Table.grid(padding=(0, 2), expand=True)
    side.add_column(ratio=1)
    side.add_column(ratio=1)
    side.add_row(_pairs(plan_rows(result)), _pairs(cost_rows(result)))
    return Panel(side, title=title, title_align="left")


def _breakdowns(result: PlanResult) -> Table:
    """Time, energy and memory side by side."""
    side = Table.grid(padding=(0, 4))
    energy = {name: value for name, value in result.energy_j.items()}
    side.add_row(
        _parts("Time (slowest stage)", result.time_s, result.step_time_s, show_seconds),
        _parts("Energy (split assumed)", energy, result.energy_per_step_j, show_joules),
        _parts(
            "Memory (fullest chip)",
            result.memory_bytes,
            result.memory_per_chip_bytes + result.reserve_bytes,
            show_bytes,
        ),
    )
    return side


def _run_rows(run: TrainingRun) -> list[tuple[str, str]]:
    rows = [
        ("tokens", show_count(run.tokens)),
        ("steps", f"{run.steps:,.0f}"),
        ("time", f"{run.days:.3g} days"),
        ("energy", f"{run.energy_mwh:,.4g} MWh"),
    ]
    if run.cost is not None:
        rows.append(("price", f"{run.cost:,.0f}"))
    if run.co2_t is not None:
        rows.append(("CO2", f"{run.co2_t:,.4g} t"))
    return rows


def _defaults(defaults: tuple[tuple[str, str, str], ...]) -> Table:
    table = Table(title="Assumed", title_justify="left", box=None, pad_edge=False)
    for name in ("what", "value", "why"):
        table.add_column(name)
    for row in defaults:
        table.add_row(*row)
    return table


def _front_table(result: SolveResult) -> Table:
    table = Table(title="Pareto front of time and energy", title_justify="left", box=None)
    table.add_column("chips", justify="right")
    table.add_column("step time", justify="right")
    table.add_column("energy/step", justify="right")
    table.add_column("MFU", justify="right")
    table.add_column("memory", justify="right")
    table.add_column("mesh")
    table.add_column("sharding, schedule")
    for point in _few(result.front):
        if point is None:
            table.add_row("...", "", "", "", "", f"{len(result.front) - _FEW} more", "")
            continue
        plan = point.plan
        words = f"{plan.sharding}, {schedule_words(plan)}, recompute {plan.recompute}"
        if plan.clock != 1.0:
            words += f", clock {plan.clock:g}"
        table.add_row(
            f"{point.chips:,}",
            show_seconds(point.step_time_s),
            show_joules(point.energy_per_step_j),
            show_percent(point.mfu),
            show_bytes(point.memory_per_chip_bytes),
            mesh_words(plan),
            words,
        )
    return table


def _few(front: tuple[PlanResult, ...]) -> list[PlanResult | None]:
    """The first and last points of a long front, None between them."""
    if len(front) <= _FEW:
        return list(front)
    half = _FEW // 2
    return [*front[:half], None, *front[-half:]]


def _front_plot(result: SolveResult) -> Text:
    times = [point.step_time_s for point in result.front]
    energies = [point.energy_per_step_j for point in result.front]
    best = result.best
    marks = ["*" if best and point.plan == best.plan else "o" for point in result.front]
    return Text(
        scatter(
            times,
            energies,
            marks,
            x_label="step time   (* best, o front)",
            y_label="energy per step",
            x_ends=(show_seconds(min(times)), show_seconds(max(times))),
            y_ends=(show_joules(min(energies)), show_joules(max(energies))),
        )
    )


def _proof_line(result: SolveResult) -> str:
    """How good the answer is proved to be."""
    candidates = result.counts.get("candidates", {})
    evaluated = candidates.get("evaluated", 0)
    if result.status == "optimal":
        return (
            f"Proved optimal in {result.seconds:.2f} s: no plan in the space has less "
            f"{result.objective_name} ({evaluated:,} candidates costed, the rest excluded by "
            "rules, memory and proved bounds)."
        )
    gap = "" if result.gap is None else f"; at most {show_percent(result.gap)} from optimal"
    return f"Not proved optimal: the time limit ended the search{gap}."


def _counts_table(result: SolveResult) -> Table:
    table = Table(title="Candidates", title_justify="left", box=None, pad_edge=False)
    table.add_column("stage")
    table.add_column("considered", justify="right")
    table.add_column("dropped by")
    for stage, counts in result.counts.items():
        rest = {name: n for name, n in counts.items() if name not in _NOT_DROPPED}
        words = ", ".join(f"{name} {n:,}" for name, n in rest.items()) or "nothing"
        table.add_row(stage, f"{counts.get('considered', 0):,}", words)
    return table


_NOT_DROPPED = {"considered", "searched", "evaluated"}


def solve_view(result: SolveResult) -> RenderableType:
    """Everything that `planner solve` prints."""
    job = result.job
    head = (
        f"{job['model']} ({show_count(job['parameters'])} parameters) on {job['chips']:,} x "
        f"{job['chip']} ({job['hardware']}), {job['batch_tokens']:,} tokens per step"
    )
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [Text(f"Note: {loss}.", style="yellow") for loss in result.losses]
    if result.best is None:
        return Group(*parts, *_no_plan(result), _counts_table(result), _defaults(result.defaults))
    best = result.best
    parts += [_plan_panel("Best plan", best), Text(_proof_line(result))]
    parts += [Text(), _breakdowns(best), Text(), Text("Why this plan", style="bold")]
    parts += [Text(f"  {line}") for line in result.why]
    parts.append(_neighbor_table(result))
    if result.run is not None:
        parts += [Text(), _pairs(_run_rows(result.run), title="Whole training run")]
    parts += [Text(), _front_table(result)]
    if len(result.front) > 1:
        parts.append(_front_plot(result))
    parts += [Text(result.front_note), Text(), _counts_table(result), Text()]
    parts.append(_defaults(result.defaults))
    return Group(*parts)


def _neighbor_table(result: SolveResult) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("one step away")
    table.add_column("instead")
    for neighbor in result.neighbors:
        table.add_row(neighbor.change, neighbor.verdict)
    return table


def _no_plan(result: SolveResult) -> list[RenderableType]:
    if result.diagnosis is None:
        return [Text("No plan was found before the time limit; none is excluded either.")]
    lines: list[RenderableType] = [
        Text("No plan fits (proved).", style="bold"),
        Text(f"  {result.diagnosis.explanation}."),
    ]
    if result.diagnosis.remedies:
        lines.append(Text("  Any one of these frees it:"))
        lines += [Text(f"    {remedy}") for remedy in result.diagnosis.remedies]
    return lines


def evaluate_view(result: EvaluateResult) -> RenderableType:
    """Everything that `planner evaluate` prints."""
    plan = result.result
    side = Table.grid(padding=(0, 6))
    side.add_row(_pairs(plan_rows(plan)), _pairs(cost_rows(plan)))
    head = (
        f"{result.job['model']} on {plan.chips:,} x {result.job['chip']} ({result.job['hardware']})"
    )
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [Text(f"Note: {loss}.", style="yellow") for loss in result.losses]
    parts += [Text(f"Warning: {line}", style="red") for line in result.warnings]
    parts += [_plan_panel("Plan", plan), _breakdowns(plan)]
    if result.run is not None:
        parts += [Text(), _pairs(_run_rows(result.run), title="Whole training run")]
    if result.defaults:
        parts += [Text(), _defaults(result.defaults)]
    return Group(*parts)
