"""Fleets: against every schedule, against what people do, on a public trace, and how long it takes.

--part brute    random small fleets, the best of all schedules, one by one
--part made     ten fleets of real models, against first come, first served
--part trace    jobs of a public trace (benchmarks/traces/acme_kalos.csv), in three mappings
--part large    50 jobs on 16,384 chips to a gap of 1 %
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from measuring import Cell, Report, Table, parser, positive, require, show  # before numpy

# isort: split
import numpy as np

from planner.answers.sweeping import Answers
from planner.base.units import DAY_S
from planner.studies.fleet.answer import FleetResult, Totals
from planner.studies.fleet.choices import Found, found_choices
from planner.studies.fleet.planning import Effort, plan_fleet
from planner.studies.fleet.program import program_of
from planner.studies.fleet.question import FleetQuestion, fleet_from
from solvers.fleet.enumeration import least
from solvers.fleet.problem import broken
from solvers.fleet.solving import solve
from solvers.solution import Status

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "benchmarks" / "traces" / "acme_kalos.csv"
PARTS = ("brute", "made", "trace", "large")
_TOKENS = (2e10, 5e10, 1e11, 3e11)
_MODELS = ("llama3-8b", "llama2-13b", "llama2-7b", "gpt3-1.3b", "mistral-7b", "gpt3-6.7b")
_BATCH = {"batch_tokens": "1Mi"}
_KNOWN: dict[str, Mapping[str, Any]] = {}
_ASK = Answers()
_TRACE_CHIPS = 512
_SLACK = 3.0
_GRID_S = 12 * 3600.0
_EARLIER_DAYS = 15.0


def once(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer of a question, which several fleets may ask."""
    key = repr(sorted(fields.items()))
    if key not in _KNOWN:
        _KNOWN[key] = _ASK(fields)
    return _KNOWN[key]


def brute(count: int) -> Table:
    """Random small fleets; the answer, and that of every schedule."""
    sys.path.insert(0, str(ROOT / "tests" / "solvers" / "fleet"))
    random_fleet = import_module("random_fleets").random_fleet  # beside the tests

    possible = equal = 0
    own = every = 0.0
    for seed in range(count):
        fleet = random_fleet(seed)
        started = time.process_time()
        truth = least(fleet)
        middle = time.process_time()
        found = solve(fleet)
        own, every = own + time.process_time() - middle, every + middle - started
        if truth is None:
            equal += found.status is Status.INFEASIBLE
            continue
        possible += 1
        holds = found.decision is not None and not broken(fleet, found.decision)
        equal += holds and found.status is Status.OPTIMAL and found.objective == truth[0]
    require(equal == count, f"{count - equal} of {count} answers differ from the best schedule")
    row: dict[str, Cell] = {
        "fleets": count,
        "with a schedule": possible,
        "without, proved": count - possible,
        "equal": equal,
        "CPU s": own,
        "CPU s of all schedules": every,
    }
    return Table(title="Small random fleets against every schedule", rows=[row])


def made_fleet(seed: int, jobs: int, *, objective: str, chips: int = 256) -> dict[str, Any]:
    """A fleet of models and tokens drawn at random, on one or two clusters of H100s and A100s."""
    rng = np.random.default_rng(seed)
    clusters = [
        {"name": "h100", "hardware": "dgx-h100-ndr", "chips": chips, "price_per_chip_hour": 2.5}
    ]
    if seed % 2:
        clusters.append(
            {
                "name": "a100",
                "hardware": "dgx-a100-80-hdr",
                "chips": chips,
                "price_per_chip_hour": 1.2,
            }
        )
    days = 40.0
    return {
        "days": days,
        "grid": "6h",
        "objective": objective,
        **({"weights": {"cost": 1.0, "lateness": 2000.0}} if objective == "weighted" else {}),
        "clusters": clusters,
        "defaults": _BATCH,
        "jobs": [
            {
                "name": f"job-{at:02}",
                "model": str(rng.choice(_MODELS)),
                "train_tokens": float(rng.choice(_TOKENS)),
                "start": float(rng.integers(0, 8)) if rng.random() < 0.5 else 0.25,
                "deadline": float(rng.integers(10, 38)),
                "priority": int(rng.integers(1, 4)),
            }
            for at in range(jobs)
        ],
    }


def made(count: int, jobs: int, seconds: float) -> Table:
    """Fleets of real models, with what first come, first served gets of the same plans."""
    rows = []
    for seed in range(count):
        objective = ("cost", "energy", "lateness", "weighted")[seed % 4]
        chips = 64 if objective in ("lateness", "weighted") else 256
        fields = made_fleet(seed, jobs, objective=objective, chips=chips)
        name = f"{seed + 1}: {objective}, {jobs} jobs, {len(fields['clusters'])} x {chips} chips"
        rows.append(compared(name, fleet_from(fields), seconds))
    return Table(title="Ten made fleets against first come, first served, fastest plan", rows=rows)


def compared(name: str, question: FleetQuestion, seconds: float) -> dict[str, Cell]:
    """A fleet and what people do, as a row."""
    started = time.process_time()
    found = found_choices(question, once)
    result = plan_fleet(question, found, Effort(seconds=seconds, gap=0.01))
    cpu = time.process_time() - started
    ours, usual = result.totals, result.usual
    require(ours is not None, f"{name}: {result.status} {result.reasons}")
    assert ours is not None
    return {
        "fleet": name,
        "status": result.status,
        "gap %": _gap(result),
        "cost": ours.money,
        "usual cost": None if usual is None else usual.money,
        "MWh": ours.energy_kwh / 1e3,
        "usual MWh": None if usual is None else usual.energy_kwh / 1e3,
        "late days": ours.late_days,
        "usual late days": None if usual is None else usual.late_days,
        "saved %": _saved(question, ours, usual),
        "CPU s": cpu,
    }


def _gap(result: FleetResult) -> float:
    return round(100.0 * (result.gap or 0.0), 3)


def _saved(question: FleetQuestion, ours: Totals, usual: Totals | None) -> float | None:
    """Per cent of what first come, first served has of the objective."""
    if usual is None:
        return None
    here, there = (_value(question, one) for one in (ours, usual))
    return 100.0 * (1.0 - here / there) if there else 0.0


def _value(question: FleetQuestion, totals: Totals) -> float:
    weights = question.weights
    parts = {
        "cost": totals.money or 0.0,
        "energy": totals.energy_kwh,
        "lateness": totals.late_days,
        "weighted": weights.cost * (totals.money or 0.0) + weights.lateness * totals.late_days,
    }
    return parts[question.objective]


MAPPINGS: Mapping[str, Mapping[int, str]] = {
    "one model": {10**9: "llama2-7b"},
    "by GPUs": {64: "llama2-7b", 256: "llama2-13b", 10**9: "llama-33b"},
    "by GPUs, larger": {64: "llama2-13b", 256: "llama-33b", 10**9: "llama-65b"},
}
"""Ours: the trace does not say what was trained. Most GPUs to model."""


def trace_rows() -> Iterator[dict[str, float]]:
    """Jobs of the trace."""
    lines = [line for line in TRACE.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    for row in csv.DictReader(lines):
        yield {name: float(value) for name, value in row.items()}


def traced_fleet(mapping: str, jobs: int) -> dict[str, Any]:
    """The trace as a fleet: each job the tokens that its fastest plan does in the time it took.

    The model, the cluster (512 A100s), the deadline (three times the run time after submission)
    and the price are ours; times of submission, run times and numbers of GPUs are the trace's.
    """
    found = []
    for row in list(trace_rows())[:jobs]:
        model = next(m for most, m in MAPPINGS[mapping].items() if row["gpus"] <= most)
        chips = min(_TRACE_CHIPS, 1 << (int(row["gpus"]) - 1).bit_length())
        known = 1e11
        asked = {
            "model": model, "hardware": "dgx-a100-80-hdr", "chips": chips, "chips_exact": True,
            "train_tokens": known, "front": ("days", "run-energy"), "objective": "days", **_BATCH,
        }  # fmt: skip
        run = once(asked)["front"]["plans"][0]["run"]
        tokens = known * row["ran_s"] * row["gpus"] / chips / run["time_s"]
        start = row["submitted_s"] / DAY_S
        found.append({
            "name": f"kalos-{row['job']:.0f}", "model": model,
            "train_tokens": float(f"{tokens:.4g}"),
            "start": start, "deadline": start + _SLACK * row["ran_s"] / DAY_S,
            "sizes": [32, 64, 128, 256, 512],
        })  # fmt: skip
    return {
        "days": 100, "grid": _GRID_S, "objective": "weighted",
        "weights": {"cost": 1.0, "lateness": 2000.0},
        "clusters": [{"name": "kalos", "hardware": "dgx-a100-80-hdr", "chips": _TRACE_CHIPS,
                      "price_per_chip_hour": 1.2}],
        "defaults": _BATCH, "jobs": found,
    }  # fmt: skip


def trace(jobs: int, seconds: float) -> Table:
    """The trace in three mappings to models."""
    rows = []
    for mapping in MAPPINGS:
        question = fleet_from(traced_fleet(mapping, jobs))
        rows.append(compared(f"{len(question.tasks)} jobs, {mapping}", question, seconds))
    return Table(
        title="Acme trace, cluster Kalos: its times and GPUs, models by our mapping", rows=rows
    )


def large(jobs: int, chips: int, seconds: float) -> Table:
    """Many jobs on one large cluster, to a gap of 1 %; plans and schedule timed apart."""
    rows: list[dict[str, Cell]] = []
    for objective in ("cost", "energy", "weighted", "lateness"):
        question = fleet_from(large_fleet(jobs, chips, objective))
        started = time.process_time()
        found: Found = found_choices(question, once)
        middle = time.process_time()
        program = program_of(question, found.choices, hard=not question.counts_lateness)
        solution = solve(program, seconds=seconds, gap=0.01)
        cpu = time.process_time() - middle
        require(solution.decision is not None, f"{objective}: {solution.status.value}")
        rows.append({
            "objective": objective, "jobs": jobs, "chips": chips, "choices": len(found.choices),
            "status": solution.status.value, "gap %": round(100.0 * solution.gap, 3), "CPU s": cpu,
            "CPU s of the plans": middle - started,
        })  # fmt: skip
    return Table(title="A large fleet to a gap of 1 %", rows=rows)


def large_fleet(jobs: int, chips: int, objective: str) -> dict[str, Any]:
    """Jobs that together need a good half of a cluster within its days.

    Of lateness they are due so early that some cannot but be late.
    """
    fields = made_fleet(0, jobs, objective=objective, chips=chips)
    rng = np.random.default_rng(1)
    scale = chips / 256
    for job in fields["jobs"]:
        job["train_tokens"] *= scale * float(rng.choice((0.5, 1.0)))
        job["deadline"] = float(rng.integers(20, 39))
        if objective == "lateness":
            job["deadline"] = max(job["deadline"] - _EARLIER_DAYS, job["start"] + 1.0)
        job["sizes"] = [chips // size for size in (256, 128, 64, 32, 16, 8, 4)]
    return {**fields, "defaults": {"batch_tokens": "4Mi"}}


def _options() -> argparse.Namespace:
    made_parser = parser(str(__doc__), quick=True)
    made_parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    made_parser.add_argument("--count", type=positive, default=500, help="small random fleets")
    made_parser.add_argument("--seconds", type=positive, default=60, help="of one search")
    return made_parser.parse_args()


def main() -> None:
    """Prints the parts."""
    options = _options()
    quick, report = options.quick, Report(name="fleets")
    parts = options.part or (("brute", "made") if quick else PARTS)
    if "brute" in parts:
        report.tables.append(brute(5 if quick else options.count))
    if "made" in parts:
        report.tables.append(made(1 if quick else 10, 2 if quick else 10, options.seconds))
    if "trace" in parts:
        report.tables.append(trace(2 if quick else 99, options.seconds))
    if "large" in parts:
        size = (3, 1024) if quick else (50, 16384)
        report.tables.append(large(*size, options.seconds))
    report.notes.append("CPU seconds of one process; the time limit of a search is wall time.")
    show(report, options)


if __name__ == "__main__":
    main()
