"""Why no plan with other stages is better: what each bound dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner.base.units import plural, show_joules, show_percent, show_seconds
from planner.frameworks.profiles import FRAMEWORKS
from planner.objectives import BY_PRODUCT, ENERGY, Objective
from planner.report.tables.tables import SplitTable, section
from planner.results.certificate import Certificate
from planner.results.gains import within_gap
from planner.results.result import SolveResult
from planner.schedules import schedule_of

OF_STEPS = (
    "The rows above lead to the plan of least energy, the first step of the proof. Each step looks "
    "for the least energy among faster plans; energy x time is at least what all of them leave."
)
_NONE = "-"
_ROUNDING = 1e-6
"""A gap up to it is the rounding of the solvers' whole numbers."""


def gap_words(gap: float) -> str:
    """`3e-7`, or `1.2 %`."""
    return f"{gap:.0e}".replace("e-0", "e-") if gap < 1e-4 else show_percent(gap)


def uneven_proof_words(result: SolveResult, certificate: Certificate) -> str:
    """How good the best plan is proved to be."""
    least = result.minimized.noun
    least += " on these chips" if result.minimized.over_chips else ""
    gap = certificate.gap or 0.0
    if result.status == "optimal":
        within = f" (within {gap_words(gap)}, rounding)" if gap > 0 else ""
        proved = f"Proved optimal{within} in {result.candidates.seconds:.2f} s"
        than = ""
        if result.minimized.uneven == BY_PRODUCT and certificate.objective is not None:
            than = f" than the best plan's {result.minimized.show(certificate.objective)}"
        return (
            f"{proved}: no plan on any of {_space_words(result, certificate)} has less {least}"
            f"{than}, {_freedom_words(result)}."
        )
    if _ended_within_gap(result):
        return (
            f"Stopped within the gap asked for, in {result.candidates.seconds:.2f} s: at most "
            f"{gap_words(gap)} from optimal."
        )
    known = "" if certificate.gap is None else f"; at most {gap_words(gap)} from it"
    return f"Not proved optimal: the time limit ended the search{known}."


def _ended_within_gap(result: SolveResult) -> bool:
    """Whether the gap asked for ended a search that proves no optimum."""
    asked = result.question.asked.get("gap")
    return asked is not None and within_gap(float(asked), result.certificate)


def _freedom_words(result: SolveResult) -> str:
    """What stages were free to choose."""
    if result.stages.layout != "uneven":
        return "with these layers in its stages, whatever else they choose and their placement"
    fixed: Mapping[str, Sequence[str]] = result.question.asked.get("fix", {})
    framework = FRAMEWORKS.get(str(result.question.job.get("framework")))
    schedules = {*fixed.get("schedule", framework.schedules if framework else ())}
    if [*map(str, fixed.get("interleave", ()))] == ["1"]:
        schedules = {name for name in schedules if not schedule_of(name).interleaves}
    alike = not result.stages.pools and any(
        schedule_of(name).interleaves or schedule_of(name).bidirectional for name in schedules
    )
    nearly = " (chunks of interleaved and bidirectional ones nearly equal)" if alike else ""
    return f"whatever its stages{nearly} and placement"


def _of_funnel(objective: Objective) -> Objective:
    """What the bounds of a funnel are of."""
    return ENERGY if objective.uneven == BY_PRODUCT else objective


def funnel_rows(
    certificate: Certificate, objective: Objective
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: what each bound was given, dropped, and the least bound of what it did.

    Bounds of the energy-delay product are those of the energy.
    """
    show = _of_funnel(objective).show
    rows: list[tuple[str, ...]] = [
        (
            stage.name,
            f"{stage.rows:,}",
            f"{stage.meshes:,}",
            f"{stage.dropped:,}",
            _NONE if stage.lowest is None else show(stage.lowest),
        )
        for stage in certificate.funnel
    ]
    return ("bound", "rows", "meshes", "dropped", "lowest dropped"), rows


def _space_words(result: SolveResult, certificate: Certificate) -> str:
    """What was searched; on pools the first bound looks at placements already."""
    rows = certificate.funnel[0].rows if certificate.funnel else 0
    if not result.stages.pools:
        return f"{rows:,} meshes with micro-batch and schedule"
    before = sum(counts.get("kept", 0) for counts in result.candidates.counts.values())
    return f"{before:,} meshes with micro-batch and schedule, in {plural(rows, 'placement')},"


def solver_words(result: SolveResult, certificate: Certificate) -> str:
    """Rows that were solved, by which solver, and those that are left, with their least bounds."""
    show = _of_funnel(result.minimized).show
    solved = f"{plural(certificate.solved, 'row')} solved to proof"
    if _ended_within_gap(result):
        solved = f"{plural(certificate.solved, 'row')} solved to proof or within the gap"
        lowest = None if result.minimized.uneven == BY_PRODUCT else _lowest_solved(certificate)
        if lowest is not None:
            solved += f" (lowest bound {show(lowest)})"
    stages = plural(certificate.stage_solves, "stage problem")
    by = ", ".join(f"{name} {count:,}" for name, count in certificate.solvers.items())
    left = f"{certificate.left:,} left" if certificate.left else "none left"
    if certificate.lowest_left is not None:
        left += f" (lowest bound {show(certificate.lowest_left)})"
    return f"{solved}, {left}; {stages} solved{f' ({by})' if by else ''}."


def _lowest_solved(certificate: Certificate) -> float | None:
    """The bound of the answer where rows that were solved set it, not one dropped or left."""
    others = [step.lowest for step in certificate.funnel] + [certificate.lowest_left]
    least = min((value for value in others if value is not None), default=None)
    bound = certificate.bound
    if bound is None or not certificate.solved:
        return None
    return bound if least is None or bound * (1 + _ROUNDING) < least else None


def certificate_notes(result: SolveResult, certificate: Certificate) -> list[str]:
    """What the rows of the funnel are, what else drops them, and what was solved."""
    first = certificate.funnel[0].name if certificate.funnel else ""
    rows = (
        f"Rows of {first} are meshes with micro-batch and schedule; below it each placement of one "
        "that is left is a row of its own."
    )
    if result.stages.pools:
        rows = "Rows are meshes with micro-batch, schedule and placement."
    gap = result.question.asked.get("gap")
    within = "Dropped: no plan on the row is better than the best plan"
    if result.minimized.uneven == BY_PRODUCT:
        within = "Dropped: at any time no plan on the row takes less energy than the cheapest plan"
    within += f" by more than {show_percent(float(gap))}." if gap else "."
    refused = ", ".join(f"{count:,} by {name}" for name, count in certificate.refused.items())
    ruled = [f"Rules of what is to run the plan drop, before placements: {refused}."]
    last = [*(ruled if refused else []), solver_words(result, certificate)]
    return [*([rows] if first else []), within, *last]


def step_rows(
    certificate: Certificate, objective: Objective
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: the steps of the proof of the least energy x time."""
    show = objective.show
    rows: list[tuple[str, ...]] = [
        (
            show_seconds(step.within_s),
            show_seconds(step.above_s),
            show_joules(step.energy_j),
            show(step.product_js),
        )
        for step in certificate.steps
    ]
    return ("step time up to", "and above", "least energy", "least energy x time"), rows


def certificate_view(result: SolveResult) -> list[RenderableType]:
    """The funnel of bounds; nothing where all stages are equal."""
    certificate = result.certificate
    if not result.stages.may_differ:
        return []
    header, rows = funnel_rows(certificate, result.minimized)
    view = SplitTable(header, rows, by=("bound",), right=header[1:])
    notes = [Text(line) for line in certificate_notes(result, certificate)]
    steps: list[RenderableType] = []
    if certificate.steps:
        header, rows = step_rows(certificate, result.minimized)
        steps = [Text(OF_STEPS), SplitTable(header, rows, by=header[:1], right=header)]
    return [section("Certificate", view, *notes, *steps)]
