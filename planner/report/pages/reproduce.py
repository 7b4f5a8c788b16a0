"""What `planner reproduce --html` writes: one page with every number and every picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.base.version import __version__
from planner.report.charts.reproduce import pictures_of
from planner.report.pages.blocks import Block, Figure, Prose, Report, Section, words_table
from planner.report.pages.page import page_of
from planner.report.tables.reproduce import HEADER, counted_words, number_rows, words_of
from planner.studies.reproduce.found import Reproduced


def reproduced_page(every: Sequence[Reproduced]) -> str:
    """The page about items that were run."""
    one = every[0].document
    alone = all(other.document == one for other in every)
    report = Report(
        title=f"{one.title}, reproduced" if alone else "Five documents, reproduced",
        verdict=counted_words(every),
        proof="A number agrees that is the document's when rounded or cut off where that is.",
        facts=(),
        sections=tuple(map(_section, every)),
        made_by=f"planner {__version__}",
    )
    return page_of(report)


def _section(one: Reproduced) -> Section:
    ident = f"d{one.document.number}-{one.item.name}"
    return Section(
        ident=ident,
        title=f"{one.document.number} {one.item.name}: {one.item.title}",
        lead=f"{one.item.place[0].upper()}{one.item.place[1:]}.",
        blocks=tuple(_blocks(one, ident)),
    )


def _blocks(one: Reproduced, ident: str) -> Iterator[Block]:
    strong = [at for at, line in enumerate(one.lines) if not line.agrees]
    yield words_table("Numbers", HEADER, number_rows(one), right=(1, 2, 3), strong=strong)
    yield Prose(lines=words_of(one), bullets=True)
    for rows in one.found.tables:
        yield words_table(rows.title, rows.header, rows.rows)
    for at, picture in enumerate(pictures_of(one.found)):
        yield Figure(ident=f"{ident}-{at}", picture=picture)
