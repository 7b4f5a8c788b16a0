"""Predicted against published peak memory, what each part of the model is worth, and failures.

Three tables: errors per set of published runs; the nanotron runs with one cause left out at a
time; and which of the configurations that failed a memory limit would have flagged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import measuring
from measuring import Report, Table

from planner.evidence.csvfile import published
from planner.evidence.runs.rows import Run, run_of
from planner.evidence.validation.failures import Flagged, failures_table
from planner.evidence.validation.memory import (
    MemoryErrors,
    MemoryRow,
    errors_by_set,
    memory_row,
    memory_rows,
)

_BEGIN, _END = "<!-- begin: memory -->", "<!-- end: memory -->"
_CAUSES: dict[str, dict[str, float | str]] = {
    "everything": {},
    "eager MLP 8 -> 6 B": {"gated_saved": 6.0},
    "gradients 4 -> 2 B": {"gradient_bytes": 2.0},
    "no logits": {"logits_bytes": 0.0, "lingering_logits_bytes": 0.0},
    "no logits of the previous micro-batch": {"lingering_logits_bytes": 0.0},
    "no embedding residue": {"embedding_residue": 0.0},
    "no gradient residue": {"gradient_residue": 0.0},
    "no optimizer phase": {"optimizer_phase": 0.0},
    "no gather buffers": {"gather_buffers": 0.0},
    "gathered inputs never kept": {"keeps_gathered": "never"},
    "gathered inputs always kept": {"keeps_gathered": "always"},
}


def sets_table(rows: Iterable[MemoryRow]) -> Table:
    """Errors by set."""
    return Table(
        title="Peak memory, predicted over measured, by set",
        rows=[
            {
                "set": found.set_name,
                "rows": found.rows,
                "mean abs error %": found.mean,
                "median abs error %": found.median,
                "p90 %": found.p90,
                "bias %": found.bias,
            }
            for found in errors_by_set(rows)
        ],
    )


def ablation_table() -> Table:
    """Mean absolute error of the nanotron runs without one cause after the other."""
    runs = [
        run_of(row)
        for row in published("runs")
        if row["model_name"].startswith("nanotron-llama-") and row["complete"] == "1"
    ]
    rows = [_ablated(name, runs, change) for name, change in _CAUSES.items()]
    return Table(
        title="nanotron, one cause left out (mean absolute error, %)",
        rows=[*rows, _ablated("equal layers per stage", [_even(run) for run in runs], {})],
    )


def _even(run: Run) -> Run:
    """The run with its layers dealt out evenly, whatever embedding and head cost."""
    most = min(run.plan.pp, run.job.model.layers)
    if run.plan.pp > most or run.plan.stages is None:
        return run
    return replace(run, plan=replace(run.plan, stages=None, split="front"))


def _ablated(name: str, runs: list[Run], change: dict[str, float | str]) -> dict[str, Any]:
    found = {
        error.set_name: error for error in errors_by_set(memory_row(r, **change) for r in runs)
    }
    whole: MemoryErrors = found["nanotron"]
    return {
        "without": name,
        "all": whole.mean,
        "nearer mode": whole.best_mode_mean,
        "tp = 1": found["nanotron tp=1"].mean,
        "bias": whole.bias,
    }


def failures() -> list[Table]:
    """What limits flag, by margin; by model; and the share that failed by predicted memory."""
    found = failures_table()
    shown = [row for row in found.margins if row.mode == "expected" or row.margin == 0.90]
    return [
        Table(
            title=f"{found.failed:,} failed configurations against {found.succeeded:,} runs, "
            f"AUC {found.auc:.3f}, flagged by a share of capacity minus reserve",
            rows=[_flagged(row) for row in shown],
        ),
        Table(
            title=f"Chance of running out of memory at most {found.risk.default:.0%}, by model",
            rows=[
                {
                    "model": row.model,
                    "failed": row.failed,
                    "flagged %": 100 * (row.flagged or 0),
                    "ran": row.succeeded,
                    "false alarms %": 100 * (row.false_alarms or 0),
                }
                for row in found.models
            ],
        ),
        Table(
            title="Share that failed, by predicted memory",
            rows=[
                {
                    "GiB": f"{row.from_gib:g} to {row.to_gib:g}"
                    if row.to_gib
                    else f"above {row.from_gib:g}",
                    "configurations": row.configurations,
                    "failed %": 100 * (row.share_failed or 0),
                }
                for row in found.sizes
            ],
        ),
    ]


def _flagged(row: Flagged) -> dict[str, Any]:
    return {
        "gathered inputs": row.mode,
        "margin": row.margin,
        "limit GiB": row.limit_gib,
        "flagged %": 100 * row.flagged,
        "false alarms %": 100 * row.false_alarms,
    }


def write(page: Path, text: str) -> None:
    """Replaces what stands between the marks of a page.

    Raises:
        SystemExit: The page has no marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise SystemExit(f"error: {page} has no lines {_BEGIN} and {_END}")
    page.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Predicts, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    options = parser.parse_args()
    rows, left_out = memory_rows()
    report = Report(
        name="memory_accuracy",
        tables=[sets_table(rows), ablation_table(), *failures()],
        facts={"rows": len(rows), "left out": len(left_out)},
    )
    report.notes.append(
        f"{len(rows):,} rows; {len(left_out)} left out, whose model or batch is not published."
    )
    if options.write is not None:
        write(options.write, measuring.as_markdown(report))
    else:
        measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
