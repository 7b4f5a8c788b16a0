"""Writes docs/reproduce.md: what `planner reproduce --all` finds, as a page.

python benchmarks/reproduce.py --write docs/reproduce.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.report.tables.reproduce import (
    HEADER,
    counted_words,
    difference_words,
    value_words,
)
from planner.studies.reproduce.found import Line, Reproduced
from planner.studies.reproduce.running import reproduce_all

_INTRODUCTION = """# Which numbers of five documents are found again?

`planner reproduce` runs the figures, tables, questions and headline numbers of five documents
with the ordinary studies, and says what differs and why. A number agrees where it is the
document's, rounded or cut off at its last printed digit. This page is written by
`python benchmarks/reproduce.py --write docs/reproduce.md`; a test compares it with the command.

```sh
planner reproduce
planner reproduce 003
planner reproduce 003 q3
planner reproduce 001 --all --html ridgeline.html
planner reproduce 004 fronts --resynthesize
```

`--all --html reproduce.html` gives one page with every picture, `--json` all of it for programs.
What each document prints is data, one file per document in `planner/studies/reproduce/data`; a new
item is an entry there and a function of its name."""


def page(every: Sequence[Reproduced]) -> str:
    """The page about all items."""
    parts = [_INTRODUCTION, f"**{counted_words(every)}**"]
    for number in dict.fromkeys(one.document.number for one in every):
        parts += _document([one for one in every if one.document.number == number])
    return "\n\n".join(parts) + "\n"


def _document(items: list[Reproduced]) -> Iterator[str]:
    """The section of a document: its differences in full, what agrees in a line per item."""
    of = items[0].document
    yield f"## {of.number} {of.name}"
    source = f"<{of.source}>" if of.source.startswith("http") else of.source
    yield f"{of.authors}, *{of.title}* ({source})."
    differing = [(one, line) for one in items for line in one.lines if not line.agrees]
    if differing:
        yield "\n".join(
            [
                _row(("item", *HEADER, "why")),
                "|---|---|---|---|---|---|",
                *(_row((one.item.name, *_cells(line), line.expected.why))
                  for one, line in differing),
            ]
        )  # fmt: skip
    yield "\n".join(
        ["| item | place | agrees |", "|---|---|---|", *(_agreeing(one) for one in items)]
    )


def _agreeing(one: Reproduced) -> str:
    """An item with what agrees."""
    told = [
        f"{line.expected.what} {value_words(line.ours, line.expected.unit)}"
        for line in one.lines
        if line.agrees
    ]
    return _row((one.item.name, one.item.place, "; ".join(told) or "-"))


def _cells(line: Line) -> tuple[str, ...]:
    unit = line.expected.unit
    return (
        line.expected.what,
        value_words(line.expected.says, unit),
        value_words(line.ours, unit),
        difference_words(line),
    )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def main() -> None:
    """Runs everything and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, required=True, help="the page")
    parser.parse_args().write.write_text(page(reproduce_all()), encoding="utf-8")


if __name__ == "__main__":
    main()
