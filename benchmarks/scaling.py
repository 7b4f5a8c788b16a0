"""How the time of the search grows with the number of chips and of enabled axes.

Chips: powers of two from 2^6 to 2^17 that the cluster can give, for three jobs, each with a fixed
batch. "Exactly" is the proved optimum and the exact front of time and energy on exactly that many
chips; "up to" adds the front over every smaller count, as `--chips-at-most` asks for. "Partial
plans" are meshes with micro-batch and pipeline; "costed" are the candidates that no bound excluded.

Axes: data parallelism first, then one more axis or choice per row, each row with all before it.

Every figure comes from a process of its own, so that peak memory is that of one search. The time is
CPU time, the best of the repetitions ("up to": one run). In each process the plans of the first
front are evaluated directly; unless time and energy are equal bit for bit, nothing is timed and
the exit status is 1. With --plots the SVG files are written to a folder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import measuring
import plots
from gpt3_space import reproduced, solved
from jobs import DEEPSEEK_V3, GPT3_175B, JOBS, LLAMA2_13B, BenchmarkJob
from measuring import Report, Table

from planner.base.errors import InputError
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

_DENSE = ("tp", "pp", "cp", "fsdp")
_EXPERTS = ("tp", "pp", "ep", "cp", "fsdp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One search to measure.

    Attributes:
        job: The job.
        axes: Mesh axes that may exceed 1; None: all.
        offload, all_orders, clocks: As in `SpaceOptions`.
        smaller: The front also ranges over all smaller chip counts.
        repeats: Searches; the best time counts.
    """

    job: BenchmarkJob
    axes: tuple[str, ...] | None = None
    offload: bool = False
    all_orders: bool = False
    clocks: bool = True
    smaller: bool = False
    repeats: int = 3


def run(case: Case) -> dict[str, Any]:
    """CPU seconds, peak memory and counts of a case; meant for a process of its own."""
    model = case.job.cost_model()
    options = SpaceOptions(
        axes=None if case.axes is None else frozenset(case.axes),
        offload=case.offload,
        all_orders=case.all_orders,
        clocks=case.clocks,
    )
    chips = case.job.chips
    _, exact = solved(model, chips, options)
    measuring.require(reproduced(model, exact), f"{case.job.title}: the front is not reproduced")
    smaller = tuple(n for n in model.cluster.chip_counts(chips) if n < chips)
    front = len(exact.points)

    def work() -> None:
        nonlocal front
        space, driver = UniformSpace(model=model, options=options, limits=Limits()), Driver()
        driver.run(space.on(chips))
        if case.smaller and smaller:
            front = len(driver.run(space.on(*smaller)).points)

    seconds = measuring.cpu_seconds(work, case.repeats).best
    return {
        "status": exact.status.value,
        "front": front,
        "partial_plans": exact.counts["partial_plans"].get("considered", 0),
        "costed": exact.counts["candidates"].get("evaluated", 0),
        "CPU s": seconds,
        "peak MB": measuring.peak_bytes() / 1e6,
    }


def run_apart(case: Case) -> dict[str, Any]:
    """`run` in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as pool:
        return pool.submit(run, case).result()


def chip_rows(job: BenchmarkJob, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per power of two that the cluster can give."""
    rows = []
    offered = job.cost_model().cluster.chip_counts(2**options.largest)
    for power in range(options.smallest, options.largest + 1):
        if 2**power not in offered:
            continue
        sized = replace(job, chips=2**power)
        exact = run_apart(Case(job=sized, repeats=options.repeats))
        whole = run_apart(Case(job=sized, smaller=True, repeats=1))
        rows.append(
            {
                "chips": 2**power,
                "answer": exact["status"],
                "partial_plans": exact["partial_plans"],
                "costed": exact["costed"],
                "exactly, CPU s": exact["CPU s"],
                "exactly, peak MB": exact["peak MB"],
                "up to, CPU s": whole["CPU s"],
                "up to, peak MB": whole["peak MB"],
                "up to, front": whole["front"],
            }
        )
    return rows


def refusals(job: BenchmarkJob, options: argparse.Namespace) -> list[str]:
    """What the cluster says of each power of two that it cannot give."""
    said = []
    for power in range(options.smallest, options.largest + 1):
        try:
            job.cost_model().allocation(2**power)
        except InputError as error:
            said.append(str(error).removeprefix("chips: "))
    return said


def axis_cases(job: BenchmarkJob, *, experts: bool, repeats: int) -> list[tuple[str, Case]]:
    """The cases of `axis_rows`, each with what it adds."""
    axes: tuple[str, ...] = ("dp",)
    case = Case(job=job, axes=axes, clocks=False, repeats=repeats)
    cases = [("dp", case)]
    for axis in _EXPERTS if experts else _DENSE:
        axes = (*axes, axis)
        case = replace(case, axes=axes)
        cases.append((f"+ {axis}", case))
    clocked = replace(case, clocks=True)
    placed = replace(clocked, all_orders=True)
    moved = replace(placed, offload=True)
    return [*cases, ("+ clocks", clocked), ("+ all placements", placed), ("+ offload", moved)]


def axis_rows(
    job: BenchmarkJob, options: argparse.Namespace, *, experts: bool
) -> list[dict[str, Any]]:
    """One row per enabled axis or choice; only the first and the last when it is to be quick."""
    rows = []
    cases = axis_cases(job, experts=experts, repeats=options.repeats)
    for title, case in (cases[0], cases[-1]) if options.quick else cases:
        found = run_apart(case)
        rows.append(
            {
                "enabled": title,
                "answer": found["status"],
                "partial_plans": found["partial_plans"],
                "costed": found["costed"],
                "front": found["front"],
                "CPU s": found["CPU s"],
                "peak MB": found["peak MB"],
            }
        )
    return rows


def main() -> int:
    """Measures, prints, plots, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--repeats", type=measuring.positive, default=3, help="per figure [3]")
    parser.add_argument("--smallest", type=int, default=6, help="least power of two [6]")
    parser.add_argument("--largest", type=int, default=17, help="greatest power of two [17]")
    parser.add_argument("--plots", metavar="FOLDER", type=Path, help="write the SVG files here")
    options = parser.parse_args()
    sized, widened = list(JOBS.values()), [(GPT3_175B, False), (DEEPSEEK_V3, True)]
    if options.quick:
        options.repeats, options.largest = 1, options.smallest
        sized, widened = sized[:1], [(replace(LLAMA2_13B, chips=64), False)]
    report = Report(name="scaling", facts={"chips": {}, "axes": {}})
    for job in sized:
        rows = chip_rows(job, options)
        title = f"{job.model} on {job.hardware}"
        report.facts["chips"][title] = rows
        report.tables.append(Table(title=f"{title}, {job.sequences:,} sequences", rows=rows))
        report.notes += refusals(job, options)
    for job, experts in widened:
        rows = axis_rows(job, options, experts=experts)
        report.facts["axes"][job.title] = rows
        report.tables.append(Table(title=f"{job.title}, exactly that many chips", rows=rows))
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        plots.chips_picture(report.facts["chips"], options.plots / "performance-chips.svg")
        plots.axes_picture(report.facts["axes"], options.plots / "performance-axes.svg")
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
