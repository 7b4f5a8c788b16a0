"""How good a plan is when the time is over, and how well a limit on it is kept.

    python benchmarks/anytime.py --write ../docs/uneven.md

Asks jobs of all four spaces with `--time-limit` and without. Seconds are of the clock, of one call
of `planner.solve` in a process that has loaded its code; the answer is made after the limit ended
the search. Beyond is what the plan costs beyond that of the search without a limit, gap what
the answer itself says. A search that ends sooner by itself says nothing about limits: "-".

The second table has the CPU seconds of whole commands: stages that differ, with a front, beside the
command without.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import measuring
import pages
from measuring import Cell, Report, Table

import planner

JOBS: dict[str, dict[str, Any]] = {
    "uniform, machines open": {
        "model": "llama3-70b", "hardware": "h100-sxm5-80", "total_pes": "8192x132",
        "chips_exact": True, "pes": "33,66,132,264", "topology": "ring,torus,switch",
    },
    "uneven": {
        "model": "deepseek-v3", "hardware": "h100-sxm5-80", "chips": 2048, "layout": "uneven",
    },
    "uneven, least energy": {
        "model": "deepseek-v3", "hardware": "h100-sxm5-80", "chips": 2048, "layout": "uneven",
        "objective": "energy",
    },
    "uneven, front": {
        "model": "llama3.1-405b", "hardware": "h100-sxm5-80", "chips": 16384, "layout": "uneven",
        "front_points": 20,
    },
    "pools": {
        "model": "gpt3-175b", "pools": "dgx-h100-ndr=256,dgx-a100-80-hdr=256", "layout": "uneven",
    },
}  # fmt: skip
SMALL = (
    {"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 16, "layout": "uneven",
     "front_points": 2},
    {"model": "llama3-8b", "pools": "dgx-h100-ndr=8,dgx-a100-80-hdr=8", "layout": "uneven"},
    {"model": "llama3-8b", "hardware": "h100-sxm5-80", "total_pes": "16x132", "chips_exact": True,
     "pes": "66,132", "topology": "ring,switch"},
)  # fmt: skip
"""Asked first, so that all code is loaded."""
LIMITS_S = (1, 2, 3, 5, 10)
COMMANDS = {
    "llama3.1-405b @ 16,384": ("--model", "llama3.1-405b", "--hardware", "h100-sxm5-80",
                               "--chips", "16384"),
    "deepseek-v3 @ 2,048": ("--model", "deepseek-v3", "--hardware", "h800-pod",
                            "--chips", "2048"),
}  # fmt: skip
"""Jobs whose whole commands are compared."""
_REACHED = 0.98
"""Share of a limit from which on it is taken to have ended the search."""
_UNEVEN = {"uneven": (), "uneven, 20 points": ("--front-points", "20")}
_RUN = "from planner.cli.entry import main; main()"


def _child(pipe: Connection, fields: dict[str, Any]) -> None:
    """Asks, and sends the seconds with what the answer says."""
    started = time.perf_counter()
    answer = planner.solve(**fields)
    seconds = time.perf_counter() - started
    found = answer.certificate
    pipe.send((seconds, answer.status, found.objective, found.gap))


def asked(fields: dict[str, Any]) -> tuple[float, str, float | None, float | None]:
    """Seconds, status, objective and gap of a question, in a process of its own."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(there, fields))
    process.start()
    there.close()
    answered: tuple[float, str, float | None, float | None] = here.recv()
    process.join()
    return answered


def rows_of(
    name: str, fields: dict[str, Any], limits_s: tuple[int, ...]
) -> Iterator[dict[str, Cell]]:
    """A row without a limit, and one for each limit."""
    whole_s, status, best, gap = asked(fields)
    yield _row(name, "-", (whole_s, status, best, gap), best)
    for limit_s in limits_s:
        yield _row(name, limit_s, asked(fields | {"time_limit": f"{limit_s}s"}), best)


def _row(
    name: str,
    limit_s: int | str,
    found: tuple[float, str, float | None, float | None],
    best: float | None,
) -> dict[str, Cell]:
    seconds, status, objective, gap = found
    cut = isinstance(limit_s, int) and seconds > limit_s * _REACHED
    return {
        "job": name,
        "limit, s": str(limit_s),
        "answered after, s": seconds,
        "over, %": f"{100 * (seconds / float(limit_s) - 1):.1f}" if cut else "-",
        "status": status,
        "gap, %": "-" if gap is None else f"{100 * gap:.3g}",
        "beyond, %": f"{100 * (objective / best - 1):.3g}" if objective and best else "-",
    }


def whole_command_s(words: tuple[str, ...], repeats: int) -> float:
    """Least CPU seconds of a whole `planner solve`, start-up included."""
    spent = []
    environment = {**os.environ, "PYTHONPATH": str(Path(planner.__file__).parents[1])}
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = (sys.executable, "-c", _RUN, "solve", *words, "--json")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def ratios(repeats: int) -> Iterator[dict[str, Cell]]:
    """CPU seconds of commands with uneven stages, and how many of the plain command they are."""
    for name, words in COMMANDS.items():
        plain_s = whole_command_s(words, repeats)
        yield {"job": name, "command": "without", "CPU s": plain_s, "times": "1"}
        for said, more in _UNEVEN.items():
            seconds = whole_command_s((*words, "--layout", "uneven", *more), repeats)
            yield {
                "job": name,
                "command": said,
                "CPU s": seconds,
                "times": f"{seconds / plain_s:.1f}",
            }


def main() -> None:
    """Asks and prints."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--only", choices=("limits", "ratios"), help="[both]")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="keep the tables in the page")
    options: argparse.Namespace = parser.parse_args()
    report = Report(name="anytime")
    if options.only != "ratios":
        jobs = dict(list(JOBS.items())[:1]) if options.quick else JOBS
        limits_s = LIMITS_S[:1] if options.quick else LIMITS_S
        for small in SMALL:
            planner.solve(**small)
        rows = []
        for name, fields in jobs.items():
            for row in rows_of(name, fields, limits_s):
                print(row, file=sys.stderr, flush=True)
                rows.append(row)
        report.tables.append(Table(title="With and without a limit of time", rows=rows))
    if options.only != "limits" and not options.quick:
        report.tables.append(Table(title="Whole commands", rows=list(ratios(3))))
    if options.write is not None:
        pages.put_report(options.write, "anytime", pages.measured_on(), report)
    measuring.show(report, options)


if __name__ == "__main__":
    main()
