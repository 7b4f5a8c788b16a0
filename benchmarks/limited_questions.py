"""Random questions with interleaved, uneven stages and limits: which take long, or stay open.

    python benchmarks/limited_questions.py --questions 200 --write docs/uneven/limits.md

Each question is of a small job on some chips, `--layout uneven`, with the interleaves that it may
have. Limits on power, time and memory, one to all of them, are shares of what its best uniform plan
takes without limits. Each is asked in a process of its own, which is ended after `--seconds` of CPU
time and then has no answer. The first table counts by the limits that a question has, the second
has the slowest; each question is printed to standard error as it ends.
"""

from __future__ import annotations

import argparse
import random
import resource
import secrets
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import measuring
import pages
from measuring import Report, Table

# isort: split
import numpy as np

import planner
from planner.base.errors import InputError

MODELS = ("llama3-8b", "llama2-13b", "gpt3-6.7b", "mistral-7b", "qwen3-8b", "mixtral-8x7b")
HARDWARE = ("h100-sxm5-80", "a100-sxm4-80", "h200-sxm5-141")
SHARES = {
    "max_power": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "max_step_time": (1.0, 1.1, 1.3, 1.6, 2.0),
    "max_memory": (0.5, 0.7, 0.9, 1.1),
}
"""Limits by what they are of the best uniform plan's power, time and memory."""
_SLOWEST = 8
_REGION = "limited-questions"
Drawn = tuple[dict[str, Any], dict[str, float]]


def drawn(seed: int) -> Drawn:
    """The fields of a question, and its limits as shares."""
    rng = random.Random(seed)
    chips = rng.choice((8, 16, 32))
    fix: dict[str, Any] = {"interleave": rng.choice((2, 2, 3, 4, (1, 2)))}
    if rng.random() < 0.5:
        fix["pp"] = rng.choice((2, 4, 8))
    fields = {
        "model": rng.choice(MODELS),
        "hardware": rng.choice(HARDWARE),
        "chips": chips,
        "batch_tokens": rng.choice((2**18, 2**19, 2**20)),
        "fix": {name: list(v) if isinstance(v, tuple) else v for name, v in fix.items()},
        "front_points": rng.choice((1, 1, 3)),
    }
    names = rng.sample(sorted(SHARES), rng.randint(1, len(SHARES)))
    return fields, {name: rng.choice(SHARES[name]) for name in sorted(names)}


def limited(fields: dict[str, Any], shares: dict[str, float]) -> dict[str, Any] | None:
    """A question with its limits; None where nothing fits without them."""
    asked = {name: value for name, value in fields.items() if name != "front_points"}
    best = planner.solve(**asked).best
    if best is None:
        return None
    of = {
        "max_power": best.power_w("facility"),
        "max_step_time": best.step_time_s,
        "max_memory": best.memory_per_chip_bytes,
    }
    limits = {name: float(of[name] * share) for name, share in shares.items()}
    return fields | {"layout": "uneven"} | limits


def _child(pipe: Connection, fields: dict[str, Any], shares: dict[str, float], most_s: int) -> None:
    """Asks a question and sends its status, method by method, and its CPU seconds."""
    try:
        asked = limited(fields, shares)
        if asked is None:
            pipe.send(("refused", 0.0, 0))
            return
        started = time.process_time()
        used = int(started)
        resource.setrlimit(resource.RLIMIT_CPU, (used + most_s, used + most_s + 1))
        answer = planner.solve(**asked)
        solves = answer.certificate.stage_solves
        pipe.send((answer.status, time.process_time() - started, solves))
    except InputError:
        pipe.send(("refused", 0.0, 0))


def asked(seed: int, most_s: int) -> dict[str, Any] | None:
    """A row of the second table; None where the question cannot be asked."""
    fields, shares = drawn(seed)
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(there, fields, shares, most_s))
    process.start()
    there.close()
    try:
        status, seconds, solves = here.recv()
    except EOFError:
        status, seconds, solves = "no answer", float(most_s), 0
    process.join()
    if status == "refused":
        return None
    limits = ", ".join(name.removeprefix("max_") for name in shares)
    words = ", ".join(f"{name} {value}" for name, value in fields.items())
    words += "".join(f", {name} x {share:g}" for name, share in shares.items())
    return {
        "seed": seed,
        "limits": limits,
        "status": status,
        "CPU s": seconds,
        "stage problems": solves,
        "question": words,
    }


def rows_of(count: int, seed: int, most_s: int) -> Iterator[dict[str, Any]]:
    """So many questions; those that cannot be asked are drawn again."""
    found = 0
    while found < count:
        row, seed = asked(seed, most_s), seed + 1
        if row is not None:
            found += 1
            words = f"{row['seed']} {row['limits']}: {row['status']} {row['CPU s']:.2f} CPU s"
            print(words, file=sys.stderr, flush=True)
            yield row


def by_limits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts and CPU seconds by the limits of questions."""
    table = []
    for name in sorted({row["limits"] for row in rows}):
        own = [row for row in rows if row["limits"] == name]
        seconds = np.array([row["CPU s"] for row in own])
        statuses = [row["status"] for row in own]
        table.append(
            {
                "limits": name,
                "questions": len(own),
                "optimal": statuses.count("optimal"),
                "infeasible": statuses.count("infeasible"),
                "no answer": statuses.count("no answer"),
                "median CPU s": float(np.median(seconds)),
                "90 % CPU s": float(np.quantile(seconds, 0.9)),
                "most CPU s": float(seconds.max()),
            }
        )
    return table


def main() -> None:
    """Asks and prints."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--questions", type=measuring.positive, default=200, help="[200]")
    parser.add_argument("--seed", type=int, default=None, help="of the first one [drawn]")
    parser.add_argument("--seconds", type=measuring.positive, default=60, help="CPU, of each [60]")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="docs/uneven/limits.md")
    options: argparse.Namespace = parser.parse_args()
    if options.write is not None:
        pages.parted(options.write, _REGION)
    words = pages.measured_on()
    seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    rows = list(rows_of(2 if options.quick else options.questions, seed, options.seconds))
    slowest = sorted(rows, key=lambda row: -row["CPU s"])[:_SLOWEST]
    report = Report(name="limited_questions")
    title = f"{len(rows)} questions from seed {seed}, at most {options.seconds} CPU s each"
    report.tables += [
        Table(title=title, rows=by_limits(rows)),
        Table(title="Slowest", rows=slowest),
    ]
    if options.write is None:
        measuring.show(report, options)
    else:
        pages.put_report(options.write, _REGION, words, report)


if __name__ == "__main__":
    main()
