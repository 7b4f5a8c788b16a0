"""Where the numbers of a report come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.report.pages.blocks import Block, Prose, Section, words_table
from planner.report.pages.detail import PlanDetail
from planner.report.tables.likely import spread_words
from planner.results.result import EvaluateResult, SolveResult

_UNITS = {"_w": " W", "_w_per_chip": " W per chip", "_bytes": " bytes"}


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
    return [_words(name, value) for name, value in job.items() if value is not None]


def _words(name: str, value: Any) -> tuple[str, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    words = f"{value:,.10g}" if number and not isinstance(value, int) else str(value)
    if isinstance(value, int) and number:
        words = f"{value:,}"
    for ending, unit in sorted(_UNITS.items(), key=lambda item: -len(item[0])):
        if name.endswith(ending):
            return name.removesuffix(ending).replace("_", " "), words + unit
    return name.replace("_", " "), words
