"""Writes the tables and pictures of docs/accuracy.md, from what `planner validate` answers.

The page and those in the folder of its name, docs/accuracy/, hold regions between
`<!-- begin: NAME -->` and `<!-- end: NAME -->`; each known region is replaced, the others are left
alone. The pictures go into the folder `pictures` beside the page.
Without --write the tables are printed as Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import write_all
from planner.evidence.validation.answer import Validation, validate
from planner.evidence.validation.measured_runs import Runs
from planner.report.charts.validation import runs_picture, sources_picture
from planner.report.pages.picture_file import write_picture
from planner.report.tables import validation_tables as view
from planner.report.tables.energy import energy_tables
from planner.report.tables.failure_tables import failure_tables
from planner.report.tables.families import family_tables
from planner.report.tables.left_out import left_out_tables
from planner.report.tables.transfer import transfer_tables

PICTURES = ("accuracy-runs.svg", "accuracy-sources.svg")


def regions(answer: Validation) -> dict[str, str]:
    """The tables of the page as Markdown, by the name of their region."""
    runs = answer.runs
    assert runs is not None
    scores = [*runs.sources, *runs.aggregates]
    tables = {
        "summary": view.summary_table(runs),
        "time": view.time_table(scores, site=False),
        "site": view.time_table(scores, site=True),
        "choice": view.choice_table(scores),
        "memory": view.memory_table(scores),
        "power": view.power_table(scores),
        "targets": view.target_table(runs.targets),
        "others": view.peer_table(runs.sources, runs.peers),
        "intervals": view.interval_table(scores),
        "rules": view.rule_table(runs),
        "filled": view.filled_table(runs),
        "collectives": view.collective_table(answer),
        "collectives-nccl": view.nccl_table(answer),
        "microbench": view.microbench_table(answer),
    }
    assert answer.failures is not None
    assert answer.energy is not None
    assert answer.sources_left_out is not None
    assert answer.transfer is not None
    assert answer.families is not None
    kinds, sources = left_out_tables(answer.sources_left_out)
    tables |= {"left-out-kinds": kinds, "left-out": sources}
    several = {
        "failures": failure_tables(answer.failures),
        "energy": energy_tables(answer.energy),
        "transfer": transfer_tables(answer.transfer),
        "families": family_tables(answer.families),
    }
    found = {name: as_markdown(table) for name, table in tables.items()}
    found |= {name: "\n\n".join(map(as_markdown, some)) for name, some in several.items()}
    return {**found, "skipped": skipped(runs)}


def as_markdown(table: view.Table) -> str:
    """A table of a page, its title above it."""
    title, header, rows = table
    right = [name not in view.TEXT for name in header]
    lines = [f"{title}:", "", _row(header)]
    lines.append("|" + "|".join(" --: " if flush else " --- " for flush in right) + "|")
    return "\n".join([*lines, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def skipped(runs: Runs) -> str:
    """Which rows of the data are not predicted."""
    faults = [row for row in runs.skipped if row.is_fault]
    incomplete = {row.line for row in runs.skipped if not row.is_fault}
    lines = [f"* {len(incomplete):,} rows are marked as not complete in the data."]
    return "\n".join([*lines, *(f"* `{row.key}`: {row.reason}." for row in faults)])


def rewritten(page: str, found: dict[str, str]) -> str:
    """A page with its known regions replaced.

    Raises:
        InputError: A region is missing or has no end.
    """
    for name, text in found.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        before, opening, rest = page.partition(begin)
        _, closing, after = rest.partition(end)
        if not opening or not closing or begin in after:
            raise InputError(f"the page needs {begin} and {end}, once each")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def rewritten_pages(page: Path, found: Mapping[str, str]) -> dict[Path, str]:
    """A page and those in the folder of its name, with their known regions replaced.

    Raises:
        InputError: A region stands on none of them, or has no end.
    """
    files = [page, *sorted(page.with_suffix("").glob("*.md"))]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for name, text in found.items():
        begin = f"<!-- begin: {name} -->"
        holder = next((path for path in files if begin in texts[path]), page)
        texts[holder] = rewritten(texts[holder], {name: text})
    return texts


def main() -> int:
    """Predicts everything, then prints or writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page to rewrite")
    options = parser.parse_args()
    try:
        answer = validate(what="all")
        found = regions(answer)
        if options.write is None:
            print("\n\n".join(found.values()))
            return 0
        texts = rewritten_pages(options.write, found)
        runs = answer.runs
        assert runs is not None
        folder = options.write.parent / "pictures"
        for picture, name in zip((runs_picture, sources_picture), PICTURES, strict=True):
            write_picture(picture(runs), folder / name)
        write_all(texts)
    except (InputError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
