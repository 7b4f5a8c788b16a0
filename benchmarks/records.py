"""Which numbers of the databases to read again at their sources, and what was found by reading.

    python benchmarks/records.py --count 100 --seed 31
    python benchmarks/records.py --count 100 --seed 31 --json
    python benchmarks/records.py --kept ../docs/reliability/records.csv [--write PAGE]

Draws numbers of `hardware_db` and `models_db`, each as likely as any other, and prints value, unit
and the places that they come from. Left out are numbers that no public place states: those marked
`assumed`, and what only this project's own pages explain.

`--kept` counts what a person found by reading them again: rows of record, path, value, the kind of
place that was read, the result and what is to be said of it. A number that its record no longer has
is named on standard error, and the exit status is 1: read it again.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import measuring
import pages
from campaigns.rereading import PLACES, RESULTS, Read, changed, drawn, kept, numbers
from measuring import Report, Table


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
