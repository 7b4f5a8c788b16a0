"""Other estimators and planner on the same jobs, one core: seconds of commands, plans per second.

Needs a checkout of calculon (https://github.com/calculon-ai/calculon, Apache-2.0), named with
--calculon, from whose search space all plans are drawn. With --simumax and --llm-analysis (see
`peer_programs`; --python names a Python that has what they need) these join.

One plan: each tool's command from a fresh process, start-up included, the least of some runs; it
has no interleaving. Some plans: drawn as `calculon_costs` draws them, tensor parallelism within a
node, in a process that has started, one after the other. A search: whole commands, and SimuMax's
own, in a process that has started.

calculon's space: executions are drawn uniformly from it and run as its search runs them. planner
evaluates different plans drawn from the same space (tensor, pipeline and data parallelism,
micro-batch, interleave, recomputation, ZeRO-1, sequence parallelism, offloading), one at a time and
as one table; and the candidates of its own space through the separable tables.

One evaluation gives, in calculon, step time and memory of stage 0 with their parts, no energy; in
planner, step time, energy and the memory of every stage, with their parts ("totals": without
them). Times are the best of repetitions, except calculon's "plans that fit": the median over
those plans of the best time of each.

A whole search: calculon's time is the size of its space over its rate on the sample, in which most
plans do not fit and end early; planner's is measured, and its optimum and front are proved.

Before anything is timed: the space drawn from has as many executions as calculon's own search
counts, and planner's results are equal bit for bit one at a time, as a table and as totals, and
through its tables. Otherwise the exit status is 1.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import calculon_costs
import calculon_space
import measuring
import numpy as np
import pages
import peer_programs
from calculon_costs import Drawn, Terms
from calculon_space import SYSTEM, Checkout, Execution, as_plan
from gpt3_space import counted, reproduced, solved
from jobs import GPT3_175B, BenchmarkJob
from measuring import Cell, Report, Table
from peer_programs import Peer
from startup import program, run_once
from throughput import agree as tables_agree
from throughput import prepare, table_seconds

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.frameworks.rules import applicable
from planner.plan import Plan, PlanTable
from planner.question.files.plan_text import plan_text
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve

MT_NLG_530B = BenchmarkJob(
    model="mt-nlg-530b", hardware="dgx-a100-80-hdr", chips=2240, sequences=1920, seq_len=2048
)
REGION = "speed"
HERE = Path(__file__).resolve().parents[1]
PAIRS = (("gpt3-175B", GPT3_175B), ("turing-530B", MT_NLG_530B))
_SAME = "gpt3-175B"  # calculon's name of the model of the plans that all cost
_SAMPLED, _EACH = 40, 6  # plans drawn, and at most taken of them with either schedule
_ALONE = 200
_DRAWN = 6  # executions drawn per plan of the table: many share a plan or break a rule
_PRODUCTS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculonRates:
    """What calculon did with a sample of its own space.

    Attributes:
        accepted: Executions of the sample that fit.
        mixed_per_s: Executions per CPU-second over the whole sample.
        full_per_s: 1 / median over the accepted executions of the least CPU seconds of each.
    """

    accepted: int
    mixed_per_s: float
    full_per_s: float


def run_calculon(
    checkout: Checkout, app: Any, system: Any, drawn: list[Execution], repeats: int
) -> CalculonRates:
    """Runs a sample of calculon's space as its own search does.

    Raises:
        SystemExit: None of the sample fits.
    """
    llm = checkout.llm
    seconds = np.full((repeats, len(drawn)), np.inf)
    accepted = np.zeros(len(drawn), dtype=np.bool_)
    for repeat in range(repeats):
        for at, execution in enumerate(drawn):
            started = time.process_time()
            try:
                model = llm(app, logging.Logger("calculon"))
                model.compile(system, llm.Execution.from_json(execution))
                model.run(system)
                model.get_stats_json(include_layers=False)
                accepted[at] = True
            except llm.Error:
                pass
            seconds[repeat, at] = time.process_time() - started
    measuring.require(bool(accepted.any()), f"none of {len(drawn)} executions fits; draw more")
    return CalculonRates(
        accepted=int(accepted.sum()),
        mixed_per_s=len(drawn) / float(seconds.sum(axis=1).min()),
        full_per_s=1 / float(np.median(seconds.min(axis=0)[accepted])),
    )


def same_plans(model: CostModel, executions: list[Execution], most: int) -> PlanTable:
    """Up to `most` different plans behind the executions that planner's rules allow."""
    table = PlanTable.from_plans(list(dict.fromkeys(as_plan(x) for x in executions)))
    allowed = np.ones(len(table), dtype=np.bool_)
    for rule in applicable(model.framework):
        allowed &= np.asarray(rule.holds(model, table))
    measuring.require(bool(allowed.any()), "none of the executions obeys planner's rules")
    return table.take(np.flatnonzero(allowed)[:most])


def agree(model: CostModel, plans: PlanTable, alone: list[PlanTable]) -> bool:
    """Whether plans cost the same one at a time, as one table, and as totals, to the last bit."""
    table, totals = evaluate_table(model, plans), evaluate_totals(model, plans)
    whole = (table.step_time_s, table.energy.total, table.memory_per_chip_bytes)
    singly = [evaluate_table(model, row) for row in alone]
    each = (
        [row.step_time_s[0] for row in singly],
        [row.energy.total[0] for row in singly],
        [row.memory_per_chip_bytes[0] for row in singly],
    )
    summed = (totals.step_time_s, totals.energy_j, totals.memory_bytes)
    return all(
        np.array_equal(one, other) and np.array_equal(one[: len(few)], few)
        for one, other, few in zip(whole, summed, each, strict=True)
    )


def run_planner(
    job: BenchmarkJob, executions: list[Execution], options: argparse.Namespace
) -> dict[str, float]:
    """Plans per CPU-second of planner, each way."""
    model = job.cost_model()
    plans = same_plans(model, executions, options.table)
    alone = [plans.take(np.array([row])) for row in range(min(_ALONE, len(plans)))]
    prepared = prepare(job, all_orders=True, repeats=options.repeats)
    measuring.require(agree(model, plans, alone), f"{job.title}: a table differs from its rows")
    measuring.require(tables_agree(prepared), f"{job.title}: tables and direct evaluation differ")

    def per_second(count: int, work: Callable[[], object]) -> float:
        return count / measuring.cpu_seconds_for(work, options.budget).best

    table_s = table_seconds(prepared, options.table, options.budget).best
    return {
        "one at a time": per_second(
            len(alone), lambda: [evaluate_table(model, row) for row in alone]
        ),
        f"table of {len(plans):,}": per_second(len(plans), lambda: evaluate_table(model, plans)),
        f"table of {len(plans):,}, totals": per_second(
            len(plans), lambda: evaluate_totals(model, plans)
        ),
        "tables of its own space, with memory": 1 / (table_s + prepared.memory_s / prepared.size),
    }


def search_row(job: BenchmarkJob, repeats: int) -> dict[str, Any]:
    """CPU seconds of the exact front with offloading, and the size of the space."""
    model = job.cost_model()
    options = SpaceOptions(offload=True, all_orders=True)
    search, found = solved(model, job.chips, options)
    measuring.require(reproduced(model, found), f"{job.title}: the front is not reproduced")
    spent = measuring.cpu_seconds(lambda: solved(model, job.chips, options), repeats)
    return {
        "tool": "planner (measured, proved)",
        "candidates": counted(model, job.chips, options, len(search.clocks)).candidates,
        "CPU seconds": spent.best,
    }


def compared(
    checkout: Checkout, name: str, job: BenchmarkJob, options: argparse.Namespace, report: Report
) -> None:
    """Adds the tables of one job to the report."""
    app = checkout.llm.Application(checkout.record("models", name))
    system = checkout.package.System(checkout.record("systems", SYSTEM))
    space = list(calculon_space.products(checkout.llm, app, system, job.chips, job.sequences))
    measuring.require(
        calculon_space.counts_agree(checkout, app, system, space, _PRODUCTS),
        f"{name}: calculon's own search counts other executions",
    )
    drawn = calculon_space.sample(space, options.sample, seed=0)
    ours = run_planner(job, calculon_space.sample(space, _DRAWN * options.table, seed=1), options)
    theirs = run_calculon(checkout, app, system, drawn, options.repeats)
    rates = [
        ("calculon", "plans that fit", theirs.full_per_s),
        ("calculon", "its space, mixed", theirs.mixed_per_s),
        *(("planner", what, rate) for what, rate in ours.items()),
    ]
    rows: list[dict[str, Any]] = [
        {
            "tool": tool,
            "what": what,
            "per CPU-second": rate,
            "over calculon, plans that fit": rate / theirs.full_per_s,
            "over calculon, mixed": rate / theirs.mixed_per_s,
        }
        for tool, what, rate in rates
    ]
    report.tables.append(Table(title=f"{job.title}, evaluations on one core", rows=rows))
    size = sum(len(part) for part in space)
    seconds = size / theirs.mixed_per_s
    extrapolated = {
        "tool": "calculon (extrapolated)",
        "candidates": size,
        "CPU seconds": seconds,
    }
    rows = [extrapolated, search_row(job, options.repeats)]
    for row in rows:
        row["times faster"] = seconds / row["CPU seconds"]
    report.tables.append(Table(title=f"{job.title}, a whole search with offloading", rows=rows))
    report.notes.append(
        f"{job.title}: of {len(drawn):,} executions drawn, {theirs.accepted:,} fit in calculon."
    )


def started(command: list[str], folder: Path, repeats: int) -> float:
    """Least CPU seconds of some runs of a command; the first compiles bytecode and is not timed."""
    path = {"PYTHONPATH": str(folder)}
    runs = [run_once(command, path, subprocess.DEVNULL) for _ in range(repeats + 1)]
    return min(run.cpu_s for run in runs[1:])


def row_of(
    peer: Peer, one_s: float, plans: list[Plan], seconds: list[float | None]
) -> dict[str, Cell]:
    """A tool's row: its command with one plan, and the rates of plans of either schedule."""
    rates: dict[str, Cell] = {}
    for schedule in ("1f1b", "interleaved"):
        pairs = zip(plans, seconds, strict=True)
        own = [s for plan, s in pairs if plan.schedule == schedule and s is not None]
        rates[f"{schedule}, plans per CPU-second"] = len(own) / sum(own) if own else None
    return {
        "tool": peer.name,
        "version": peer.version,
        "one plan, whole command, CPU s": one_s,
        **rates,
        "an evaluation gives": peer.covers,
    }


def here(
    peer: Peer, plans: list[Plan], works: list[Callable[[], object]], repeats: int
) -> dict[str, Cell]:
    """The row of a tool that runs in this process."""
    one_s = started(list(peer.command), peer.folder, repeats)
    return row_of(peer, one_s, plans, [measuring.cpu_seconds(w, repeats).best for w in works])


def same_plans_tables(checkout: Checkout, options: argparse.Namespace) -> list[Table]:
    """One plan, some plans and a search of all tools."""
    drawn = calculon_costs.draw(checkout, _SAME, 0, _SAMPLED, 0)
    kinds = [[p for p in drawn.plans if p.schedule == kind] for kind in ("1f1b", "interleaved")]
    plans = [plan for kind in kinds for plan in kind[: 1 if options.quick else _EACH]]
    runs = dict(zip(drawn.plans, drawn.executions, strict=True))
    system = calculon_costs.system_of(checkout, Terms(), 1.0)

    def by_calculon(plan: Plan) -> None:
        model = checkout.llm(drawn.app, logging.Logger("calculon"))
        model.compile(system, checkout.llm.Execution.from_json(runs[plan]))
        model.run(system)
        model.get_stats_json(include_layers=False)

    searches = [search_cells(drawn, options.repeats)]
    with tempfile.TemporaryDirectory() as name:
        folder, python = Path(name), options.python
        ours = planner_peer(drawn, plans[0], folder)
        other = peer_programs.calculon(options.calculon.resolve(), python, runs[plans[0]], folder)
        tables = [PlanTable.from_plans([plan]) for plan in plans]
        rows = [
            here(ours, plans, [partial(evaluate_table, drawn.model, t) for t in tables],
                 options.repeats),
            here(other, plans, [partial(by_calculon, plan) for plan in plans], options.repeats),
        ]  # fmt: skip
        asked = peer_programs.asked_of(drawn.job, drawn.app.num_blocks, plans, folder)
        for path, made in (
            (options.simumax, peer_programs.simumax),
            (options.llm_analysis, peer_programs.llm_analysis),
        ):
            if path is None:
                continue
            peer = made(path.resolve(), python, asked)
            one_s = started(list(peer.command), peer.folder, options.repeats)
            found = peer_programs.many(peer, python, asked)
            rows.append(row_of(peer, one_s, plans, found["seconds"]))
            if peer.searches:
                searches.append(
                    {"tool": peer.name, "goes through": peer.searches}
                    | {"plans": found["search"]["plans"], "CPU s": found["search"]["seconds"]}
                )
    flat = sum(plan.schedule == "1f1b" for plan in plans)
    title = f"Plans of {drawn.job.title}, {flat} with 1f1b, {len(plans) - flat} interleaved"
    return [
        Table(title=title, rows=rows),
        Table(title=f"Searches of {drawn.job.title}", rows=searches),
    ]


def planner_peer(drawn: Drawn, plan: Plan, folder: Path) -> Peer:
    """Our own command; writes a plan into a folder."""
    path = folder / "plan.yaml"
    resolved = resolve(request_from(drawn.job.fields()))
    path.write_text(plan_text(resolved, plan, []), encoding="utf-8")
    return Peer(
        name="planner",
        version=planner.__version__,
        covers="step time, energy, memory of every stage; the command: and their intervals",
        command=(*program(), "evaluate", str(path)),
        folder=HERE,
    )


def search_cells(drawn: Drawn, repeats: int) -> dict[str, Cell]:
    """Our own whole command, of `drawn`'s job, and the size of its space."""
    job, options = drawn.job, SpaceOptions()
    solve = ["solve", "--model", job.model, "--hardware", job.hardware, "--chips", str(job.chips),
             "--batch-tokens", str(job.sequences * job.seq_len), "--seq-len", str(job.seq_len),
             "--framework", "megatron", "--era", "megatron-2022"]  # fmt: skip
    search, _ = solved(drawn.model, job.chips, options)
    return {
        "tool": "planner solve, whole command",
        "goes through": "its space with placements and clocks; best plan and front proved",
        "plans": counted(drawn.model, job.chips, options, len(search.clocks)).candidates,
        "CPU s": started([*program(), *solve], HERE, repeats),
    }


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    for name in ("calculon", "SimuMax", "llm-analysis"):
        parser.add_argument(
            f"--{name.lower()}", metavar="PATH", type=Path, help=f"a checkout of {name}"
        )
    parser.add_argument(
        "--python", metavar="PATH", default=sys.executable, help="that runs the others [this one]"
    )
    parser.add_argument(
        "--sample", type=measuring.positive, default=2000, help="executions drawn per job [2000]"
    )
    parser.add_argument(
        "--table", type=measuring.positive, default=8192, help="most plans at a time [8192]"
    )
    parser.add_argument("--budget", type=float, default=2.0, help="CPU seconds per rate [2]")
    parser.add_argument("--repeats", type=measuring.positive, default=3, help="per figure [3]")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="e.g. docs/peers.md")
    options = parser.parse_args()
    checkout = calculon_space.asked(parser, options.calculon)
    if options.write is not None:
        pages.parted(options.write, REGION)
    where = pages.measured_on()
    if options.quick:
        options.sample, options.table, options.budget, options.repeats = 100, 1024, 0.0, 1
    report = Report(name="peers")
    if options.simumax or options.llm_analysis:
        report.tables += same_plans_tables(checkout, options)
    for name, job in PAIRS[-1:] if options.quick else PAIRS:
        compared(checkout, name, job, options, report)
    version = checkout.package.__version__
    report.facts["calculon"] = version
    report.notes.append(f"calculon {version}, its systems/{SYSTEM}.json.")
    if options.write is None:
        measuring.show(report, options)
    else:
        pages.put_report(options.write, REGION, where, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
