"""Pages that people write and commands keep current: regions between two marks.

A page holds regions between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; what a command prints
replaces the text of its own. A long page has others in a folder of its name, as docs/performance.md
has docs/performance/: a region stands on one of them.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import measuring
from measuring import Report, Table

import hardware_db
from planner.base.files import write_atomically


def measured_on() -> str:
    """The machine, the day, how busy it is, and which constants the answers rest on."""
    here = measuring.machine()
    versions = ", ".join(f"{name} {here[name]}" for name in ("planner", "python", "numpy"))
    return (
        f"Measured on {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}: {here['processor']}, "
        f"{here['cores']} cores, {here['system']}; {versions}; hardware_db "
        f"{hardware_db.database_hash()}; "
        f"load average {os.getloadavg()[0]:.1f} at the start."
    )


def holder(page: Path, name: str) -> Path:
    """Which file has a region: a page, or one in the folder of its name."""
    begin, files = f"<!-- begin: {name} -->", [page, *sorted(page.with_suffix("").glob("*.md"))]
    return next((path for path in files if begin in path.read_text(encoding="utf-8")), page)


def parted(page: Path, name: str) -> tuple[str, str]:
    """What the page of a region has before and after its text, marks included."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    text = holder(page, name).read_text(encoding="utf-8")
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    measuring.require(bool(opened and closed), f"{page} has no region {name}")
    return before + begin, end + after


def put(page: Path, name: str, text: str) -> None:
    """Replaces a region of a page."""
    before, after = parted(page, name)
    write_atomically(holder(page, name), f"{before}\n{text}\n{after}")


def told(
    names: Sequence[str], tables_of: Callable[[str], list[Table]], page: Path | None
) -> list[Table]:
    """The tables of some regions, each put into its own of a page as it is done; None: of none."""
    every = list[Table]()
    if page is not None:
        for name in names:
            parted(page, name)
    for name in names:
        words = measured_on()
        tables = tables_of(name)
        every += tables
        if page is not None:
            put_report(page, name, words, Report(name=name, tables=tables))
    return every


def put_report(page: Path, name: str, words: str, report: Report) -> None:
    """Replaces a region of a page by some words and what a report prints."""
    put(page, name, f"{words}\n\n{measuring.as_markdown(report)}")
