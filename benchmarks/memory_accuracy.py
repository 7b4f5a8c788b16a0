"""What each part of the model of memory is worth: nanotron's runs with one left out at a time.

`planner validate` has the errors per source, and with `--what failures` what a limit flags of the
configurations that failed.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import measuring
import pages
from measuring import Report, Table

from planner.evidence.csvfile import published
from planner.evidence.runs.rows import Run, run_of
from planner.evidence.validation.memory import (
    MemoryErrors,
    errors_by_set,
    memory_row,
)

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


def main() -> int:
    """Predicts, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    options = parser.parse_args()
    report = Report(name="memory_accuracy", tables=[ablation_table()])
    if options.write is not None:
        pages.put(options.write, "memory", measuring.as_markdown(report))
    else:
        measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
