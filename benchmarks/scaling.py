"""How the time of the search grows with the number of chips and of enabled axes.

Chips: from 2^6 to 2^17 for three jobs, each on its own cluster and with a fixed batch. "exactly"
is the proved optimum and the exact front of time and energy on exactly that many chips, "up to"
adds the front over every smaller count that the cluster can give, as `planner solve` reports it.

Axes: data parallelism first, then one more axis or choice per row, each row with all before it.

Every figure comes from a process of its own, so that peak memory is that of one search; the time
is CPU time, the best of the repetitions. With --plots the SVG files are written to a folder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import measuring
from jobs import DEEPSEEK_V3, GPT3_175B, JOBS, BenchmarkJob
from measuring import Report, Table

from planner.search.engine import Search
from planner.search.limits import Limits
from planner.search.options import SpaceOptions

SMALLEST, LARGEST = 6, 17
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
    smaller = tuple(n for n in model.cluster.chip_counts(chips) if n < chips)
    found: dict[str, Any] = {}

    def work() -> None:
        search = Search(model=model, options=options, limits=Limits())
        exact = search.run((chips,))
        whole = search.run(smaller) if case.smaller and smaller else exact
        found["status"] = exact.status.value
        found["front"] = len(whole.points)
        found["skeletons"] = exact.counts["skeletons"].get("considered", 0)
        found["costed"] = exact.counts["candidates"].get("evaluated", 0)

    found["CPU s"] = measuring.cpu_seconds(work, case.repeats).best
    found["peak MB"] = measuring.peak_bytes() / 1e6
    return found


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
                "skeletons": exact["skeletons"],
                "costed": exact["costed"],
                "exactly, CPU s": exact["CPU s"],
                "exactly, peak MB": exact["peak MB"],
                "up to, CPU s": whole["CPU s"],
                "up to, peak MB": whole["peak MB"],
                "up to, front": whole["front"],
            }
        )
    return rows


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


def axis_rows(job: BenchmarkJob, *, experts: bool, repeats: int) -> list[dict[str, Any]]:
    """One row per enabled axis or choice."""
    rows = []
    for title, case in axis_cases(job, experts=experts, repeats=repeats):
        found = run_apart(case)
        rows.append(
            {
                "enabled": title,
                "answer": found["status"],
                "skeletons": found["skeletons"],
                "costed": found["costed"],
                "front": found["front"],
                "CPU s": found["CPU s"],
                "peak MB": found["peak MB"],
            }
        )
    return rows


def plot(report: Report, folder: Path) -> None:
    """Writes `performance-chips.svg` and `performance-axes.svg`."""
    import matplotlib as mpl  # noqa: PLC0415  (only with --plots)

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "planner"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for title, rows in report.facts["chips"].items():
        chips = [row["chips"] for row in rows]
        (line,) = axes.plot(chips, [row["exactly, CPU s"] for row in rows], marker="o", label=title)
        smaller = [row["up to, CPU s"] for row in rows]
        axes.plot(chips, smaller, marker=".", linestyle=":", color=line.get_color())
    axes.set(xlabel="chips N", ylabel="CPU seconds, one core", xscale="log", yscale="log")
    axes.set_title("Exact front on exactly N chips (solid) and on up to N (dotted)", fontsize=10)
    axes.set_xscale("log", base=2)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(folder / "performance-chips.svg", metadata={"Date": None})
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharex=True)
    for panel, (title, rows) in zip(panels, report.facts["axes"].items(), strict=True):
        names = [row["enabled"] for row in rows]
        panel.plot([row["CPU s"] for row in rows][::-1], names[::-1], marker="o", color="#4878a8")
        panel.set(xlabel="CPU seconds, one core", xscale="log")
        panel.set_title(title, fontsize=9)
        panel.grid(visible=True, alpha=0.3)
    figure.savefig(folder / "performance-axes.svg", metadata={"Date": None})


def main() -> int:
    """Measures, prints, plots, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--repeats", type=measuring.positive, default=3, help="per figure [3]")
    parser.add_argument("--smallest", type=int, default=SMALLEST, help="least power of two [6]")
    parser.add_argument("--largest", type=int, default=LARGEST, help="greatest power of two [17]")
    parser.add_argument("--plots", metavar="FOLDER", type=Path, help="write the SVG files here")
    options = parser.parse_args()
    report = Report(name="scaling", facts={"chips": {}, "axes": {}})
    for job in JOBS.values():
        rows = chip_rows(job, options)
        title = f"{job.model} on {job.hardware}"
        report.facts["chips"][title] = rows
        report.tables.append(Table(title=f"{title}, {job.sequences:,} sequences", rows=rows))
    for job, experts in ((GPT3_175B, False), (DEEPSEEK_V3, True)):
        rows = axis_rows(job, experts=experts, repeats=options.repeats)
        report.facts["axes"][job.title] = rows
        report.tables.append(Table(title=f"{job.title}, exactly that many chips", rows=rows))
    report.facts["jobs"] = [asdict(job) for job in (*JOBS.values(), DEEPSEEK_V3)]
    if options.plots:
        plot(report, options.plots)
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
