"""What neighbouring questions of a study share: CPU per point with a session, without, by command.

Every study crosses axes for one model on one cluster; its points are solved in one warm process,
each alone and with one `planner.Session`, some at a time in turn. The answers of both are compared:
status, best plan with its figures, bound, gap, and front. The first study varies what people ask
about: batch, sequence, chips and a price. Some of its points (`--shuffled`) are solved in five
shuffled orders too, each with a session of its own, and some as commands; `--alone 5` solves a
fifth of them alone, spread over the study, and all with a session. In the second study nothing but
the job varies, so that each point has a search of its own. Some answers are read whole: what is
told of wider choices, of plans beside the best and of reasons is worked out when it is read, which
a study does not do. The ratios are of CPU seconds, garbage collection included.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import measuring
from measuring import Report, Table
from startup import program, run_once

import planner
from planner.results.result import SolveResult

Point = dict[str, Any]
CLUSTER = "dgx-h100-ndr"
CHIPS = (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
SEQUENCES = tuple(tokens * 2**10 for tokens in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48))
BATCHES = tuple(3 * tokens * 2**20 for tokens in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16))
PRICES = tuple(0.04 + 0.02 * step for step in range(10))
ORDERS, COMMANDS, READ = 5, 5, 10
TIMES_LESS = 2.0
_IN_TURN = 20  # points that are solved alone, then with a session
_RUN = {"price_per_chip_hour": 2, "train_tokens": 1e12}


def crossed(points: int, fixed: Point, axes: dict[str, Sequence[Any]]) -> list[Point]:
    """The points of axes, the last one fastest; of more than wanted whole runs of the last axis."""
    *outer, last = axes
    groups = [*itertools.product(*(axes[name] for name in outer))]
    wanted = min(max(points // len(axes[last]), 1), len(groups))
    some = [groups[at * len(groups) // wanted] for at in range(wanted)]
    return [
        {**fixed, **dict(zip(outer, group, strict=True)), last: value}
        for group in some
        for value in axes[last]
    ]


def studies(points: int, *, quick: bool) -> dict[str, list[Point]]:
    """The points of every study, by what varies; the first has most."""
    job = {"model": "llama2-13b", "hardware": CLUSTER}
    chips: Sequence[int] = CHIPS
    sequences: Sequence[int] = SEQUENCES
    batches, prices = BATCHES, PRICES
    if quick:
        job["model"], chips, sequences = "gpt3-125m", (8, 16), (2048,)
        batches, prices = (2**15, 3 * 2**14, 2**16), PRICES[:3]
    each: dict[str, Sequence[Any]] = {
        "chips": chips, "seq_len": sequences, "batch_tokens": batches
    }  # fmt: skip
    some = {name: values[:: 3 if name == "batch_tokens" else 2] for name, values in each.items()}
    few = max(points // 20, 4)
    power = [f"{watts * 1e-3}kW" for watts in (1.2, 1.1, 1.0, 0.9)]
    limits = [
        {**point, "max_power": f"{float(point['max_power'][:-2]) * point['chips'] * 1e3:.0f} kW"}
        for point in crossed(few // 2, job, {**some, "max_power": power})
    ]
    objectives = ("time", "energy", "edp", "money")
    priced = {**job, **_RUN}
    return {
        "chips, sequence, batch, price of electricity": crossed(
            points, priced, {**some, "electricity_price": prices}
        ),
        "chips, sequence, batch": crossed(few, job, each),
        "chips, sequence, batch, price, for the least money of the run": crossed(
            few // 2, {**priced, "objective": "run-money"}, {**some, "electricity_price": prices}
        ),
        "chips, sequence, batch, objective": crossed(
            few // 2, job, {**some, "objective": objectives}
        ),
        "chips, sequence, batch, limit on power": limits,
    }


def told(answer: SolveResult) -> str:
    """A digest of what an answer says, whatever its search counted."""
    said = {
        "status": answer.status,
        "best": answer.best and answer.best.to_dict(),
        "bound": answer.bound,
        "gap": answer.gap,
        "front": answer.front_rows(),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def solved(
    points: Iterable[Point], session: planner.Session | None, *, read: bool = False
) -> tuple[float, list[str]]:
    """CPU seconds of the solves of some points, and what they answer; `read`: all of it is read."""
    spent, answers = 0.0, []
    for point in points:
        started = time.process_time()
        answer = planner.solve(session=session, **point)
        if read:
            answer.to_dict()
        spent += time.process_time() - started
        answers.append(told(answer))
    return spent, answers


def row_of(name: str, points: list[Point], apart: int = 1) -> tuple[dict[str, Any], dict[int, str]]:
    """A study in a row, and the answers of its points alone, by place.

    Args:
        name: What varies.
        points: Its points; all are solved with a session.
        apart: One run of neighbours in so many is solved alone as well.
    """
    session, alone_s, shared_s, answers = planner.Session(), 0.0, 0.0, dict[int, str]()
    for start in range(0, len(points), _IN_TURN):  # a machine is not as fast at all times
        some = points[start : start + _IN_TURN]
        spent_s, found = 0.0, list[str]()
        if start // _IN_TURN % apart == 0:
            spent_s, found = solved(some, None)
            answers |= dict(enumerate(found, start))
        spent_shared_s, shared = solved(some, session)
        same = not found or shared == found
        measuring.require(same, f"{name}: answers with a session are those without")
        alone_s, shared_s = alone_s + spent_s, shared_s + spent_shared_s
    alone_ms, shared_ms = 1e3 * alone_s / len(answers), 1e3 * shared_s / len(points)
    return {
        "what varies": name,
        "points": len(points),
        "alone too, equal": len(answers),
        "alone, CPU ms": alone_ms,
        "shared, CPU ms": shared_ms,
        "times less": alone_ms / shared_ms,
        "kept MB": session.bytes / 1e6,
    }, answers


def in_orders(points: list[Point], answers: dict[int, str], most: int) -> list[dict[str, Any]]:
    """A row per shuffled order of some points, whose answers are those of the points alone."""
    rows, every = [], [*answers][:: max(len(answers) // most, 1)]
    for order in range(1, ORDERS + 1):
        places = random.Random(order).sample(every, len(every))
        spent, found = solved((points[at] for at in places), planner.Session())
        same = sum(one == answers[at] for one, at in zip(found, places, strict=True))
        measuring.require(same == len(places), f"order {order}: all answers are equal")
        rows.append(
            {"order": order, "equal answers": same, "CPU ms per point": 1e3 * spent / len(places)}
        )
    return rows


def command_s(points: list[Point], count: int) -> float:
    """Mean CPU seconds of a whole command that solves a point."""
    some = [points[at * len(points) // count] for at in range(count)]
    spent = 0.0
    for point in some:
        words = [
            word for name, value in point.items() for word in (f"--{name.replace('_', '-')}", value)
        ]
        spent += run_once([*program(), "solve", *map(str, words)]).cpu_s
    return spent / count


def measured(points: int, apart: int, shuffled: int, *, quick: bool) -> Report:
    """A row per study, the orders of the first, and its commands."""
    report = Report(name="neighbours")
    asked = studies(points, quick=quick)
    (name, first), *_ = asked.items()
    solved(first[:1], None)  # what is loaded with the first question
    rows: list[dict[str, Any]] = []
    answers = dict[int, str]()
    for study, of_study in asked.items():
        row, found = row_of(study, of_study, 1 if rows else apart)
        rows.append(row)
        answers = answers or found
    report.tables.append(Table(title="CPU per point in one warm process", rows=rows))
    report.tables.append(
        Table(title=f"{name}: shuffled, with a session", rows=in_orders(first, answers, shuffled))
    )
    command = command_s(first, 1 if quick else COMMANDS)
    some = first[:: max(len(first) // (1 if quick else READ), 1)]
    read_s = solved(some, None, read=True)[0] / len(some)
    shared_s = rows[0]["shared, CPU ms"] / 1e3
    report.notes.append(
        f"A command of the first study takes {command:.2f} CPU s, {command / shared_s:.0f} times a "
        f"point with a session: {command * len(first):,.0f} CPU s for {len(first):,} commands, "
        f"{shared_s * len(first):,.0f} CPU s for the study."
    )
    report.notes.append(
        f"A solve in the warm process whose whole answer is read takes {1e3 * read_s:.0f} CPU ms, "
        f"{read_s / shared_s:.1f} times a point with a session (mean of {len(some)} points)."
    )
    for said, some_rows in (
        ("met", [row for row in rows if row["times less"] >= TIMES_LESS]),
        ("missed", [row for row in rows if row["times less"] < TIMES_LESS]),
    ):
        names = "; ".join(str(row["what varies"]) for row in some_rows) or "none"
        report.notes.append(f"{TIMES_LESS:g} times less CPU than alone, {said}: {names}.")
    return report


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument(
        "--points", type=measuring.positive, default=1000, help="of the first study [1000]"
    )
    parser.add_argument(
        "--alone", type=measuring.positive, default=1, help="one in so many of the first [1]"
    )
    parser.add_argument(
        "--shuffled", type=measuring.positive, default=50, help="points of each order [50]"
    )
    options: argparse.Namespace = parser.parse_args()
    points = 6 if options.quick else options.points
    report = measured(points, options.alone, options.shuffled, quick=options.quick)
    measuring.show(report, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
