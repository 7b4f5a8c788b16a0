"""How well larger runs are predicted from the smallest runs of their installation alone.

An installation is what a local calibration holds for: the runs of a source on one chip with the
software of one era. Its runs on the fewest chips are fitted as `planner calibrate --runs` does, and
those on more chips are predicted, before and after. Every installation with two of each counts; the
error of a source is the mean over its larger runs, and every source counts once. Constants are
those that were fitted without the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.evidence.calibration.runs import RunSet, fit_runs, with_values
from planner.evidence.left_out.constants import without
from planner.evidence.runs.reading import of_sources, read_runs
from planner.evidence.runs.rows import Run
from planner.evidence.validation.predicting import predict

FEWEST = 2
"""Runs on the fewest chips, and on more, that an installation needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Errors of predicted over measured step times, as shares.

    Attributes:
        mean, bias: Mean of their size, and of themselves.
    """

    mean: float
    bias: float

    @staticmethod
    def of(predicted_over_measured: FloatArray) -> Shares:
        """Those of some runs, at least one."""
        errors = predicted_over_measured - 1
        return Shares(mean=float(np.abs(errors).mean()), bias=float(errors.mean()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An installation whose larger runs are predicted.

    Attributes:
        source, chip, era: Which one.
        fewest_chips, fitted: Chips of the smallest runs, and how many they are.
        most_chips, predicted: Of the largest run, and how many larger ones there are.
        choice: What was fitted; see `planner.evidence.calibration.runs.RunsFit`.
        fitted_before: Errors of the smallest runs under the constants before the fit.
        before, after: Errors of the larger runs.
        own_factor: Their errors with the one factor that makes their mean least: what is left is no
            matter of the installation as a whole.
    """

    source: str
    chip: str
    era: str
    fewest_chips: int
    fitted: int
    most_chips: int
    predicted: int
    choice: str
    fitted_before: Shares
    before: Shares
    after: Shares
    own_factor: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredSource:
    """The larger runs of all installations of a source: mean errors, see `Installation`."""

    source: str
    predicted: int
    before: float
    after: float
    own_factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferTable:
    """Larger runs predicted from smaller ones.

    Attributes:
        installations: Every one with enough runs.
        sources: The same by source.
        before, after, own_factor: Mean error over the sources.
        left_out: Sources without an installation that has enough runs.
    """

    installations: tuple[Installation, ...]
    sources: tuple[TransferredSource, ...]
    before: float
    after: float
    own_factor: float
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: fractions."""
        return asdict(self)


def transfer_table(
    sources: Sequence[str] = (), on_progress: Progress | None = None
) -> TransferTable:
    """The table of the published runs.

    Args:
        sources: Names or patterns of the sources that count; default all.
        on_progress: Called with what is done, how many, of how many.

    Raises:
        InputError: A name is unknown, or no source has enough runs.
    """
    reading = read_runs()
    reading = of_sources(reading, sources) if sources else reading
    names = sorted({measured.set_name for measured in reading.runs if measured.split})
    found: list[Installation] = []
    for done, name in enumerate(names):
        if on_progress is not None:
            on_progress("sources", done, len(names))
        runs = predict(of_sources(reading, [name]))[0].runs
        found += installations_of(name, [one.run for one in runs], without(name))
    if not found:
        raise InputError(
            f"source: none has {FEWEST} runs of one chip and era on its fewest chips, and "
            f"{FEWEST} on more"
        )
    return _table(found, names)


def installations_of(source: str, runs: Sequence[Run], base: Calibration) -> list[Installation]:
    """The installations of a source that have enough runs, their larger runs predicted.

    Args:
        source: Its name.
        runs: Its runs.
        base: The constants before the fit.
    """
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.cluster.chip.name, run.job.era].append(run)
    found = []
    for (chip, era), mine in sorted(groups.items()):
        least = min(run.plan.chips for run in mine)
        small = [run for run in mine if run.plan.chips == least]
        large = [run for run in mine if run.plan.chips > least]
        if len(small) >= FEWEST and len(large) >= FEWEST:
            names = {"source": source, "chip": chip, "era": era}
            found.append(_predicted(names, small, large, base))
    return found


def _predicted(
    names: Mapping[str, str], small: Sequence[Run], large: Sequence[Run], base: Calibration
) -> Installation:
    fitted, others = RunSet.of(small), RunSet.of(large)
    fit = fit_runs(fitted, base, {})
    values = {p.path: float(v) for p, v in zip(fit.priors, fit.values, strict=True)}
    after = others.predicted_s(with_values(base, values)) * values[SITE_FACTOR]
    before = others.predicted_s(base) / others.measured_s
    return Installation(
        **names,
        fewest_chips=small[0].plan.chips,
        fitted=len(small),
        most_chips=max(run.plan.chips for run in large),
        predicted=len(large),
        choice=fit.choice,
        fitted_before=Shares.of(fitted.predicted_s(base) / fitted.measured_s),
        before=Shares.of(before),
        after=Shares.of(after / others.measured_s),
        own_factor=Shares.of(before * best_factor(before)),
    )


def best_factor(predicted_over_measured: FloatArray) -> float:
    """The factor c with the least sum of |c r - 1| over (n,) ratios r.

    The sum is that of r |c - 1/r|, so that c is the median of 1/r with the weights r.
    """
    factors = np.sort(1 / predicted_over_measured)
    weights = np.cumsum(1 / factors)
    return float(factors[np.searchsorted(weights, weights[-1] / 2)])


def _table(found: Sequence[Installation], names: Sequence[str]) -> TransferTable:
    """Means over the larger runs of each source, and over the sources."""
    by_source: dict[str, list[Installation]] = defaultdict(list)
    for one in found:
        by_source[one.source].append(one)
    sources = tuple(
        TransferredSource(
            source=name,
            predicted=sum(one.predicted for one in some),
            before=_mean(some, [one.before for one in some]),
            after=_mean(some, [one.after for one in some]),
            own_factor=_mean(some, [one.own_factor for one in some]),
        )
        for name, some in by_source.items()
    )
    return TransferTable(
        installations=tuple(found),
        sources=sources,
        before=float(np.mean([one.before for one in sources])),
        after=float(np.mean([one.after for one in sources])),
        own_factor=float(np.mean([one.own_factor for one in sources])),
        left_out=tuple(name for name in names if name not in by_source),
    )


def _mean(some: Sequence[Installation], shares: Sequence[Shares]) -> float:
    counts = [one.predicted for one in some]
    return float(np.average([one.mean for one in shares], weights=counts))
