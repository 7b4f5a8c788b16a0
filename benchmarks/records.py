"""Which numbers of the databases to read again at their sources, and what was found by reading.

    python benchmarks/records.py --count 100 --seed 31
    python benchmarks/records.py --count 100 --seed 31 --json
    python benchmarks/records.py --kept ../docs/reliability/records.csv [--write PAGE]

Draws numbers of `hardware_db` and `models_db`, each as likely as any other, and prints value, unit
and the places that they come from. Left out are numbers that no public place states: those marked
`assumed`, and what only this project's own pages explain.

`--kept` counts what a person found by reading them again: rows of record, path, value, the kind of
place that was read, the result (one of `RESULTS`) and what is to be said of it. A number that its
record no longer has is named on standard error, and the exit status is 1: read it again.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import measuring
import pages
from measuring import Report, Table

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


def draw_report(count: int, seed: int) -> Report:
    """The numbers that were drawn, a row each."""
    chosen, of = drawn(count, seed)
    rows: list[dict[str, measuring.Cell]] = [
        {
            "record": one.record, "path": one.path, "value": json.dumps(one.value),
            "unit": one.unit, "kind": one.kind, "note": one.note,
            "sources": "; ".join(f"{title} ({place})" for title, place in one.sources),
        }
        for one in chosen
    ]  # fmt: skip
    title = f"{len(rows)} of {of:,} numbers that public places state (seed {seed})"
    return Report(name="records", tables=[Table(title=title, rows=rows)])


def kept(path: Path) -> list[Read]:
    """The rows of a kept file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [Read(**row) for row in csv.DictReader(file)]
    wrong = [row for row in rows if row.result not in RESULTS or row.place not in PLACES]
    measuring.require(not wrong, f"{path}: unknown result or place in {wrong[:1]}")
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


def kept_report(rows: Sequence[Read]) -> Report:
    """How many numbers were found as their sources say, by kind of place."""
    counts = Counter((row.place, row.result) for row in rows)
    lines: list[dict[str, measuring.Cell]] = [
        {"place that was read": words, "numbers": sum(counts[place, one] for one in RESULTS),
         **{said: counts[place, one] for one, said in RESULTS.items()}}
        for place, words in PLACES.items()
    ]  # fmt: skip
    total: dict[str, measuring.Cell] = {"place that was read": "all"}
    for column in [*lines[0]][1:]:
        total[column] = sum(measuring.figure(line, column) for line in lines)
    title = f"Numbers of the databases, read again at their sources, of {len(list(numbers())):,}"
    return Report(name="records", tables=[Table(title=title, rows=[*lines, total])])


def main() -> int:
    """Draws numbers, or counts what was found, and returns whether a kept row is out of date."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--count", type=measuring.positive, default=100, help="how many numbers")
    parser.add_argument("--seed", type=int, default=31, help="of the draw")
    parser.add_argument("--kept", metavar="CSV", type=Path, help="count what was found instead")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="keep the counts in the page")
    wanted = parser.parse_args()
    if wanted.kept is None:
        measuring.show(draw_report(wanted.count, wanted.seed), wanted)
        return 0
    rows = kept(wanted.kept)
    stale = list(changed(rows))
    for line in stale:
        print(f"wrong: {line}", file=sys.stderr)
    report = kept_report(rows)
    if wanted.write is not None:
        pages.put(wanted.write, "records", measuring.as_markdown(report))
    measuring.show(report, wanted)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
