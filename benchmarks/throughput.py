"""Plans per CPU-second on one core: evaluated directly, and through the separable tables.

A candidate is a plan with its placement and clock; every candidate passes all divisibility rules.
Columns, in million candidates per CPU-second, the best of the repetitions:

  direct               `planner.cost.evaluate.evaluate_totals` (time, energy, memory) on tables of
                       candidates in the order in which the search sees them
  direct, parts        `evaluate_table` on the same: with every part of time, energy and memory
  direct, random       `evaluate_totals` on candidates drawn at random from the whole space
  tables               `planner.search.uniform.candidates.Candidates.costs` (time, energy) on
  windows spread
                       evenly over the space, every clock of a row at once, expansion counted in
  tables + memory      with the memory of every plan of the space, which neither placement nor
                       clock changes, counted in
  all                  with building the placements and tables counted in as well

"Rows at a time" are the candidates of a table evaluated directly, or the plans with placements of
a window, each with every clock. Candidates that do not fit in memory are costed like the others.
A random sample is costed each way first; unless all results are equal bit for bit, nothing is
timed and the exit status is 1.
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
from jobs import JOBS, QUICK_JOB, BenchmarkJob
from measuring import Report, Samples, Table, figure

from planner.base.arrays import IntArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals, memory_table
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.uniform.batch import CHUNK
from planner.search.uniform.candidates import Candidates, Rows
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import Space, cross_choices, cross_partial_plans
from planner.search.uniform.tables import Placements, build_placements

CHUNKS = (64, 512, 4096, 8192, 16384, 32768, 65536)
QUICK_CHUNKS = (4096,)
_CHECKED = 4096
_WITH_MEMORY = "tables + memory"
TARGETS = {"direct": 1e6, _WITH_MEMORY: 8e6}


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


def prepare(job: BenchmarkJob, *, all_orders: bool, repeats: int = 3) -> Prepared:
    """Enumerates a job's space and builds its tables, timing each."""
    model = job.cost_model()
    options = SpaceOptions()
    orders = ORDERS if all_orders else model.framework.orders or ORDERS
    clocks = np.array(model.chip.clock_levels if model.chip.clock_settable else (1.0,))
    found: dict[str, Any] = {}

    def enumerate_plans() -> None:
        meshes = enumerate_meshes(model, (job.chips,), options)
        found["space"] = cross_choices(model, cross_partial_plans(model, meshes, options), options)

    def build() -> None:
        space: Space = found["space"]
        placements: Placements = build_placements(model, space.meshes.columns, orders)
        found["candidates"] = Candidates.build(model, space, placements, clocks)

    def hold() -> None:
        plans = found["space"].plans
        for start in range(0, len(plans), CHUNK):
            memory_table(model, plans.take(np.arange(len(plans))[start : start + CHUNK]))

    spent = [measuring.cpu_seconds(step, repeats).best for step in (enumerate_plans, hold, build)]
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
    held = memory_table(space.model, space.candidates.space.plans.take(rows.plan))
    times = np.broadcast_to(tables.time, shape)[at, clock]
    energies = np.broadcast_to(tables.energy, shape)[at, clock]
    pairs = (
        (times, direct.step_time_s),
        (energies, direct.energy_j),
        (times, whole.step_time_s),
        (energies, whole.energy.total),
        (held.peak, direct.memory_bytes),
        (held.peak, whole.memory_per_chip_bytes),
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
    """CPU seconds per candidate of direct evaluation, over all of the tables."""
    evaluate = evaluate_table if parts else evaluate_totals

    def work() -> None:
        for table in tables:
            evaluate(space.model, table)

    spent = measuring.cpu_seconds_for(work, budget_s)
    candidates = sum(len(table) for table in tables)
    return Samples(seconds=tuple(s / candidates for s in spent.seconds))


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


def rates(space: Prepared, chunks: tuple[int, ...], budget_s: float) -> list[dict[str, Any]]:
    """One row per chunk size: millions of candidates per CPU-second each way."""
    found: list[dict[str, Any]] = []
    memory, build = space.memory_s / space.size, space.build_s / space.size
    for chunk in chunks:
        blocks = max(64 // chunk, 4)
        ordered = in_order(space, chunk, blocks)
        direct = direct_seconds(space, ordered, budget_s)
        whole = direct_seconds(space, ordered, budget_s, parts=True)
        random = direct_seconds(space, at_random(space, chunk, blocks), budget_s)
        tables = table_seconds(space, chunk, budget_s)
        found.append(
            {
                "rows at a time": chunk,
                "direct": 1e-6 / direct.best,
                "direct, parts": 1e-6 / whole.best,
                "direct, random": 1e-6 / random.best,
                "tables": 1e-6 / tables.best,
                "tables + memory": 1e-6 / (tables.best + memory),
                "all": 1e-6 / (tables.best + memory + build),
            }
        )
    return found


def measured(job: BenchmarkJob, options: argparse.Namespace, report: Report) -> None:
    """Adds a job's figures to the report.

    Raises:
        SystemExit: The ways of costing a plan do not agree.
    """
    repeats = 1 if options.quick else 3
    space = prepare(job, all_orders=not options.framework_orders, repeats=repeats)
    measuring.require(agree(space), f"{job.title}: tables and direct evaluation differ")
    found = rates(space, QUICK_CHUNKS if options.quick else CHUNKS, options.budget)
    report.tables.append(Table(title=f"{job.title}, million candidates per CPU-second", rows=found))
    report.facts.setdefault("spaces", []).append(
        {
            "job": job.title,
            "plans": len(space.candidates.space),
            "with placements": int(space.ends[-1]),
            "with clocks": space.size,
            "enumerate, CPU s": space.enumerate_s,
            "memory, CPU s": space.memory_s,
            "build tables, CPU s": space.build_s,
        }
    )
    report.facts.setdefault("best", []).append(
        {
            "job": job.title,
            **{
                name: round(1e6 * max(row[name] for row in found))
                for name in ("direct", _WITH_MEMORY)
            },
        }
    )


def against(path: str, options: argparse.Namespace) -> Table:
    """The same measurement on another checkout, and how much faster this one is.

    Raises:
        RuntimeError: The other checkout cannot run this script.
    """
    command = [sys.executable, __file__, "--json", "--budget", str(options.budget)]
    command += ["--framework-orders"] if options.framework_orders else []
    command += ["--quick"] if options.quick else []
    command += options.jobs
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if ran.returncode:
        why = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
        raise RuntimeError(f"--against {path}: cannot be measured: {why}")
    return Table(title="The other checkout", rows=json.loads(ran.stdout)["best"])


def compared(here: Table, there: Table) -> Table:
    """Rates of one checkout over those of another."""
    rows = [
        {
            "job": mine["job"],
            **{name: figure(mine, name) / figure(theirs, name) for name in TARGETS},
        }
        for mine, theirs in zip(here.rows, there.rows, strict=True)
    ]
    return Table(title="This checkout over the other one", rows=rows)


def verdicts(best: Table) -> list[str]:
    """One sentence per target: the job that is slowest at its best number of rows decides."""
    lowest = {name: min(figure(row, name) for row in best.rows) for name in TARGETS}
    return [
        f"{name}: target {target:,.0f} per CPU-second; the slowest job reaches "
        f"{lowest[name]:,.0f}: {'met' if lowest[name] >= target else 'missed'}."
        for name, target in TARGETS.items()
    ]


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("jobs", nargs="*", help=f"of {', '.join(JOBS)} [all]", default=[])
    parser.add_argument("--budget", type=float, default=0.5, help="CPU seconds per figure [0.5]")
    parser.add_argument(
        "--framework-orders", action="store_true", help="the framework's rank layouts only"
    )
    parser.add_argument("--against", metavar="PATH", help="another checkout, for ratios")
    options = parser.parse_args()
    if unknown := [name for name in options.jobs if name not in JOBS]:
        parser.error(f"unknown job {unknown[0]!r}; allowed: {', '.join(JOBS)}")
    if options.quick:
        options.jobs, options.budget = options.jobs or [QUICK_JOB], 0.0
    report = Report(name="throughput")
    for name in options.jobs or JOBS:
        measured(JOBS[name], options, report)
    best = Table(title="Best of all numbers of rows, per CPU-second", rows=report.facts["best"])
    spaces = Table(title="The whole spaces, and preparing them once", rows=report.facts["spaces"])
    report.tables = [best, *report.tables, spaces]
    if options.against:
        try:
            there = against(options.against, options)
        except RuntimeError as error:
            parser.error(str(error))
        report.tables += [there, compared(best, there)]
    report.notes = ["All ways agree bit for bit on a random sample."]
    report.notes += [] if options.quick else verdicts(best)
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
