"""Published power figures against the phase model.

    P = P_wait + b (P_busy - P_wait) [+ P_host]            b: share of the window at busy power

b is the training throughput per chip relative to one node where logs give it, what our own time
model says where the row is complete, and else an assumed share; each row says which. The naive
baseline is rated power with host. Figures that are no measurement are listed with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, load_chip, load_cluster
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.vocabulary import COOLINGS
from planner.cost.context import CostModel
from planner.cost.energy.clock import extra_w
from planner.cost.energy.energy import Z_80
from planner.cost.evaluate import evaluate_table
from planner.evidence.csvfile import published
from planner.evidence.own_tables import amount
from planner.evidence.power.meters import Meter, assumed_meter, meter_of
from planner.evidence.runs.checking import hardware_fault
from planner.evidence.runs.rows import run_of
from planner.plan import PlanTable
from planner.question.records import assumptions_named

_BOUNDARIES = ("chip", "node")  # those that the phase model knows
_MOST_POWER = 1.5  # times the rated power: more is another unit, or a whole node


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow:
    """One measured figure and its prediction, watts per chip.

    Attributes:
        key, source: Of the published row.
        boundary: What the meter held, of `planner.cost.energy.energy.BOUNDARIES`.
        chip: Key of the chip; `chips`: how many.
        measured_w, predicted_w: As published; by the phase model.
        low_w, high_w: 80 % interval of the prediction.
        rated_w: The naive baseline: rated power with host, where the meter held it.
        busy_share: Share of the window at busy power.
        basis: Where it comes from: "throughput", "time model", "assumed" or "given" in the row.
        because: The rule that admitted the figure.
    """

    key: str
    source: str
    boundary: str
    chip: str
    chips: int
    measured_w: float
    predicted_w: float
    low_w: float
    high_w: float
    rated_w: float
    busy_share: float
    basis: str
    because: str

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted_w / self.measured_w - 1

    @property
    def covered(self) -> bool:
        """Whether the measurement lies inside the interval."""
        return self.low_w <= self.measured_w <= self.high_w


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A published figure that is not compared with, and why."""

    key: str
    source: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Relative errors of n predictions: mean, median and 90 % quantile of their size, and bias."""

    n: int
    mean: float
    median: float
    p90: float
    bias: float

    @staticmethod
    def of(predicted: Sequence[float], measured: Sequence[float]) -> ErrorSummary:
        """The summary of predictions, which are not empty, and what was measured."""
        errors: FloatArray = np.divide(predicted, measured) - 1
        size = np.abs(errors)
        return ErrorSummary(
            n=len(size),
            mean=float(size.mean()),
            median=float(np.median(size)),
            p90=float(np.quantile(size, 0.9)),
            bias=float(errors.mean()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerTable:
    """What `power_table` found.

    Attributes:
        rows: Figures that a meter showed, with predictions.
        refused: Figures that count as derived, doubled, or without a boundary.
    """

    rows: tuple[PowerRow, ...]
    refused: tuple[Refused, ...]

    def summary(self, chip: str | None = None, basis: str | None = None) -> ErrorSummary:
        """Errors of the phase model, of some chips or of busy shares with one basis."""
        rows = self._some(chip, basis)
        return ErrorSummary.of([r.predicted_w for r in rows], [r.measured_w for r in rows])

    def baseline(self, chip: str | None = None, basis: str | None = None) -> ErrorSummary:
        """Errors of always assuming rated power with host, of the same rows."""
        rows = self._some(chip, basis)
        return ErrorSummary.of([r.rated_w for r in rows], [r.measured_w for r in rows])

    @property
    def coverage(self) -> float:
        """Share of the measurements inside their 80 % intervals."""
        return sum(row.covered for row in self.rows) / len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        return {
            "rows": [{**asdict(r), "error": r.error, "covered": r.covered} for r in self.rows],
            "refused": [asdict(refused) for refused in self.refused],
            "summary": asdict(self.summary()),
            "baseline": asdict(self.baseline()),
            "coverage": self.coverage,
        }

    def _some(self, chip: str | None, basis: str | None) -> list[PowerRow]:
        rows = [r for r in self.rows if chip in (None, r.chip) and basis in (None, r.basis)]
        if not rows:
            raise InputError(f"power: no measured figure of chip {chip!r} with basis {basis!r}")
        return rows


def power_table() -> PowerTable:
    """Every published power figure: those that were measured with predictions, the rest refused."""
    rows, refused = [], []
    for key, watts, row in _figures():
        rule = meter_of(row)
        if rule.meter is None:
            refused.append(Refused(key=key, source=row["source"], because=rule.because))
        else:
            rows.append(_predicted(key, watts, row, rule.meter, rule.because, chip_of(rule.meter)))
    return PowerTable(rows=tuple(rows), refused=tuple(refused))


def own_power(cells: dict[str, str]) -> PowerRow:
    """The figure of a row of a user's file, with its prediction.

    Raises:
        InputError: The row has a fault.
    """
    if wrong := hardware_fault(cells["hardware"]):
        raise InputError(wrong)
    for name, allowed in (("power_boundary", _BOUNDARIES), ("cooling", ("", *COOLINGS))):
        if cells[name] not in allowed:
            raise InputError(f"{name}: {not_one_of(cells[name], tuple(filter(None, allowed)))}")
    if cells["n_chips"]:
        amount(cells, "n_chips", whole=True)
    chip = load_cluster(cells["hardware"]).chip
    meter = assumed_meter(chip.name, cells["cooling"] or "air", cells["power_boundary"])
    if cells["busy_share"]:
        share = amount(cells, "busy_share")
        if share > 1:
            raise InputError(f"busy_share: {cells['busy_share']} is above 1; it is a share")
        meter = replace(meter, busy_share=share, basis="given")
    watts = amount(cells, "avg_power_w_per_chip")
    most = _MOST_POWER * (chip.tdp_w + (chip.host_w if meter.boundary != "chip" else 0.0))
    if watts > most:
        raise InputError(
            f"avg_power_w_per_chip: {watts:g} W is more than a {chip.name} can draw; a node has "
            f"{load_cluster(cells['hardware']).node_chips} chips"
        )
    return _predicted(cells["id"], watts, cells, meter, "given", _cooled(chip, meter.cooling))


def _figures() -> Iterator[tuple[str, float, Mapping[str, str]]]:
    """Key, watts per chip (NaN where none is printed) and row of every published figure."""
    for number, row in enumerate(published("energy"), start=1):
        yield f"energy-{number:03d}", float(row["avg_power_w_per_chip"] or "nan"), row
    for row in published("runs"):
        if row["power_w_per_chip"]:
            yield row["id"], float(row["power_w_per_chip"]), row


def chip_of(meter: Meter) -> Chip:
    """The chip of a meter, with the host share of its cooling."""
    return _cooled(load_chip(meter.chip), meter.cooling)


def _cooled(chip: Chip, cooling: str) -> Chip:
    if cooling == "liquid" and chip.host_liquid_w is not None:
        return replace(chip, host_w=chip.host_liquid_w)
    return chip


def _predicted(
    key: str, watts: float, row: Mapping[str, str], meter: Meter, because: str, chip: Chip
) -> PowerRow:
    share = modelled_share(row) if meter.busy_share is None else meter.busy_share
    extra = float(extra_w(chip, np.ones(())))
    power, rated = chip.wait_w + share * extra, chip.tdp_w
    sigma = np.hypot(share * chip.busy_sigma_w, (1 - share) * chip.wait_sigma_w)
    sigma = np.hypot(sigma, meter.busy_share_sigma * extra)
    if meter.boundary != "chip":
        power, rated = power + chip.host_w, rated + chip.host_w
        sigma = np.hypot(sigma, chip.host_sigma_w)
    return PowerRow(
        key=key,
        source=row["source"],
        boundary=meter.boundary,
        chip=meter.chip,
        chips=int(float(row["n_chips"] or 0)),
        measured_w=watts,
        predicted_w=power,
        low_w=power - Z_80 * float(sigma),
        high_w=power + Z_80 * float(sigma),
        rated_w=rated,
        busy_share=share,
        basis=meter.basis,
        because=because,
    )


def modelled_share(row: Mapping[str, str]) -> float:
    """Share of a step at busy power according to the time model, for a complete row of the runs."""
    run = run_of(row)
    chip = run.cluster.chip
    assumed: Any = assumptions_named("calibrated", chip, run.job.era, run.job.precision, 1.0)
    model = CostModel.build(run.job, run.cluster, assumed)
    found = evaluate_table(model, PlanTable.from_plans([run.plan]))
    joules = found.energy.boundaries["chip"] / run.plan.chips
    power = float(joules[0] / found.step_time_s[0])
    return (power - chip.wait_w) / float(extra_w(chip, np.ones(())))
