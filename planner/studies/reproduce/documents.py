"""What the documents print, as records: read from `data/`, one file per document."""

from __future__ import annotations

import math
from functools import lru_cache
from importlib import resources
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from strict_yaml.cache import load_shipped

NUMBERS = ("000", "001", "002", "003", "004")
"""Documents, and the names of their files."""
Value = float | bool | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One number, verdict or word of a document.

    Attributes:
        key: Names it among those of its item.
        what: What it is.
        says: As the document has it; text that describes a range where `low` and `high` are given.
        unit: Of numbers; empty: none.
        to: Of numbers: one in their last printed digit.
        low, high: Ends of a range that is stated in words.
        why: In one sentence, why ours differs; empty where it does not.
    """

    key: str
    what: str
    says: Value
    unit: str = ""
    to: float = 0.0
    low: float | None = None
    high: float | None = None
    why: str = ""

    def agrees(self, ours: Value) -> bool:
        """Whether ours is what the document says, to its last printed digit, rounded or cut off."""
        if self.low is not None or self.high is not None:
            least = -math.inf if self.low is None else self.low
            most = math.inf if self.high is None else self.high
            return not isinstance(ours, str) and least <= ours <= most
        if isinstance(self.says, bool | str) or isinstance(ours, bool | str):
            return self.says == ours
        over = (ours - self.says) / self.to if self.to else math.inf
        return math.isclose(self.says, ours, rel_tol=1e-9) or -0.5 - 1e-9 <= over < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A figure, table, question or headline number of a document.

    Attributes:
        name: By which it is asked for.
        place: Where it stands in the document.
        title: What it is about.
        command: The ordinary command that does it in full.
        expected: What it prints.
        note: What the reader should know about it; empty: nothing.
    """

    name: str
    place: str
    title: str
    command: str
    expected: tuple[Expected, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document.

    Attributes:
        number, name: By either of which it is asked for.
        title, authors, source: Of the document.
        items: In its order.
    """

    number: str
    name: str
    title: str
    authors: str
    source: str
    items: tuple[Item, ...]

    def item(self, name: str) -> Item:
        """One of its items.

        Raises:
            InputError: There is none of that name.
        """
        names = [item.name for item in self.items]
        if name not in names:
            raise InputError(f"item: {self.number} ({self.name}): {not_one_of(name, names)}")
        return self.items[names.index(name)]


@lru_cache(maxsize=1)
def documents() -> tuple[Document, ...]:
    """All documents, by number."""
    return tuple(map(_read, NUMBERS))


def document_named(name: str) -> Document:
    """A document by its number or short name.

    Raises:
        InputError: There is none of that name.
    """
    known = {key: one for one in documents() for key in (one.number, one.name)}
    if name not in known:
        raise InputError(f"document: {not_one_of(name, list(known))}")
    return known[name]


def _read(number: str) -> Document:
    file = resources.files("planner.studies.reproduce").joinpath("data", f"{number}.yaml")
    fields: dict[str, Any] = load_shipped(file.read_bytes(), f"planner/reproduce/{number}")
    items = tuple(_item(entry) for entry in fields.pop("items"))
    return Document(items=items, **fields)


def _item(fields: dict[str, Any]) -> Item:
    expected = tuple(Expected(**entry) for entry in fields.pop("values"))
    return Item(expected=expected, **fields)
