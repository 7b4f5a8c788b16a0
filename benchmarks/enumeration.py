"""Random questions of every space, each held to an enumeration that shares no code with the search.

Questions are drawn at random from a seed that is drawn anew unless one is given. Each is asked as a
user asks it. Then all its plans are listed in plain loops, held to the rules and the limits, and
costed one by one (`benchmarks/enumerated`). Optimum, bound, status and front of both have to be the
same. Of two in five the limits are then drawn near what the best plan takes, and it is asked again.
A question that cannot be asked is drawn again, and so is one with too many plans. Every mismatch is
printed with its seed; the exit status is then 1. With --minutes each space ends after its share of
them, with as many questions as there was time for.

With --small so many questions of each freedom are asked: few chips, few layers, and in nine of ten
less memory than the best plan would take. A question uses its freedom where the best plan, or one
of the front, is better than all plans without it.

    python benchmarks/enumeration.py --small --questions 2000 --write docs/uneven/freedoms.md
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
import pages
from enumerated import machines, plain, pools, uneven
from enumerated.drawing import DRAWS, limited
from enumerated.found import LOST, Enumerated, TooManyError, mismatch, uses_freedom, words_of
from enumerated.plain import Plain
from enumerated.small import SMALL, short_of_memory
from measuring import Report, Table

from planner.answers.api import solve_request
from planner.base.errors import InputError
from planner.question.request import Request, request_from
from planner.results.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What questions are of, and what lists all their plans.

    Attributes:
        enumerate_all: Of a question, with what says which plans make no use of the freedom.
        plain: Which do; of spaces without one none.
        rounding: Share that proofs there may lose.
        share: Of the questions, where they are of all spaces.
    """

    enumerate_all: Callable[[Request, Plain], Enumerated]
    plain: Plain = plain.no_freedom
    rounding: float = 0.0
    share: float = 0.0

    def of(self, request: Request) -> Enumerated:
        """All plans of a question."""
        return self.enumerate_all(request, self.plain)


SPACES = {
    "uniform": Space(enumerate_all=machines.on_one_machine, share=0.35),
    "experts": Space(enumerate_all=machines.on_one_machine, plain=plain.whole_experts, share=0.1),
    "modules": Space(
        enumerate_all=machines.on_one_machine, plain=plain.layers_recomputed_alike, share=0.1
    ),
    "machines": Space(enumerate_all=machines.on_every_machine, share=0.15),
    "uneven": Space(
        enumerate_all=uneven.on_one_machine, plain=plain.stages_alike, rounding=LOST, share=0.2
    ),
    "pools": Space(
        enumerate_all=pools.on_pools, plain=plain.layers_alike, rounding=LOST, share=0.1
    ),
    "interleaved": Space(
        enumerate_all=uneven.on_one_machine, plain=plain.stages_alike, rounding=LOST
    ),
    "sharding": Space(enumerate_all=uneven.on_one_machine, plain=plain.one_sharding, rounding=LOST),
    "offload": Space(enumerate_all=machines.on_one_machine, plain=plain.nothing_offloaded),
    "placement": Space(enumerate_all=machines.on_one_machine, plain=plain.offered_order),
    "torus": Space(enumerate_all=machines.on_one_machine, plain=plain.no_layout),
}
"""Those without a share are drawn with --small alone."""
_LIMITED = 0.4
_SHORT_OF_MEMORY = 0.9


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


def asked_small(space: str, rng: random.Random) -> tuple[dict[str, Any], SolveResult]:
    """A small question and its answer; its limit is drawn from all plans before it is asked.

    Raises:
        InputError: It cannot be asked.
    """
    fields = SMALL[space](rng)
    if rng.random() < _SHORT_OF_MEMORY:
        fields = short_of_memory(rng, fields, SPACES[space].of(request_from(fields)))
    return fields, solve_request(request_from(fields))


def row_of(
    space: str, count: int, seed: int, faults: list[str], until: float, *, small: bool
) -> dict[str, Any]:
    """So many questions of a space, in a row; `faults` grows by what does not agree.

    None is begun after `until`, a value of `time.perf_counter`.
    """
    tally, number = Counter[str](), 0
    spent = {"solve": 0.0, "enumerate": 0.0}
    while tally["questions"] < count and time.perf_counter() < until:
        own, number = seed + number, number + 1
        started = time.process_time()
        try:
            ask = asked_small if small else asked
            fields, answer = ask(space, random.Random(f"{space} {own}"))
            solved = time.process_time()
            found = SPACES[space].of(request_from(fields))
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
        tally["used"] += uses_freedom(found)
        if wrong := mismatch(found, answer, rounding=SPACES[space].rounding):
            tally["mismatches"] += 1
            faults.append(f"{space}, seed {own}: {wrong}: {words_of(fields)}")
            print(faults[-1], file=sys.stderr, flush=True)
    return {
        "space": space,
        "questions": tally["questions"],
        "without a plan": tally["infeasible"],
        "whole fronts": tally["fronts"],
        "plans costed": tally["plans"],
        "use the freedom": None if SPACES[space].plain is plain.no_freedom else tally["used"],
        "mismatches": tally["mismatches"],
        "drawn again": tally["refused"] + tally["too many"],
        "solve, CPU s": spent["solve"],
        "enumerate, CPU s": spent["enumerate"],
    }


def measured(
    counts: dict[str, int], seed: int, minutes: float, *, small: bool
) -> tuple[Report, list[str]]:
    """The table, and every mismatch."""
    report, faults, rows = Report(name="enumeration"), list[str](), []
    for space, count in counts.items():
        until = time.perf_counter() + 60 * minutes * count / sum(counts.values())
        rows.append(row_of(space, count, seed, faults, until, small=small))
    report.tables.append(Table(title=f"Questions held to an enumeration, seed {seed}", rows=rows))
    every = sum(row["questions"] for row in rows)
    plans = sum(row["plans costed"] for row in rows)
    report.notes.append(
        f"{every:,} questions, {plans:,} plans costed one by one: {len(faults)} mismatches."
    )
    report.notes += faults
    return report, faults


def _counts(space: str | None, count: int, *, small: bool) -> dict[str, int]:
    """Questions of each space: so many of each freedom, or their shares of so many."""
    drawn: Collection[str] = SMALL if small else DRAWS
    if space is not None:
        measuring.require(space in drawn, f"--space {space}: one of {', '.join(drawn)}")
        return {space: count}
    if small:
        return dict.fromkeys(drawn, count)
    return {name: max(round(SPACES[name].share * count), 1) for name in drawn}


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument(
        "--questions", type=measuring.positive, default=1000, help="of all spaces [1000]"
    )
    parser.add_argument("--seed", type=int, default=None, help="of the questions [drawn]")
    parser.add_argument("--space", choices=tuple(SPACES), default=None, help="one alone [all]")
    parser.add_argument("--small", action="store_true", help="small questions of each freedom")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="of wall time, at most [no limit]"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="e.g. docs/uneven/freedoms.md")
    options: argparse.Namespace = parser.parse_args()
    count = 4 if options.quick else options.questions
    counts = _counts(options.space, count, small=options.small)
    if options.write is not None:
        measuring.require(options.small, "--write takes --small")
        pages.parted(options.write, "small-questions")
    words = pages.measured_on()
    seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    report, faults = measured(counts, seed, options.minutes, small=options.small)
    if options.write is None:
        measuring.show(report, options)
    else:
        pages.put_report(options.write, "small-questions", words, report)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
