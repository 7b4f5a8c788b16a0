"""What the predictions were meant to reach, and whether they do: data, computed from the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray
from planner.evidence.runs.reading import matching
from planner.evidence.validation.predicting import Predictions
from planner.evidence.validation.scores import (
    Score,
    is_gold,
    is_moe,
    is_test,
    names_of,
    of_sources,
    score,
)

TEST_SLACK = 1.2  # the test split may be this many times as far off as all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to reach.

    Attributes:
        name: Of the runs, in words.
        measure: Which figure, in words.
        limit: Not to be exceeded (a share).
        least: Not to be undercut; None: no such end.
        sources: Patterns of the names of the sources.
        figure: The figure of a score, without or with site factors as `site` says.
        site: Site factors are applied.
        rows: Which of the sources' rows count.
    """

    name: str
    measure: str
    limit: float
    sources: tuple[str, ...]
    figure: Callable[[Score], float | None]
    site: bool = False
    least: float | None = None
    rows: Callable[[Predictions], BoolArray] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A target and what is reached.

    Attributes:
        target, measure: As in `Target`.
        limit, least: Its ends.
        rows: Runs that it is taken over.
        reached: The figure.
        test: The same over the test split; None: none there, or not a mean error.
        site_factors: Whether site factors are applied.
        met: The figure is within the ends.
        test_met: The test split is not more than a fifth worse; None: no test split.
    """

    target: str
    measure: str
    limit: float
    least: float | None
    rows: int
    reached: float
    test: float | None
    site_factors: bool
    met: bool
    test_met: bool | None


def _mean(found: Score) -> float | None:
    return found.time.mean


def _site_mean(found: Score) -> float | None:
    return found.site_time.mean


def _memory_mean(found: Score) -> float | None:
    return found.memory.mean if found.memory else None


def _coverage(found: Score) -> float | None:
    return found.time.coverage


def _of_choice(field: str) -> Callable[[Score], float | None]:
    return lambda found: getattr(found.choice, field) if found.choice else None


def _one_tensor_rank(p: Predictions) -> BoolArray:
    return np.array([measured.run.plan.tp == 1 for measured in p.runs])


def _no_pipeline(p: Predictions) -> BoolArray:
    return np.array([measured.run.plan.pp == 1 for measured in p.runs])


_ERROR, _HELD = "mean error of the step time", "mean error of the memory"
_FIRST, _MOST, _THREE = "mean regret", "largest regret", "mean regret of the top 3"
_OF_CHOICES = (_FIRST, _MOST, _THREE)
_ALL = ("*",)


def _error(name: str, limit: float, *sources: str, site: bool = False) -> Target:
    figure = _site_mean if site else _mean
    return Target(
        name=name, measure=_ERROR, limit=limit, sources=sources or (name,), figure=figure, site=site
    )


def _choice(name: str, measure: str, limit: float, field: str) -> Target:
    return Target(
        name=name, measure=measure, limit=limit, sources=(name,), figure=_of_choice(field)
    )


def _memory(
    name: str, limit: float, *sources: str, rows: Callable[[Predictions], BoolArray] | None = None
) -> Target:
    return Target(
        name=name, measure=_HELD, limit=limit, sources=sources, figure=_memory_mean, rows=rows
    )


TARGETS = (
    _error("vtrain-multi", 0.07),
    _choice("vtrain-multi", _FIRST, 0.03, "regret_1"),
    _choice("vtrain-multi", _MOST, 0.08, "regret_1_most"),
    _error("vtrain-single", 0.065),
    Target(
        name="vtrain-single, cells left out", measure=_ERROR, limit=0.09,
        sources=("vtrain-single",), figure=_mean, rows=is_test,
    ),
    _error("mpt", 0.055),
    _error("mbridge25, mbridge26, nemo* dense", 0.06, "mbridge25", "mbridge26", "nemo*"),
    Target(  # without nemo2208, whose batch is assumed
        name="mbridge25, mbridge26, nemo* dense, gold", measure=_ERROR, limit=0.06,
        sources=("mbridge25", "mbridge26", "nemo*"), figure=_mean, rows=is_gold,
    ),
    _error("mlperf", 0.10),
    _error("simumax", 0.05, site=True),
    _error("mixtures of experts", 0.14, "mbridge25-moe", "mbridge26-moe"),
    _error("ironwood", 0.06),
    _error("tpurec", 0.14),
    _error("bloomtune", 0.08, site=True),
    Target(
        name="gold", measure=_ERROR, limit=0.073, sources=_ALL, figure=_site_mean, site=True,
        rows=is_gold,
    ),
    Target(name="gold", measure=_ERROR, limit=0.087, sources=_ALL, figure=_mean, rows=is_gold),
    _choice("vtrain-multi", _THREE, 0.01, "regret_3"),
    _choice("vtrain-single", _THREE, 0.01, "regret_3"),
    _choice("bloomtune", _THREE, 0.01, "regret_3"),
    _memory("simumax", 0.02, "simumax"),
    _memory("nanotron, tp 1", 0.05, "nanotron*", rows=_one_tensor_rank),
    _memory("nanotron", 0.12, "nanotron*"),
    _memory("kempner and titan without pipelines", 0.10, "kempner", "titan", rows=_no_pipeline),
    Target(
        name="test split of gold", measure="coverage of the 80 % interval", limit=0.85, least=0.75,
        sources=_ALL, figure=_coverage, rows=lambda p: is_gold(p) & is_test(p),
    ),
)  # fmt: skip


def reached(
    p: Predictions, known: Sequence[str], targets: Sequence[Target] = TARGETS
) -> list[Reached]:
    """What is reached of each target whose runs are all among the predictions.

    Args:
        p: Predictions.
        known: Names of all sources that there are, predicted or not.
        targets: Which.
    """
    here = set(names_of(p))
    whole = (target for target in targets if here >= set(matching(known, target.sources)))
    found = (_reached(p, target) for target in whole)
    return [row for row in found if row is not None]


def _reached(p: Predictions, target: Target) -> Reached | None:
    among = of_sources(p, matching(names_of(p), target.sources))
    if target.rows is not None:
        among = among & target.rows(p)
    if not among.any():
        return None
    of_all = score(target.name, p, among, choices=target.measure in _OF_CHOICES)
    value = target.figure(of_all)
    if value is None:
        return None
    test = None
    if target.measure in (_ERROR, _HELD) and (among & is_test(p)).any():
        test = target.figure(score(target.name, p, among & is_test(p), choices=False))
    return Reached(
        target=target.name,
        measure=target.measure,
        limit=target.limit,
        least=target.least,
        rows=_counted(of_all, target),
        reached=value,
        test=test,
        site_factors=target.site,
        met=value <= target.limit and (target.least is None or value >= target.least),
        test_met=None if test is None else test <= TEST_SLACK * value,
    )


def _counted(of_all: Score, target: Target) -> int:
    """Runs that a figure rests on."""
    part = {
        _HELD: of_all.memory,
        _FIRST: of_all.choice,
        _MOST: of_all.choice,
        _THREE: of_all.choice,
    }
    counted = part.get(target.measure, of_all)
    return counted.rows if counted else of_all.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMean:
    """Errors of the gold rows where every source counts once, however many rows it has.

    Attributes:
        sources: How many have gold rows.
        mean, median: Mean over sources of the mean and of the median absolute error.
        site_mean, site_median: The same with site factors.
    """

    sources: int
    mean: float
    median: float
    site_mean: float
    site_median: float


def mean_of_sources(p: Predictions) -> SourceMean | None:
    """The gold rows with every source counting once; None without gold rows."""
    rows = [of_sources(p, [name]) & is_gold(p) for name in names_of(p)]
    found = [score("gold", p, among, choices=False) for among in rows if among.any()]
    if not found:
        return None
    return SourceMean(
        sources=len(found),
        mean=float(np.mean([row.time.mean for row in found])),
        median=float(np.mean([row.time.median for row in found])),
        site_mean=float(np.mean([row.site_time.mean for row in found])),
        site_median=float(np.mean([row.site_time.median for row in found])),
    )


def aggregates(p: Predictions) -> list[Score]:
    """Scores over several sources: those without known faults, mixtures of experts, all."""
    names = names_of(p)
    dense = ~is_moe(p)
    wanted: list[tuple[str, BoolArray]] = [
        ("gold", is_gold(p)),
        ("nemo dense", of_sources(p, matching(names, ("mbridge25", "mbridge26", "nemo*")))),
        ("nanotron", of_sources(p, matching(names, ("nanotron*",)))),
        ("mixtures of experts", ~dense),
        ("dense", dense),
        ("all", np.ones(len(p), dtype=bool)),
    ]
    return [score(name, p, among) for name, among in wanted if among.any()]
