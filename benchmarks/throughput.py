"""Plans per CPU-second on one core: evaluated directly, and through the separable tables.

Directly: `planner.cost.evaluate.evaluate_totals` (time, energy, memory) and `evaluate_table` (the
same with all their parts) on tables of candidates (plan, placement, clock): drawn at random from
the whole space, and windows of it in the order in which the search sees them.

Tables: `planner.search.candidates.Candidates.costs` on windows of the same space, every clock of
a row at once, expansion of the rows counted in; then with the memory of every logical plan
counted in, then also with building placements and tables. The windows are spread evenly over the
space; plans that do not fit in memory are costed like the others.

Every candidate passes all divisibility rules. A sample is costed each way first: the results must
be equal bit for bit, else the exit status is 1. Figures are the best of the repetitions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import measuring
import numpy as np
from jobs import JOBS, BenchmarkJob
from measuring import Report, Samples, Table

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals, memory_table
from planner.plan import ORDERS, IntArray, PlanTable
from planner.search.candidates import Candidates, Rows
from planner.search.meshes import enumerate_meshes
from planner.search.options import SpaceOptions
from planner.search.space import Space, cross_choices, cross_skeletons
from planner.search.tables import Placements, build_placements

CHUNKS = (1, 64, 512, 2048, 4096, 8192, 16384, 65536)
TARGETS = {"direct": 1e6, "tables": 8e6}
_MEMORY_CHUNK = 16384
_CHECKED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A whole space of candidates with what it cost to prepare.

    Attributes:
        model: Cost model.
        candidates: Tables of the space.
        ends: (n,) cumulative candidate rows (plan, placement) of the logical plans.
        memory_s, build_s: CPU seconds of memory of all plans; of placements and tables.
        enumerate_s: CPU seconds of enumerating the plans.
    """

    model: CostModel
    candidates: Candidates
    ends: IntArray
    memory_s: float
    build_s: float
    enumerate_s: float

    @property
    def size(self) -> int:
        """Candidates: plans times placements times clocks."""
        return int(self.ends[-1]) * len(self.candidates.clocks)

    def rows(self, start: int, count: int) -> Rows:
        """`count` rows from row `start` on, in the order of the search."""
        first, last = np.searchsorted(self.ends, (start, start + count - 1), side="right")
        rows = self.candidates.expand(np.arange(first, last + 1))
        skipped = start - (int(self.ends[first - 1]) if first else 0)
        part = slice(skipped, skipped + count)
        return Rows(plan=rows.plan[part], placement=rows.placement[part])

    def plans(self, rows: Rows, clock: IntArray) -> PlanTable:
        """The candidates of some rows at some clocks as a plan table."""
        table = self.candidates.space.plans.take(rows.plan)
        return replace(
            table,
            order=self.candidates.placements.order[rows.placement],
            clock=self.candidates.clocks[clock],
        )


def prepare(job: BenchmarkJob, *, all_orders: bool) -> Prepared:
    """Enumerates a job's space and builds its tables, timing each."""
    model = job.cost_model()
    options = SpaceOptions()
    orders = ORDERS if all_orders else model.framework.orders or ORDERS
    clocks = np.array(model.chip.clock_levels if model.chip.clock_settable else (1.0,))
    found: dict[str, Any] = {}

    def enumerate_plans() -> None:
        meshes = enumerate_meshes(model, (job.chips,), options)
        found["space"] = cross_choices(model, cross_skeletons(model, meshes, options), options)

    def build() -> None:
        space: Space = found["space"]
        placements: Placements = build_placements(model, space.meshes.columns, orders)
        found["candidates"] = Candidates.build(model, space, placements, clocks)

    def hold() -> None:
        plans = found["space"].plans
        for start in range(0, len(plans), _MEMORY_CHUNK):
            memory_table(model, plans.take(np.arange(len(plans))[start : start + _MEMORY_CHUNK]))

    spent = [measuring.cpu_seconds(step, 3).best for step in (enumerate_plans, hold, build)]
    candidates: Candidates = found["candidates"]
    return Prepared(
        model=model,
        candidates=candidates,
        ends=np.cumsum(candidates.placements.count[candidates.space.mesh_id]),
        enumerate_s=spent[0],
        memory_s=spent[1],
        build_s=spent[2],
    )


def sampled(space: Prepared, count: int, seed: int) -> tuple[Rows, IntArray]:
    """Random rows and clocks of a space."""
    random = np.random.default_rng(seed)
    at = random.integers(0, int(space.ends[-1]), count)
    plan = np.searchsorted(space.ends, at, side="right")
    within = at - np.where(plan > 0, space.ends[plan - 1], 0)
    mesh = space.candidates.space.mesh_id[plan]
    placement = space.candidates.placements.start[mesh] + within
    clock = random.integers(0, len(space.candidates.clocks), count)
    return Rows(plan=plan, placement=placement), clock


def agree(space: Prepared) -> bool:
    """Whether all ways give the same times and energies, to the last bit, on a sample."""
    rows, clock = sampled(space, _CHECKED, seed=1)
    at = np.arange(_CHECKED)
    shape = (_CHECKED, len(space.candidates.clocks))
    tables = space.candidates.costs(rows)
    plans = space.plans(rows, clock)
    direct, whole = evaluate_totals(space.model, plans), evaluate_table(space.model, plans)
    times = np.broadcast_to(tables.time, shape)[at, clock]
    energies = np.broadcast_to(tables.energy, shape)[at, clock]
    pairs = (
        (times, direct.step_time_s),
        (energies, direct.energy_j),
        (times, whole.step_time_s),
        (energies, whole.energy.total),
        (direct.memory_bytes, whole.memory_per_chip_bytes),
    )
    return all(np.array_equal(one, other) for one, other in pairs)


def in_order(space: Prepared, chunk: int, blocks: int) -> list[PlanTable]:
    """Windows of candidates in the order of the search, clocks innermost."""
    clocks = len(space.candidates.clocks)
    count = min(-(-chunk // clocks), int(space.ends[-1]))
    tables = []
    for start in np.linspace(0, int(space.ends[-1]) - count, blocks).astype(np.int64):
        rows = space.rows(int(start), count)
        every = np.repeat(np.arange(count), clocks)[:chunk]
        part = Rows(plan=rows.plan[every], placement=rows.placement[every])
        tables.append(space.plans(part, np.tile(np.arange(clocks), count)[:chunk]))
    return tables


def at_random(space: Prepared, chunk: int, blocks: int) -> list[PlanTable]:
    """Random samples of all candidates."""
    return [space.plans(*sampled(space, chunk, seed=chunk + block)) for block in range(blocks)]


def direct_seconds(
    space: Prepared, tables: list[PlanTable], budget_s: float, *, parts: bool = False
) -> Samples:
    """CPU seconds per plan of direct evaluation, over all of the tables."""
    evaluate = evaluate_table if parts else evaluate_totals

    def work() -> None:
        for table in tables:
            evaluate(space.model, table)

    spent = measuring.cpu_seconds_for(work, budget_s)
    plans = sum(len(table) for table in tables)
    return Samples(seconds=tuple(s / plans for s in spent.seconds))


def table_seconds(space: Prepared, chunk: int, budget_s: float) -> Samples:
    """CPU seconds per candidate of assembling costs from the tables, over blocks of windows."""
    rows = int(space.ends[-1])
    chunk = min(chunk, rows)
    windows = np.linspace(0, rows - chunk, max(8192 // chunk, 8)).astype(np.int64)

    def work() -> None:
        for start in windows:
            space.candidates.costs(space.rows(int(start), chunk))

    spent = measuring.cpu_seconds_for(work, budget_s)
    each = chunk * len(windows) * len(space.candidates.clocks)
    return Samples(seconds=tuple(s / each for s in spent.seconds))


def rates(space: Prepared, budget_s: float) -> list[dict[str, Any]]:
    """One row per chunk size: millions of candidates per CPU-second each way, and the ratio."""
    found: list[dict[str, Any]] = []
    memory, build = space.memory_s / space.size, space.build_s / space.size
    for chunk in CHUNKS:
        blocks = max(64 // chunk, 4)
        ordered = in_order(space, chunk, blocks)
        random = direct_seconds(space, at_random(space, chunk, blocks), budget_s)
        direct = direct_seconds(space, ordered, budget_s)
        whole = direct_seconds(space, ordered, budget_s, parts=True)
        tables = table_seconds(space, chunk, budget_s)
        found.append(
            {
                "rows": chunk,
                "direct, random": 1e-6 / random.best,
                "direct, in order": 1e-6 / direct.best,
                "with parts, in order": 1e-6 / whole.best,
                "tables": 1e-6 / tables.best,
                "tables + memory": 1e-6 / (tables.best + memory),
                "+ building": 1e-6 / (tables.best + memory + build),
                "tables + memory / direct": direct.best / (tables.best + memory),
            }
        )
    return found


def measured(job: BenchmarkJob, options: argparse.Namespace, report: Report) -> None:
    """Adds a job's tables to the report."""
    space = prepare(job, all_orders=not options.framework_orders)
    same = agree(space)
    found = rates(space, options.budget)
    report.tables.append(
        Table(
            title=f"{job.title}: million candidates per CPU-second by rows at a time (best)",
            rows=found,
        )
    )
    report.facts.setdefault("jobs", []).append(
        {
            "job": job.title,
            "logical plans": len(space.candidates.space),
            "placed plans": int(space.ends[-1]),
            "clocks": len(space.candidates.clocks),
            "candidates": space.size,
            "enumerate, s": space.enumerate_s,
            "memory, s": space.memory_s,
            "build, s": space.build_s,
            "equal bit for bit": same,
            "best direct": 1e6 * max(row["direct, in order"] for row in found),
            "best tables + memory": 1e6 * max(row["tables + memory"] for row in found),
        }
    )


def against(path: str, options: argparse.Namespace, report: Report) -> None:
    """Runs the same measurement on another checkout and adds the ratios.

    Raises:
        RuntimeError: The other checkout cannot run this script.
    """
    command = [sys.executable, __file__, "--json", "--budget", str(options.budget)]
    command += ["--framework-orders"] if options.framework_orders else []
    command += options.jobs
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if ran.returncode:
        why = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
        raise RuntimeError(f"--against {path}: cannot be measured: {why}")
    then = {job["job"]: job for job in json.loads(ran.stdout)["jobs"]}
    report.tables.append(
        Table(
            title="This checkout over the other one",
            rows=[
                {
                    "job": job["job"],
                    **{
                        name.removeprefix("best "): job[name] / then[job["job"]][name]
                        for name in ("best direct", "best tables + memory")
                    },
                }
                for job in report.facts["jobs"]
            ],
        )
    )


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("jobs", nargs="*", help=f"of {', '.join(JOBS)} [all]", default=[])
    parser.add_argument(
        "--budget", type=float, default=1.0, help="CPU seconds per chunk size and way [1]"
    )
    parser.add_argument(
        "--framework-orders", action="store_true", help="the framework's rank layouts only"
    )
    parser.add_argument(
        "--against", metavar="PATH", help="another checkout with this interface, for ratios"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.jobs if name not in JOBS]:
        parser.error(f"unknown job {unknown[0]!r}; allowed: {', '.join(JOBS)}")
    report = Report(name="throughput")
    for name in options.jobs or JOBS:
        measured(JOBS[name], options, report)
    report.tables.insert(0, Table(title="Spaces and set-up", rows=report.facts["jobs"]))
    if options.against:
        try:
            against(options.against, options, report)
        except RuntimeError as error:
            parser.error(str(error))
    for kind, best in (("direct", "best direct"), ("tables", "best tables + memory")):
        low = min(job[best] for job in report.facts["jobs"])
        verdict = "met" if low >= TARGETS[kind] else "missed"
        report.notes.append(
            f"{kind}, in order: target {TARGETS[kind]:,.0f} per CPU-second; lowest of the jobs at "
            f"their best number of rows {low:,.0f}: {verdict}."
        )
    measuring.show(report, options)
    return 0 if all(job["equal bit for bit"] for job in report.facts["jobs"]) else 1


if __name__ == "__main__":
    sys.exit(main())
