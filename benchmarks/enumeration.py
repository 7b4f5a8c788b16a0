"""Random questions of every space, each held to an enumeration that shares no code with the search.

Questions are drawn at random from a seed that is drawn anew unless one is given. Each is asked as a
user asks it. Then all its plans are listed in plain loops, held to the rules and the limits, and
costed one by one (`benchmarks/enumerated`). Optimum, bound, status and front of both have to be the
same. Of two in five the limits are then drawn near what the best plan takes, and it is asked again.
A question that cannot be asked is drawn again, and so is one with too many plans. Every mismatch is
printed with its seed; the exit status is then 1. With --minutes each space ends after its share of
them, with as many questions as there was time for.
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import measuring
from enumerated import machines, pools, uneven
from enumerated.drawing import DRAWS, limited
from enumerated.found import LOST, Enumerated, TooManyError, mismatch, words_of
from measuring import Report, Table

from planner.answers.api import solve_request
from planner.base.errors import InputError
from planner.question.request import Request, request_from
from planner.results.result import SolveResult

ENUMERATE: dict[str, tuple[Callable[[Request], Enumerated], float]] = {
    "uniform": (machines.on_one_machine, 0.0),
    "experts": (machines.on_one_machine, 0.0),
    "modules": (machines.on_one_machine, 0.0),
    "machines": (machines.on_every_machine, 0.0),
    "uneven": (uneven.on_one_machine, LOST),
    "pools": (pools.on_pools, LOST),
}
"""By space: what lists all plans, and the share that proofs there may lose."""
SHARES = {
    "uniform": 0.35,
    "experts": 0.1,
    "modules": 0.1,
    "machines": 0.15,
    "uneven": 0.2,
    "pools": 0.1,
}
_LIMITED = 0.4


def asked(space: str, rng: random.Random) -> tuple[dict[str, Any], SolveResult]:
    """A question and its answer.

    Raises:
        InputError: It cannot be asked.
    """
    fields = DRAWS[space](rng)
    answer = solve_request(request_from(fields))
    if rng.random() < _LIMITED and (fewer := limited(rng, fields, answer)) is not None:
        fields, answer = fewer, solve_request(request_from(fewer))
    return fields, answer


def row_of(space: str, count: int, seed: int, faults: list[str], until: float) -> dict[str, Any]:
    """So many questions of a space, in a row; `faults` grows by what does not agree.

    None is begun after `until`, a value of `time.perf_counter`.
    """
    enumerate_all, rounding = ENUMERATE[space]
    tally, number = Counter[str](), 0
    spent = {"solve": 0.0, "enumerate": 0.0}
    while tally["questions"] < count and time.perf_counter() < until:
        own, number = seed + number, number + 1
        started = time.process_time()
        try:
            fields, answer = asked(space, random.Random(f"{space} {own}"))
            solved = time.process_time()
            found = enumerate_all(request_from(fields))
        except InputError:
            tally["refused"] += 1
            continue
        except TooManyError:
            tally["too many"] += 1
            continue
        spent["solve"] += solved - started
        spent["enumerate"] += time.process_time() - solved
        tally.update(questions=1, plans=found.costed, infeasible=answer.best is None)
        tally["fronts"] += bool(answer.best and answer.front.complete)
        if wrong := mismatch(found, answer, rounding=rounding):
            tally["mismatches"] += 1
            faults.append(f"{space}, seed {own}: {wrong}: {words_of(fields)}")
            print(faults[-1], file=sys.stderr, flush=True)
    return {
        "space": space,
        "questions": tally["questions"],
        "without a plan": tally["infeasible"],
        "whole fronts": tally["fronts"],
        "plans costed": tally["plans"],
        "mismatches": tally["mismatches"],
        "drawn again": tally["refused"] + tally["too many"],
        "solve, CPU s": spent["solve"],
        "enumerate, CPU s": spent["enumerate"],
    }


def measured(counts: dict[str, int], seed: int, minutes: float) -> tuple[Report, list[str]]:
    """The table, and every mismatch."""
    report, faults, rows = Report(name="enumeration"), list[str](), []
    for space, count in counts.items():
        until = time.perf_counter() + 60 * minutes * count / sum(counts.values())
        rows.append(row_of(space, count, seed, faults, until))
    report.tables.append(Table(title=f"Questions held to an enumeration, seed {seed}", rows=rows))
    every = sum(row["questions"] for row in rows)
    plans = sum(row["plans costed"] for row in rows)
    report.notes.append(
        f"{every:,} questions, {plans:,} plans costed one by one: {len(faults)} mismatches."
    )
    report.notes += faults
    return report, faults


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument(
        "--questions", type=measuring.positive, default=1000, help="of all spaces [1000]"
    )
    parser.add_argument("--seed", type=int, default=None, help="of the questions [drawn]")
    parser.add_argument("--space", choices=tuple(DRAWS), default=None, help="one alone [all]")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="of wall time, at most [no limit]"
    )
    options: argparse.Namespace = parser.parse_args()
    count = 4 if options.quick else options.questions
    shares = SHARES if options.space is None else {options.space: 1.0}
    counts = {space: max(round(share * count), 1) for space, share in shares.items()}
    seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    report, faults = measured(counts, seed, options.minutes)
    measuring.show(report, options)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
