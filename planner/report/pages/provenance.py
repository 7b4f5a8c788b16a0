"""Where the numbers of a report come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.question.asked.values import field_words, value_words
from planner.report.pages.blocks import Block, Prose, Section, words_table
from planner.report.pages.detail import PlanDetail
from planner.report.tables.likely import spread_words
from planner.results.result import EvaluateResult, SolveResult


def provenance_section(answer: SolveResult | EvaluateResult, detail: PlanDetail | None) -> Section:
    """The job, what was assumed, the guesses in the records, the documents, the versions."""
    found = isinstance(answer, EvaluateResult) or bool(answer.best or answer.front)
    spread = (spread_words(answer.notes.spread),) if found else ()
    blocks: list[Block] = [Prose(lines=(*spread, _convention(answer)))]
    blocks.append(words_table("The job as it was understood", (), job_rows(answer.question.job)))
    if answer.notes.defaults:
        blocks.append(
            words_table("Assumed defaults", ("what", "value", "why"), answer.notes.defaults)
        )
    if detail is not None and detail.assumed:
        rows = [
            (one.record, one.path, f"{one.value} {one.unit}".removesuffix(" 1"), one.note)
            for one in detail.assumed
        ]
        caption = "Numbers of the databases that are assumed, not published or measured"
        blocks.append(words_table(caption, ("record", "number", "value", "why"), rows,
                                  folded=True))  # fmt: skip
    if answer.notes.sources:
        sources = list(answer.notes.sources.items())
        caption = "Documents behind the numbers"
        blocks.append(words_table(caption, ("record", "document"), sources, folded=True))
    blocks.append(words_table("Versions", (), list(answer.versions.items())))
    return Section(ident="provenance", title="Where the numbers come from", blocks=tuple(blocks))


def _convention(answer: SolveResult | EvaluateResult) -> str:
    return f"MFU: {answer.notes.mfu_convention}."


def job_rows(job: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields of a question with their values in words, but those that are not set."""
    return [
        (field_words(name), value_words(name, value))
        for name, value in job.items()
        if value is not None
    ]
