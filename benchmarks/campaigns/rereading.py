"""Numbers of the databases, drawn by chance, and what was found by reading their sources again."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hardware_db
import models_db

RESULTS = {
    "same": "as said there",
    "copy": "as others quote it",
    "differs": "not as said there",
    "unread": "not reached",
}
PLACES = {
    "repository": "file of a public repository",
    "vendor": "page of a vendor or an agency",
    "paper": "paper",
    "hub": "Hugging Face",
    "web": "other page",
}
_PUBLIC = re.compile(r"https?://|arXiv:")


class Number(NamedTuple):
    """A number of a record, with the public places that state it.

    Attributes:
        record: Kind of record and name: `chips/h100-sxm5-80`.
        path: Dotted path in the file.
        value: As the record has it: a number, a vector or a table.
        unit, kind, note: As in the record.
        sources: Title and address of each public source.
    """

    record: str
    path: str
    value: Any
    unit: str
    kind: str
    note: str
    sources: tuple[tuple[str, str], ...]


class Read(NamedTuple):
    """What was found by reading a number's source again.

    Attributes:
        record, path: As in `Number`.
        value: What the record had, as JSON.
        place: Kind of place, one of `PLACES`.
        result: One of `RESULTS`.
        said: What is to be said of it, or "".
    """

    record: str
    path: str
    value: str
    place: str
    result: str
    said: str


def records() -> Iterator[tuple[str, Any]]:
    """Every shipped record with its kind and name."""
    for name in hardware_db.list_chips():
        yield f"chips/{name}", hardware_db.load_chip(name)
    for name in hardware_db.list_clusters():
        yield f"clusters/{name}", hardware_db.load_cluster(name)
    for name in hardware_db.list_references():
        yield f"reference/{name}", hardware_db.load_reference(name)
    for name in hardware_db.list_calibrations():
        yield f"calibration/{name}", hardware_db.load_calibration(name)
    for name in models_db.list_models():
        yield f"models/{name}", models_db.load_model(name)


def address(source: hardware_db.Source | models_db.Source) -> str:
    """Where a document is; "" for a file of the user's own."""
    return source.reference if isinstance(source, hardware_db.Source) else source.url or ""


def numbers() -> Iterator[Number]:
    """Every number that a public place is said to state."""
    for record, content in records():
        for path, quantity in content.quantities.items():
            cited = [content.sources[key] for key in quantity.sources]
            public = tuple((one.title, address(one)) for one in cited)
            public = tuple(one for one in public if _PUBLIC.match(one[1]))
            if public and quantity.value is not None and quantity.kind != "assumed":
                yield Number(record, path, quantity.value, quantity.unit, quantity.kind,
                             quantity.note, public)  # fmt: skip


def drawn(count: int, seed: int) -> tuple[list[Number], int]:
    """So many numbers, none twice, and how many there are to draw from."""
    everything = list(numbers())
    return random.Random(seed).sample(everything, min(count, len(everything))), len(everything)


def kept(path: Path) -> list[Read]:
    """The rows of a kept file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [Read(**row) for row in csv.DictReader(file)]
    wrong = [row for row in rows if row.result not in RESULTS or row.place not in PLACES]
    if wrong:
        raise SystemExit(f"error: {path}: unknown result or place in {wrong[0]}")
    return rows


def changed(rows: Sequence[Read]) -> Iterator[str]:
    """Numbers that were read again and that the records do not have any more."""
    values = {
        (record, path): json.dumps(quantity.value)
        for record, content in records()
        for path, quantity in content.quantities.items()
    }
    for row in rows:
        if (now := values.get((row.record, row.path))) != row.value:
            yield f"{row.record} {row.path}: {row.value} was read again, now {now}"
