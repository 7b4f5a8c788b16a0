"""An answer as a report: which sections it has and what each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.base.units import (
    show_bytes,
    show_change,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)
from planner.report.pages.blocks import (
    Block,
    Fact,
    Figure,
    Prose,
    Report,
    Section,
    Table,
    words_table,
)
from planner.report.pages.detail import PlanDetail
from planner.report.pages.front import front_section
from planner.report.pages.provenance import provenance_section
from planner.report.tables.certificate import OF_STEPS, certificate_notes, funnel_rows, step_rows
from planner.report.tables.likely import interval_words, tie_words
from planner.report.tables.operation_clocks import clocks_tables
from planner.report.tables.operation_front import front_clocks_table
from planner.report.tables.terminal import (
    boundary_rows,
    cost_rows,
    count_rows,
    fits_words,
    proof_words,
    run_rows,
)
from planner.results.certificate import Certificate
from planner.results.gains import gain_words, nothing_found_words
from planner.results.parts import Diagnosis
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.results.words import (
    boundary_words,
    choice_words,
    front_job_words,
    job_words,
    mesh_words,
    plan_rows,
)

Answer = SolveResult | EvaluateResult
_PARTS = "breakdown"
"""The section of the parts of time, energy and memory, which stands behind the plan."""
_PART_OF_PLAN = {"solve": "the best plan", "evaluate": "the plan", "front": "the fastest plan"}


def report_of(answer: Answer, detail: PlanDetail | None = None) -> Report:
    """The report about an answer.

    Args:
        answer: Of `planner.solve` or `planner.evaluate`; or a front that was read back.
        detail: Pictures of its plan, where there is one.
    """
    plan = plan_of(answer)
    verdict, proof, tone = _verdict(answer, plan)
    sections = [section for section in _sections(answer, plan, detail) if section.blocks]
    versions = ", ".join(f"{name} {version}" for name, version in answer.versions.items())
    return Report(
        title=_title(answer),
        verdict=verdict,
        proof=proof,
        tone=tone,
        facts=() if plan is None else _facts(answer, plan),
        sections=tuple(sections),
        made_by=versions,
    )


def kind_of(answer: Answer) -> str:
    """`solve`, `evaluate` or `front`."""
    if isinstance(answer, EvaluateResult):
        return "evaluate"
    return "front" if answer.status == "front" else "solve"


def plan_of(answer: Answer) -> PlanResult | None:
    """The plan that the details are about; None where there is none."""
    if isinstance(answer, EvaluateResult):
        return answer.result
    return answer.best or (answer.front[0] if answer.status == "front" else None)


def _title(answer: Answer) -> str:
    if isinstance(answer, EvaluateResult) or answer.best is not None:
        return job_words(answer)
    return front_job_words(answer) if answer.front else job_words(answer)


def _verdict(answer: Answer, plan: PlanResult | None) -> tuple[str, str, str]:
    """The answer in a sentence, how sure it is, and the tone."""
    if isinstance(answer, EvaluateResult):
        return (
            f"{_plan_words(answer.result)}.",
            fits_words(answer),
            "good" if answer.fits else "bad",
        )
    if plan is None and answer.diagnosis is None:
        return nothing_found_words(answer), "", "bad"
    if plan is None or kind_of(answer) == "front":
        if answer.diagnosis is not None:
            return "No plan fits (proved).", f"{answer.diagnosis.explanation}.", "bad"
        assert plan is not None
        return f"The fastest of {len(answer.front):,} plans: {_plan_words(plan)}.", "", ""
    least = answer.minimized.noun
    gap = "" if answer.gap is None else f" Bound {_bound(answer)}, gap {show_percent(answer.gap)}."
    words = f"The plan with the least {least}: {_plan_words(plan)}."
    return words, proof_words(answer) + gap, "good" if answer.status == "optimal" else ""


def _plan_words(plan: PlanResult) -> str:
    machine = "" if plan.machine is None else f" on {plan.machine.words}"
    return f"{mesh_words(plan.plan)}; {choice_words(plan.plan)}{machine}"


def _bound(answer: SolveResult) -> str:
    """The proved bound of the objective in its unit."""
    assert answer.bound is not None
    return answer.minimized.show(answer.bound)


def _ends(low: float | None, high: float | None, show: Callable[[float], str]) -> str:
    return "" if low is None or high is None else f"80 %: {interval_words(low, high, show)}"


def _facts(answer: Answer, plan: PlanResult) -> tuple[Fact, ...]:
    """The headline."""
    time = _ends(plan.step_time_low_s, plan.step_time_high_s, show_seconds)
    predicted = plan.step_time_low_s is not None
    joules = _ends(plan.energy_low_j, plan.energy_high_j, show_joules) if predicted else ""
    limit = None if answer.facts is None else answer.facts.memory_limit_bytes
    room = "" if limit is None else f"of {show_bytes(limit)} that may be filled"
    return (
        Fact(name="step time", value=show_seconds(plan.step_time_s), note=time),
        Fact(name="MFU", value=show_percent(plan.mfu), note=f"HFU {show_percent(plan.hfu)}"),
        Fact(
            name="throughput",
            value=f"{show_count(plan.tokens_per_s)} tokens/s",
            note=f"{plan.chips:,} chips",
        ),
        Fact(
            name="energy per step",
            value=show_joules(plan.energy_per_step_j),
            note=joules,
        ),
        Fact(
            name="power",
            value=show_watts(plan.power_per_chip_w * plan.chips),
            note=f"{show_watts(plan.power_per_chip_w)} per chip",
        ),
        Fact(name="memory per chip", value=show_bytes(plan.memory_per_chip_bytes), note=room),
        *(
            Fact(name=one.noun, value=one.shown(plan.costs), note="")
            for one in (answer.beside if isinstance(answer, SolveResult) else ())
        ),
    )


def _sections(
    answer: Answer, plan: PlanResult | None, detail: PlanDetail | None
) -> Iterator[Section]:
    """In the order of the one screen: the plan and its costs, why, the front; then the rest."""
    notes, pictured = _notes(answer), [] if plan is None else [*_details(answer, detail)]
    if notes:
        yield Section(ident="notes", title="Mind", blocks=notes)
    if plan is not None:
        yield _plan(plan, _PART_OF_PLAN[kind_of(answer)])
    yield from (section for section in pictured if section.ident == _PARTS)
    yield _binds(answer, detail)
    if answer.run is not None:
        yield Section(
            ident="run",
            title="Whole training run",
            blocks=(words_table("Whole training run", (), run_rows(answer.run)),),
        )
    if isinstance(answer, SolveResult):
        yield front_section(answer, pictured=detail is not None)
    yield _clocks(answer)
    yield from (section for section in pictured if section.ident != _PARTS)
    if isinstance(answer, SolveResult):
        yield _search(answer)
    yield provenance_section(answer, detail)


def _clocks(answer: Answer) -> Section:
    """What clocks per operation save, where they were asked for."""
    if answer.clocks is None:
        return Section(ident="clocks", title="", blocks=())
    if isinstance(answer, EvaluateResult):
        tables = clocks_tables(answer.clocks)
    else:
        tables = [front_clocks_table(answer.clocks)]
    blocks: list[Block] = []
    for one in tables:
        right = [one.header.index(name) for name in one.right]
        blocks += [Prose(lines=one.words)] if one.words else []
        blocks.append(words_table(one.title, one.header, one.rows, right=right))
    return Section(ident="clocks", title="Clocks per operation", blocks=tuple(blocks))


def _notes(answer: Answer) -> tuple[Block, ...]:
    """What is lost, what is broken."""
    lines = [f"Note: {loss}." for loss in answer.notes.losses]
    if isinstance(answer, EvaluateResult):
        lines += [f"Warning: {line}" for line in answer.warnings]
    return (Prose(lines=tuple(lines), bullets=True, tone="bad"),) if lines else ()


def _binds(answer: Answer, detail: PlanDetail | None) -> Section:
    """What binds, or what stands in the way; what one step away costs, and what forbids it."""
    if isinstance(answer, SolveResult) and answer.diagnosis is not None:
        return _no_plan(answer.diagnosis)
    blocks: list[Block] = []
    solved = answer if isinstance(answer, SolveResult) else None
    why = () if solved is None else solved.notes.why
    if detail is not None and detail.why:
        why = detail.why
    if why:
        blocks.append(Prose(lines=tuple(why)))
    if solved is not None and solved.notes.caveats:
        blocks.append(Prose(lines=tuple(solved.notes.caveats)))
    if solved is not None and len(solved.candidates.top) > 1:
        blocks.append(_top(solved))
    if solved is not None and solved.candidates.neighbors:
        rows = [
            (near.change, near.verdict + (" (tie)" if near.tie else ""))
            for near in solved.candidates.neighbors
        ]
        blocks.append(words_table("Plans one step away", ("one step away", "instead"), rows))
        if ties := tie_words(solved.notes.spread, solved.minimized):
            blocks.append(Prose(lines=(f"{ties[0].upper()}{ties[1:]}",)))
    known = {near.change for near in solved.candidates.neighbors} if solved is not None else set()
    refused = () if detail is None else detail.refused
    if others := [row for row in refused if row[0] not in known]:
        caption = "Other steps that cannot be had" if known else "Steps that cannot be had"
        blocks.append(words_table(caption, ("one step away", "because"), others))
    title = "What binds, and why this plan" if solved is not None else "What binds"
    return Section(ident="binds", title=title, blocks=tuple(blocks))


def _no_plan(diagnosis: Diagnosis) -> Section:
    """Why no plan fits, and what would."""
    blocks: tuple[Block, ...] = (Prose(lines=(f"{diagnosis.explanation}.",), tone="bad"),)
    if diagnosis.remedies:
        blocks += (
            Prose(lines=("Any one of these frees it:",)),
            Prose(lines=diagnosis.remedies, bullets=True),
        )
    return Section(ident="binds", title="Why no plan fits", blocks=blocks)


def _top(answer: SolveResult) -> Table:
    rows = []
    for number, one in enumerate(answer.candidates.top, start=1):
        against = "best" if number == 1 else f"+{show_change(one.difference)}"
        tie = ", tie" if one.tie and number > 1 else ""
        time = show_seconds(one.result.step_time_s)
        words = (mesh_words(one.result.plan), choice_words(one.result.plan), time, against + tie)
        rows.append((f"{number}", *words))
    return words_table(
        "Best plans that differ in mesh or micro-batch, and those worth measuring; a tie cannot be "
        "told apart from the best",
        ("#", "mesh", "other choices", "step time", "against #1"),
        rows,
        right=(0, 3, 4),
        strong=(0,),
    )


def _plan(plan: PlanResult, what: str) -> Section:
    """What the plan decides and costs."""
    header, rows = boundary_rows(plan)
    return Section(
        ident="plan",
        title=what[0].upper() + what[1:],
        blocks=(
            words_table("What it decides", (), plan_rows(plan)),
            words_table("What it costs", (), cost_rows(plan)),
            words_table(
                "Energy and power by boundary", header, rows, right=tuple(range(1, len(header)))
            ),
            Prose(lines=(boundary_words(plan),)),
        ),
    )


def _details(answer: Answer, detail: PlanDetail | None) -> Iterator[Section]:
    """Pictures of the plan."""
    if detail is None:
        return
    what = _PART_OF_PLAN[kind_of(answer)]
    for one in detail.pictures:
        if one.picture is None:
            yield Section(ident=one.ident, title=one.title, blocks=(Prose(lines=(one.lead,)),))
            continue
        figure = Figure(ident=f"{one.ident}-figure", picture=one.picture, caption=one.caption)
        lead = f"{one.lead} This is {what}."
        yield Section(ident=one.ident, title=one.title, blocks=(figure,), lead=lead)


def _search(answer: SolveResult) -> Section:
    """What was considered, and what dropped it."""
    asked = (
        ("Plans on exactly the chips asked for", answer.candidates.counts),
        ("The rest of the front", answer.candidates.front_counts),
    )
    blocks: list[Block] = []
    if answer.stages.may_differ:
        blocks += _certificate(answer, answer.certificate)
    for caption, stages in asked:
        header, rows = count_rows(stages)
        if rows:
            blocks.append(words_table(caption, header, rows, right=(1, 2)))
    if answer.candidates.machines:
        blocks.append(_machines(answer))
    lead = f"The search took {answer.candidates.seconds:.2f} s." if blocks else ""
    return Section(ident="search", title="What was searched", blocks=tuple(blocks), lead=lead)


def _certificate(answer: SolveResult, certificate: Certificate) -> list[Block]:
    """Why no plan with other stages is better, and what stages that differ gain."""
    header, rows = funnel_rows(certificate, answer.minimized)
    caption = "Certificate: meshes with their choices, by what excludes them"
    blocks: list[Block] = [
        Prose(lines=(proof_words(answer), gain_words(answer))),
        words_table(caption, header, rows, right=tuple(range(1, len(header)))),
        Prose(lines=tuple(certificate_notes(answer, certificate))),
    ]
    if certificate.steps:
        header, rows = step_rows(certificate, answer.minimized)
        blocks.append(words_table(OF_STEPS, header, rows, right=tuple(range(len(header)))))
    return blocks


def _machines(answer: SolveResult) -> Table:
    rows = [
        (one.words, f"{one.most_chips:,}", one.limited_by, f"{one.evaluated:,}", f"{one.front:,}")
        for one in answer.candidates.machines
    ]
    header = ("machine", "most chips", "limited by", "plans costed", "on the front")
    return words_table("Machines", header, rows, right=(1, 3, 4))
