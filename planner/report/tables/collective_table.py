"""The answer of `planner collective synthesize --table` as Rich tables for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner.collectives.questions.answers import load_words
from planner.collectives.questions.table import (
    BEATEN,
    HAD,
    CollectiveTable,
    optimal_in,
    sccl_chunks,
)
from planner.report.tables.collective import machine_words
from planner.report.tables.tables import SplitTable, indented, section, spaced

HEADER = ("collective", "C", "C of SCCL", "S", "R", "R / C", "optimal in", "proved", "R at least")
PUBLISHED = ("collective", "C", "C of SCCL", "S", "R", "said optimal in", "here", "by")


def table_view(table: CollectiveTable) -> RenderableType:
    """Everything that it prints."""
    rows = front_rows(table)
    fronts = SplitTable(HEADER, rows, by=("collective",), right=HEADER[1:5])
    parts: list[list[RenderableType]] = [
        [Text(f"Collectives on {table.machine.label}", style="bold"),
         Text(machine_words(table.machine))],
        [section("Schedules worth having", fronts)],
    ]  # fmt: skip
    if table.published:
        beside = SplitTable(
            PUBLISHED, published_rows(table), by=("collective",), right=PUBLISHED[1:5]
        )
        sources = dict.fromkeys(one.source for one in table.published)
        parts.append([section("Published by others", beside, indented(list(sources)))])
    parts.append([indented(_notes(table), by=0)])
    return spaced(parts)


def front_rows(table: CollectiveTable) -> list[tuple[str, ...]]:
    """The lines of `HEADER`."""
    return [
        (
            one.question.collective,
            f"{row.chunks}",
            f"{sccl_chunks(one, row.chunks)}",
            f"{row.steps}",
            f"{row.rounds}",
            load_words(row.load),
            optimal_in(one, row),
            "yes" if row.proved else "no",
            f"{row.lower_bound}",
        )
        for one in table.fronts
        for row in one.rows
    ]


def published_rows(table: CollectiveTable) -> list[tuple[str, ...]]:
    """The lines of `PUBLISHED`; collectives of which the same is said share one."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in table.published:
        said = (
            f"{one.chunks}",
            f"{one.chunks_sccl}",
            f"{one.steps}",
            f"{one.rounds}",
            one.optimal,
            one.verdict,
            _triple(one.by) if one.by and one.verdict == BEATEN else "",
            one.source,
        )
        alike.setdefault(said, []).append(one.collective)
    rows = [(", ".join(dict.fromkeys(names)), *said[:-1]) for said, names in alike.items()]
    return rows


def _triple(numbers: tuple[int, int, int]) -> str:
    return "({}, {}, {})".format(*numbers)


def _notes(table: CollectiveTable) -> list[str]:
    """What is not proved, and how chunks count."""
    left = [one.question.collective for one in table.fronts if not one.front.complete]
    notes = ["C of SCCL: chunks of what a chip holds; of an alltoall those of all pairs."]
    if left:
        notes.append(
            f"Further rows are not excluded of {', '.join(left)}: ask for each, --collective "
            f"{left[0]} --pareto, to see why."
        )
    if all(one.verdict in (HAD, BEATEN) for one in table.published) and table.published:
        notes.append("Every published row is had or beaten: no more steps, no more rounds per C.")
    return notes
