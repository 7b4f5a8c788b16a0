"""calculon and planner on the same jobs, one process, one core: evaluations per CPU-second.

Needs a checkout of calculon (https://github.com/calculon-ai/calculon, Apache-2.0), named with
--calculon. Executions are drawn uniformly from calculon's own search space. calculon runs them as
its search does; planner evaluates the same plans (tensor, pipeline and data parallelism,
micro-batch, interleave, recomputation, ZeRO-1, sequence parallelism, offloading), directly, one
at a time and as one table, and through the separable tables of its own space.

What one evaluation gives: calculon step time and memory of stage 0 with their parts, no energy;
planner step time, energy and the memory of every stage, with their parts ("totals only": without
parts; through the tables: time and energy per candidate, and memory once per plan).

The search rows compare whole searches: calculon's is extrapolated from the rate of its sample
(plans that do not fit end early); planner's is measured and proves its optimum and front.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import calculon_space
import measuring
import numpy as np
from calculon_space import Checkout, Execution
from gpt3_space import counted
from jobs import GPT3_175B, BenchmarkJob
from measuring import Report, Table
from throughput import prepare, table_seconds

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.plan import Plan, PlanTable
from planner.rules import applicable
from planner.search.engine import Search
from planner.search.limits import Limits
from planner.search.options import SpaceOptions

MT_NLG_530B = BenchmarkJob(
    model="mt-nlg-530b", hardware="dgx-a100-80-hdr", chips=2240, sequences=1920, seq_len=2048
)
PAIRS = (("gpt3-175B", GPT3_175B), ("turing-530B", MT_NLG_530B))
SYSTEM = "a100_80g"
_TABLE = 8192
_ALONE = 200
_RECOMPUTE = {"full": "full", "attn_only": "selective", "none": "none"}
_OFFLOADS = {
    "optimizer": "optimizer_offload",
    "weights": "weight_offload",
    "activations": "activations_offload",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculonRates:
    """What calculon did with a sample of its own space.

    Attributes:
        plans: Size of the space.
        feasible: Executions of the sample that it accepts.
        mixed_per_s: Executions per CPU-second over the whole sample.
        full_per_s: 1 / median CPU seconds of an execution that it accepts.
        fastest_per_s: 1 / least CPU seconds of such an execution.
    """

    plans: int
    feasible: tuple[Execution, ...]
    mixed_per_s: float
    full_per_s: float
    fastest_per_s: float


def run_calculon(
    checkout: Checkout, name: str, job: BenchmarkJob, count: int
) -> tuple[CalculonRates, list[calculon_space.Product]]:
    """Runs a sample of calculon's space as its own search does."""
    llm = checkout.llm
    app = llm.Application(checkout.record("models", name))
    system = checkout.package.System(checkout.record("systems", SYSTEM))
    space = list(calculon_space.products(llm, app, system, job.chips, job.sequences))
    accepted: list[Execution] = []
    seconds: list[float] = []
    drawn = calculon_space.sample(space, count, seed=0)
    started = time.process_time()
    for execution in drawn:
        before = time.process_time()
        try:
            model = llm(app, logging.Logger("calculon"))
            model.compile(system, llm.Execution.from_json(execution))
            model.run(system)
            model.get_stats_json(include_layers=False)
        except llm.Error:
            continue
        accepted.append(execution)
        seconds.append(time.process_time() - before)
    spent = time.process_time() - started
    if not accepted:
        raise RuntimeError(f"{name}: calculon accepts none of {count} executions; draw more")
    rates = CalculonRates(
        plans=sum(len(part) for part in space),
        feasible=tuple(accepted),
        mixed_per_s=count / spent,
        full_per_s=1 / statistics.median(seconds),
        fastest_per_s=1 / min(seconds),
    )
    return rates, space


def as_plan(x: Execution) -> Plan:
    """An execution of calculon as a plan."""
    interleave, pp = x["pipeline_interleaving"], x["pipeline_par"]
    return Plan(
        dp=x["data_par"],
        tp=x["tensor_par"],
        pp=pp,
        micro_batch=x["microbatch_size"],
        schedule="interleaved" if interleave > 1 else "1f1b",
        interleave=interleave,
        sharding="zero1" if x["optimizer_sharding"] else "ddp",
        sequence_parallel=x["tensor_par_comm_type"] == "rs_ag" and x["tensor_par"] > 1,
        recompute=_RECOMPUTE[x["activation_recompute"]],
        offload=tuple(name for name, flag in _OFFLOADS.items() if x[flag]),
    )


def same_plans(model: CostModel, executions: list[Execution], count: int) -> PlanTable:
    """The first `count` of the executions that planner's rules allow, as a table."""
    table = PlanTable.from_plans([as_plan(x) for x in executions])
    allowed = np.ones(len(table), dtype=np.bool_)
    for rule in applicable(model.framework.name):
        allowed &= np.asarray(rule.holds(model, table))
    at = np.flatnonzero(allowed)
    if len(at) < count:
        raise RuntimeError(f"only {len(at)} of {len(executions)} executions obey planner's rules")
    return table.take(at[:count])


def run_planner(
    job: BenchmarkJob, space: list[calculon_space.Product], budget_s: float
) -> dict[str, float]:
    """Plans per CPU-second of planner, each way."""
    model = job.cost_model()
    plans = same_plans(model, calculon_space.sample(space, 6 * _TABLE, seed=1), _TABLE)
    rows = [plans.take(np.array([row])) for row in range(_ALONE)]
    alone = measuring.cpu_seconds_for(
        lambda: [evaluate_table(model, row) for row in rows], budget_s
    )
    together = measuring.cpu_seconds_for(lambda: evaluate_table(model, plans), budget_s)
    totals = measuring.cpu_seconds_for(lambda: evaluate_totals(model, plans), budget_s)
    prepared = prepare(job, all_orders=True)
    tables = table_seconds(prepared, _TABLE, budget_s).median
    return {
        "one at a time": _ALONE / alone.median,
        f"table of {_TABLE:,}": _TABLE / together.median,
        f"table of {_TABLE:,}, totals only": _TABLE / totals.median,
        "separable tables, memory counted in": 1 / (tables + prepared.memory_s / prepared.size),
    }


def search_row(job: BenchmarkJob, repeats: int) -> dict[str, Any]:
    """Median CPU seconds of the exact front with offloading, and the size of the space."""
    model = job.cost_model()
    options = SpaceOptions(offload=True, all_orders=True)

    def work() -> None:
        Search(model=model, options=options, limits=Limits()).run((job.chips,))

    clocks = len(Search(model=model, options=options, limits=Limits()).clocks)
    return {
        "tool": "planner (measured, proved)",
        "candidates": counted(model, job.chips, options, clocks).candidates,
        "CPU seconds": measuring.cpu_seconds(work, repeats).median,
    }


def compared(
    checkout: Checkout, name: str, job: BenchmarkJob, options: argparse.Namespace, report: Report
) -> None:
    """Adds the tables of one job to the report."""
    theirs, space = run_calculon(checkout, name, job, options.sample)
    ours = run_planner(job, space, options.budget)
    rows: list[dict[str, Any]] = [
        {"tool": "calculon", "what": "plans that fit", "per CPU-second": theirs.full_per_s},
        {
            "tool": "calculon",
            "what": "the same, fastest plan",
            "per CPU-second": theirs.fastest_per_s,
        },
        {"tool": "calculon", "what": "its space, mixed", "per CPU-second": theirs.mixed_per_s},
    ]
    rows += [
        {"tool": "planner", "what": what, "per CPU-second": rate} for what, rate in ours.items()
    ]
    for row in rows:
        row["over calculon's plans that fit"] = row["per CPU-second"] / theirs.full_per_s
        row["over its mixed rate"] = row["per CPU-second"] / theirs.mixed_per_s
    report.tables.append(Table(title=f"{job.title}: evaluations, one core (medians)", rows=rows))
    rows = [
        {
            "tool": "calculon (extrapolated)",
            "candidates": theirs.plans,
            "CPU seconds": theirs.plans / theirs.mixed_per_s,
        },
        search_row(job, options.repeats),
    ]
    for row in rows:
        row["faster"] = rows[0]["CPU seconds"] / row["CPU seconds"]
    report.tables.append(Table(title=f"{job.title}: a whole search with offloading", rows=rows))
    report.notes.append(
        f"{name}: calculon accepts {len(theirs.feasible):,} of {options.sample:,} executions drawn."
    )


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--calculon", metavar="PATH", type=Path, help="a checkout of calculon")
    parser.add_argument(
        "--sample", type=measuring.positive, default=2000, help="executions drawn per job [2000]"
    )
    parser.add_argument("--budget", type=float, default=2.0, help="CPU seconds per rate [2]")
    parser.add_argument("--repeats", type=measuring.positive, default=3, help="searches [3]")
    options = parser.parse_args()
    if options.calculon is None:
        parser.error(
            "--calculon PATH is missing: clone https://github.com/calculon-ai/calculon and name "
            "the folder"
        )
    try:
        checkout = calculon_space.load(options.calculon)
    except FileNotFoundError as error:
        parser.error(str(error))
    report = Report(name="vs_calculon")
    for name, job in PAIRS:
        compared(checkout, name, job, options, report)
    report.facts["calculon"] = checkout.package.__version__
    report.notes += [
        f"calculon {checkout.package.__version__}, its systems/{SYSTEM}.json.",
        "One evaluation: calculon gives time and the memory of stage 0; planner time, energy and "
        "the memory of every stage. calculon has no energy model.",
    ]
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
