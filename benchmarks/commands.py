"""CPU seconds of whole commands, of this checkout and of another in one run.

Each run is a fresh process, started as a user starts it: user and system seconds that the kernel
counted for it and for the processes that it waited for, start-up included. What it prints is
thrown away. With `--against PATH` runs of both checkouts alternate, and the order within a pair
swaps from pair to pair, so that what slows the machine down slows both. Printed are the ratio of
the least seconds and the median of the ratios of the pairs.

All five take about a minute of CPU per run and checkout. A first run of each, not timed, compiles
bytecode, and must end with exit status 0.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measuring
from measuring import Report, Table

HERE = Path(__file__).resolve().parents[1]
_PLANNER = ("-m", "planner")
_LARGE = ("solve", "--model", "llama3.1-405b", "--hardware", "dgx-h100-ndr", "--chips", "16384",
          "--batch-tokens", "16Mi")  # fmt: skip
_REPEATED = """
import planner
for _ in range(5):
    planner.solve(model="llama2-13b", chips=4096)
"""
COMMANDS: dict[str, tuple[str, ...]] = {
    "solve": (*_PLANNER, "solve", "--model", "llama2-13b", "--chips", "4096"),
    "uniform": (*_PLANNER, *_LARGE),
    "uneven": (*_PLANNER, *_LARGE, "--layout", "uneven"),
    "feasible": (*_PLANNER, "feasible", "--model", "llama3-70b", "--hardware", "h100-sxm5-80",
                 "--chips", "512"),
    "repeated": ("-c", _REPEATED),
}  # fmt: skip
"""Name to the arguments of Python: what is measured, and in which order."""
_TITLES = {"repeated": "python: 5 x planner.solve(model='llama2-13b', chips=4096)"}
QUICK = ("solve",)


def title(name: str) -> str:
    """The command as a user types it."""
    return _TITLES.get(name) or " ".join(("planner", *COMMANDS[name][2:]))


def cpu_s(name: str, checkout: Path, folder: str) -> float:
    """CPU seconds of one run of a command of a checkout, in a folder that has none.

    Raises:
        RuntimeError: The command failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    for variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH"):
        environment.pop(variable, None)
    command = [sys.executable, *COMMANDS[name]]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{title(name)}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measured(name: str, checkouts: list[Path], folder: str, runs: int) -> list[list[float]]:
    """CPU seconds of the runs of a command, one list per checkout; runs alternate."""
    for checkout in checkouts:
        cpu_s(name, checkout, folder)
    spent: list[list[float]] = [[] for _ in checkouts]
    for run in range(runs):
        print(f"{name}: run {run + 1} of {runs}", file=sys.stderr, flush=True)
        order = range(len(checkouts)) if run % 2 == 0 else reversed(range(len(checkouts)))
        for index in order:
            spent[index].append(cpu_s(name, checkouts[index], folder))
    return spent


def row_of(name: str, spent: list[list[float]]) -> dict[str, measuring.Cell]:
    """The runs of a command as a row of the table."""
    row: dict[str, measuring.Cell] = {
        "command": title(name),
        "least s": min(spent[0]),
        "median s": statistics.median(spent[0]),
    }
    if len(spent) == 1:
        return row
    pairs = [mine / theirs for mine, theirs in zip(*spent, strict=True)]
    return {
        **row,
        "other: least s": min(spent[1]),
        "median s ": statistics.median(spent[1]),
        "ratio of least": min(spent[0]) / min(spent[1]),
        "median ratio": statistics.median(pairs),
    }


def _parser() -> argparse.ArgumentParser:
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("commands", nargs="*", default=[], help=f"of {', '.join(COMMANDS)} [all]")
    parser.add_argument("--against", metavar="PATH", type=Path, help="another checkout, for ratios")
    parser.add_argument("--runs", type=measuring.positive, default=5, help="of each [5]")
    return parser


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = _parser()
    options = parser.parse_args()
    if unknown := [name for name in options.commands if name not in COMMANDS]:
        parser.error(f"unknown command {unknown[0]!r}; allowed: {', '.join(COMMANDS)}")
    if options.against and not (options.against / "planner" / "__main__.py").is_file():
        parser.error(f"--against {options.against}: is no checkout of planner")
    names = options.commands or (QUICK if options.quick else tuple(COMMANDS))
    runs = 1 if options.quick else options.runs
    checkouts = [HERE, *([options.against.resolve()] if options.against else [])]
    report = Report(name="commands")
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = [row_of(name, measured(name, checkouts, folder, runs)) for name in names]
        except RuntimeError as error:
            parser.error(f"{error}; nothing is shown")
    report.tables = [Table(title="CPU seconds of whole commands", rows=rows)]
    report.notes = [f"{runs} runs of each; ratios are this checkout over the other."]
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
