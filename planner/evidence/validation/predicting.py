"""Predictions of measured runs, through the same evaluation that every command uses.

Each run has its own job, cluster and plan. Runs that differ in plan and batch only share a table.
A site factor multiplies the whole step (`Assumptions.site_factor`), so a prediction with the
factor of a run's installation is the one without it times the factor. A local calibration holds
for its chips: its own site factor is part of their predictions, and no published one is put on
top. Power is that inside the boundary that the run's meter held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, HardwareError, load_calibration
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.assumptions.local_file import LocalCalibration
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.base.vocabulary import BOUNDARIES
from planner.cost.breakdown import Figures
from planner.cost.columns import Nets, networks_of
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_figures
from planner.cost.intervals import memory_interval, step_time_interval
from planner.evidence.runs.checking import unit_faults
from planner.evidence.runs.reading import MeasuredRun, Reading, Skipped, reasons, skipped_run
from planner.evidence.runs.rows import Run
from planner.evidence.runs.stalls import stall_s
from planner.plan import PlanTable

_COLUMNS = ("step_time_s", "low_s", "high_s", "mfu", "memory_bytes", "memory_low_bytes",
            "memory_high_bytes", "power_w", "power_low_w", "power_high_w", "bubble_share",
            "site_factor")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The constants that predictions rest on.

    Attributes:
        calibration: For all chips.
        local: For those that a user measured; None: none.
    """

    calibration: Calibration
    local: LocalCalibration | None = None

    @staticmethod
    def of(
        calibration: Calibration | None = None, local: LocalCalibration | None = None
    ) -> Constants:
        """Constants; the shipped ones by default."""
        return Constants(calibration=calibration or load_calibration(), local=local)

    def is_local(self, run: Run) -> bool:
        """Whether the local calibration holds for a run."""
        return self.local is not None and self.local.holds_for(run.cluster.chip)

    def assumptions(self, run: Run) -> Assumptions:
        """Those of a run's software and chip."""
        chip, job = run.cluster.chip, run.job
        if self.local is not None and self.is_local(run):
            return self.local.assumptions(
                chip, job.era, job.precision, job.expert_software, job.recipe
            )
        return calibrated(
            chip, job.era, job.precision, self.calibration, job.expert_software, job.recipe
        )

    def model(self, run: Run) -> CostModel:
        """The cost model of a run's job on its cluster.

        Raises:
            InputError: The cluster cannot be used.
        """
        cluster = self.local.on_cluster(run.cluster) if self.local is not None else run.cluster
        return CostModel.build(run.job, cluster, self.assumptions(run))

    def site_factor(self, run: Run, step_time_s: float) -> float:
        """What a prediction is still to be multiplied by for the run's installation.

        Seconds that its jobs stalled come on top.
        """
        if self.is_local(run):
            return 1.0
        factor = self.calibration.values.get(f"site_factor.{run.profile.site}", 1.0)
        return factor + stall_s(run, self.calibration) / step_time_s


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Measured runs and what the model says of them; arrays have shape (n,).

    Attributes:
        runs: The runs.
        jobs, plans: Rows with the same number are of one job on the same chips, or run one plan.
        measured_s: Measured step time.
        step_time_s, low_s, high_s: Predicted without site factors, and its 80 % interval.
        site_factor: Of each run's installation; 1 where none is known.
        mfu: Model FLOP over peak FLOP at the predicted step time.
        bubble_share: Fill and drain of a 1F1B pipeline over the rest of the step, (pp - 1) / (v m).
        measured_memory_bytes, measured_power_w: Per chip; NaN where not published.
        memory_bytes, memory_low_bytes, memory_high_bytes: Predicted, with an 80 % interval.
        power_w, power_low_w, power_high_w: Mean power per chip inside the boundary of the run's
            meter, with an 80 % interval.
    """

    runs: tuple[MeasuredRun, ...]
    jobs: IntArray
    plans: IntArray
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

    @cached_property
    def sources(self) -> tuple[list[str], IntArray]:
        """The names of the sources in alphabetical order, and (n,) the number of each run's."""
        names, which = np.unique([row.set_name for row in self.runs], return_inverse=True)
        return names.tolist(), which.ravel()

    @cached_property
    def gold(self) -> BoolArray:
        """(n,) which runs have no known fault."""
        return np.array([row.gold for row in self.runs])

    @cached_property
    def splits(self) -> np.ndarray:
        """(n,) the split of each run as text, which may be empty."""
        return np.array([row.split for row in self.runs])

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
    local: LocalCalibration | None = None,
) -> tuple[Predictions, tuple[Skipped, ...]]:
    """Predicts the runs of a file.

    Args:
        reading: The file.
        calibration: Another set of constants; default the shipped one.
        on_progress: Called now and then with what is done, how many, of how many.
        local: A user's own constants, where they hold.

    Returns:
        The predictions, and the rows that turn out to be faulty: the model refuses the plan, or
        the measurement is in another unit.

    Raises:
        InputError: No row is left; one line per fault.
    """
    constants = Constants.of(calibration, local)
    table = np.full((len(_COLUMNS), len(reading.runs)), np.nan)
    skipped: list[Skipped] = []
    for rows, found in costs_by_table(reading.runs, constants, on_progress):
        if isinstance(found, Costed):
            table[:, rows] = _columns([reading.runs[row] for row in rows], found, constants)
        else:
            skipped += [skipped_run(reading.runs[rows[0]], text) for text in str(found).split("\n")]
    usable = np.isfinite(table[0])
    for row in np.flatnonzero(usable):
        measured, seconds, mfu = reading.runs[row], table[0, row], table[3, row]
        wrong = unit_faults(measured.run, float(seconds), float(mfu))
        usable[row] = not wrong
        skipped += [skipped_run(measured, text) for text in wrong]
    if not usable.any():
        lines = reasons(reading.name, [*reading.skipped, *skipped])
        raise InputError("\n".join([f"{reading.name}: no row is left", *lines]))
    return _collected(reading.runs, table, np.flatnonzero(usable)), tuple(skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """Runs of one job (but for its batch) and cluster: their model, plans and costs."""

    model: CostModel
    plans: PlanTable
    costs: Figures


def costs_by_table(
    runs: Sequence[MeasuredRun], constants: Constants, on_progress: Progress | None = None
) -> Iterator[tuple[list[int], Costed | Exception]]:
    """Evaluates runs, those that share job and cluster at once.

    Args:
        runs: The runs.
        constants: What their costs rest on.
        on_progress: Called now and then with what is done, how many, of how many.

    Yields:
        Rows of `runs` and what they cost, or one row and the error that it raised.
    """
    tables = _tables(runs)
    ready = _ready([[runs[row].run for row in rows] for rows in tables], constants)
    for done, rows in enumerate(tables):
        if on_progress is not None:
            on_progress("tables", done, len(tables))
        try:
            mine = [runs[row].run for row in rows]
            yield rows, _costed(mine, ready.get(done) or _alone(mine, constants))
        except (InputError, HardwareError):  # one of them is at fault: each on its own
            for row in rows:
                try:
                    yield [row], _costed([runs[row].run], _alone([runs[row].run], constants))
                except (InputError, HardwareError) as error:
                    yield [row], error
    if on_progress is not None:
        on_progress("tables", len(tables), len(tables))


def _tables(runs: Sequence[MeasuredRun]) -> list[list[int]]:
    """Rows that share the job but for its batch, and the cluster."""
    groups: dict[object, list[int]] = defaultdict(list)
    for row, measured in enumerate(runs):
        groups[replace(measured.run.job, global_batch=1), measured.run.cluster].append(row)
    return list(groups.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """What a table is costed from; without `nets` its own are found."""

    model: CostModel
    plans: PlanTable
    nets: Nets | None = None


def _ready(tables: Sequence[Sequence[Run]], constants: Constants) -> dict[int, _Ready]:
    """What tables are costed from, by the number of the table: many jobs ran on one network.

    Those at fault are left out; why is said when they are costed.
    """
    found: dict[int, _Ready] = {}
    for number, runs in enumerate(tables):
        with suppress(InputError, HardwareError):
            found[number] = _alone(runs, constants)
    shared = networks_of([(table.model, table.plans) for table in found.values()])
    return {
        number: replace(table, nets=nets)
        for (number, table), nets in zip(found.items(), shared, strict=True)
    }


def _alone(runs: Sequence[Run], constants: Constants) -> _Ready:
    plans = PlanTable.from_plans([run.plan for run in runs])
    return _Ready(model=constants.model(runs[0]), plans=plans)


def _costed(runs: Sequence[Run], table: _Ready) -> Costed:
    batches = np.array([run.job.global_batch for run in runs])
    costs = evaluate_figures(table.model, table.plans, batches, table.nets)
    return Costed(model=table.model, plans=table.plans, costs=costs)


def _columns(runs: Sequence[MeasuredRun], found: Costed, constants: Constants) -> FloatArray:
    """(columns, n) of `_COLUMNS`."""
    plans, costs, model = found.plans, found.costs, found.model
    held = costs.memory_per_chip_bytes
    low, high = step_time_interval(
        model.job,
        model.cluster,
        plans,
        costs.step_time_s,
        constants.calibration,
        memory_bytes=held,
        local_runs=model.assumptions.local_runs,
    )
    held_low, held_high = memory_interval(model.framework, model.job.era, plans, held)
    bubble = (plans.pp - 1) / (plans.interleave * costs.micro_batches)
    sites = np.array(
        [
            constants.site_factor(measured.run, float(seconds))
            for measured, seconds in zip(runs, costs.step_time_s, strict=True)
        ]
    )
    power = _power(found, [measured.power_boundary for measured in runs])
    return np.stack(
        [costs.step_time_s, low, high, costs.mfu, held, held_low, held_high, *power, bubble, sites]
    )


def _power(found: Costed, boundaries: Sequence[str]) -> FloatArray:
    """(3, n) mean watts per chip inside the boundary of each run, and their 80 % interval."""
    energy = found.costs.energy
    inside = np.stack(
        [np.stack([energy.boundaries[name], *energy.interval(name)]) for name in BOUNDARIES]
    )
    at = np.array([BOUNDARIES.index(name) for name in boundaries])
    joules = inside[at, :, np.arange(len(at))].T
    return np.asarray(joules / (found.plans.chips * found.costs.step_time_s))


def _collected(
    runs: Sequence[MeasuredRun], table: FloatArray, rows: Sequence[int] | np.ndarray
) -> Predictions:
    kept = tuple(runs[row] for row in rows)

    def measured(values: list[float | None]) -> FloatArray:
        return np.array([np.nan if value is None else value for value in values])

    return Predictions(
        runs=kept,
        jobs=_numbered(row.job_key for row in kept),
        plans=_numbered(row.run.plan for row in kept),
        measured_s=measured([row.run.measured_step_time_s for row in kept]),
        measured_memory_bytes=measured([row.run.measured_memory_bytes for row in kept]),
        measured_power_w=measured([row.run.measured_power_w for row in kept]),
        **{name: table[at, rows] for at, name in enumerate(_COLUMNS)},
    )


def _numbered(things: Iterable[Hashable]) -> IntArray:
    """(n,) a number for each thing, equal ones the same, in the order in which they come."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things], dtype=np.int64)
