"""What a function of `planner.studies.reproduce` finds: numbers, tables, and what can be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from frozen_records import dataclass
from planner.studies.reproduce.documents import Document, Expected, Item, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An answer of a study, to be drawn as its own command draws it.

    Attributes:
        answer: Of one of the types that `planner.report.charts.reproduce` knows.
        panels: Charts of it; empty: all.
        labels: Numbers of the document's figures, one for each chart; empty: none.
        note: What is said below the charts, beside their own words; empty: nothing.
    """

    answer: object
    panels: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A table of words."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an item gives here.

    Attributes:
        values: By the keys of `Item.expected`.
        tables: Further figures.
        pictured: What is drawn of it.
    """

    values: Mapping[str, Value]
    tables: tuple[Rows, ...] = ()
    pictured: tuple[Shown, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number of a document beside ours."""

    expected: Expected
    ours: Value

    @property
    def agrees(self) -> bool:
        """Whether they are the same, to the document's last printed digit."""
        return self.expected.agrees(self.ours)

    @property
    def difference(self) -> float | None:
        """Ours over the document's, less 1; None where one is no number, or the document's is 0."""
        says, ours = self.expected.says, self.ours
        if isinstance(says, bool | str) or isinstance(ours, bool | str) or says == 0:
            return None
        return ours / says - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """An item with what it gives here."""

    document: Document
    item: Item
    found: Found

    @property
    def lines(self) -> tuple[Line, ...]:
        """The document's numbers beside ours."""
        return tuple(
            Line(expected=one, ours=self.found.values[one.key]) for one in self.item.expected
        )

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "document": self.document.number,
            "item": self.item.name,
            "place": self.item.place,
            "title": self.item.title,
            "command": self.item.command,
            "note": self.item.note,
            "values": [
                {
                    "key": line.expected.key,
                    "what": line.expected.what,
                    "unit": line.expected.unit,
                    "document": line.expected.says,
                    "ours": line.ours,
                    "difference": line.difference,
                    "agrees": line.agrees,
                    "why": line.expected.why,
                }
                for line in self.lines
            ],
            "tables": [
                {"title": one.title, "header": list(one.header), "rows": list(map(list, one.rows))}
                for one in self.found.tables
            ],
        }
