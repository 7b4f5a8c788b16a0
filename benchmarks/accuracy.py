"""Predicted against published step times and peak memory, per set of runs: shipped or your own.

--runs names a CSV file (.gz for a compressed one) with one published run per row. Columns (empty
cells are filled by the rules of `planner.validation.rows`, which also lists what each may hold):

  id, group, model_name           text; rows of one group are plans of one job
  n_layers, d_model, n_heads, n_kv_heads, d_ff, gated_mlp (0/1), vocab, seq_len
  moe_experts, moe_topk, moe_d_ff
  hardware                        a chip or cluster of planner's database
  n_chips, chips_per_node, inter_node_net
  tp, sp (0/1), pp, interleave_v, cp, ep, sharding, micro_batch_seqs, recompute
  global_batch_seqs, precision
  step_time_s                     measured; rows without it are left out
  peak_mem_gib_per_chip           measured, or empty

--sets names a CSV file with the columns id, set (which rules fill gaps), and, if it has them,
gold (1: the row counts) and split (fit: constants were fitted to it; test: they were not).
Rows that are in only one of the files are left out and counted.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
from measuring import Report, Table

from planner.assumptions import calibrated
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.errors import InputError
from planner.plan import PlanTable
from planner.validation.rows import Run, run_of

_BEGIN, _END = "<!-- begin: tables -->", "<!-- end: tables -->"
_DATA = Path(__file__).parent.parent / "planner" / "validation" / "data"
_NEEDED = {
    "--runs": ("id", "hardware", "n_chips", "step_time_s", "model_name"),
    "--sets": ("id", "set"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One run, predicted.

    Attributes:
        set_name, split: As in the sets file ("" without a split).
        error: Predicted over measured step time, minus one.
        memory_error: The same of peak bytes per chip; None where none were published.
    """

    set_name: str
    split: str
    error: float
    memory_error: float | None


def predicted(run: Run) -> tuple[float, float]:
    """Step time (s) and bytes per chip of a published run with the shipped constants.

    Raises:
        InputError: The plan or the cluster cannot be used.
    """
    assumptions = calibrated(run.cluster.chip, run.job.era, run.job.precision)
    model = CostModel.build(run.job, run.cluster, assumptions)
    costs = evaluate_table(model, PlanTable.from_plans([run.plan]))
    return float(costs.step_time_s[0]), float(costs.memory_per_chip_bytes[0])


def outcome(row: dict[str, str], entry: dict[str, str]) -> Outcome:
    """One row of the files, predicted and compared.

    Raises:
        InputError: The row cannot be used.
    """
    run = run_of(row)
    seconds, held = predicted(run)
    gib = float(row.get("peak_mem_gib_per_chip") or 0)
    return Outcome(
        set_name=entry["set"],
        split=entry.get("split", ""),
        error=seconds / run.measured_step_time_s - 1,
        memory_error=held / (gib * 2**30) - 1 if gib > 0 else None,
    )


def outcomes(
    runs: dict[str, dict[str, str]], sets: Iterable[dict[str, str]], *, all_rows: bool
) -> tuple[list[Outcome], dict[str, int]]:
    """Predictions of all usable rows, and how many were left out why."""
    found: list[Outcome] = []
    left_out: dict[str, int] = defaultdict(int)
    for entry in sets:
        row = runs.get(entry["id"])
        if row is None:
            left_out["in no runs file"] += 1
        elif not row["step_time_s"]:
            left_out["no step time"] += 1
        elif not all_rows and entry.get("gold", "1") != "1":
            left_out["not gold"] += 1
        else:
            try:
                found.append(outcome(row, entry))
            except InputError:
                left_out["not usable"] += 1
    return found, dict(left_out)


def summary(name: str, errors: Sequence[float]) -> dict[str, Any]:
    """One row of a table."""
    sizes = [abs(error) for error in errors]
    return {
        "set": name,
        "rows": len(errors),
        "mean abs error %": 100 * statistics.mean(sizes),
        "median abs error %": 100 * statistics.median(sizes),
        "largest error %": 100 * max(errors, key=abs),
        "bias %": 100 * statistics.mean(errors),
        "within 10 %": 100 * sum(size <= 0.1 for size in sizes) / len(sizes),
        "within 20 %": 100 * sum(size <= 0.2 for size in sizes) / len(sizes),
    }


def read(path: Path, flag: str, parser: argparse.ArgumentParser) -> list[dict[str, str]]:
    """The rows of a CSV file; ends the program with one line when it cannot be used."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        parser.error(f"{flag} {path}: {error}")
    missing = [name for name in _NEEDED[flag] if not rows or name not in rows[0]]
    if missing:
        parser.error(f"{flag} {path}: no column {missing[0]!r}; see --help")
    return rows


def tables(found: list[Outcome]) -> list[Table]:
    """Step time per set and by split; peak memory per set."""
    times: dict[str, list[float]] = defaultdict(list)
    splits: dict[str, list[float]] = defaultdict(list)
    memory: dict[str, list[float]] = defaultdict(list)
    for row in found:
        times[row.set_name].append(row.error)
        splits[row.split or "no split"].append(row.error)
        splits["all"].append(row.error)
        if row.memory_error is not None:
            memory[row.set_name].append(row.memory_error)

    def table(title: str, groups: dict[str, list[float]]) -> Table:
        rows = [
            summary(name, groups[name]) for name in sorted(groups, key=lambda n: (n == "all", n))
        ]
        return Table(title=title, rows=rows)

    result = [
        table("Step time, predicted over measured, by set", times),
        table("Step time, all sets, by split", splits),
    ]
    return (
        [*result, table("Peak memory, predicted over measured, by set", memory)]
        if memory
        else result
    )


def write(page: Path, tables_text: str) -> None:
    """Replaces what stands between the marks of a page.

    Raises:
        SystemExit: The page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise SystemExit(f"error: {page} has no lines {_BEGIN} and {_END}")
    page.write_text(f"{before}{begin}\n{tables_text}\n\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Predicts, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--runs", type=Path, default=_DATA / "runs.csv.gz", metavar="RUNS.csv")
    parser.add_argument("--sets", type=Path, default=_DATA / "sets.csv.gz", metavar="SETS.csv")
    parser.add_argument("--all-rows", action="store_true", help="also rows that are not gold")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    options = parser.parse_args()
    runs = {row["id"]: row for row in read(options.runs, "--runs", parser)}
    sets = read(options.sets, "--sets", parser)
    found, left_out = outcomes(runs, sets, all_rows=options.all_rows)
    if not found:
        parser.error("no row can be predicted; see --help for the columns")
    report = Report(name="accuracy", tables=tables(found), facts={"left out": left_out})
    listed = ", ".join(f"{name} {count}" for name, count in sorted(left_out.items()))
    report.notes.append(f"Left out: {listed or 'nothing'}.")
    if options.write is not None:
        write(options.write, measuring.as_markdown(report))
    else:
        measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
