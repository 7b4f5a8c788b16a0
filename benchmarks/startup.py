"""Wall time and peak memory of `planner --help` and of the default `planner solve`.

Each run is a fresh process, started as a user starts it; what it writes is thrown away. Peak
memory is the largest resident set that the kernel counted for the process; it is never below
that of this script when it starts the process, which is printed as the floor.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
from measuring import Report, Table

MB = 1e6
COMMANDS: dict[str, tuple[str, ...]] = {
    "planner --help": ("--help",),
    "planner solve --model llama2-13b --chips 4096": (
        "solve",
        "--model",
        "llama2-13b",
        "--chips",
        "4096",
    ),
}
TARGETS = {"planner --help": (0.5, None), next(reversed(COMMANDS)): (2.0, 500.0)}


def program() -> list[str]:
    """How to start planner: its script beside this Python, else the one on the path, else -m."""
    beside = Path(sys.executable).parent / "planner"
    if beside.is_file():
        return [str(beside)]
    found = shutil.which("planner")
    return [found] if found else [sys.executable, "-m", "planner.cli.main"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a command: wall and CPU seconds, and peak bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: float


def run_once(arguments: tuple[str, ...]) -> Run:
    """Runs planner once.

    Raises:
        RuntimeError: The command failed.
    """
    started = time.perf_counter()
    process = subprocess.Popen([*program(), *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"planner {' '.join(arguments)}: exit status {process.returncode}")
    return Run(
        wall_s=elapsed,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--runs", type=measuring.positive, default=15, help="of each [15]")
    options = parser.parse_args()
    floor = measuring.peak_bytes() / MB
    rows: list[dict[str, Any]] = []
    for name, arguments in COMMANDS.items():
        run_once(arguments)  # compiles bytecode and fills the disk cache
        runs = [run_once(arguments) for _ in range(options.runs)]
        seconds = [run.wall_s for run in runs]
        peak = max(run.peak_bytes for run in runs) / MB
        target_s, target_mb = TARGETS[name]
        rows.append(
            {
                "command": name,
                "median, s": statistics.median(seconds),
                "least, s": min(seconds),
                "most, s": max(seconds),
                "CPU median, s": statistics.median(run.cpu_s for run in runs),
                "target, s": target_s,
                "peak MB": peak,
                "target, MB": target_mb,
                "met": statistics.median(seconds) < target_s
                and (target_mb is None or peak < target_mb),
            }
        )
    report = Report(name="startup", tables=[Table(title="Fresh processes", rows=rows)])
    report.notes = [f"{options.runs} runs of each, wall time; memory floor {floor:.0f} MB."]
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
