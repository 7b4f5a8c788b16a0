"""Answers about a run as reports: its phases, and what to run while nodes are down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.answers.run.lost import DownResult
from planner.answers.run.phased import PhasesResult, Sum
from planner.base.units import show_percent, show_seconds, show_watt_hours
from planner.question.provenance import versions
from planner.report.pages.blocks import Block, Fact, Prose, Report, Section, words_table
from planner.report.pages.provenance import job_rows
from planner.report.tables import down, phases
from planner.report.tables.goodput import days_words
from planner.report.tables.terminal import run_rows
from planner.results.parts import TrainingRun

_PLANS = ("plan", "what it decides")


def run_report(result: PhasesResult | DownResult) -> Report:
    """The report about an answer of `planner solve --phases` or `--down`."""
    return _of_phases(result) if isinstance(result, PhasesResult) else _of_down(result)


def _of_phases(result: PhasesResult) -> Report:
    total = result.total
    rows = {} if total is None else dict(phases.sum_rows(result, total))
    return Report(
        title=phases.title_of(result),
        verdict=f"{phases.phases_line(result).rstrip('.')}.",
        proof=rows.get("proof", ""),
        tone="good" if total is not None and result.status == "optimal" else "bad",
        facts=() if total is None else _facts(total),
        sections=tuple(_phase_sections(result, rows)),
        made_by=_made_by(),
    )


def _facts(total: Sum) -> tuple[Fact, ...]:
    run = total.run
    facts = [Fact(name="time", value=days_words(run))]
    if total.share is not None:
        facts.append(Fact(name="goodput", value=show_percent(total.share)))
    if run.facility_energy_mwh is not None:
        energy = show_watt_hours(run.facility_energy_mwh * 1e6)
        facts.append(Fact(name="energy", value=energy, note="with the facility"))
    return tuple(facts)


def _phase_sections(result: PhasesResult, rows: Mapping[str, str]) -> Iterator[Section]:
    names, cells = phases.phase_cells(result)
    blocks: list[Block] = [words_table("Phases", names, cells, right=range(len(names)))]
    if result.plans:
        blocks.append(words_table("Plans", _PLANS, phases.plan_rows(result)))
    yield Section(ident="phases", title="Phases", blocks=tuple(blocks))
    if rows:
        yield _table("run", "The whole run", list(rows.items()))
    if result.passages:
        lines = Prose(lines=tuple(phases.passage_lines(result)), bullets=True)
        yield Section(ident="passages", title="From phase to phase", blocks=(lines,))
    for at, phase in enumerate(result.phases, start=1):
        if phase.answer.run is not None:
            yield _phase(at, phase.answer.run)
    yield _asked(result.asked)


def _phase(at: int, run: TrainingRun) -> Section:
    return _table(f"phase-{at}", f"Phase {at}", run_rows(run))


def _of_down(result: DownResult) -> Report:
    now = result.now
    facts = [Fact(name="repair", value=show_seconds(result.repair_s))]
    if now is not None:
        edge = show_seconds(float(now.detour.break_even_s))
        facts.append(Fact(name="going on pays above", value=edge, note="of repair"))
    return Report(
        title=down.title_of(result),
        verdict=f"{down.verdict(result)}.",
        proof="",
        tone="good" if result.pays or result.covered else "",
        facts=tuple(facts),
        sections=tuple(_down_sections(result)),
        made_by=_made_by(),
    )


def _down_sections(result: DownResult) -> Iterator[Section]:
    yield _table("standing", "The run", down.standing_rows(result))
    if result.ways:
        names, cells = down.way_cells(result)
        blocks = (
            words_table("Ways to go on", names, cells, right=range(1, len(names))),
            words_table("Best plans for what is left", _PLANS, down.way_rows(result)),
            words_table("Their arithmetic", ("plan", "what", "sum"), down.sum_rows(result)),
        )
        yield Section(ident="ways", title="Against waiting for the repair", blocks=blocks)
    if lines := [*down.notes(result)]:
        prose = Prose(lines=tuple(lines), bullets=True)
        yield Section(ident="notes", title="Notes", blocks=(prose,))
    yield _asked(result.asked)


def _asked(asked: Mapping[str, object]) -> Section:
    tables = (
        words_table("What was asked", (), job_rows(asked)),
        words_table("Versions", (), list(versions().items())),
    )
    return Section(ident="provenance", title="Where the numbers come from", blocks=tables)


def _table(ident: str, title: str, rows: list[tuple[str, str]]) -> Section:
    return Section(ident=ident, title=title, blocks=(words_table(title, (), rows),))


def _made_by() -> str:
    return ", ".join(f"{name} {version}" for name, version in versions().items())
