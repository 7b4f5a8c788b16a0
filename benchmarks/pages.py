"""Pages that people write and commands keep current: regions between two marks.

A page holds regions between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; what a command prints
replaces the text of its own.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import measuring
from measuring import Report

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


def parted(page: Path, name: str) -> tuple[str, str]:
    """What a page has before and after the text of a region, marks included."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    before, opened, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    measuring.require(bool(opened and closed), f"{page} has no region {name}")
    return before + begin, end + after


def put(page: Path, name: str, text: str) -> None:
    """Replaces a region of a page."""
    before, after = parted(page, name)
    write_atomically(page, f"{before}\n{text}\n{after}")


def put_report(page: Path, name: str, words: str, report: Report) -> None:
    """Replaces a region of a page by some words and what a report prints."""
    put(page, name, f"{words}\n\n{measuring.as_markdown(report)}")
