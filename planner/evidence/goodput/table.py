"""How far the goodput of `planner.cost.goodput` is from simulated and from published runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.progress import Progress
from planner.base.units import HOUR_S
from planner.cost.goodput.goodput import Goodput, Pace, goodput, usual_upkeep
from planner.cost.goodput.rates import left_out, rate_of_site, sites
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.gaps import Gaps, gaps_of
from planner.evidence.goodput.published import Published, published_rows
from planner.evidence.goodput.recovery_cases import Played, recoveries
from planner.evidence.goodput.simulation import (
    FAILURES,
    FAILURES_WITH_REPAIRS,
    SEED,
    goodput_of,
    run_of,
)

RUNS = 10_000
_THETA_S = 50_700 * HOUR_S
_BURSTS = (0.25, 0.25, 0.25, 0.25, 4.0)
"""Failures that come in bursts, over the mean time between them."""
_PARTS = 20
"""Runs that are played of a job, as long as all of a case together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job that is simulated.

    Attributes:
        words: What is special about it.
        chips: Of the job, 8 a node.
        stall_s, write_s: Of a checkpoint.
        shape: Of Weibull gaps; 1: exponential.
        gap_list: A list that gaps are drawn from, over their mean; empty: they have a shape.
        spares: Nodes that wait; None: enough.
        at_once: Nodes that a failure pulls, where it pulls any.
        failures: Work of a run over the mean time between failures.
    """

    words: str
    chips: int
    stall_s: float = 5.0
    write_s: float = 0.0
    shape: float = 1.0
    gap_list: tuple[float, ...] = ()
    spares: int | None = None
    at_once: int = 1
    failures: int = FAILURES

    @property
    def saved(self) -> Checkpointing:
        """What a checkpoint costs."""
        return Checkpointing(stall_s=self.stall_s, write_s=self.write_s)

    def gaps(self, mean_s: float) -> Gaps:
        """Its law."""
        return gaps_of(mean_s, self.shape, [mean_s * gap for gap in self.gap_list])


CASES = (
    Case(words="as assumed: blocking, 60 s", chips=16_384, stall_s=60.0),
    Case(words="as assumed: stall 5 s, written in 120 s", chips=16_384, write_s=120.0),
    Case(words="as assumed: 100,000 chips", chips=100_000),
    Case(words="as assumed: 12 spare nodes", chips=16_384, spares=12,
         failures=FAILURES_WITH_REPAIRS),
    Case(words="Weibull, shape 0.7", chips=16_384, shape=0.7),
    Case(words="Weibull, shape 0.7, 100,000 chips", chips=100_000, shape=0.7),
    Case(words="a list of gaps, four of five a quarter of their mean", chips=16_384,
         gap_list=_BURSTS),
    Case(words="the same list, 100,000 chips", chips=100_000, gap_list=_BURSTS),
    Case(
        words="a failure pulls the 9 nodes of a domain, 117 spares", chips=16_384, spares=117,
        at_once=9, failures=FAILURES_WITH_REPAIRS,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A case: goodput by the closed form and of simulated runs, with its standard error."""

    words: str
    chips: int
    closed: float
    simulated: float
    error: float

    @property
    def difference(self) -> float:
        """Closed form over simulation, minus one."""
        return self.closed / self.simulated - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A site: chip-hours per failure as counted, and the 80 % interval that the others predict.

    The interval is None where the site counted failed chips alone: it is no part of the others.
    """

    site: str
    counts: str
    failures: float
    chip_hours: float
    own_low: float
    own_high: float
    low: float | None
    high: float | None
    source: str

    @property
    def inside(self) -> bool | None:
        """Whether the interval contains it."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.chip_hours <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputTables:
    """What `planner validate --what goodput` prints."""

    simulated: tuple[Simulated, ...]
    sites: tuple[LeftOut, ...]
    published: tuple[Published, ...]
    runs: int

    @property
    def coverage(self) -> tuple[int, int]:
        """Sites that the interval from the others contains, of how many."""
        found = [row.inside for row in self.sites if row.inside is not None]
        return sum(found), len(found)

    def to_dict(self) -> dict[str, Any]:
        """The tables as JSON-ready data."""
        inside, of = self.coverage
        return {
            "runs": self.runs,
            "simulated": [{**asdict(row), "difference": row.difference} for row in self.simulated],
            "sites": [{**asdict(row), "inside": row.inside} for row in self.sites],
            "coverage": {"inside": inside, "of": of, "level": 0.8},
            "published": [row.to_dict() for row in self.published],
        }


def goodput_tables(on_progress: Progress | None = None, runs: int = RUNS) -> GoodputTables:
    """All tables; `runs`: simulated of each case."""
    return GoodputTables(
        simulated=simulated_rows(CASES, recoveries(), runs, on_progress),
        sites=tuple(_site_rows()),
        published=published_rows(),
        runs=runs,
    )


def simulated_rows(
    cases: Sequence[Case],
    played: Sequence[Played],
    runs: int,
    on_progress: Progress | None = None,
) -> tuple[Simulated, ...]:
    """Each case by the closed form and simulated."""
    every: tuple[Case | Played, ...] = (*cases, *played)
    rows = []
    for done, case in enumerate(every):
        if on_progress is not None:
            on_progress("simulated runs", done, len(every))
        rows.append(_simulated(case, runs) if isinstance(case, Case) else _played(case, runs))
    return tuple(rows)


def _played(job: Played, runs: int) -> Simulated:
    """A few long runs in place of many short ones: their failures are as many."""
    failures = max(runs * FAILURES // _PARTS, 1)
    shares = np.array([job.play(failures, SEED + part) for part in range(_PARTS)])
    return Simulated(
        words=job.words, chips=job.chips, closed=job.closed, simulated=float(shares.mean()),
        error=float(shares.std(ddof=1)) / math.sqrt(_PARTS),
    )  # fmt: skip


def _simulated(case: Case, runs: int) -> Simulated:
    closed, work_s = _closed(case)
    mtbf = _THETA_S / case.chips
    upkeep = replace(usual_upkeep(), spares=case.spares)
    run = run_of(upkeep, case.saved, work_s, mtbf, case.gaps(mtbf), case.failures)
    run = replace(run, broken_at_once=case.at_once)
    mean, error = goodput_of(run, case.failures, runs)
    return Simulated(
        words=case.words, chips=case.chips, closed=float(closed.work), simulated=mean, error=error
    )


def _closed(case: Case) -> tuple[Goodput, float]:
    """Goodput with the best interval, and that interval in seconds of work."""
    usual = usual_upkeep()
    upkeep = replace(usual, spares=case.spares, node_share=usual.node_share * case.at_once)
    pace = Pace(chips=case.chips, step_time_s=1.0, steps=math.inf, saved=case.saved)
    found = goodput(_THETA_S, pace, upkeep)
    return found, float(found.steps_between)


def _site_rows() -> list[LeftOut]:
    predicted = {site.name: rate for site, rate in left_out()}
    rows = []
    for name, site in sites().items():
        own, other = rate_of_site(name), predicted.get(name)
        rows.append(
            LeftOut(
                site=name,
                counts=site.what,
                failures=site.failures,
                chip_hours=own.theta_s / HOUR_S,
                own_low=own.low_s / HOUR_S,
                own_high=own.high_s / HOUR_S,
                low=None if other is None else other.low_s / HOUR_S,
                high=None if other is None else other.high_s / HOUR_S,
                source=site.source,
            )
        )
    return rows
