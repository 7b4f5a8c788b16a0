"""The law of power caps against published sweeps: time and energy of jobs under limits.

A job asks for D watts at full clock, and a share s of its time is arithmetic:

    f(c) = the clock at which P(f) = c, at most 1      t(c) = 1 - s + s / f(c)
    E(c) = min(c, D) t(c)                              all relative to the highest limit

Single jobs (rows of `energy`): D and s are those that fit the other jobs on the GPU best. Means
over many jobs (the database): D is their own draw without a cap, s fits the means of the other GPUs
best. A100 has its own law of voltage; the others have that of V100: no clock sweep of them is
published.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, load_chip, load_reference
from planner.base.arrays import FloatArray
from planner.cost.energy.clock import LEAST_CAP_SHARE, clock_at
from planner.evidence.csvfile import published
from planner.evidence.power.power import ErrorSummary, having

_LIMITED = re.compile(r"[0-9]+ (.+), power limit ([0-9]+) W")
_TIMED = re.compile(r"(.+): one (?:epoch|step) in ([0-9.]+) s")
MEAN = "mean of jobs"
_SHARES = np.linspace(0, 1, 101)
_DRAWS = np.linspace(0.7, 1.6, 91)  # over the highest limit


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRow:
    """One job at one power cap: time and energy over those without one, and their predictions."""

    gpu: str
    job: str
    cap_w: float
    time_ratio: float
    predicted_time_ratio: float
    energy_ratio: float
    predicted_energy_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapTable:
    """The power caps of at least half the highest limit, and the relative errors of the law."""

    rows: tuple[CapRow, ...]

    def time(self, **wanted: object) -> ErrorSummary:
        """Errors of the time, of the rows that have these attributes."""
        rows = having(self.rows, wanted)
        return ErrorSummary.of([r.predicted_time_ratio for r in rows], [r.time_ratio for r in rows])

    def energy(self, **wanted: object) -> ErrorSummary:
        """Errors of the energy, of the rows that have these attributes."""
        rows = having(self.rows, wanted)
        return ErrorSummary.of(
            [r.predicted_energy_ratio for r in rows], [r.energy_ratio for r in rows]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A job under limits: (n,) caps in W below the highest one, and ratios to that."""

    name: str
    rated_w: float
    cap_w: FloatArray
    time: FloatArray
    energy: FloatArray

    @staticmethod
    def of(name: str, table: FloatArray) -> _Job:
        """From (n, 3): caps, times, energies; ratios are taken to the highest cap."""
        caps, times, energies = table[np.argsort(table[:, 0])].T
        usable = (caps < caps[-1]) & (caps >= LEAST_CAP_SHARE * caps[-1])
        return _Job(
            name=name,
            rated_w=float(caps[-1]),
            cap_w=caps[usable],
            time=times[usable] / times[-1],
            energy=energies[usable] / energies[-1],
        )

    @property
    def draw(self) -> float:
        """Mean draw without a cap over the highest one: at a cap power is the cap."""
        return float(np.median(self.cap_w * self.time / self.energy)) / self.rated_w


def cap_table(law: Chip | None = None) -> CapTable:
    """Power caps against the laws of the records, or that of another chip."""
    rows: list[CapRow] = []
    means = _means()
    for gpu, mean in means.items():
        others = [(law or _law(name), job) for name, job in means.items() if name != gpu]
        rows += _rows(law or _law(gpu), gpu, mean, mean.draw, _share(others))
    for gpu, jobs in _jobs().items():
        chip = law or _law(gpu)
        misses = np.stack([_misses(chip, job) for job in jobs])
        for index, job in enumerate(jobs):
            others_miss = np.delete(misses, index, axis=0).mean(axis=0)
            draw, share = np.unravel_index(int(others_miss.argmin()), others_miss.shape)
            rows += _rows(chip, gpu, job, float(_DRAWS[draw]), float(_SHARES[share]))
    return CapTable(rows=tuple(rows))


def _means() -> dict[str, _Job]:
    """Means over jobs by GPU, from the database."""
    prefix = "power_caps."
    return {
        path.removeprefix(prefix): _Job.of(MEAN, np.array(quantity.value, dtype=np.float64))
        for path, quantity in load_reference("power").quantities.items()
        if path.startswith(prefix)
    }


def _jobs() -> dict[str, list[_Job]]:
    """Single jobs by GPU and its highest limit, from rows of `energy`."""
    found: dict[str, list[_Job]] = defaultdict(list)
    for (name, workload), points in _points().items():
        job = _Job.of(workload, np.array(points))
        found[f"{name} {job.rated_w:g} W"].append(job)
    return dict(sorted(found.items()))


def _points() -> dict[tuple[str, str], list[tuple[float, float, float]]]:
    """Cap in W, seconds and joules per chip by GPU and job, of the rows of `energy`."""
    points: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for row in published("energy"):
        limited, timed = _LIMITED.match(row["system"]), _TIMED.match(row["workload"])
        if limited and timed:
            seconds = float(timed.group(2))
            joules = seconds * float(row["avg_power_w_per_chip"])
            points[limited.group(1), timed.group(1)].append(
                (float(limited.group(2)), seconds, joules)
            )
    return points


def _law(gpu: str) -> Chip:
    return load_chip("a100-sxm4-80" if gpu.startswith("A100") else "v100-sxm2-32")


def _times(chip: Chip, job: _Job, draw: FloatArray, share: FloatArray) -> FloatArray:
    """Time ratios at the caps of a job, broadcast to (..., n); `draw` over the highest limit."""
    idle = chip.idle_w / chip.tdp_w
    caps = np.append(job.cap_w, job.rated_w) / job.rated_w
    activity = (caps - idle) / (np.asarray(draw)[..., None] - idle)
    clock = clock_at(chip.voltage_slope, chip.voltage_floor, activity)
    times = 1 - np.asarray(share)[..., None] * (1 - 1 / clock)
    return np.asarray(times[..., :-1] / times[..., -1:])


def _misses(chip: Chip, job: _Job) -> FloatArray:
    """(d, s) mean relative error of the time of a job, for every draw and share."""
    times = _times(chip, job, _DRAWS[:, None], _SHARES[None, :])
    return np.asarray(np.abs(times / job.time - 1).mean(axis=-1))


def _share(jobs: Sequence[tuple[Chip, _Job]]) -> float:
    """The share of arithmetic with the least mean error, each job with its own draw."""
    found = []
    for chip, job in jobs:
        times = _times(chip, job, np.full(len(_SHARES), job.draw), _SHARES)
        found.append(np.abs(times / job.time - 1))
    return float(_SHARES[np.concatenate(found, axis=-1).mean(axis=-1).argmin()])


def _rows(chip: Chip, gpu: str, job: _Job, draw: float, share: float) -> Iterator[CapRow]:
    times = _times(chip, job, np.array(draw), np.array(share))
    joules = np.minimum(job.cap_w / job.rated_w, draw) / min(1.0, draw) * times
    for at, cap in enumerate(job.cap_w):
        yield CapRow(
            gpu=gpu,
            job=job.name,
            cap_w=float(cap),
            time_ratio=float(job.time[at]),
            predicted_time_ratio=float(times[at]),
            energy_ratio=float(job.energy[at]),
            predicted_energy_ratio=float(joules[at]),
        )
