"""Published runs beside their predictions, and how much each counts where intervals are made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import log

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray

TAIL = 0.1
"""Share of measurements below an interval, and above it."""
FAULTY = ("automodel", "bloom", "deepseek", "gpurec", "mbskill", "nanotron-rest", "nemo2208")
"""Sources with a fault in the publication, and a random sweep of plans no one would choose."""
# Sweeps of which the rows without known faults alone are sound; other sources have none such.
_SWEEPS = ("nanotron-top5", "titan", "mlperf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One published run beside its prediction.

    Attributes:
        line: Of the file of runs.
        source, cell, split, gold: As in the sets file; `source` is the name of its set.
        job: Rows with the same value are plans of one job on as many chips.
        era: Of its profile.
        kind: `adapters`, `experts` or `dense`.
        seen: Where published sources of its kind of job, framework and chip are counted, of
            `planner.cost.intervals.seen_path`.
        other_chip: Whether its chip is of `planner.cost.intervals.is_other_chip`.
        choices: Of its plan, as `planner.cost.intervals.choices_of` has them.
        measured_s, predicted_s: Step time; predicted by constants that do not rest on the source.
    """

    line: int
    source: str
    cell: str
    split: str
    gold: bool
    job: str
    era: str
    kind: str
    seen: str
    other_chip: bool
    choices: tuple[int, ...]
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Natural logarithm of measured over predicted step time."""
        return log(self.measured_s / self.predicted_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A number of the section `intervals`.

    Attributes:
        path: Dotted, below `intervals`.
        value: A factor, or a count.
        note: What it rests on.
    """

    path: str
    value: float
    note: str = ""


def is_sound(outcome: Outcome) -> bool:
    """Whether intervals may rest on a row: of a source with faults none, of a sweep the gold."""
    if outcome.source in FAULTY:
        return False
    return outcome.gold or outcome.source not in _SWEEPS


def weights(outcomes: Sequence[Outcome]) -> FloatArray:
    """(n,) weights: sqrt(cells) of a source, divided evenly among its cells, then their rows."""
    cells: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for outcome in outcomes:
        cells[outcome.source][outcome.cell] += 1
    return np.array(
        [len(cells[o.source]) ** -0.5 / cells[o.source][o.cell] for o in outcomes],
        dtype=np.float64,
    )


def weighted_quantiles(
    values: FloatArray, weight: FloatArray, levels: Sequence[float]
) -> FloatArray:
    """(q,) quantiles of weighted values, linear between the middles of their weights.

    Raises:
        ValueError: There are no values.
    """
    if len(values) == 0:
        raise ValueError("quantiles of no values")
    order = np.argsort(values, kind="stable")
    mass = np.asarray(weight, dtype=np.float64)[order]
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return np.asarray(np.interp(levels, middle, np.asarray(values)[order]))
