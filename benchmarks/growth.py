"""How the default command grows with the number of chips: CPU seconds and peak memory.

`planner solve` of two jobs, each with a fixed batch, on exactly N chips, for the powers of two from
512 to 131,072 that the cluster can give: fresh processes, start-up included, user and system
seconds, the least of the runs; and the largest resident set that the kernel counted. Each run ends
with exit status 0, so a plan was found. With --plots a picture is written to a folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measuring
import plots
from jobs import DEEPSEEK_V3, LLAMA2_13B, LLAMA31_405B, BenchmarkJob
from measuring import Report, Table
from startup import program, run_once

JOBS = (LLAMA31_405B, DEEPSEEK_V3)
MOST_MB = 400
_POWERS, _QUICK_POWERS = range(9, 18), range(6, 7)


def rows(job: BenchmarkJob, powers: range, runs: int) -> Iterator[dict[str, Any]]:
    """A row per number of chips."""
    offered = job.cost_model().cluster.chip_counts(2 ** powers[-1])
    for chips in (2**power for power in powers if 2**power in offered):
        options = {
            "model": job.model,
            "hardware": job.hardware,
            "chips": chips,
            "seq-len": job.seq_len,
            "batch-tokens": job.sequences * job.seq_len,
        }
        told = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        made = [run_once([*program(), "solve", *told]) for _ in range(runs)]
        yield {
            "chips": chips,
            "CPU s": min(run.cpu_s for run in made),
            "peak MB": max(run.peak_bytes for run in made) / 1e6,
        }


def grown(title: str, found: list[dict[str, Any]]) -> str:
    """What the last number of chips takes beside the first, in a sentence."""
    first, last = found[0], found[-1]
    return (
        f"{title}: {last['chips']:,} chips take {last['CPU s'] / first['CPU s']:.2f} times the CPU "
        f"seconds and {last['peak MB'] / first['peak MB']:.2f} times the memory of "
        f"{first['chips']:,}."
    )


def measured(options: argparse.Namespace) -> Report:
    """A table per job."""
    report = Report(name="growth", facts={"commands": {}})
    for job in (LLAMA2_13B,) if options.quick else JOBS:
        title = f"{job.model} on {job.hardware}, {job.sequences:,} sequences"
        powers = _QUICK_POWERS if options.quick else _POWERS
        found = list(rows(job, powers, 1 if options.quick else options.runs))
        report.facts["commands"][title] = found
        report.tables.append(Table(title=title, rows=found))
        report.notes.append(grown(title, found))
    peak = max(row["peak MB"] for found in report.facts["commands"].values() for row in found)
    met = "met" if peak < MOST_MB else "missed"
    report.notes.append(f"Target {MOST_MB} MB; the largest peak is {peak:.0f} MB: {met}.")
    return report


def main() -> int:
    """Measures, prints, plots, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--runs", type=measuring.positive, default=3, help="of each [3]")
    parser.add_argument("--plots", metavar="FOLDER", type=Path, help="write the SVG file here")
    options = parser.parse_args()
    report = measured(options)
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        picture = options.plots / "performance-commands.svg"
        plots.commands_picture(report.facts["commands"], picture)
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
