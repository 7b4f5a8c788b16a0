"""Intervals fitted to the published runs, and how often they contain what was measured.

python -m planner.evidence.left_out.coverage                  prints how often, per class and
source python -m planner.evidence.left_out.coverage --write          replaces the section
`intervals` of the
                                                       shipped constants; the same data and
                                                       constants give the same bytes
python -m planner.evidence.left_out.coverage --page FILE.md   replaces the tables of a page
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from hardware_db import Calibration, load_calibration
from planner.base.arrays import FloatArray
from planner.base.files import read_text, write_atomically
from planner.base.progress import Progress
from planner.cost.breakdown import Breakdown
from planner.cost.intervals import has_fitted_chip
from planner.evidence.csvfile import published
from planner.evidence.left_out.interval_fit import (
    Entry,
    Outcome,
    classes,
    fit_intervals,
    is_sound,
    weights,
    within_site,
)
from planner.evidence.runs.reading import MeasuredRun, read_runs
from planner.evidence.validation.predicting import Constants, Costed, costs_by_table

__all__ = [
    "Covered", "Outcome", "coverage", "fit_intervals", "markdown", "outcomes", "with_section",
    "with_tables",
]  # fmt: skip

_FILE = "default.yaml"
_HEADING = "  intervals:\n"
_BEGIN, _END = "<!-- begin: coverage -->\n", "<!-- end: coverage -->\n"


def outcomes(
    calibration: Calibration | None = None,
    on_progress: Progress | None = None,
) -> list[Outcome]:
    """Every shipped run of a set that can be predicted, without site factors.

    Args:
        calibration: The constants; default the shipped ones.
        on_progress: Called with (what, done, of).
    """
    cells = {entry["id"]: entry["cell"] for entry in published("sets")}
    runs = [measured for measured in read_runs().runs if measured.run.key in cells]
    found: dict[int, Outcome] = {}
    for rows, table in costs_by_table(runs, Constants.of(calibration), on_progress):
        if not isinstance(table, Costed):
            continue  # `planner validate` lists them
        fitted = has_fitted_chip(table.model.chip, calibration)
        for at, row in enumerate(rows):
            cell = cells[runs[row].run.key]
            found[row] = _outcome(runs[row], cell, table.costs, at, fitted=fitted)
    return [found[row] for row in sorted(found)]


def _outcome(
    measured: MeasuredRun, cell: str, costs: Breakdown, at: int, *, fitted: bool
) -> Outcome:
    """One run with its costs, which are those of row `at`."""
    run = measured.run
    batch = (run.job.global_batch, run.job.seq_len, run.job.precision)
    return Outcome(
        key=run.key,
        source=measured.set_name,
        cell=cell,
        split=measured.split,
        gold=measured.gold,
        job=repr((run.group, run.job.model.name, run.plan.chips, *batch)),
        era=run.job.era,
        framework=run.job.framework.name,
        experts=run.job.model.moe is not None,
        adapters=run.job.kind == "lora",
        fitted_chip=fitted,
        measured_s=run.measured_step_time_s,
        predicted_s=float(costs.step_time_s[at]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How often the intervals of a class or source contain what was measured.

    Attributes:
        name: Class, or source.
        rows, sources: Of the fit split.
        low, high: Factors of the class; NaN for a source.
        fit: Share of rows of the fit split inside.
        test: Share of rows of the test split inside, of dense classes the gold ones; None
            without any.
        test_rows: Rows of it.
        left_out: Mean share over sources, each with the interval that the other sources give;
            None where there is no other source.
    """

    name: str
    rows: int
    sources: int
    low: float
    high: float
    fit: float
    test: float | None
    test_rows: int
    left_out: float | None


def _inside(rows: Iterable[Outcome], low: float, high: float) -> list[bool]:
    return [low <= outcome.measured_s / outcome.predicted_s <= high for outcome in rows]


def _share(inside: Sequence[bool]) -> float | None:
    return float(np.mean(inside)) if inside else None


def class_of(outcome: Outcome) -> str:
    """The class of a row without a local calibration, as `planner.cost.intervals` chooses it."""
    if not outcome.fitted_chip:
        return "unfitted_chip"
    return f"dense.{outcome.era}" if outcome.kind == "dense" else outcome.kind


def coverage(found: Iterable[Outcome]) -> list[Covered]:
    """One record per class, then one per source of sound rows, then `gold` and `all sound`."""
    sound = [outcome for outcome in found if is_sound(outcome)]
    fit = [outcome for outcome in sound if outcome.split != "test"]
    ends = {name: (low, high) for name, (low, high, _) in classes(fit).items()}
    without = {
        source: classes([o for o in fit if o.source != source])
        for source in sorted({o.source for o in fit})
    }

    def kept(rows: Sequence[Outcome]) -> list[bool]:
        return [_inside([o], *ends[class_of(o)])[0] for o in rows if class_of(o) in ends]

    def record(name: str, rows: Sequence[Outcome]) -> Covered:
        low, high = ends.get(name, (float("nan"), float("nan")))
        mine = [o for o in rows if o.split != "test"]
        test = [o for o in rows if o.split == "test"]
        gold = [o for o in test if o.gold or not class_of(o).startswith("dense")]
        return Covered(
            name=name,
            rows=len(mine),
            sources=len({o.source for o in mine}),
            low=low,
            high=high,
            fit=_share(kept(mine)) or 0.0,
            test=_share(kept(gold)),
            test_rows=len(gold),
            left_out=_left_out(rows, without),
        )

    groups: dict[str, list[Outcome]] = {
        name: [o for o in sound if class_of(o) == name] for name in ends if name != "dense.any"
    }
    groups |= {source: [o for o in sound if o.source == source] for source in without}
    groups["dense"] = [o for o in sound if class_of(o).startswith("dense")]
    groups["gold"] = [o for o in sound if o.gold]
    groups["all sound"] = sound
    return [record(name, rows) for name, rows in groups.items()]


def _left_out(
    rows: Sequence[Outcome],
    without: dict[str, dict[str, tuple[float, float, list[Outcome]]]],
) -> float | None:
    """Mean over sources of the share inside the intervals that the other sources give."""
    by_source: dict[str, list[bool]] = defaultdict(list)
    for outcome in rows:
        others = without.get(outcome.source, {})
        name = class_of(outcome)
        name = name if name in others or not name.startswith("dense") else "dense.any"
        if name in others:
            by_source[outcome.source] += _inside([outcome], *others[name][:2])
    return float(np.mean([np.mean(some) for some in by_source.values()])) if by_source else None


def section(entries: Iterable[Entry]) -> str:
    """The section `intervals` in YAML, four significant digits."""
    tree: dict[str, object] = {}
    for entry in entries:
        *outer, last = entry.path.split(".")
        node = tree
        for step in outer:
            node = node.setdefault(step, {})  # type: ignore[assignment]
        node[last] = entry
    return _HEADING + "".join(_lines(tree, 4))


def _lines(tree: dict[str, object], indent: int) -> Iterator[str]:
    pad = " " * indent
    for key, node in tree.items():
        name = key if key[0].isalpha() else f"'{key}'"  # the 04 of 2026.04 is no number
        if isinstance(node, dict):
            yield f"{pad}{name}:\n"
            yield from _lines(node, indent + 2)
        elif isinstance(node, Entry):
            fields = "unit: '1', kind: derived, source: fit"
            note = f"\n{pad}  note: {node.note}" if node.note else ""
            value = f"{node.value:.4g}"
            if note:
                block = fields.replace(", ", f"\n{pad}  ")
                yield f"{pad}{name}:\n{pad}  value: {value}\n{pad}  {block}{note}\n"
            else:
                yield f"{pad}{name}: {{value: {value}, {fields}}}\n"


def with_section(text: str, entries: Iterable[Entry]) -> str:
    """The text of a calibration file with its section `intervals` replaced, or added last.

    Raises:
        ValueError: It is not laid out as the shipped file: `constants:`, then `sources:`.
    """
    start = text.find(_HEADING)
    if start < 0:
        start = end = text.find("\nsources:\n") + 1
        if start == 0:
            raise ValueError("no line 'sources:' in the calibration file")
    else:
        end = start + len(_HEADING)
        while end < len(text) and text.startswith("    ", end):
            end = text.index("\n", end) + 1
    return text[:start] + section(entries) + text[end:]


_HEADER = ("class or source", "rows", "sources", "low", "high", "fit", "test", "left out")


def _cells(one: Covered) -> tuple[str, ...]:
    """A record as the columns of `_HEADER`."""
    test = "-" if one.test is None else f"{100 * one.test:.0f} % of {one.test_rows}"
    left = "-" if one.left_out is None else f"{100 * one.left_out:.0f} %"
    ends = ("-", "-") if np.isnan(one.low) else (f"{one.low:.3f}", f"{one.high:.3f}")
    counts = (f"{one.rows:,}", f"{one.sources}")
    return (one.name, *counts, *ends, f"{100 * one.fit:.0f} %", test, left)


def _local_line(
    name: str, entries: Mapping[str, float], errors: FloatArray, rows: Sequence[Outcome]
) -> str:
    """The line of a local class: its factors and how often they hold."""
    low, high = (entries[f"time.local.{name}.{end}"] for end in ("low", "high"))
    inside = (errors >= np.log(low)) & (errors <= np.log(high))
    test = np.array([o.split == "test" and (o.gold or o.experts) for o in rows])
    mean = np.average(inside, weights=weights(rows))
    share = f"{100 * inside[test].mean():.0f} % of {test.sum()}" if test.any() else "-"
    return f"| {name} | {low:.3f} | {high:.3f} | {share} | {100 * mean:.0f} % |"


def markdown(found: Sequence[Outcome]) -> str:
    """The coverage of every class and source, and of the local classes, as Markdown tables."""
    lines = ["| " + " | ".join(_HEADER) + " |", "|---" + "|--:" * (len(_HEADER) - 1) + "|"]
    lines += ["| " + " | ".join(_cells(one)) + " |" for one in coverage(found)]
    lines += ["", "| local class | low | high | test | by source |", "|---|--:|--:|--:|--:|"]
    entries = {entry.path: entry.value for entry in fit_intervals(found)}
    dense, experts = (within_site(found, experts=kind) for kind in (False, True))
    for era in sorted({o.era for o in dense[1]}):
        some = np.array([o.era == era for o in dense[1]])
        rows = [o for o in dense[1] if o.era == era]
        lines.append(_local_line(f"dense.{era}", entries, dense[0][some], rows))
    lines.append(_local_line("experts", entries, *experts))
    factors = [entries[f"tie.{name}.factor"] for name in ("dense", "experts")]
    jobs, plans = entries["tie.dense.jobs"], entries["tie.dense.pairs"]
    lines += [
        "",
        f"Two plans of one job: within a factor of {factors[0]:.3f} in 80 % of {plans:,} pairs, "
        f"each job counting the same; {jobs} jobs from {entries['tie.dense.sources']} sources; "
        f"experts {factors[1]:.3f}.",
    ]
    return "\n".join(lines) + "\n"


def with_tables(text: str, tables: str) -> str:
    """The text of a page with its marked region replaced.

    Raises:
        ValueError: The page has no such region.
    """
    start, end = text.find(_BEGIN), text.find(_END)
    if start < 0 or end < start:
        raise ValueError(f"no region {_BEGIN.strip()} ... {_END.strip()} in the page")
    return text[: start + len(_BEGIN)] + "\n" + tables + "\n" + text[end:]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="replace the section of the file")
    parser.add_argument("--page", type=Path, help="Markdown page whose tables are replaced")
    asked = parser.parse_args(arguments)
    watched = sys.stderr.isatty()

    def progress(what: str, done: int, of: int) -> None:
        if watched:
            print(f"\rpredicting {what} {done:,} of {of:,}", end="", file=sys.stderr)

    found = outcomes(load_calibration(), progress)
    if watched:
        print(file=sys.stderr)
    tables = markdown(found)
    print(tables, end="")
    if asked.page is not None:
        write_atomically(asked.page, with_tables(read_text(asked.page), tables))
    if asked.write:
        with resources.as_file(resources.files("hardware_db")) as root:
            path = Path(root) / "data" / "calibration" / _FILE
            write_atomically(path, with_section(read_text(path), fit_intervals(found)))
            print(f"written: {path.name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
