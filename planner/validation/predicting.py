"""Predictions of measured runs, through the same evaluation that every command uses.

Each run has its own job, cluster and plan. Runs that differ in plan and batch only share a table.
A site factor multiplies the whole step (`Assumptions.site_factor`), so a prediction with the
factor of a run's installation is the one without it times the factor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hardware_db import Calibration, HardwareError, load_calibration
from planner.assumptions import calibrated
from planner.cost.breakdown import Breakdown
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.errors import InputError
from planner.intervals import memory_interval, power_interval, step_time_interval
from planner.plan import FloatArray, PlanTable
from planner.validation.checking import unit_faults
from planner.validation.reading import MeasuredRun, Reading, Skipped, reasons
from planner.validation.rows import Run

Progress = Callable[[str, int, int], None]
_COLUMNS = ("step_time_s", "low_s", "high_s", "mfu", "memory_bytes", "memory_low_bytes",
            "memory_high_bytes", "power_w", "power_low_w", "power_high_w", "bubble_share",
            "site_factor")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Measured runs and what the model says of them; arrays have shape (n,).

    Attributes:
        runs: The runs.
        measured_s: Measured step time.
        step_time_s, low_s, high_s: Predicted without site factors, and its 80 % interval.
        site_factor: Of each run's installation; 1 where none is known.
        mfu: Model FLOP over peak FLOP at the predicted step time.
        bubble_share: Fill and drain of a 1F1B pipeline over the rest of the step, (pp - 1) / (v m).
        measured_memory_bytes, measured_power_w: Per chip; NaN where not published.
        memory_bytes, memory_low_bytes, memory_high_bytes: Predicted, with an 80 % interval.
        power_w, power_low_w, power_high_w: Mean power per chip, node and network included.
    """

    runs: tuple[MeasuredRun, ...]
    measured_s: FloatArray
    step_time_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray
    site_factor: FloatArray
    mfu: FloatArray
    bubble_share: FloatArray
    measured_memory_bytes: FloatArray
    memory_bytes: FloatArray
    memory_low_bytes: FloatArray
    memory_high_bytes: FloatArray
    measured_power_w: FloatArray
    power_w: FloatArray
    power_low_w: FloatArray
    power_high_w: FloatArray

    def __len__(self) -> int:
        return len(self.runs)

    def with_site_factors(self) -> Predictions:
        """The same with times and intervals multiplied by the site factors."""
        return replace(
            self,
            step_time_s=self.step_time_s * self.site_factor,
            low_s=self.low_s * self.site_factor,
            high_s=self.high_s * self.site_factor,
            mfu=self.mfu / self.site_factor,
        )


def predict(
    reading: Reading,
    calibration: Calibration | None = None,
    on_progress: Progress | None = None,
) -> tuple[Predictions, tuple[Skipped, ...]]:
    """Predicts the runs of a file.

    Args:
        reading: The file.
        calibration: Another set of constants; default the shipped one.
        on_progress: Called now and then with what is done, how many, of how many.

    Returns:
        The predictions, and the rows that turn out to be faulty: the model refuses the plan, or
        the measurement is in another unit.

    Raises:
        InputError: No row is left; one line per fault.
    """
    constants = calibration or load_calibration()
    table = np.full((len(_COLUMNS), len(reading.runs)), np.nan)
    skipped: list[Skipped] = []
    for done, rows in enumerate(tables := _tables(reading.runs)):
        if on_progress is not None:
            on_progress("tables", done, len(tables))
        try:
            table[:, rows] = _predicted([reading.runs[row].run for row in rows], constants)
        except (InputError, HardwareError):  # one of them is at fault: each on its own
            skipped += _one_by_one(reading.runs, rows, table, constants)
    if on_progress is not None:
        on_progress("tables", len(tables), len(tables))
    usable = np.isfinite(table[0])
    for row in np.flatnonzero(usable):
        measured, seconds, mfu = reading.runs[row], table[0, row], table[3, row]
        wrong = unit_faults(measured.run, float(seconds), float(mfu))
        usable[row] = not wrong
        skipped += [_skipped(measured, text) for text in wrong]
    if not usable.any():
        lines = reasons(reading.name, [*reading.skipped, *skipped])
        raise InputError("\n".join([f"{reading.name}: no row is left", *lines]))
    return _collected(reading.runs, table, np.flatnonzero(usable)), tuple(skipped)


def _tables(runs: Sequence[MeasuredRun]) -> list[list[int]]:
    """Rows that share the job but for its batch, and the cluster."""
    groups: dict[object, list[int]] = defaultdict(list)
    for row, measured in enumerate(runs):
        groups[replace(measured.run.job, global_batch=1), measured.run.cluster].append(row)
    return list(groups.values())


def costs_of(runs: Sequence[Run], constants: Calibration) -> tuple[PlanTable, Breakdown]:
    """What runs of one job (but for its batch) and cluster cost.

    Raises:
        InputError: A plan or the cluster cannot be used.
    """
    job, cluster = runs[0].job, runs[0].cluster
    assumptions = calibrated(cluster.chip, job.era, job.precision, constants)
    plans = PlanTable.from_plans([run.plan for run in runs])
    batches = np.array([run.job.global_batch for run in runs])
    return plans, evaluate_table(CostModel.build(job, cluster, assumptions), plans, batches)


def _predicted(runs: Sequence[Run], constants: Calibration) -> FloatArray:
    """(columns, n) of `_COLUMNS`."""
    job, cluster = runs[0].job, runs[0].cluster
    plans, costs = costs_of(runs, constants)
    low, high = step_time_interval(job, cluster, plans, costs.step_time_s, constants)
    held = costs.memory_per_chip_bytes
    held_low, held_high = memory_interval(job.framework, held, constants)
    power_low, power_high = power_interval(cluster.chip, costs.power_per_chip_w)
    bubble = (plans.pp - 1) / (plans.interleave * costs.micro_batches)
    sites = [constants.values.get(f"site_factor.{run.profile.site}", 1.0) for run in runs]
    return np.stack(
        [costs.step_time_s, low, high, costs.mfu, held, held_low, held_high,
         costs.power_per_chip_w, power_low, power_high, bubble, np.array(sites)]
    )  # fmt: skip


def _one_by_one(
    runs: Sequence[MeasuredRun], rows: Sequence[int], table: FloatArray, constants: Calibration
) -> Iterator[Skipped]:
    for row in rows:
        try:
            table[:, row : row + 1] = _predicted([runs[row].run], constants)
        except (InputError, HardwareError) as error:
            for text in str(error).split("\n"):
                yield _skipped(runs[row], text)


def _skipped(measured: MeasuredRun, reason: str) -> Skipped:
    return Skipped(
        line=measured.line,
        key=measured.run.key,
        source=measured.set_name,
        reason=reason,
        is_fault=True,
    )


def _collected(
    runs: Sequence[MeasuredRun], table: FloatArray, rows: Sequence[int] | np.ndarray
) -> Predictions:
    kept = tuple(runs[row] for row in rows)

    def measured(values: list[float | None]) -> FloatArray:
        return np.array([np.nan if value is None else value for value in values])

    return Predictions(
        runs=kept,
        measured_s=measured([row.run.measured_step_time_s for row in kept]),
        measured_memory_bytes=measured([row.run.measured_memory_bytes for row in kept]),
        measured_power_w=measured([row.run.measured_power_w for row in kept]),
        **{name: table[at, rows] for at, name in enumerate(_COLUMNS)},
    )
