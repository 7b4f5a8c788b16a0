"""Whether something is lost, or said with confidence and wrong, or lets somebody in.

    python benchmarks/reliability.py inputs --count 25641 --most-cpu-s 3600 --keep counts.json
    python benchmarks/reliability.py readings --count 100000 --most-cpu-s 1800 --keep counts.json
    python benchmarks/reliability.py options --count 1000
    python benchmarks/reliability.py commands --count 250
    python benchmarks/reliability.py faults
    python benchmarks/reliability.py signals --count 200
    python benchmarks/reliability.py surroundings
    python benchmarks/reliability.py security
    python benchmarks/reliability.py extremes --count 1000
    python benchmarks/reliability.py peaks
    python benchmarks/reliability.py same
    python benchmarks/reliability.py versions --python ../other/bin/python
    python benchmarks/reliability.py lasting --count 2000
    python benchmarks/reliability.py at-once --count 100
    python benchmarks/reliability.py licences
    python benchmarks/reliability.py inputs --count 1000 --write ../docs/reliability.md

Each prints a table with its counts; what is wrong goes to standard error, a line each, and the exit
status is 1 then. `--write` keeps the table in its region of the page. `--seed` draws other cases.
A million inputs take hours: they go on where an earlier run ended, with `--keep`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import measuring
import pages
from campaigns import (
    commands,
    extremes,
    faults,
    forbidden,
    inputs,
    lasting,
    licences,
    options,
    peaks,
    running,
    same,
    security,
    signals,
    surroundings,
)
from measuring import Report, Table

Told = Callable[[str], None]


def _rows(counted: Iterable[tuple[str, Any]], first: str) -> list[dict[str, measuring.Cell]]:
    """A row per thing that was counted, and their sum."""
    rows: list[dict[str, measuring.Cell]] = []
    for name, count in counted:
        rows.append({first: name, **{_title(key): cell for key, cell in asdict(count).items()}})
        print(f"{name}: {rows[-1]}", file=sys.stderr, flush=True)
    total: dict[str, measuring.Cell] = {first: "all"}
    for title in [*rows[0]][1:]:
        cells = [measuring.figure(row, title) for row in rows]
        total[title] = max(cells) if "most" in title else sum(cells)
    return [*rows, total]


def _title(key: str) -> str:
    return key.replace("cpu_s", "CPU s").replace("_mb", " MB").replace("_", " ")


def _inputs(wanted: argparse.Namespace, told: Told) -> Table:
    most_s = math.inf if wanted.most_cpu_s is None else wanted.most_cpu_s
    directly = wanted.part == "readings"
    found = inputs.campaign(
        wanted.count, wanted.seed, told, most_s=most_s, kept=wanted.keep, directly=directly
    )
    what = "Damaged files, read without the command" if directly else "Damaged files"
    return Table(
        title=f"{what} (seed {wanted.seed}); slow: over {running.CPU_S:g} CPU s or "
        f"{running.MEMORY_BYTES / 1e6:g} MB",
        rows=_rows(found.items(), "file"),
    )


def _options(count: int, seed: int, told: Told) -> Table:
    found = options.campaign(count, seed, told)
    return Table(
        title=f"Random combinations of the options of `planner solve`, {count} questions (seed "
        f"{seed})",
        rows=_rows(found.items(), "what has to hold")[:-1],
    )


def _commands(count: int, seed: int, told: Told) -> Table:
    return Table(
        title=f"Random options of every command, {count} lines of each (seed {seed})",
        rows=_rows(commands.campaign(count, seed, told), "command"),
    )


def _faults(_count: int, _seed: int, told: Told) -> Table:
    return Table(
        title="A full disk, Ctrl-C and SIGTERM at every call of open, write, close, fsync, "
        "chmod, rename, link, unlink, mkdir and rmdir, over nothing and over old files",
        rows=_rows(faults.injected(told), "command"),
    )


def _signals(count: int, seed: int, told: Told) -> Table:
    return Table(
        title=f"Commands ended at a random moment by SIGINT, SIGTERM and SIGKILL in turn, {count} "
        f"times each (seed {seed}), with old files in the place of new ones",
        rows=_rows(signals.signalled(count, seed, told), "command"),
    )


def _surroundings(_count: int, _seed: int, told: Told) -> Table:
    return Table(
        title="Three commands that write, in other surroundings",
        rows=_rows(surroundings.surrounded(told), "surroundings"),
    )


def _security(_count: int, _seed: int, told: Told) -> Table:
    modules, found = forbidden.lint()
    for line in found:
        told(line)
    counted = [
        ("modules without eval, exec, pickle, shell, sockets", security.Count(
            tried=modules, faults=len(found))),
        ("exports of hostile names, run with stand-ins", security.scripts(told)),
        ("words quoted for a shell", security.quoted(told)),
        ("reports and pictures of hostile names", security.pages(told)),
        ("pipes, links, devices, folders as output", security.odd_places(told)),
    ]  # fmt: skip
    return Table(title="Security", rows=_rows(counted, "what")[:-1])


def _extremes(count: int, _seed: int, told: Told) -> Table:
    return Table(
        title="Figures of chip, cluster, model and constants at 0.1, 0.5, 0.67, 2 and 10 times",
        rows=_rows(extremes.campaign(count, told), "plan"),
    )


def _peaks(_count: int, _seed: int, told: Told) -> Table:
    found = peaks.campaign(told)
    unchecked = ", ".join(f"{name} ({lacks})" for name, lacks in found.unchecked.items())
    return Table(
        title="Peak rates against units x clock x width of the same record, or against a rate "
        f"that was; of these chips none, for want of what is named: {unchecked}",
        rows=_rows(found.counts.items(), "format"),
    )


def _same(_count: int, _seed: int, told: Told) -> Table:
    questions = ", ".join(f"`{name}`" for name in same.QUESTIONS)
    return Table(
        title=f"Documents of {len(same.QUESTIONS)} commands ({questions}) against those of one "
        "process with hash seed 0, one thread and one worker; near: to 1e-12",
        rows=_rows(same.campaign(told), "what differs"),
    )


def _versions(wanted: argparse.Namespace, told: Told) -> Table:
    return Table(
        title=f"The documents of these {len(same.QUESTIONS)} commands under other Pythons and "
        "versions of the dependencies; near: to 1e-12",
        rows=_rows(same.campaign(told, pythons=wanted.python), "under"),
    )


def _lasting(count: int, seed: int, told: Told) -> Table:
    return Table(
        title=f"Memory of one process along {count:,} different solves (seed {seed}); grown since "
        f"{lasting.FLAT_AFTER}, in percent",
        rows=_rows(lasting.one_process(count, seed, told), "solves")[:-1],
    )


def _at_once(count: int, seed: int, told: Told) -> Table:
    return Table(
        title=f"{count} questions (seed {seed}) asked at once, against one after the other",
        rows=_rows(lasting.at_once(count, seed, told), "how"),
    )


def _licences(_count: int, _seed: int, told: Told) -> Table:
    rows: list[dict[str, measuring.Cell]] = [
        {_title(key): cell for key, cell in asdict(row).items()} for row in licences.campaign(told)
    ]
    return Table(title="Packages that planner and its extras need, as installed", rows=rows)


PARTS: dict[str, Callable[[int, int, Told], Table]] = {
    "options": _options, "commands": _commands, "faults": _faults,
    "signals": _signals, "surroundings": _surroundings,
    "security": _security, "extremes": _extremes, "same": _same, "lasting": _lasting,
    "peaks": _peaks,
    "at-once": _at_once, "licences": _licences,
}  # fmt: skip

OTHERS: dict[str, Callable[[argparse.Namespace, Told], Table]] = {
    "inputs": _inputs, "readings": _inputs, "versions": _versions,
}  # fmt: skip
"""Those that take other options."""


def main() -> int:
    """Tries one part, prints its table, and returns whether something was wrong."""
    parser = measuring.parser(__doc__)
    parser.add_argument("part", choices=(*OTHERS, *PARTS), help="what is tried")
    parser.add_argument("--count", type=measuring.positive, default=100, help="how many cases")
    parser.add_argument("--seed", type=int, default=1, help="of the cases")
    parser.add_argument("--most-cpu-s", type=float, help="of inputs and readings: when it ends")
    parser.add_argument("--keep", type=Path, help="of them: a file of counts, to go on from")
    parser.add_argument(
        "--python", metavar="PATH", type=Path, action="append", default=[],
        help="of versions: another one that has what planner needs",
    )  # fmt: skip
    parser.add_argument("--write", metavar="PAGE", type=Path, help="keep the table in the page")
    wanted = parser.parse_args()
    if wanted.part == "versions" and not wanted.python:
        parser.error("versions needs --python PATH")
    wrong: list[str] = []

    def told(line: str) -> None:
        wrong.append(line)
        print(f"wrong: {line[:2000]}", file=sys.stderr, flush=True)

    started = time.process_time()
    if wanted.part in OTHERS:
        table = OTHERS[wanted.part](wanted, told)
    else:
        table = PARTS[wanted.part](wanted.count, wanted.seed, told)
    report = Report(name="reliability", tables=[table])
    report.notes.append(f"{time.process_time() - started:.0f} CPU s of this process.")
    if wanted.write is not None:
        pages.put_report(wanted.write, wanted.part, pages.measured_on(), report)
    measuring.show(report, wanted)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
