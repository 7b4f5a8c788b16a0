"""How a solve grows with each size of a question: chips, layers, clock levels, pools.

Each row is a question solved in a process of its own: its nodes (partial plans, or rows of pools),
the CPU seconds of the solve with what it loads, and the peak memory. The slope is the exponent p of
the least squares fit of CPU seconds ~ size^p over the rows of a table: 0 constant, 1 proportional.
Chips, layers and clocks are those of Llama 3.1 405B on H100s, uniform plans with their front; pools
of 16 chips each run Llama 3 8B, with one pool as uneven stages. Levels of clocks are evenly spaced
from half to full.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import measuring
import numpy as np
from jobs import LLAMA31_405B
from measuring import Cell, Report, Table

from planner.answers.api import solve_request
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

Fields = dict[str, Any]
CHIPS = tuple(2**power for power in range(9, 18))
LAYERS = (16, 32, 64, 128, 256, 512)
CLOCKS = (5, 10, 20, 40)
POOLS = (
    "dgx-h100-ndr", "dgx-a100-80-hdr", "dgx-h200-ndr", "hgx-h20-ndr", "dgx-a100-40-hdr",
    "l40s-pcie",
)  # fmt: skip
_JOB: Fields = {**LLAMA31_405B.fields(), "framework": "megatron"}


def of_question(fields: Fields) -> dict[str, Any]:
    """Nodes, seconds and memory of a question; meant for a process of its own."""
    started = time.process_time()
    answer = solve_request(request_from(fields))
    spent = time.process_time() - started
    known = answer.certificate
    counts = answer.candidates.counts.get("partial_plans", {})
    funnel = known.funnel[0].rows if known.funnel else counts.get("considered", 0)
    return _figures(known.status, funnel, spent)


def of_clocks(levels: int) -> dict[str, Any]:
    """The same of the job on chips of so many clock levels."""
    started = time.process_time()
    model = resolve(request_from(_JOB)).cost
    evenly = tuple(np.linspace(0.5, 1.0, levels).tolist())
    chip = replace(model.cluster.chip, clock_levels=evenly)
    model = replace(model, cluster=replace(model.cluster, chip=chip))
    space = UniformSpace(
        model=model, options=SpaceOptions(), limits=Limits(), chips=(LLAMA31_405B.chips,)
    )
    found = Driver().run(space)
    spent = time.process_time() - started
    return _figures(found.status.value, found.counts["partial_plans"]["considered"], spent)


def _figures(status: str, nodes: int, spent: float) -> dict[str, Any]:
    peak = measuring.peak_bytes() / 1e6
    return {"answer": status, "nodes": nodes, "CPU s": spent, "peak MB": peak}


def apart(work: Any, *given: Any) -> dict[str, Any]:
    """A figure from a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as pool:
        found: dict[str, Any] = pool.submit(work, *given).result()
        return found


def pooled(count: int) -> Fields:
    """A job on so many pools."""
    job: Fields = {
        "model": "llama3-8b", "batch_tokens": 2**20, "layout": "uneven", "framework": "megatron",
        "precision": "bf16", "fix": {"cp": ["1"]},
    }  # fmt: skip
    if count == 1:
        return {**job, "hardware": POOLS[0], "chips": 16, "front_points": 1, "clocks": False}
    return {**job, "pools": {name: 16 for name in POOLS[:count]}}


def tables(*, quick: bool) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A table per size, smallest first; quick: its smallest two."""

    def some(sizes: Sequence[int]) -> Sequence[int]:
        return sizes[:2] if quick else sizes

    yield "chips", [{"chips": n, **apart(of_question, {**_JOB, "chips": n})} for n in some(CHIPS)]
    yield (
        "layers",
        [
            {"layers": n, **apart(of_question, {**_JOB, "set": [f"layers={n}"]})}
            for n in some(LAYERS)
        ],
    )
    yield "clock levels", [{"clock levels": n, **apart(of_clocks, n)} for n in some(CLOCKS)]
    yield (
        "pools",
        [{"pools": n, **apart(of_question, pooled(n))} for n in some(range(1, len(POOLS) + 1))],
    )


def slope(name: str, rows: Sequence[dict[str, Any]], of: str) -> float:
    """The exponent of the fit."""
    sizes, values = (np.log([row[key] for row in rows]) for key in (name, of))
    return float(np.polyfit(sizes, values, 1)[0])


def measured(*, quick: bool) -> Report:
    """All tables, and the slopes."""
    report = Report(name="dimensions")
    slopes: list[dict[str, Cell]] = []
    for name, rows in tables(quick=quick):
        report.tables.append(Table(title=f"Growth with {name}", rows=rows))
        fits = {of: slope(name, rows, of) for of in ("nodes", "CPU s", "peak MB")}
        slopes.append({"size": name, **fits})
    report.tables.append(Table(title="Slopes: figure ~ size to the power of", rows=slopes))
    return report


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    options: argparse.Namespace = parser.parse_args()
    measuring.show(measured(quick=options.quick), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
