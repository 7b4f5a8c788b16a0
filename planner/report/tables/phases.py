"""The answer to a question with phases: a row for each, their sum, and what loads into what."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from planner.answers.run.phased import Passage, Phase, PhasesResult, Sum
from planner.base.units import plain, plural, show_change, show_count, show_percent, show_seconds
from planner.report.tables.goodput import days_only, days_words
from planner.report.tables.tables import SplitTable, indented, pairs, section, spaced
from planner.report.tables.terminal import bill_rows, size_rows
from planner.results.words import choice_words, mesh_words

_NONE = "-"
_HEADER = ("phase", "tokens", "a step", "sequence", "chips", "plan", "step time", "days",
           "goodput", "proof")  # fmt: skip
_WORDS = ("plan", "proof")


def phases_line(result: PhasesResult) -> str:
    """The answer in a line."""
    if result.total is None:
        return f"{_no_plan(result)}."
    return f"{plural(len(result.phases), 'phase')}: {days_words(result.total.run)}"


def title_of(result: PhasesResult) -> str:
    """What was asked, in a line."""
    return f"{result.subject}: a run of {plural(len(result.phases), 'phase')}"


def phases_view(result: PhasesResult) -> RenderableType:
    """A row for each phase, their plans, their sum, and what loads into what."""
    blocks: list[Sequence[RenderableType]] = [[Text(title_of(result)), _table(result)]]
    if result.plans:
        blocks.append([section("Plans", indented(["  ".join(row) for row in plan_rows(result)]))])
    if result.total is None:
        blocks.append([Text(f"{_no_plan(result)}.")])
        return spaced(blocks)
    blocks.append([section("The whole run", pairs(sum_rows(result, result.total)))])
    if result.passages:
        blocks.append([section("From phase to phase", indented(passage_lines(result)))])
    return spaced(blocks)


def plan_rows(result: PhasesResult) -> list[tuple[str, str]]:
    """The different plans with their letters."""
    letters = dict.fromkeys(result.letter(phase) for phase in result.phases if phase.best)
    words = (f"{mesh_words(best.plan)}; {choice_words(best.plan)}" for best in result.plans)
    return [*zip(letters, words, strict=True)]


def phase_cells(result: PhasesResult) -> tuple[list[str], list[list[str]]]:
    """A row for each phase: names of the columns that say something, and their cells."""
    rows = [_row(result, phase, at) for at, phase in enumerate(result.phases, start=1)]
    keep = [at for at in range(len(_HEADER)) if any(row[at] != _NONE for row in rows)]
    names = [_HEADER[at] for at in keep]
    return names, [[row[at] for at in keep] for row in rows]


def _table(result: PhasesResult) -> RenderableType:
    names, cells = phase_cells(result)
    right = [name for name in names if name not in _WORDS]
    return SplitTable(names, cells, by=("phase",), right=right, whole=names)


def _row(result: PhasesResult, phase: Phase, number: int) -> tuple[str, ...]:
    job, best, run = phase.answer.question.job, phase.best, phase.answer.run
    kept = None if run is None else run.goodput
    return (
        str(number),
        show_count(float(phase.request.train_tokens or 0.0)),
        show_count(job["batch_tokens"]),
        f"{job['seq_len']:,}",
        _NONE if best is None else f"{best.chips:,}",
        result.letter(phase),
        _NONE if best is None else show_seconds(best.step_time_s),
        _NONE if run is None else days_only(run),
        _NONE if kept is None else show_percent(kept.share),
        phase.answer.status,
    )


def _no_plan(result: PhasesResult) -> str:
    """Which phase has no plan, and why, without a full stop."""
    numbered = enumerate(result.phases, start=1)
    at, phase = next((at, phase) for at, phase in numbered if phase.best is None)
    if phase.answer.diagnosis is None:
        return f"No plan was found for phase {at} in the time that was given"
    return f"No plan fits phase {at} (proved): {phase.answer.diagnosis.explanation}"


def sum_rows(result: PhasesResult, total: Sum) -> list[tuple[str, str]]:
    """What all phases take, and how good that is."""
    if total.share is None:
        own = [("goodput", "unknown: nobody published how often such chips fail")]
    else:
        own = [("if nothing failed", f"{plain(total.run.ideal_days)} days")]
        own.append(("goodput", show_percent(total.share)))
    if total.stops_s:
        own.append(("stops between phases", f"{show_seconds(total.stops_s)}, in the time"))
    if total.failures is not None:
        own.append(("failures", f"{plain(total.failures)} expected"))
    run, proof = total.run, ("proof", _proof_words(result, total))
    return [*size_rows(run), *own, *bill_rows(run), proof]


def _proof_words(result: PhasesResult, total: Sum) -> str:
    least = result.phases[0].answer.minimized.noun
    if total.objective is None:
        each = "each" if result.status == "optimal" else "not every"
        return f"{each} phase is proved; {least} has no sum over phases"
    if result.status == "optimal":
        return (
            f"optimal: each phase has the least {least}, and none limits the plan of another, so "
            "that their proofs are the proof of the sum"
        )
    if total.bound is None:
        return f"not every phase is proved; how far the sum of {least} is from the least is unknown"
    gap = 1.0 - total.bound / total.objective if total.objective else 0.0
    return (
        f"at most {show_change(gap)} from the least sum of {least} over all steps: that of phases "
        "each with a best plan of its own"
    )


def passage_lines(result: PhasesResult) -> list[str]:
    """What loads into what, a line for each step from a phase to the next."""
    return [_passage_words(at, one) for at, one in enumerate(result.passages, start=1)]


def _passage_words(at: int, passage: Passage) -> str:
    words = f"{at} to {at + 1}: "
    if not passage.form:
        return f"{words}no form of the checkpoint of such a plan is known"
    if passage.loads:
        return f"{words}the checkpoint loads ({passage.form})"
    words += f"{passage.form} does not load ({', '.join(passage.refused)})"
    if not passage.others:
        return f"{words}, nor does another form; --resume-from keeps to plans that load it"
    others = " or ".join(f"{name} ({said})" for name, said in passage.others)
    return f"{words}; {others} does"
