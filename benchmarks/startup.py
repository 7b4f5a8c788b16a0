"""Wall time and peak memory of `planner --help` and of the default `planner solve`.

Each run is a fresh process, started as a user starts it; what it prints is thrown away. Wall time
is the median of the runs, start-up included. Peak memory is the largest resident set that the
kernel counted for the process; it is never below that of this script, which is printed.

A first run of each, not timed, compiles bytecode and fills the disk cache; unless `solve` then
proves its optimum and `evaluate` gives the same time and energy to the last digit, nothing is
timed and the exit status is 1.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
from measuring import Report, Table

MB = 1e6
HELP: tuple[str, ...] = ("--help",)
SOLVE: tuple[str, ...] = ("solve", "--model", "llama2-13b", "--chips", "4096")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Most wall seconds and peak megabytes of a command; None: no target."""

    wall_s: float
    peak_mb: float | None


TARGETS = {
    HELP: Target(wall_s=0.5, peak_mb=None),
    SOLVE: Target(wall_s=2.0, peak_mb=500.0),
}


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


def run_once(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    errors: int | None = None,
) -> Run:
    """Runs a command once.

    Args:
        command: Program and arguments.
        environment: Variables beside those of this process.
        errors: Where standard error goes, as `subprocess` has it.

    Raises:
        RuntimeError: The command failed.
    """
    variables = {**os.environ, **(environment or {})}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=variables)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    return Run(
        wall_s=elapsed,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def answered(*arguments: str) -> Any:
    """What planner prints with --json.

    Raises:
        RuntimeError: The command failed.
    """
    ran = subprocess.run(
        [*program(), *arguments, "--json"], check=False, capture_output=True, text=True
    )
    if ran.returncode != 0:
        raise RuntimeError(f"planner {' '.join(arguments)}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)


def proved() -> bool:
    """Whether `solve` proves its optimum and `evaluate` reproduces it."""
    with tempfile.TemporaryDirectory() as folder:
        plan = str(Path(folder) / "plan.yaml")
        solved = answered(*SOLVE, "-o", plan)
        again = answered("evaluate", plan)
    best = solved["best"]
    same = all(best[name] == again[name] for name in ("step_time_s", "energy_per_step_j"))
    proof = solved["certificate"]
    return proof["status"] == "optimal" and proof["gap"] == 0 and same


def row_of(arguments: tuple[str, ...], runs: list[Run]) -> dict[str, Any]:
    """The runs of one command as a row of the table."""
    seconds = [run.wall_s for run in runs]
    median, peak = statistics.median(seconds), max(run.peak_bytes for run in runs) / MB
    target = TARGETS[arguments]
    fits = target.peak_mb is None or peak < target.peak_mb
    return {
        "command": " ".join(("planner", *arguments)),
        "wall s": median,
        "least": min(seconds),
        "most": max(seconds),
        "target s": target.wall_s,
        "CPU s": statistics.median(run.cpu_s for run in runs),
        "peak MB": peak,
        "target MB": target.peak_mb,
        "met": median < target.wall_s and fits,
    }


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--runs", type=measuring.positive, default=15, help="of each [15]")
    options = parser.parse_args()
    floor = measuring.peak_bytes() / MB
    measuring.require(proved(), "solve proves nothing, or evaluate does not reproduce its plan")
    runs = 1 if options.quick else options.runs
    run_once([*program(), *HELP])
    rows = [
        row_of(command, [run_once([*program(), *command]) for _ in range(runs)])
        for command in TARGETS
    ]
    report = Report(name="startup", tables=[Table(title="Fresh processes", rows=rows)])
    report.notes = [f"{runs} runs of each; peak memory of this script {floor:.0f} MB."]
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
