"""Predicted against published peak memory: every row that has one, complete or not.

A row without a step time still says how full its chips were. Rows whose model or batch cannot be
reconstructed are left out and counted. The sets here are smaller than those of the step times:
what the memory depends on (framework profile, pipeline, tensor parallelism) divides them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster, HardwareError
from planner.assumptions.assumptions import calibrated
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.units import GIB
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.job import Job
from planner.evidence.csvfile import published
from planner.evidence.runs.checking import held_faults
from planner.evidence.runs.reading import Reading, Skipped, reasons, skipped_run
from planner.evidence.runs.rows import Run, run_of
from planner.plan import PlanTable

_PEAK = "peak_mem_gib_per_chip"
_DIVIDED = ("nanotron", "titan", "simumax", "v100gpt2", "v100tune", "mbskill")
"""Published sets whose memory rows `_set_of` divides otherwise than their step times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One published run with its peak memory, GiB per chip.

    Attributes:
        key: Identifier of the row.
        set_name: Set of `memory_rows`.
        measured_gib, predicted_gib: Of the fullest chip.
        least_gib, most_gib: Predicted where the gathered inputs are never kept, and always; the
            same as predicted where the framework profile says which.
        capacity_gib: Of the chip.
        outside_gib: The part of the predicted memory that lies outside of the allocator, where the
            source counts it (`planner.evidence.runs.habits`).
    """

    key: str
    set_name: str
    measured_gib: float
    predicted_gib: float
    least_gib: float
    most_gib: float
    capacity_gib: float
    outside_gib: float

    @property
    def error(self) -> float:
        """Predicted over measured, minus one."""
        return self.predicted_gib / self.measured_gib - 1

    @property
    def best_error(self) -> float:
        """The same for the nearer of the two modes, which is known only after the run."""
        modes = (self.least_gib / self.measured_gib - 1, self.most_gib / self.measured_gib - 1)
        return min(modes, key=abs)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErrors:
    """Errors of one set, in per cent; `bias` is their mean, the rest are of their absolute size."""

    set_name: str
    rows: int
    mean: float
    median: float
    p90: float
    bias: float
    best_mode_mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Predicted against measured peak memory.

    Attributes:
        sets: Errors by set.
        rows: Every row.
        left_out: Published rows that are not predicted, and why, by id.
    """

    sets: tuple[MemoryErrors, ...]
    rows: tuple[MemoryRow, ...]
    left_out: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: bytes and fractions."""
        return {
            "sets": [_as_fractions(row) for row in self.sets],
            "rows": [
                {
                    "id": row.key,
                    "set": row.set_name,
                    "measured_bytes": row.measured_gib * GIB,
                    "predicted_bytes": row.predicted_gib * GIB,
                    "least_bytes": row.least_gib * GIB,
                    "most_bytes": row.most_gib * GIB,
                    "capacity_bytes": row.capacity_gib * GIB,
                    "error": row.error,
                }
                for row in self.rows
            ],
            "left_out": self.left_out,
        }


def _as_fractions(row: MemoryErrors) -> dict[str, Any]:
    names = ("mean", "median", "p90", "bias", "best_mode_mean")
    shares = {name: getattr(row, name) / 100 for name in names}
    return {"set": row.set_name, "rows": row.rows, **shares}


def published_memory() -> MemoryTable:
    """The table of all published rows."""
    rows, left_out = memory_rows()
    return MemoryTable(sets=tuple(errors_by_set(rows)), rows=tuple(rows), left_out=left_out)


def own_memory(reading: Reading) -> tuple[MemoryTable, tuple[Skipped, ...]]:
    """The table of a user's runs, and those that the model refuses.

    Args:
        reading: Runs with a peak memory.

    Raises:
        InputError: No row is left.
    """
    rows: list[MemoryRow] = []
    refused: list[Skipped] = []
    for measured in reading.runs:
        run = measured.run
        try:
            if wrong := held_faults(run):
                raise InputError("\n".join(wrong))
            rows.append(replace(memory_row(run), set_name=measured.set_name))
        except (InputError, HardwareError) as error:
            refused += [skipped_run(measured, line) for line in str(error).split("\n")]
    if not rows:
        lines = reasons(reading.name, [*reading.skipped, *refused])
        raise InputError("\n".join([f"{reading.name}: no row is left", *lines]))
    table = MemoryTable(sets=tuple(errors_by_set(rows)), rows=tuple(rows), left_out={})
    return table, tuple(refused)


def memory_rows(
    rows: Iterable[Mapping[str, str]] | None = None, **change: float | str
) -> tuple[list[MemoryRow], dict[str, str]]:
    """Predictions of all rows with a peak memory, and why others were left out, by id.

    Args:
        rows: Columns of runs.csv; default: the published runs.
        change: Fields of every framework profile to replace (for ablations).
    """
    named = {row["id"]: row["set"] for row in published("sets")}
    held = [row for row in (published("runs") if rows is None else rows) if row[_PEAK]]
    jobs: dict[tuple[Job, Cluster], dict[int, Run]] = defaultdict(dict)
    wrong: dict[int, str] = {}
    for at, row in enumerate(held):
        try:
            run = run_of(row)
            jobs[run.job, run.cluster][at] = run
        except (InputError, HardwareError) as error:
            wrong[at] = str(error)
    found: dict[int, MemoryRow] = {}
    for runs in jobs.values():
        for at, predicted in _each_alone_at_fault(runs, change):
            if isinstance(predicted, MemoryRow):
                found[at] = _in_its_set(predicted, named.get(held[at]["id"], ""))
            else:
                wrong[at] = str(predicted)
    return [found[at] for at in sorted(found)], {held[at]["id"]: wrong[at] for at in sorted(wrong)}


def _in_its_set(row: MemoryRow, name: str) -> MemoryRow:
    is_divided = not name or name.startswith(_DIVIDED)
    return row if is_divided else replace(row, set_name=name)


def _each_alone_at_fault(
    runs: Mapping[int, Run], change: Mapping[str, float | str]
) -> Iterator[tuple[int, MemoryRow | Exception]]:
    """Runs of one job at once; where one of them is at fault, each on its own."""
    try:
        yield from zip(runs, _of_one_job([*runs.values()], change), strict=True)
    except (InputError, HardwareError):
        for at, run in runs.items():
            try:
                yield at, _of_one_job([run], change)[0]
            except (InputError, HardwareError) as error:
                yield at, error


def memory_row(run: Run, **change: float | str) -> MemoryRow:
    """The prediction of one run that has a peak memory; `change` as in `memory_rows`."""
    return _of_one_job([run], change)[0]


def _of_one_job(runs: Sequence[Run], change: Mapping[str, float | str]) -> list[MemoryRow]:
    """The predictions of runs that differ in their plans alone; `change` as in `memory_rows`."""
    first = runs[0]
    framework = replace(first.job.framework, **change)  # type: ignore[arg-type]
    table = PlanTable.from_plans([run.plan for run in runs])
    held = [gib / GIB for gib in peaks_by_mode(first, framework, table)]
    return [_row_of(run, *(float(gib[at]) for gib in held)) for at, run in enumerate(runs)]


def _row_of(run: Run, expected: float, *modes: float) -> MemoryRow:
    assert run.measured_memory_bytes is not None
    outside = run.habits.outside_gib
    return MemoryRow(
        key=run.key,
        set_name=_set_of(run),
        measured_gib=run.measured_memory_bytes / GIB,
        predicted_gib=expected + outside,
        least_gib=min(modes) + outside,
        most_gib=max(modes) + outside,
        capacity_gib=run.cluster.chip.memory_bytes / GIB,
        outside_gib=outside,
    )


def cost_model(run: Run) -> CostModel:
    """The cost model of a run's job on its cluster, with the shipped constants."""
    assumptions = calibrated(
        run.cluster.chip,
        run.job.era,
        run.job.precision,
        experts=run.job.expert_software,
        recipe=run.job.recipe,
    )
    return CostModel.build(run.job, run.cluster, assumptions)


def peaks(run: Run, framework: FrameworkProfile, table: PlanTable) -> FloatArray:
    """(n,) bytes per chip of plans of a run's job under a framework profile."""
    model = cost_model(replace(run, job=replace(run.job, framework=framework)))
    return memory_table(model, table).peak


def peaks_by_mode(
    run: Run, framework: FrameworkProfile, table: PlanTable
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n,) bytes as expected, and where gathered inputs are never kept, and always.

    They are equal where that is known.
    """
    expected = peaks(run, framework, table)
    if framework.keeps_gathered != "unknown":
        return expected, expected, expected
    never, always = (
        peaks(run, replace(framework, keeps_gathered=mode), table) for mode in ("never", "always")
    )
    return expected, never, always


def _set_of(run: Run) -> str:
    """Software, and what divides its memory rows."""
    name = run.profile.framework
    if name == "nanotron":
        return "nanotron tp=1" if run.plan.tp == 1 else "nanotron tp>1"
    if name.startswith("torchtitan"):
        return "titan" if run.plan.pp == 1 else "titan pp>1"
    if run.profile.site == "simumax":
        return "simumax moe" if run.job.model.moe is not None else "simumax dense"
    if run.profile.site.startswith("v100"):
        return "v100"
    return run.profile.site or {"deepspeed-liger": "stas"}.get(name, "megatron-bridge")


def errors_by_set(rows: Iterable[MemoryRow]) -> list[MemoryErrors]:
    """A line per set, and one for all nanotron rows."""
    groups: dict[str, list[MemoryRow]] = defaultdict(list)
    for row in rows:
        groups[row.set_name].append(row)
        if row.set_name.startswith("nanotron"):
            groups["nanotron"].append(row)
    return [_errors(name, groups[name]) for name in sorted(groups)]


def _errors(name: str, rows: list[MemoryRow]) -> MemoryErrors:
    errors = 100 * np.array([row.error for row in rows])
    best = 100 * np.array([row.best_error for row in rows])
    return MemoryErrors(
        set_name=name,
        rows=len(rows),
        mean=float(np.abs(errors).mean()),
        median=float(np.median(np.abs(errors))),
        p90=float(np.quantile(np.abs(errors), 0.9)),
        bias=float(errors.mean()),
        best_mode_mean=float(np.abs(best).mean()),
    )
