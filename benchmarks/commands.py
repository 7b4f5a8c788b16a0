"""CPU seconds of whole commands, of this checkout and of another in one run.

Each run is a fresh process, started as a user starts it: user and system seconds that the kernel
counted for it and for the processes that it waited for, start-up included. What it prints is
thrown away; `second` alone prints its own seconds, those of a second solve in one process. With
`--against PATH` runs of both checkouts alternate, and the order within a pair swaps from pair to
pair, so that what slows the machine down slows both. Printed are the ratio of the least seconds,
the median of the ratios of the pairs, and beside them the ratio that is wanted. A loop of ten
million additions in Python is the unit of the machine.

All take some five minutes of CPU per run and checkout. A first run of each, not timed, compiles
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
_CHIPS = (*_LARGE[:5], "--chips-at-most", *_LARGE[6:])
_PLAN = str(HERE / "tests/answers/files/plan-dense-tp-pp.yaml")
_RUN = ("--train-tokens", "15.6e12", "--failure-site", "llama-3")
_REPEATED = """
import planner
for _ in range(5):
    planner.solve(model="llama2-13b", chips=4096)
"""
_SECOND = """
import time
import planner
for _ in range(2):
    started = time.process_time()
    planner.solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8)
print(time.process_time() - started)
"""
_COMPLETION = """
import os, sys
os.environ.update(_PLANNER_COMPLETE="complete_bash", COMP_WORDS="planner solve --model llama",
                  COMP_CWORD="3")
sys.argv = ["planner"]
from planner.cli.entry import main
sys.exit(main())
"""
_UNIT = "x=0\nfor i in range(10**7): x+=1"
COMMANDS: dict[str, tuple[str, ...]] = {
    "unit": ("-c", _UNIT),
    "solve": (*_PLANNER, "solve", "--model", "llama2-13b", "--chips", "4096"),
    "uniform": (*_PLANNER, *_LARGE),
    "run": (*_PLANNER, *_LARGE, *_RUN),
    "ranged": (*_PLANNER, *_CHIPS),
    "days": (*_PLANNER, *_CHIPS, *_RUN, "--objective", "days"),
    "uneven": (*_PLANNER, *_LARGE, "--layout", "uneven"),
    "experts": (*_PLANNER, "solve", "--model", "deepseek-v3", "--hardware", "h100-sxm5-80",
                "--chips", "2048", "--layout", "uneven"),
    "evaluate": (*_PLANNER, "evaluate", _PLAN),
    "explain": (*_PLANNER, "explain", _PLAN),
    "feasible": (*_PLANNER, "feasible", "--model", "llama3-70b", "--hardware", "h100-sxm5-80",
                 "--chips", "512"),
    "large": (*_PLANNER, "feasible", "--model", "llama3-70b", "--hardware", "h100-sxm5-80",
              "--chips", "4096"),
    "synthesis": (*_PLANNER, "collective", "synthesize", "--topology", "dgx-1",
                  "--collective", "allgather", "--pareto"),
    "boxes": (*_PLANNER, "collective", "synthesize", "--topology", "dgx-1:nodes=2",
              "--collective", "allgather", "--pareto"),
    "validate": (*_PLANNER, "validate"),
    "repeated": ("-c", _REPEATED),
    "second": ("-c", _SECOND),
    "imports": ("-c", "import planner; planner.solve"),
    "help": (*_PLANNER, "--help"),
    "version": (*_PLANNER, "--version"),
    "completion": ("-c", _COMPLETION),
}  # fmt: skip
"""Name to the arguments of Python: what is measured, and in which order."""
_TITLES = {
    "unit": "python: ten million additions",
    "evaluate": "planner evaluate plan.yaml",
    "explain": "planner explain plan.yaml",
    "repeated": "python: 5 x planner.solve(model='llama2-13b', chips=4096)",
    "second": "python: a second planner.solve(model='gpt3-125m', chips=8)",
    "imports": "python: import planner; planner.solve",
    "completion": "planner solve --model llama, completed by bash",
}
WANTED = {"solve": 0.5, "uniform": 0.33, "uneven": 0.45, "experts": 0.3, "large": 0.15,
          "synthesis": 0.65, "boxes": 1.5, "validate": 0.45, "second": 0.15, "imports": 0.35,
          "help": 1.0, "version": 1.0, "completion": 1.0}  # fmt: skip
"""Ratios to reach, to the code of which the whole commands were first timed (411d6425)."""
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
    environment["XDG_CACHE_HOME"] = f"{folder}/cache{checkout}"  # of shipped files, of each
    for variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH"):
        environment.pop(variable, None)
    command = [sys.executable, *COMMANDS[name]]
    with tempfile.TemporaryFile(mode="w+") as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{title(name)}: exit status {process.returncode}")
        printed.seek(0)
        return float(printed.read()) if name == "second" else usage.ru_utime + usage.ru_stime


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
        "wanted": WANTED.get(name, ""),
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
