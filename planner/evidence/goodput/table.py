"""How far the goodput of `planner.cost.goodput` is from simulated and from published runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.progress import Progress
from planner.cost.goodput.goodput import Goodput, Pace, Upkeep, break_even_s, goodput
from planner.cost.goodput.rates import HOUR_S, left_out, rate_of_site, sites
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.gaps import exponential, weibull
from planner.evidence.goodput.simulation import Run, simulate

RUNS = 10_000
_SEED = 27
_FAILURES = 100
_THETA_S = 50_700 * HOUR_S
_UPKEEP = Upkeep(
    detection_s=120.0, restart_s=600.0, spares=None, straggler_loss=0.0, node_share=0.5,
    repair_s=72 * HOUR_S,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job that is simulated.

    Attributes:
        words: What is special about it.
        chips: Of the job, 8 a node.
        stall_s, write_s: Of a checkpoint.
        shape: Of Weibull gaps; 1: exponential.
        spares: Nodes that wait; None: enough.
        at_once: Nodes that a failure pulls, where it pulls any.
        failures: Work of a run over the mean time between failures; of long runs fewer are
            simulated, so that the failures of all stay as many.
    """

    words: str
    chips: int
    stall_s: float = 5.0
    write_s: float = 0.0
    shape: float = 1.0
    spares: int | None = None
    at_once: int = 1
    failures: int = _FAILURES


CASES = (
    Case(words="as assumed: blocking, 60 s", chips=16_384, stall_s=60.0),
    Case(words="as assumed: stall 5 s, written in 120 s", chips=16_384, write_s=120.0),
    Case(words="as assumed: 100,000 chips", chips=100_000),
    Case(words="as assumed: 12 spare nodes", chips=16_384, spares=12, failures=2_000),
    Case(words="Weibull, shape 0.7", chips=16_384, shape=0.7),
    Case(words="Weibull, shape 0.7, 100,000 chips", chips=100_000, shape=0.7),
    Case(
        words="a failure pulls the 9 nodes of a domain, 117 spares", chips=16_384, spares=117,
        at_once=9, failures=2_000,
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
class Published:
    """A run: what it says of its effective time, and what is predicted from its failures.

    Attributes:
        run: Its name.
        chips: Of the job.
        published: What it says, in words; empty: nothing.
        predicted: Goodput from its failures and the usual detection and restart; None: it does not
            say how often it failed.
        closes_the_gap: Then, where it says its effective time: chip-hours per failure that give it.
        missing: What it does not say.
        source: Address.
    """

    run: str
    chips: int
    published: str
    predicted: float | None
    closes_the_gap: float | None
    missing: str
    source: str


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
            "published": [asdict(row) for row in self.published],
        }


def goodput_tables(on_progress: Progress | None = None, runs: int = RUNS) -> GoodputTables:
    """All tables; `runs`: simulated of each case."""
    return GoodputTables(
        simulated=simulated_rows(CASES, runs, on_progress),
        sites=tuple(_site_rows()),
        published=published_rows(),
        runs=runs,
    )


def simulated_rows(
    cases: Sequence[Case], runs: int, on_progress: Progress | None = None
) -> tuple[Simulated, ...]:
    """Each case by the closed form and simulated."""
    rows = []
    for done, case in enumerate(cases):
        if on_progress is not None:
            on_progress("simulated runs", done, len(cases))
        rows.append(_simulated(case, runs))
    return tuple(rows)


def _simulated(case: Case, runs: int) -> Simulated:
    closed, work_s = _closed(case)
    mtbf = _THETA_S / case.chips
    run = Run(
        total_s=max(1.0, round(case.failures * mtbf / work_s)) * work_s,
        work_s=work_s,
        stall_s=case.stall_s,
        write_s=case.write_s,
        down_s=_UPKEEP.detection_s + _UPKEEP.restart_s,
        gaps=exponential(mtbf) if case.shape == 1.0 else weibull(mtbf, case.shape),
        spares=case.spares,
        broken_share=_UPKEEP.node_share,
        broken_at_once=case.at_once,
        repair_s=_UPKEEP.repair_s,
    )
    runs = max(runs * _FAILURES // case.failures, 2)
    wall = simulate(run, runs, _SEED).wall_s
    mean = float(run.total_s / wall.mean())
    error = mean * float(wall.std() / wall.mean()) / math.sqrt(runs)
    return Simulated(
        words=case.words, chips=case.chips, closed=float(closed.work), simulated=mean, error=error
    )


def _closed(case: Case) -> tuple[Goodput, float]:
    """Goodput with the best interval, and that interval in seconds of work."""
    upkeep = Upkeep(
        detection_s=_UPKEEP.detection_s,
        restart_s=_UPKEEP.restart_s,
        spares=case.spares,
        straggler_loss=0.0,
        node_share=_UPKEEP.node_share * case.at_once,
        repair_s=_UPKEEP.repair_s,
    )
    saved = Checkpointing(stall_s=case.stall_s, write_s=case.write_s)
    pace = Pace(chips=case.chips, step_time_s=1.0, steps=math.inf, saved=saved)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a run says; `checkpoint_bytes` over `store` is its write, where it says both."""

    run: str
    chips: int
    site: str = ""
    published: str = ""
    share: float | None = None
    every_s: float | None = None
    write_s: float = 0.0
    missing: str
    source: str


_SAID = (
    _Said(
        run="Llama 3 405B", chips=16_384, site="llama-3", published="over 90 %",
        write_s=405e9 * 14 / 2e12, missing="detection, restart and interval: usual, best",
        source="arXiv:2407.21783",
    ),
    _Said(
        run="RSC-1, projected", chips=16_384, site="rsc-1", missing="effective time of such a job",
        source="arXiv:2410.21680",
    ),
    _Said(
        run="OPT-175B", chips=992, site="opt-175b",
        missing="effective time; two thirds of its restarts are an estimate",
        source="arXiv:2205.01068",
    ),
    _Said(
        run="BLOOM 176B", chips=384, site="bloom", every_s=3 * HOUR_S,
        missing="effective time; hangs of 5 to 10 h, several times",
        source="https://huggingface.co/blog/bloom-megatron-deepspeed",
    ),
    _Said(
        run="ByteRobust", chips=9_600, published="97 %", share=0.97, missing="how often it failed",
        source="arXiv:2509.16293",
    ),
    _Said(
        run="DeepSeek-V3", chips=2_048, missing="how often it failed, effective time",
        source="arXiv:2412.19437",
    ),
)  # fmt: skip


def published_rows() -> tuple[Published, ...]:
    """Published runs; a stall of their checkpoints is not said by any: none is counted."""
    return tuple(_published(said) for said in _SAID)


def _published(said: _Said) -> Published:
    saved = Checkpointing(stall_s=0.0, write_s=said.write_s)
    step = said.every_s or 1.0
    most = 1.0 if said.every_s else math.inf
    pace = Pace(chips=said.chips, step_time_s=step, steps=most, saved=saved)
    predicted = None
    if said.site:
        predicted = float(np.ravel(goodput(rate_of_site(said.site).theta_s, pace, _UPKEEP).work)[0])
    edge = None if said.share is None else break_even_s(said.share, pace, _UPKEEP)
    return Published(
        run=said.run,
        chips=said.chips,
        published=said.published,
        predicted=predicted,
        closes_the_gap=None if edge is None else edge / HOUR_S,
        missing=said.missing,
        source=said.source,
    )
