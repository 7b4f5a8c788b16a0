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
from importlib import resources
from pathlib import Path

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.files import read_text, write_atomically, write_bytes
from planner.base.progress import Progress
from planner.cost.intervals import choices_of, is_other_chip, kind_of, seen_path
from planner.evidence.csvfile import published
from planner.evidence.left_out.constants import (
    INTERVALS,
    Changes,
    changes,
    file_of,
    without,
)
from planner.evidence.left_out.interval_fit import (
    classes,
    ends_of,
    fit_intervals,
    sources_by_seen,
    within_site,
)
from planner.evidence.left_out.outcomes import Entry, Outcome, is_sound, weights
from planner.evidence.runs.reading import MeasuredRun, read_runs
from planner.evidence.validation.predicting import Constants, Costed, costs_by_table

__all__ = [
    "Covered", "Outcome", "coverage", "fit_intervals", "markdown", "outcomes", "with_section",
    "with_tables",
]  # fmt: skip

_FILE = "default.yaml"
_HEADING = "  intervals:\n"
_BEGIN, _END = "<!-- begin: coverage -->\n", "<!-- end: coverage -->\n"


def outcomes(on_progress: Progress | None = None) -> list[Outcome]:
    """Every shipped run of a set that can be predicted, by constants that do not rest on its set.

    Without site factors. So the errors are those to expect on a new source.

    Args:
        on_progress: Called with (what, done, of).
    """
    entries = {entry["id"]: entry for entry in published("sets")}
    by_set: dict[str, list[MeasuredRun]] = defaultdict(list)
    for measured in read_runs().runs:
        if measured.run.key in entries:
            by_set[measured.set_name].append(measured)
    found: list[Outcome] = []
    for done, (name, runs) in enumerate(by_set.items()):
        if on_progress is not None:
            on_progress("sources", done, len(by_set))
        for rows, table in costs_by_table(runs, Constants.of(without(name))):
            if isinstance(table, Costed):  # `planner validate` lists the others
                cells = [entries[runs[row].run.key]["cell"] for row in rows]
                found += [_outcome(runs[row], cells[at], table, at) for at, row in enumerate(rows)]
    return sorted(found, key=lambda outcome: outcome.line)


def _outcome(measured: MeasuredRun, cell: str, table: Costed, at: int) -> Outcome:
    """One run with its costs, which are those of row `at`."""
    run = measured.run
    batch = (run.job.global_batch, run.job.seq_len, run.job.precision)
    kind = kind_of(run.job)
    return Outcome(
        line=measured.line,
        source=measured.set_name,
        cell=cell,
        split=measured.split,
        gold=measured.gold,
        job=repr((run.group, run.job.model.name, run.plan.chips, *batch)),
        era=run.job.era,
        kind=kind,
        seen=seen_path(kind, run.job.framework.name, table.model.chip),
        other_chip=is_other_chip(table.model.chip),
        choices=tuple(choices_of(table.plans)[at].tolist()),
        measured_s=run.measured_step_time_s,
        predicted_s=float(table.costs.step_time_s[at]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How often the intervals of a class or source contain what was measured.

    Attributes:
        name: Class, or source.
        rows, sources: Of the fit split.
        low, high: Factors of the class; NaN for a source.
        fit: Share of rows of the fit split inside; None without any.
        test: Share of rows of the test split inside; None without any.
        test_rows: Rows of it.
        left_out: Mean share over sources, each with the interval that the other sources give.
    """

    name: str
    rows: int
    sources: int
    low: float
    high: float
    fit: float | None
    test: float | None
    test_rows: int
    left_out: float | None


def _share(inside: Sequence[float]) -> float | None:
    return float(np.mean(inside)) if inside else None


class _Ends:
    """Intervals that some rows give, and which rows they contain."""

    def __init__(self, rows: Sequence[Outcome]) -> None:
        self.classes = classes(rows)
        self.seen = set(sources_by_seen(rows))

    def holds(self, outcome: Outcome) -> bool:
        """Whether the measurement of a row is inside its interval."""
        low, high = ends_of(outcome, self.classes, self.seen)
        return low <= outcome.measured_s / outcome.predicted_s <= high


def coverage(found: Iterable[Outcome]) -> list[Covered]:
    """One record per class, then one per source of sound rows, then `gold` and `all sound`."""
    sound = [outcome for outcome in found if is_sound(outcome)]
    fit = [outcome for outcome in sound if outcome.split != "test"]
    whole = _Ends(fit)
    without_source = {
        source: _Ends([o for o in fit if o.source != source])
        for source in sorted({o.source for o in sound})
    }

    def record(name: str, rows: Sequence[Outcome]) -> Covered:
        low, high = whole.classes[name][:2] if name in whole.classes else (np.nan, np.nan)
        mine = [o for o in rows if o.split != "test"]
        test = [o for o in rows if o.split == "test"]
        left_out: dict[str, list[bool]] = defaultdict(list)
        for outcome in rows:
            left_out[outcome.source].append(without_source[outcome.source].holds(outcome))
        return Covered(
            name=name,
            rows=len(mine),
            sources=len({o.source for o in mine}),
            low=low,
            high=high,
            fit=_share([whole.holds(o) for o in mine]),
            test=_share([whole.holds(o) for o in test]),
            test_rows=len(test),
            left_out=_share([float(np.mean(some)) for some in left_out.values()]),
        )

    groups = {name: some for name, (_, _, some) in whole.classes.items() if name != "dense.any"}
    groups |= {source: [o for o in sound if o.source == source] for source in without_source}
    groups["dense"] = [o for o in sound if o.kind == "dense"]
    groups["gold"] = [o for o in sound if o.gold]
    groups["all sound"] = sound
    return [record(name, rows) for name, rows in groups.items()]


def with_intervals(known: Changes, found: Sequence[Outcome]) -> Changes:
    """Constants that differ without each source, with the intervals that the others give.

    Args:
        known: Those of the time model; intervals in it are replaced.
        found: Every outcome.
    """
    whole = _interval_values(found)
    changed: dict[str, dict[str, float | None]] = {}
    for source in sorted({outcome.source for outcome in found if outcome.split != "test"}):
        others = _interval_values([outcome for outcome in found if outcome.source != source])
        model = known.get(source, {})
        changed[source] = {
            **{path: value for path, value in model.items() if not path.startswith(INTERVALS)},
            **{path: others.get(path) for path in whole if others.get(path) != whole[path]},
        }
    return changed


def _interval_values(found: Iterable[Outcome]) -> dict[str, float]:
    """Every constant of the intervals, four significant digits as in the file."""
    return {INTERVALS + entry.path: float(f"{entry.value:.4g}") for entry in fit_intervals(found)}


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
    fit, left = ("-" if x is None else f"{100 * x:.0f} %" for x in (one.fit, one.left_out))
    ends = ("-", "-") if np.isnan(one.low) else (f"{one.low:.3f}", f"{one.high:.3f}")
    return (one.name, f"{one.rows:,}", f"{one.sources}", *ends, fit, test, left)


def _local_line(
    name: str, entries: Mapping[str, float], errors: FloatArray, rows: Sequence[Outcome]
) -> str:
    """The line of a local class: its factors and how often they hold."""
    low, high = (entries[f"time.local.{name}.{end}"] for end in ("low", "high"))
    inside = (errors >= np.log(low)) & (errors <= np.log(high))
    test = np.array([o.split == "test" for o in rows])
    mean = np.average(inside, weights=weights(rows))
    share = f"{100 * inside[test].mean():.0f} % of {test.sum()}" if test.any() else "-"
    return f"| {name} | {low:.3f} | {high:.3f} | {share} | {100 * mean:.0f} % |"


def markdown(found: Sequence[Outcome]) -> str:
    """The coverage of every class and source, and of the local classes, as Markdown tables."""
    lines = ["| " + " | ".join(_HEADER) + " |", "|---" + "|--:" * (len(_HEADER) - 1) + "|"]
    lines += ["| " + " | ".join(_cells(one)) + " |" for one in coverage(found)]
    lines += ["", "| local class | low | high | test | by source |", "|---|--:|--:|--:|--:|"]
    entries = {entry.path: entry.value for entry in fit_intervals(found)}
    dense, experts = (within_site(found, kind) for kind in ("dense", "experts"))
    eras = {era for era in (o.era for o in dense[1]) if f"time.local.dense.{era}.low" in entries}
    for era in sorted(eras):  # those whose rows of the fit are enough for an interval of their own
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

    found = outcomes(progress)
    if watched:
        print(file=sys.stderr)
    tables = markdown(found)
    print(tables, end="")
    if asked.page is not None:
        write_atomically(asked.page, with_tables(read_text(asked.page), tables))
    if asked.write:
        with resources.as_file(resources.files("planner.evidence")) as root:
            path = Path(root) / "data" / "left_out.csv.gz"
            write_bytes(path, file_of(with_intervals(changes(), found)))
        with resources.as_file(resources.files("hardware_db")) as root:
            path = Path(root) / "data" / "calibration" / _FILE
            write_atomically(path, with_section(read_text(path), fit_intervals(found)))
            print(f"written: {path.name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
