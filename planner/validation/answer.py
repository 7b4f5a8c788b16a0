"""What `planner validate` answers: predictions of measured runs, scores, what was skipped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hardware_db import Calibration
from planner.errors import InputError
from planner.messages import not_one_of
from planner.provenance import versions
from planner.validation.baselines import Peer, peers_of
from planner.validation.collectives import (
    CollectiveScore,
    Measured,
    collective_scores,
    measured_collectives,
)
from planner.validation.failures import Flagged, flagged, predict_failed
from planner.validation.microbench import Benchmark, benchmarks
from planner.validation.predicting import Predictions, predict
from planner.validation.reading import Reading, Skipped, of_sources, read_runs
from planner.validation.scores import Score, names_of, score
from planner.validation.scores import of_sources as rows_of
from planner.validation.targets import Reached, SourceMean, aggregates, mean_of_sources, reached

KINDS = ("runs", "collectives", "microbench", "failures")
EVERYTHING = "all"
SCHEMA_VERSION = 1
_SWEEP = "nanotron*"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Measured runs with their predictions and scores.

    Attributes:
        data: The file, as told to the user.
        predictions: Without site factors.
        site_factors: Whether times are to be shown with site factors.
        sources: Scores by source.
        aggregates: Scores over several sources.
        gold_sources: Errors of the gold rows with every source counting once; None: no such rows.
        peers: How others score on the same runs.
        targets: What was to be reached; empty for a user's file.
        skipped: Rows that are not predicted, and why.
        notes: What else there is to know, one sentence each.
    """

    data: str
    predictions: Predictions
    site_factors: bool
    sources: tuple[Score, ...]
    aggregates: tuple[Score, ...]
    gold_sources: SourceMean | None
    peers: tuple[Peer, ...]
    targets: tuple[Reached, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The answer of `planner validate`; what was not asked for is None.

    Attributes:
        runs: Training runs.
        calls: Measured collectives; `collectives` has their errors.
        collectives: Errors by system and collective, those left out by system.
        left_out: Measured collectives of systems that are not in the database: how many each.
        microbench: Matrix multiplications and memory streams.
        failures: Configurations that failed, and how many are refused.
        seconds: Wall time.
    """

    runs: Runs | None
    calls: tuple[Measured, ...] | None
    collectives: tuple[CollectiveScore, ...] | None
    left_out: dict[str, int]
    microbench: tuple[Benchmark, ...] | None
    failures: tuple[Flagged, ...] | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: SI units, fractions, null for what is unknown or was not asked for."""
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        if self.runs is not None:
            document |= runs_document(self.runs)
        if self.collectives is not None:
            document["collectives"] = [_plain(asdict(row)) for row in self.collectives]
            document["collectives_left_out"] = self.left_out
        if self.microbench is not None:
            document["microbench"] = [
                {**asdict(row), "error": row.error} for row in self.microbench
            ]
        if self.failures is not None:
            document["failures"] = [asdict(row) for row in self.failures]
        return {**document, "seconds": self.seconds, "versions": versions()}


def validate(
    *,
    data: Path | None = None,
    sources: Sequence[str] = (),
    what: str = "runs",
    site_factors: bool = False,
    calibration: Calibration | None = None,
    on_progress: Progress | None = None,
) -> Validation:
    """Predicts measurements and says how far off the predictions are.

    Args:
        data: A CSV file of runs; default those of the package.
        sources: Names or patterns of the sources that count; default all.
        what: One of `KINDS`, or "all".
        site_factors: Show times with site factors.
        calibration: Another set of constants; default the shipped one.
        on_progress: Called with what is done, how many, of how many.

    Raises:
        InputError: The file or a name cannot be used, or no row is left.
    """
    started = time.perf_counter()
    if what not in (*KINDS, EVERYTHING):
        raise InputError(f"what: {not_one_of(what, (*KINDS, EVERYTHING))}")
    if what != "runs" and (data is not None or sources):
        raise InputError(f"what: {what!r} reads the shipped data; leave out --data and --source")
    wanted = KINDS if what == EVERYTHING else (what,)
    runs = None
    if "runs" in wanted or "failures" in wanted:
        asked = sources if "runs" in wanted else (_SWEEP,)
        runs = _runs(data, asked, calibration, on_progress, site_factors=site_factors)
    calls, left_out = measured_collectives(calibration) if "collectives" in wanted else ([], {})
    failures = None
    if "failures" in wanted and runs is not None:
        failures = tuple(flagged(predict_failed(calibration), runs.predictions))
    return Validation(
        runs=runs if "runs" in wanted else None,
        calls=tuple(calls) or None,
        collectives=tuple(collective_scores(calls)) if calls else None,
        left_out=left_out,
        microbench=tuple(benchmarks(calibration)) if "microbench" in wanted else None,
        failures=failures,
        seconds=time.perf_counter() - started,
    )


def _runs(
    data: Path | None,
    sources: Sequence[str],
    calibration: Calibration | None,
    on_progress: Progress | None,
    *,
    site_factors: bool,
) -> Runs:
    whole = read_runs(data, on_progress)
    known = sorted({measured.set_name for measured in whole.runs})
    reading: Reading = of_sources(whole, sources) if sources else whole
    predictions, refused = predict(reading, calibration, on_progress)
    names = names_of(predictions)
    shipped = data is None
    return Runs(
        data=reading.name,
        predictions=predictions,
        site_factors=site_factors,
        sources=tuple(score(name, predictions, rows_of(predictions, [name])) for name in names),
        aggregates=tuple(aggregates(predictions)) if len(names) > 1 else (),
        gold_sources=mean_of_sources(predictions),
        peers=tuple(peers_of(predictions, names, cited=shipped)),
        targets=tuple(reached(predictions, known)) if shipped else (),
        skipped=tuple(sorted((*reading.skipped, *refused), key=lambda row: row.line)),
        notes=reading.notes,
    )


def runs_document(runs: Runs) -> dict[str, Any]:
    """The part of the JSON document that is about training runs."""
    keys = {row.key for row in runs.skipped}
    return {
        "data": runs.data,
        "site_factors": runs.site_factors,
        "rows": rows_of_predictions(runs),
        "summary": {
            "sources": [_plain(asdict(row)) for row in runs.sources],
            "aggregates": [_plain(asdict(row)) for row in runs.aggregates],
            "gold_sources": asdict(runs.gold_sources) if runs.gold_sources else None,
            "others": [_plain(asdict(row)) for row in runs.peers],
        },
        "targets": [asdict(row) for row in runs.targets],
        "skipped": [
            {"line": row.line, "id": row.key, "reason": row.reason, "is_fault": row.is_fault}
            for row in runs.skipped
        ],
        "skipped_rows": len(keys),
        "notes": list(runs.notes),
    }


def rows_of_predictions(runs: Runs) -> list[dict[str, Any]]:
    """One object per predicted run; see docs/json.md."""
    p = runs.predictions
    times = p.with_site_factors() if runs.site_factors else p
    return [
        {
            "id": measured.run.key,
            "line": measured.line,
            "source": measured.set_name,
            "published": measured.run.source,
            "gold": measured.gold,
            "split": measured.split or None,
            "chips": measured.run.plan.chips,
            "era": measured.run.profile.era,
            "framework": measured.run.profile.framework,
            "site": measured.run.profile.site or None,
            "rule": measured.run.profile.rule,
            "site_factor": float(p.site_factor[row]),
            "measured_step_time_s": float(p.measured_s[row]),
            "predicted_step_time_s": float(times.step_time_s[row]),
            "predicted_with_site_factor_s": float(p.step_time_s[row] * p.site_factor[row]),
            "low_s": float(times.low_s[row]),
            "high_s": float(times.high_s[row]),
            "measured_memory_bytes": _known(p.measured_memory_bytes[row]),
            "predicted_memory_bytes": float(p.memory_bytes[row]),
            "memory_low_bytes": float(p.memory_low_bytes[row]),
            "memory_high_bytes": float(p.memory_high_bytes[row]),
            "measured_power_w": _known(p.measured_power_w[row]),
            "predicted_power_w": float(p.power_w[row]),
            "power_low_w": float(p.power_low_w[row]),
            "power_high_w": float(p.power_high_w[row]),
            "filled": dict(measured.run.filled),
        }
        for row, measured in enumerate(p.runs)
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with lists for tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
