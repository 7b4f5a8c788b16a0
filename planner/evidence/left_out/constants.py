"""Constants fitted without one source: what a source is predicted with as if it were new.

The file `left_out` of the package has, for each source with rows in the fit, the constants that
differ from the shipped ones; `benchmarks/refit.py --left-out --write` makes it. A source that the
fit never used is predicted with the shipped constants.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache

from hardware_db import Calibration, FrozenMap, load_calibration
from planner.evidence.csvfile import published


@cache
def _changed() -> dict[str, dict[str, float]]:
    """Constants that differ without a source, by source and path."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in published("left_out"):
        found[row["set"]][row["constant"]] = float(row["value"])
    return dict(found)


def in_the_fit(source: str) -> bool:
    """Whether the shipped constants rest on rows of a source."""
    return source in _changed()


@cache
def without(source: str) -> Calibration:
    """The constants without one source; those shipped where none rests on it."""
    shipped = load_calibration()
    if not in_the_fit(source):
        return shipped
    return replace(shipped, values=FrozenMap({**shipped.values, **_changed()[source]}))
