"""Every published source predicted as if it were new, and errors by kind of run.

A source whose rows are all of the test split was never fitted. Every other one is predicted with
constants fitted without it (`constants`). The form of the model was chosen with the older sources
in sight, so the figures of whole test sources are the harder ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.base.progress import Progress
from planner.evidence.left_out.constants import in_the_fit, without
from planner.evidence.left_out.kinds import KINDS, Kind, kind_of
from planner.evidence.runs.reading import Reading, of_sources, read_runs
from planner.evidence.validation.predicting import Predictions, predict
from planner.evidence.validation.scores import Errors, errors_of, is_test

ENOUGH = 3
"""Rows of a source from which its own factor can be told from its scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLeftOut:
    """One source predicted without itself.

    Attributes:
        source: Its name.
        whole_test: All of its rows are of the test split.
        errors: Of its step times.
        after_scalar: Mean error after its own median error is taken off: what is wrong in shape.
        in_fit: Mean error with the shipped constants; None where they do not rest on it.
    """

    source: str
    whole_test: bool
    errors: Errors
    after_scalar: float
    in_fit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLeftOut:
    """The sources of one kind of run, each predicted without itself.

    Attributes:
        kind: Its name.
        goal: Mean error to be reached; None: none is set.
        sources, rows: How many.
        mean: Mean error with every source counting once.
        after_scalar: The same of sources of `ENOUGH` rows or more after the median error of each is
            taken off: what no factor of an installation could mend; None without any.
        of_rows: Errors with every row counting once.
        test_sources: Sources whose rows are all of the test split.
        test_mean: Mean error of those, each counting once; None without any.
    """

    kind: str
    goal: float | None
    sources: int
    rows: int
    mean: float
    after_scalar: float | None
    of_rows: Errors
    test_sources: int
    test_mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutTable:
    """Errors on sources that no constant rests on, by kind and by source."""

    kinds: tuple[KindLeftOut, ...]
    sources: tuple[SourceLeftOut, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: fractions."""
        return {
            "kinds": [asdict(row) for row in self.kinds],
            "sources": [asdict(row) for row in self.sources],
        }


def left_out_table(on_progress: Progress | None = None) -> LeftOutTable:
    """Every published source, predicted without itself.

    Args:
        on_progress: Called now and then with what is done, how many, of how many.
    """
    reading = read_runs()
    names = sorted({measured.set_name for measured in reading.runs if measured.split})
    found: list[Predictions] = []
    for done, name in enumerate(names):
        if on_progress is not None:
            on_progress("sources", done, len(names))
        found.append(predict(of_sources(reading, [name]), without(name))[0])
    sources = [_source(reading, name, p) for name, p in zip(names, found, strict=True)]
    held_out = {row.source for row in sources if row.whole_test}
    kinds = (_kind(kind, found, held_out) for kind in KINDS)
    return LeftOutTable(kinds=tuple(row for row in kinds if row), sources=tuple(sources))


def _source(reading: Reading, name: str, p: Predictions) -> SourceLeftOut:
    in_fit = None
    if in_the_fit(name):
        with_it = predict(of_sources(reading, [name]))[0]
        in_fit = float(np.abs(with_it.step_time_s / with_it.measured_s - 1).mean())
    return SourceLeftOut(
        source=name,
        whole_test=bool(is_test(p).all()) and not in_the_fit(name),
        errors=_errors(p, np.ones(len(p), dtype=bool)),
        after_scalar=_after_scalar(p.step_time_s, p.measured_s),
        in_fit=in_fit,
    )


def _after_scalar(predicted_s: FloatArray, measured_s: FloatArray) -> float:
    """The mean error after the median one is taken off, in logarithms."""
    errors = np.log(predicted_s / measured_s)
    return float(np.abs(np.expm1(errors - np.median(errors))).mean())


def _errors(p: Predictions, among: BoolArray) -> Errors:
    found = errors_of(p.step_time_s[among], p.measured_s[among], p.low_s[among], p.high_s[among])
    assert found is not None
    return found


def _kind(kind: Kind, found: Sequence[Predictions], held_out: set[str]) -> KindLeftOut | None:
    """The rows of one kind of all sources; None without any."""
    by_source: dict[str, list[FloatArray]] = defaultdict(list)
    for p in found:
        of_kind = np.array([kind_of(measured) is kind for measured in p.runs])
        if of_kind.any():
            columns = (p.step_time_s, p.measured_s, p.low_s, p.high_s)
            by_source[p.runs[0].set_name] = [column[of_kind] for column in columns]
    if not by_source:
        return None
    means = {name: float(np.abs(own[0] / own[1] - 1).mean()) for name, own in by_source.items()}
    scaled = [_after_scalar(own[0], own[1]) for own in by_source.values() if len(own[0]) >= ENOUGH]
    test = [mean for name, mean in means.items() if name in held_out]
    of_rows = errors_of(*(np.concatenate(parts) for parts in zip(*by_source.values(), strict=True)))
    assert of_rows is not None
    return KindLeftOut(
        kind=kind.name,
        goal=kind.goal,
        sources=len(by_source),
        rows=of_rows.rows,
        mean=float(np.mean(list(means.values()))),
        after_scalar=float(np.mean(scaled)) if scaled else None,
        of_rows=of_rows,
        test_sources=len(test),
        test_mean=float(np.mean(test)) if test else None,
    )
