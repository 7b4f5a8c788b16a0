"""Measured runs as `planner validate` answers them: predictions, scores, and the JSON of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from frozen_records import dataclass
from planner.evidence.runs.reading import Skipped
from planner.evidence.validation.baselines import Peer
from planner.evidence.validation.predicting import Predictions
from planner.evidence.validation.scores import Score
from planner.evidence.validation.targets import Reached, SourceMean


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


def runs_document(runs: Runs) -> dict[str, Any]:
    """The part of the JSON document that is about training runs."""
    return {
        "data": runs.data,
        "site_factors": runs.site_factors,
        "rows": rows_of_predictions(runs),
        "summary": {
            "sources": [plain(asdict(row)) for row in runs.sources],
            "aggregates": [plain(asdict(row)) for row in runs.aggregates],
            "gold_sources": asdict(runs.gold_sources) if runs.gold_sources else None,
            "others": [plain(asdict(row)) for row in runs.peers],
        },
        "targets": [asdict(row) for row in runs.targets],
        **left_out_rows(runs.skipped, runs.notes),
    }


def left_out_rows(skipped: Sequence[Skipped], notes: Sequence[str]) -> dict[str, Any]:
    """The part of the JSON document about rows that are left out, and notes."""
    return {
        "skipped": [
            {"line": row.line, "id": row.key, "reason": row.reason, "is_fault": row.is_fault}
            for row in skipped
        ],
        "skipped_rows": len({row.key for row in skipped}),
        "notes": list(notes),
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
            "printed": dict(measured.run.printed),
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
            "power_boundary": measured.power_boundary,
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


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with lists for tuples, at any depth."""
    return {name: _listed(value) for name, value in fields.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return plain(value)
    return [_listed(part) for part in value] if isinstance(value, tuple) else value
