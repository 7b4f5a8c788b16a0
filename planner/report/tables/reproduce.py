"""What `planner reproduce` prints: documents, their items, and numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, plural, show_bytes, show_count, show_joules, show_seconds
from planner.report.tables.tables import SplitTable, indented, section, spaced, table
from planner.studies.reproduce.documents import Document, Item, Value
from planner.studies.reproduce.found import Line, Reproduced

HEADER = ("what", "document", "ours", "difference")
_SHOWN: dict[str, Callable[[float], str]] = {
    "B": show_bytes,
    "B/s": lambda value: f"{show_bytes(value)}/s",
    "s": show_seconds,
    "J": show_joules,
    "%": lambda value: f"{plain(value)} %",
    "FLOP": lambda value: f"{value:.3g} FLOP",
}
_COUNTED = 1e6
"""From here on numbers have a prefix."""


def documents_view(documents: Sequence[Document]) -> RenderableType:
    """What there is."""
    rows = [
        (one.number, one.name, plural(len(one.items), "item"), f"{one.title} ({one.authors})")
        for one in documents
    ]
    names = table(("number", "name", "", "document"), rows, whole=("name", ""))
    return spaced(([names], [Text(f"next: planner reproduce {documents[0].number}")]))


def items_view(document: Document) -> RenderableType:
    """The items of a document."""
    rows = [(item.name, item.title, item.place) for item in document.items]
    names = table(("item", "about", "in the document"), rows, whole=("item",))
    title = f"{document.number} {document.name}: {document.title}, {document.authors}"
    more = f"next: planner reproduce {document.number} {document.items[0].name}"
    return spaced(([Text(title, style="bold")], [names], [Text(more)]))


def item_view(one: Reproduced) -> RenderableType:
    """An item with its numbers, why they differ, and the command that does it in full."""
    title = f"{one.document.number} {one.item.name}: {one.item.title} ({one.item.place})"
    parts: list[RenderableType] = [
        SplitTable(HEADER, number_rows(one), by=("what",), right=HEADER[1:])
    ]
    parts += [indented([words]) for words in words_of(one)]
    for rows in one.found.tables:
        header = [name or " " for name in rows.header]
        parts += [Text(), Text(rows.title), SplitTable(header, rows.rows, by=header[:1])]
    return section(title, *parts)


def every_view(every: Sequence[Reproduced]) -> RenderableType:
    """All items that were run, and how many numbers agree."""
    return Group(spaced([item_view(one)] for one in every), Text(), Text(counted_words(every)))


def counted_words(every: Sequence[Reproduced]) -> str:
    """How many numbers agree."""
    lines = [line for one in every for line in one.lines]
    same = sum(line.agrees for line in lines)
    return (
        f"{plural(len(lines), 'number')} of {plural(len(every), 'item')}: {same} agree, "
        f"{len(lines) - same} differ, each with its reason."
    )


def number_rows(one: Reproduced) -> tuple[tuple[str, ...], ...]:
    """The lines of `HEADER`."""
    return tuple(
        (
            line.expected.what,
            value_words(line.expected.says, line.expected.unit),
            value_words(line.ours, line.expected.unit),
            difference_words(line),
        )
        for line in one.lines
    )


def words_of(one: Reproduced) -> tuple[str, ...]:
    """Why numbers differ, what else is to be known, and the command."""
    why = [f"{x.expected.what}: {x.expected.why}" for x in one.lines if x.expected.why]
    return (*why, *filter(None, [one.item.note]), command_words(one.item))


def command_words(item: Item) -> str:
    """The command that does an item in full."""
    return f"in full: {item.command}"


def value_words(value: Value, unit: str) -> str:
    """A number with its unit, `yes` or `no`, or the words themselves."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit in _SHOWN:
        return _SHOWN[unit](value)
    number = show_count(value) if abs(value) >= _COUNTED else plain(value, 4)
    return f"{number} {unit}".strip()


def difference_words(line: Line) -> str:
    """`agrees`, or by how much they differ."""
    if line.agrees:
        return "agrees"
    if line.difference is None:
        return "differs"
    return f"{'+' if line.difference > 0 else '-'}{plain(100 * abs(line.difference))} %"
