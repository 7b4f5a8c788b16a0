"""What the benchmarks share: one thread, CPU time, peak memory, checks, the machine, and tables.

Import this module before numpy: it pins the numerical libraries to one thread, so that CPU
seconds are seconds on one core.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import planner

if "numpy" in sys.modules:
    raise RuntimeError("import `measuring` before numpy, so that it can pin threads")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Repeated measurements of one thing, (r,) each.

    Attributes:
        seconds: CPU seconds of each repetition, in order.
    """

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least: what the work costs when nothing else disturbs the caches."""
        return min(self.seconds)


def cpu_seconds(work: Callable[[], object], repeats: int) -> Samples:
    """CPU seconds of this process for each of `repeats` calls of `work`."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return Samples(seconds=tuple(seconds))


def cpu_seconds_for(work: Callable[[], object], budget_s: float, least: int = 3) -> Samples:
    """`cpu_seconds`, repeated until `budget_s` are spent, but at least `least` times."""
    seconds: list[float] = []
    while len(seconds) < least or sum(seconds) < budget_s:
        seconds += cpu_seconds(work, 1).seconds
    return Samples(seconds=tuple(seconds))


def require(holds: bool, what: str) -> None:
    """Ends the program with exit status 1 unless a check holds; called before anything is timed.

    Raises:
        SystemExit: It does not hold.
    """
    if not holds:
        raise SystemExit(f"error: {what}; nothing was timed")


def peak_bytes() -> int:
    """Largest resident set of this process so far (Linux counts it in KiB, macOS in bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def machine() -> dict[str, Cell]:
    """Processor, cores and versions; nothing that names the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "planner": planner.__version__,
    }


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def figure(row: Mapping[str, Cell], column: str) -> float:
    """The number in a cell."""
    value = row[column]
    assert isinstance(value, int | float), f"{column}: {value!r}"
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of figures.

    Attributes:
        title: What they are, with the unit where all columns share one.
        rows: Column title to cell; all rows have the same columns.
    """

    title: str
    rows: Sequence[dict[str, Cell]]

    @property
    def columns(self) -> list[str]:
        """Titles of the columns."""
        return list(self.rows[0]) if self.rows else []


@dataclass(slots=True, kw_only=True)
class Report:
    """What a benchmark prints.

    Attributes:
        name: Of the script.
        tables: In the order printed.
        notes: Sentences below the tables.
        facts: Further figures for `--json`.
    """

    name: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def parser(description: str, *, quick: bool = False) -> argparse.ArgumentParser:
    """A parser with --json and --markdown, and --quick if the benchmark can be made smaller."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if quick:
        made.add_argument("--quick", action="store_true", help="smallest sizes, only to see it run")
    shape = made.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON object")
    shape.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    return made


def positive(text: str) -> int:
    """A positive whole number, for `argparse`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def show(report: Report, options: argparse.Namespace) -> None:
    """Prints a report as the options ask."""
    if options.json:
        print(json.dumps(_as_json(report), indent=2))
    elif options.markdown:
        print(as_markdown(report))
    else:
        _to_terminal(report)


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "benchmark": report.name,
        "machine": machine(),
        "tables": [{"title": table.title, "rows": list(table.rows)} for table in report.tables],
        "notes": report.notes,
        **report.facts,
    }


def as_markdown(report: Report) -> str:
    """The tables and notes of a report for a page."""
    lines = []
    for table in report.tables:
        numeric = {c: _is_number(table.rows[0][c]) for c in table.columns}
        lines += [f"{table.title}:", "", "| " + " | ".join(table.columns) + " |"]
        lines.append("|" + "|".join(" --: " if numeric[c] else " --- " for c in numeric) + "|")
        lines += [
            "| " + " | ".join(_text(row[c]) for c in table.columns) + " |" for row in table.rows
        ]
        lines.append("")
    lines += [f"* {note}" for note in report.notes]
    return "\n".join(lines).strip()


def show_table(table: Table, options: argparse.Namespace) -> None:
    """Prints one table at once, as Markdown or for people, and where it was measured."""
    if options.markdown:
        print(as_markdown(Report(name=table.title, tables=[table])), flush=True)
    else:
        _to_terminal(Report(name=table.title, tables=[table]))


def _to_terminal(report: Report) -> None:
    from rich.console import Console  # noqa: PLC0415  (memory: see startup.py)
    from rich.table import Table as RichTable  # noqa: PLC0415

    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in report.tables:
        shown = RichTable(title=table.title, title_justify="left")
        for column in table.columns:
            right = _is_number(table.rows[0][column])
            shown.add_column(column, justify="right" if right else "left")
        for row in table.rows:
            shown.add_row(*(_text(row[column]) for column in table.columns))
        console.print(shown)
    for note in report.notes:
        console.print(note, highlight=False)
    console.print(", ".join(f"{name} {value}" for name, value in machine().items()))


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _text(cell: Cell) -> str:
    """A cell for people: thousands separated, three significant digits below 100."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return cell
