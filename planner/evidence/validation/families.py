"""Newer chips of a family, predicted from the older one's constants and what was disclosed.

The newer chip is the older one with those fields of `DISCLOSED` at the newer record's values that
are published; what is only estimated of it is left out. Efficiencies, joules per operation and
powers are the older chip's; `planner.cost.energy.silicon` says what follows. Factors of
installations are left out too: some were fitted to runs on the newer chip. Where both chips have
one efficiency in the calibration, its fit has runs of both, and the table names it: the error is
then that of what was disclosed, not that of a chip nobody had measured. Beside the error stands
that of the newer chip's own record, and where sources have the same plan of the same job on both
chips that of the ratio of the two times, in which errors of the software cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, FrozenMap, load_calibration, load_chip, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import FloatArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.energy.silicon import Followed, follow
from planner.evidence.power.power import PowerRow, power_table
from planner.evidence.runs.reading import MeasuredRun, read_runs
from planner.evidence.runs.rows import Run
from planner.evidence.validation.predicting import Constants, Costed, costs_by_table
from planner.question.request import request_from
from planner.question.resolved import resolve

FAMILIES = (
    ("a100-sxm4-40", "a100-sxm4-80"),
    ("h100-sxm5-80", "h200-sxm5-141"),
    ("mi300x", "mi325x"),
    ("b200-sxm-180", "b300-sxm-288"),
    ("tpu-v5e", "tpu-v6e"),
)
"""The older chip and the newer one."""
DISCLOSED = {
    "peak_flop_per_s": "peak.bf16",
    "flop_per_pe_per_clock": "pe.flop_per_clock.bf16",
    "pe_count": "pe.count",
    "clock_hz": "clock",
    "memory_bytes": "memory.capacity",
    "memory_bandwidth_bytes_per_s": "memory.bandwidth",
    "l2_bytes": "on_chip.l2",
    "scale_up_link_bytes_per_s": "scale_up.link_bandwidth",
    "scale_up_bytes_per_s": "scale_up.bandwidth",
    "tdp_w": "power.tdp",
}
"""Fields of `Chip` that makers publish, to the paths of their numbers in a record."""
_GUESS = "assumed"
TIME_BOUND, POWER_BOUND = 0.08, 0.10
"""Errors of step time and power that a family should keep to."""
_JOB = "llama3-8b"  # the step whose components the power of a chip is divided by


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A newer chip predicted from an older one.

    Attributes:
        older, newer: Keys of the chips.
        changes: Field of `Chip` to its values on both; a peak is that of 16 bits.
        kinds: The same fields to how the newer value is known.
        shared: Keys of the calibration that both have: these constants were fitted to runs of both.
        clock: Of the newer chip's busy kernels, relative to those of the older one.
        runs: Published runs on the newer chip.
        time_error, time_bias: Mean size of the errors of their step times, and mean error; None:
            there are no runs.
        own_time_error: Mean size with the newer chip's own record.
        pairs: Runs on both chips of one source, job and plan.
        ratio_error: Mean size of the errors of the newer chip's step time over the older one's.
        busy_w, own_busy_w: Watts of a busy newer chip as predicted, and of its record.
        meters: Power figures of meters on the newer chip.
        power_error, own_power_error: Mean size of their errors, as those of time.
    """

    older: str
    newer: str
    changes: dict[str, tuple[float | None, float | None]]
    kinds: dict[str, str]
    shared: tuple[str, ...]
    clock: float
    runs: int
    time_error: float | None
    time_bias: float | None
    own_time_error: float | None
    pairs: int
    ratio_error: float | None
    busy_w: float
    own_busy_w: float
    meters: int
    power_error: float | None
    own_power_error: float | None

    @property
    def within(self) -> bool:
        """Whether every error that is known keeps to its bound."""
        time, power = self.time_error or 0.0, self.power_error or 0.0
        return time <= TIME_BOUND and power <= POWER_BOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTable:
    """Every pair of `FAMILIES`."""

    families: tuple[Family, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: fractions and watts."""
        rows = [{**asdict(one), "within": one.within} for one in self.families]
        return {"time_bound": TIME_BOUND, "power_bound": POWER_BOUND, "families": rows}


def family_table(on_progress: Progress | None = None) -> FamilyTable:
    """The table of the published runs and meters."""
    runs, own = read_runs().runs, power_table().rows
    found = []
    for done, (older, newer) in enumerate(FAMILIES):
        if on_progress is not None:
            on_progress("families", done, len(FAMILIES))
        mine = [one for one in runs if one.run.cluster.chip.name == newer]
        first = [one for one in runs if one.run.cluster.chip.name == older]
        found.append(_family(load_chip(older), load_chip(newer), first, mine, own))
    return FamilyTable(families=tuple(found))


def kinds_of(newer: Chip) -> dict[str, str]:
    """Fields of `DISCLOSED` that are published of a chip, to how they are known."""
    known = {name: newer.quantities.get(path) for name, path in DISCLOSED.items()}
    return {
        name: one.kind
        for name, one in known.items()
        if one is not None and one.value is not None and one.kind != _GUESS
    }


def disclosed(older: Chip, newer: Chip) -> dict[str, Any]:
    """Published fields of `DISCLOSED` in which the newer chip differs, with its values."""
    fields = {name: getattr(newer, name) for name in kinds_of(newer)}
    return {name: value for name, value in fields.items() if value != getattr(older, name)}


def _unknown(newer: Chip) -> dict[str, Any]:
    """Fields of `DISCLOSED` that the record of a chip has no value of, as it has them."""
    fields = {name: getattr(newer, name) for name in DISCLOSED}
    return {name: value for name, value in fields.items() if not value}


def like_older(own: CostModel, older: Chip, newer: Chip) -> Followed:
    """The cost model of a job on the newer chip, made from the older one.

    Args:
        own: On the newer chip's own record.
        older, newer: The chips.

    Raises:
        InputError: The older chip has no rate at the job's precision.
    """
    job, stated = own.job, own.cluster.chip.calibration_attention
    if stated != newer.calibration_attention:  # a kernel that the run says it had
        older = replace(older, calibration_attention=stated)
    changed = replace(older, **_unknown(newer), **disclosed(older, newer))
    first, then = (
        CostModel.build(
            job,
            replace(own.cluster, chip=chip),
            calibrated(
                chip, job.era, job.precision, experts=job.expert_software, recipe=job.recipe
            ),
        )
        for chip in (older, changed)
    )
    return follow(first, then, kinds_of(newer))


def _family(
    older: Chip,
    newer: Chip,
    first: list[MeasuredRun],
    runs: list[MeasuredRun],
    meters: tuple[PowerRow, ...],
) -> Family:
    times, own_times = _errors(older, newer, runs)
    ratios = _ratio_errors(older, newer, first, runs)
    asked = {"model": _JOB, "hardware": newer.name, "chips": load_cluster(newer.name).node_chips}
    busy = like_older(resolve(request_from(asked)).cost, older, newer)
    chip = busy.model.chip
    own = [row.error for row in meters if row.chip == newer.name]
    moved = [row.error for row in power_table({newer.name: chip}).rows if row.chip == newer.name]
    return Family(
        older=older.name,
        newer=newer.name,
        changes={name: _values(older, newer, name) for name in disclosed(older, newer)},
        kinds=kinds_of(newer),
        shared=tuple(
            name
            for name in ("gemm", "attention")
            if getattr(older, f"calibration_{name}") == getattr(newer, f"calibration_{name}")
        ),
        clock=busy.clock,
        runs=len(times),
        time_error=_size(times),
        time_bias=float(times.mean()) if len(times) else None,
        own_time_error=_size(own_times),
        pairs=len(ratios),
        ratio_error=_size(ratios),
        busy_w=chip.busy_w,
        own_busy_w=newer.busy_w,
        meters=len(own),
        power_error=_size(moved),
        own_power_error=_size(own),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LikeOlder(Constants):
    """Those of the older chip for runs on the newer one."""

    older: Chip
    newer: Chip

    def model(self, run: Run) -> CostModel:
        """See `like_older`."""
        return like_older(Constants.model(self, run), self.older, self.newer).model


def _errors(older: Chip, newer: Chip, runs: Sequence[MeasuredRun]) -> FloatArray:
    """(2, n) errors of the step times of runs, from the older chip and from the newer's record.

    Runs at a precision that the older chip does not have are left out.
    """
    own = _without_sites()
    like = _LikeOlder(calibration=own.calibration, older=older, newer=newer)
    seconds = np.stack([_seconds(runs, constants) for constants in (like, own)])
    known = np.flatnonzero(np.isfinite(seconds).all(axis=0)).tolist()
    seconds, kept = seconds[:, known], [runs[row].run for row in known]
    sites = [own.site_factor(run, float(s)) for run, s in zip(kept, seconds[1], strict=True)]
    measured = np.array([run.measured_step_time_s for run in kept])
    return np.asarray(seconds * sites / measured - 1)


def _without_sites() -> Constants:
    """The shipped constants without factors of installations."""
    shipped = load_calibration()
    elsewhere = {k: v for k, v in shipped.values.items() if not k.startswith("site_factor.")}
    return Constants.of(replace(shipped, values=FrozenMap(elsewhere)))


def _ratio_errors(
    older: Chip, newer: Chip, first: Sequence[MeasuredRun], runs: Sequence[MeasuredRun]
) -> FloatArray:
    """(n,) errors of times on the newer chip over those of the same plan on the older one."""
    by_job: dict[object, list[MeasuredRun]] = {}
    for one in first:
        by_job.setdefault(_asked(one.run), []).append(one)
    pairs = [(one, other) for one in runs for other in by_job.get(_asked(one.run), ())]
    own = _without_sites()
    like = _LikeOlder(calibration=own.calibration, older=older, newer=newer)
    then, before = (
        _seconds([pair[at] for pair in pairs], constants)
        for at, constants in enumerate((like, own))
    )
    measured = np.array(
        [one.run.measured_step_time_s / other.run.measured_step_time_s for one, other in pairs]
    )
    errors = then / before / measured - 1
    return np.asarray(errors[np.isfinite(errors)])


def _asked(run: Run) -> tuple[object, ...]:
    """What two runs of one software, job and plan have in common."""
    job = run.job
    return (run.source, job.model.name, job.seq_len, job.global_batch, job.precision, job.kind,
            run.plan)  # fmt: skip


def _seconds(runs: Sequence[MeasuredRun], constants: Constants) -> FloatArray:
    """(n,) step times; NaN where the model refuses one."""
    found = np.full(len(runs), np.nan)
    for rows, costed in costs_by_table(runs, constants):
        if isinstance(costed, Costed):
            found[rows] = costed.costs.step_time_s
    return found


def _values(older: Chip, newer: Chip, name: str) -> tuple[float | None, float | None]:
    return _value(getattr(older, name)), _value(getattr(newer, name))


def _value(value: Mapping[str, float] | float | None) -> float | None:
    return value.get("bf16") if isinstance(value, Mapping) else value


def _size(errors: FloatArray | list[float]) -> float | None:
    return float(np.abs(errors).mean()) if len(errors) else None
