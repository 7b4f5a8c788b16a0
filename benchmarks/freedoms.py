"""What more freedom gains: ten jobs before and after it, and at most where none is built.

    python benchmarks/freedoms.py
    python benchmarks/freedoms.py --job llama3-70b

A freedom that is there is switched on: the gain is of the proved fastest plan of both spaces. Of
those that are not there the gain is at most that of a relaxation. With memory without end no plan
gains from keeping less of it. So whatever recomputes parts of layers, offloads stage by stage or
shards kinds of parameters apart gains no more, where it sends and computes as much. A freedom is
worth building where three jobs or more gain above 1 %. CPU seconds are those of both searches
against those of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from typing import Any

import measuring
from measuring import Cell, Report, Table
from uneven import FREEDOMS, QUICK
from uneven_jobs import Asked, gain, said, timed

from planner.plan import FULL, NO_RECOMPUTE
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

_WORTH = 1.0
"""Percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """A row.

    Attributes:
        name: What may differ.
        today: What the space holds.
        before, after: Seconds of the best plan without and with it.
        most: Whether `after` is a bound of what could be built.
    """

    name: str
    today: str
    before: Callable[[Asked], float]
    after: Callable[[Asked], float]
    most: bool = False


def fastest_s(asked: Asked) -> float:
    """Of uniform plans."""
    space = UniformSpace(
        model=asked.model, options=replace(asked.options, clocks=False), limits=asked.limits
    )
    return float(Driver().run(space.on(asked.job.chips)).points[:, 0].min(initial=float("inf")))


def of(**options: Any) -> Callable[[Asked], float]:
    """Seconds with other options of the space."""

    def seconds(asked: Asked) -> float:
        return fastest_s(replace(asked, options=replace(asked.options, **options)))

    return seconds


def without_memory(asked: Asked) -> float:
    """Seconds where memory has no end."""
    return fastest_s(replace(asked, limits=Limits(memory_bytes=1e18, host_bytes=1e18)))


def uneven_s(asked: Asked) -> float:
    """Seconds where the stages of a pipeline may differ; nan where time ended before the proof."""
    found = asked.fastest(asked.uniform(), replace(asked.options, clocks=False))
    if found.status is not Status.OPTIMAL:
        return float("nan")
    return float(found.points[:, 0].min(initial=float("inf")))


_WHOLE = {"recompute": frozenset({NO_RECOMPUTE, FULL})}
ROWS = (
    Freedom(
        name="attention recomputed alone",
        today="in: one of none, selective, full",
        before=of(fixed=_WHOLE),
        after=fastest_s,
    ),
    Freedom(
        name="layers, recomputation, sharding per stage",
        today="in with --layout uneven: layers by number",
        before=fastest_s,
        after=uneven_s,
    ),
    Freedom(
        name="any order of the axes over the levels",
        today="in with --placement all, symmetric ones once",
        before=fastest_s,
        after=of(all_orders=True),
    ),
    Freedom(
        name="offload to the host",
        today="in with --offload: one for all stages",
        before=fastest_s,
        after=of(offload=True),
    ),
    Freedom(
        name="recomputation per module, offload per stage, sharding per kind of parameter",
        today="out; what memory without end gains",
        before=fastest_s,
        after=without_memory,
        most=True,
    ),
)


def measured(jobs: list[Asked]) -> Report:
    """Both tables."""
    report = Report(name="freedoms")
    by_job: list[dict[str, Cell]] = [{"job": asked.job.title} for asked in jobs]
    rows: list[dict[str, Cell]] = []
    for number, row in enumerate(ROWS, 1):
        gains, spent = [], [0.0, 0.0]
        for asked, cells in zip(jobs, by_job, strict=True):
            before, first = timed(partial(row.before, asked))
            after, then = timed(partial(row.after, asked))
            gains.append(gain(before, after) if before < float("inf") else 100.0)
            cells[f"{number}, %"] = None if isnan(gains[-1]) else gains[-1]
            spent = [spent[0] + first.cpu_s, spent[1] + then.cpu_s]
            said(f"{row.name}: {asked.job.title}: {gains[-1]:.3g} %")
        rows.append(
            {
                "": number,
                "freedom": row.name,
                "today": row.today,
                "jobs above 1 %": sum(one > _WORTH for one in gains),
                "proved jobs": sum(not isnan(one) for one in gains),
                "most, %": max((one for one in gains if not isnan(one)), default=0.0),
                "a bound": row.most,
                "CPU, times": (spent[0] + spent[1]) / max(spent[0], 1e-9),
            }
        )
    report.tables += [Table(title="Freedoms", rows=rows), Table(title="By job", rows=by_job)]
    report.notes.append("100 %: nothing fits without it.")
    return report


def main() -> None:
    """Measures and prints."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--job", help="only jobs with this in their title")
    parser.add_argument("--seconds", type=float, default=600.0, help="per uneven search, at most")
    options: argparse.Namespace = parser.parse_args()
    chosen = [job for job in FREEDOMS if options.job is None or options.job in job.title]
    jobs = [Asked.of(job, options.seconds) for job in (QUICK if options.quick else chosen)]
    measuring.require(bool(jobs), f"no job has {options.job!r} in its title")
    measuring.show(measured(jobs), options)


if __name__ == "__main__":
    main()
