"""The failure rate of a cluster's own log, in all and by cause, with the file that keeps it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.base.units import HOUR_S
from planner.base.version import __version__
from planner.cost.goodput.own_site import posterior_s
from planner.evidence.failure_log.reading import stretches
from strict_yaml.writing import dump


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Failures of one cause, or of all: how many, and chip-hours per failure (80 % interval)."""

    cause: str
    failures: int
    share: float
    chip_hours_per_failure: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """What `planner calibrate --failures` finds.

    Attributes:
        rows: Stretches of jobs.
        chip_hours: That they are, together.
        all: All failures.
        causes: By cause, the most frequent first.
        chips: The most of one stretch.
        date: Of today.
        inputs: Files with their hashes and rows.
        notes: What is to be said of their columns.
        file: That was written.
    """

    rows: int
    chip_hours: float
    all: Cause
    causes: tuple[Cause, ...]
    chips: int
    date: str
    inputs: tuple[dict[str, str], ...]
    notes: tuple[str, ...]
    file: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {**asdict(self), "level": 0.8}


MOST_CAUSES = 1000
"""Different ones; a log with more has something else in its column."""


def failure_rate(paths: Sequence[Path], file: Path) -> FailureRate:
    """How often the chips in some logs failed.

    Args:
        paths: CSV files, see `planner.evidence.failure_log.reading`.
        file: That will be written.

    Raises:
        InputError: One line per mistake, with the file and the line.
    """
    found, notes = stretches(paths)
    exposure_s = sum(one.chips * one.seconds for one in found)
    counts = Counter(one.cause for one in found if one.cause)
    failures = sum(counts.values())
    if not failures:
        raise InputError(
            "failures: no row has a cause: nothing failed, or the column is empty; what ended a "
            "stretch is a word such as gpu or network"
        )
    if len(counts) > MOST_CAUSES:
        raise InputError(
            f"failures: {len(counts):,} different causes; at most {MOST_CAUSES:,}: a cause is a "
            "word such as gpu or network, not the line of a log"
        )
    return FailureRate(
        rows=len(found),
        chip_hours=exposure_s / HOUR_S,
        all=_cause("all", failures, failures, exposure_s),
        causes=tuple(_cause(*pair, failures, exposure_s) for pair in counts.most_common()),
        chips=max(one.chips for one in found),
        date=date.today().isoformat(),
        inputs=tuple(
            {"file": path.name, "sha256": hashlib.sha256(read_bytes(path)).hexdigest()}
            for path in paths
        ),
        notes=tuple(notes),
        file=str(file),
    )


def _cause(cause: str, failures: int, of: int, exposure_s: float) -> Cause:
    middle, low, high = posterior_s(failures, exposure_s)
    return Cause(
        cause=cause,
        failures=failures,
        share=failures / of,
        chip_hours_per_failure=middle / HOUR_S,
        low=low / HOUR_S,
        high=high / HOUR_S,
    )


def site_text(found: FailureRate) -> str:
    """The YAML that `--failure-site` takes."""
    data = {
        "note": "Made by planner calibrate --failures; planner solve --failure-site takes it.",
        "date": found.date,
        "planner": __version__,
        "failures": found.all.failures,
        "exposure_chip_hours": found.chip_hours,
        "causes": {one.cause: one.failures for one in found.causes},
        "inputs": list(found.inputs),
    }
    return dump(data, width=100, unicode=True)
