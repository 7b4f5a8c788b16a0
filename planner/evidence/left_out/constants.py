"""Constants fitted without one source: what a source is predicted with as if it were new.

The file `left_out` of the package has, for each source with rows in the fit, the constants that
differ from the shipped ones, and those that are not there without it. `benchmarks/refit.py
--write` makes it, `planner.evidence.left_out.coverage --write` adds the intervals. A source that
the fit never used is predicted with the shipped constants.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hardware_db import Calibration, FrozenMap, load_calibration
from planner.evidence.csvfile import published

Changes = Mapping[str, Mapping[str, float | None]]
"""Constants that differ without a source, by source and path; None: there is none without it."""

_COLUMNS = ("set", "constant", "value")
_DIGITS = 5
INTERVALS = "intervals."


@cache
def changes() -> Changes:
    """What the file says."""
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    for row in published("left_out"):
        found[row["set"]][row["constant"]] = float(row["value"]) if row["value"] else None
    return dict(found)


def in_the_fit(source: str) -> bool:
    """Whether the shipped constants of the time model rest on rows of a source."""
    return any(not path.startswith(INTERVALS) for path in changes().get(source, {}))


@cache
def without(source: str) -> Calibration:
    """The constants without one source; those shipped where none rests on it."""
    shipped = load_calibration()
    if source not in changes():
        return shipped
    values = {**shipped.values, **changes()[source]}
    known = {path: value for path, value in values.items() if value is not None}
    return replace(shipped, values=FrozenMap(known))


def file_of(found: Changes) -> bytes:
    """The content of the file; the same constants give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for source, values in sorted(found.items()):
        for path, value in sorted(values.items()):
            writer.writerow([source, path, "" if value is None else f"{value:.{_DIGITS}g}"])
    return gzip.compress(text.getvalue().encode(), mtime=0)
