"""Published power figures against the phase model.

    P = P_wait + b (P_busy - P_wait) [+ P_host]            b: share of the window at busy power

b is the training throughput per chip relative to a chip that never waits where logs give it, the
published seconds of kernels over the step, those of our own time model over the published step
where the row is complete, and else an assumed share; each row says which. A chip whose limit binds
draws the same share of it as at its rated power. The naive baseline is that limit with host.
Figures that are no measurement are listed with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, load_chip, load_cluster
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.vocabulary import COOLINGS
from planner.cost.context import CostModel
from planner.cost.energy.clock import busy_w, check_cap, extra_w
from planner.cost.energy.energy import Z_80
from planner.cost.evaluate import evaluate_table
from planner.evidence.csvfile import published
from planner.evidence.own_tables import amount
from planner.evidence.power.meters import Meter, assumed_meter, meter_of, split_of
from planner.evidence.runs.checking import hardware_fault
from planner.evidence.runs.rows import run_of
from planner.plan import PlanTable
from planner.question.records import assumptions_named

Row = TypeVar("Row")
LIMIT_REACHED = 0.99
"""Share of its power limit that a chip draws whose kernels ask for more: 0.990 to 0.994 at six
limits, fitted to five jobs on A100 (Perseus artifact, rows of `energy` in this package)."""
_KERNELS = re.compile(r"kernels of forward and backward passes run ([0-9.]+) of the step")
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
        rated_w: The naive baseline: the power limit with host, where the meter held it.
        busy_share: Share of the window at busy power.
        basis: Where it comes from: "throughput", "kernel times", "time model", "assumed", or
            "given" in the row.
        because: The rule that admitted the figure.
        split: "test" where no constant may rest on it (docs/accuracy/split.md), "fit" where one
            may; empty: a row of a user's file.
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
    split: str = ""

    @property
    def known(self) -> bool:
        """Whether a publication says how busy the chips were."""
        return self.basis in ("throughput", "kernel times", "given")

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

    def summary(self, **wanted: object) -> ErrorSummary:
        """Errors of the phase model, of the rows that have these attributes."""
        rows = having(self.rows, wanted)
        return ErrorSummary.of([r.predicted_w for r in rows], [r.measured_w for r in rows])

    def baseline(self, **wanted: object) -> ErrorSummary:
        """Errors of always assuming the power limit with host, of the same rows."""
        rows = having(self.rows, wanted)
        return ErrorSummary.of([r.rated_w for r in rows], [r.measured_w for r in rows])

    def coverage(self, **wanted: object) -> float:
        """Share of the measurements inside their 80 % intervals, of such rows."""
        rows = having(self.rows, wanted)
        return sum(row.covered for row in rows) / len(rows)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        return {
            "rows": [{**asdict(r), "error": r.error, "covered": r.covered} for r in self.rows],
            "refused": [asdict(refused) for refused in self.refused],
            "summary": asdict(self.summary()),
            "baseline": asdict(self.baseline()),
            "coverage": self.coverage(),
        }


def having(rows: Sequence[Row], wanted: Mapping[str, object]) -> list[Row]:
    """The rows whose attributes have the wanted values, at least one.

    Raises:
        InputError: There is none.
    """
    found = [row for row in rows if all(getattr(row, k) == v for k, v in wanted.items())]
    if not found:
        named = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
        raise InputError(f"power: no measured figure with {named}")
    return found


def power_table(instead: Mapping[str, Chip] | None = None) -> PowerTable:
    """Every published power figure: those that were measured with predictions, the rest refused.

    Args:
        instead: Chips to predict with in place of the records of these names.
    """
    rows, refused = [], []
    for key, watts, row in _figures():
        rule = meter_of(row)
        if rule.meter is None:
            refused.append(Refused(key=key, source=row["source"], because=rule.because))
        else:
            chip = chip_of(rule.meter, instead)
            found = _predicted(key, watts, row, rule.meter, rule.because, chip)
            rows.append(replace(found, split=split_of(row)))
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
    if cells["power_limit_w"]:
        limit_w = amount(cells, "power_limit_w")
        check_cap(chip, limit_w, "power_limit_w")
        meter = replace(meter, limit_w=limit_w)
    watts = amount(cells, "avg_power_w_per_chip")
    most = _MOST_POWER * (chip.tdp_w + (chip.host_w if meter.boundary != "chip" else 0.0))
    if watts > most:
        raise InputError(
            f"avg_power_w_per_chip: {watts:g} W is more than a {chip.name} can draw; a node has "
            f"{load_cluster(cells['hardware']).node_chips} chips"
        )
    limited = _limited(_cooled(chip, meter.cooling), meter)
    return _predicted(cells["id"], watts, cells, meter, "given", limited)


def _figures() -> Iterator[tuple[str, float, Mapping[str, str]]]:
    """Key, watts per chip (NaN where none is printed) and row of every published figure."""
    for number, row in enumerate(published("energy"), start=1):
        yield f"energy-{number:03d}", float(row["avg_power_w_per_chip"] or "nan"), row
    for row in published("runs"):
        if row["power_w_per_chip"]:
            yield row["id"], float(row["power_w_per_chip"]), row


def chip_of(meter: Meter, instead: Mapping[str, Chip] | None = None) -> Chip:
    """The chip of a meter, with the host share of its cooling, its own limit and its own clock."""
    chip = (instead or {}).get(meter.chip) or load_chip(meter.chip)
    return _limited(_cooled(chip, meter.cooling), meter)


def _limited(chip: Chip, meter: Meter) -> Chip:
    """A chip with the limit of a meter.

    It draws what its kernels ask for at its clock (`planner.cost.energy.clock`), or nearly all of
    the limit where that is less.
    """
    if meter.limit_w is None:
        return chip
    limited = replace(chip, tdp_w=meter.limit_w)
    asked = float(busy_w(limited, np.array(meter.clock)))
    return replace(limited, busy_w=min(asked, LIMIT_REACHED * meter.limit_w))


def _cooled(chip: Chip, cooling: str) -> Chip:
    if cooling == "liquid" and chip.host_liquid_w is not None:
        return replace(chip, host_w=chip.host_liquid_w)
    return chip


def _predicted(
    key: str, watts: float, row: Mapping[str, str], meter: Meter, because: str, chip: Chip
) -> PowerRow:
    share = busy_share(row, meter)
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


def busy_share(row: Mapping[str, str], meter: Meter) -> float:
    """Share of the window at busy power: that of the meter, published, or modelled; at most 1."""
    if meter.busy_share is not None:
        return meter.busy_share
    if printed := _KERNELS.search(row["notes"]):
        return float(printed.group(1))
    if meter.full_rate is None:
        return modelled_share(row)
    tokens = float(row["global_batch_seqs"]) * float(row["seq_len"])
    return min(tokens / float(row["step_time_s"]) / float(row["n_chips"]) / meter.full_rate, 1.0)


def modelled_share(row: Mapping[str, str]) -> float:
    """Seconds at busy power according to the time model over the published step, at most 1.

    Args:
        row: A complete row of the runs, with its step time.
    """
    run = run_of(row)
    chip = run.cluster.chip
    job = run.job
    assumed: Any = assumptions_named(
        "calibrated", chip, job.era, job.precision, experts=job.expert_software
    )
    model = CostModel.build(job, run.cluster, assumed)
    found = evaluate_table(model, PlanTable.from_plans([run.plan]))
    joules = float(found.energy.boundaries["chip"][0]) / run.plan.chips
    extra = joules - chip.wait_w * float(found.step_time_s[0])
    return min(extra / float(extra_w(chip, np.ones(()))) / run.measured_step_time_s, 1.0)
