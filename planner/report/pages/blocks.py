"""What a report is made of, as immutable data: words, figures and tables, nothing drawn yet."""

from __future__ import annotations

from collections.abc import Sequence

from frozen_records import dataclass
from planner.report.drawing.chart import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One figure of the headline: its name, its value, and a line below."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Paragraphs, or the items of a list; `tone` is empty, good or bad."""

    lines: tuple[str, ...]
    bullets: bool = False
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell: its words, the number by which its column is sorted, and the place it leads to."""

    words: str
    value: float | None = None
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        caption: What it shows.
        header: Names of the columns; none for a table of names and values.
        rows: As many cells each as the header has.
        right: Columns of numbers, from 0.
        strong: Rows that stand out.
        sortable: Whether a page may sort it by a column.
        folded: Whether a page shows only the caption at first.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    sortable: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with an identifier that is unique on the page, and a caption."""

    ident: str
    picture: Picture
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Full records of plans, of which a page shows the one that is chosen.

    Attributes:
        label: What is chosen from.
        records: (key, title, tables) of each.
    """

    label: str
    records: tuple[tuple[str, str, tuple[Table, ...]], ...]


Block = Prose | Table | Figure | Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report; `lead` says in a sentence or two what is seen."""

    ident: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole report.

    Attributes:
        title: What was asked.
        verdict, proof: The answer, and how sure it is, in a sentence each; `tone` as of `Prose`.
        facts: The headline.
        sections: In reading order.
        made_by: Program and versions.
    """

    title: str
    verdict: str
    proof: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    made_by: str
    tone: str = ""


def words_table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    strong: Sequence[int] = (),
    folded: bool = False,
) -> Table:
    """A table of words alone."""
    return Table(
        caption=caption,
        header=tuple(header),
        rows=tuple(tuple(Cell(words=words) for words in row) for row in rows),
        right=tuple(right),
        strong=tuple(strong),
        folded=folded,
    )
