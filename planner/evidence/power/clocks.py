"""The laws of clocks and power caps against published sweeps.

Clock sweep: GPU power and step time of V100 plans at locked clocks. What a plan asks of the chip
is one number, its activity A, and its time has two, which the sweep itself must give:

    P(f) = P_idle + A f V(f)^2         t(f) = t_rest + t_arithmetic / f

Power caps: time and energy of training jobs on four GPUs, relative to those without a cap. The
law of V100 is used for all four; their draw without a cap, and one share of arithmetic for all,
come from the data: the share from the other three GPUs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, load_chip, load_reference
from planner.base.arrays import FloatArray
from planner.cost.energy.clock import LEAST_CAP_SHARE, clock_at, voltage
from planner.evidence.csvfile import published
from planner.evidence.power.power import ErrorSummary

SWEPT = "v100-sxm2-32"
FULL_CLOCK_MHZ = 1597.0
"""Clock of V100 by default: a run locked there draws what unlocked runs draw."""
_LOCKED = re.compile(r"locked at (\d+) MHz")
_NAMED = re.compile(r"_(\d{3,4})_(?:retry_)?20\d{6}")  # in the path of a log
_PLAN = ("model_name", "n_chips", "tp", "pp", "dp", "global_batch_seqs", "inter_node_net")
_FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTable:
    """The clock sweep, by plans that ran at two clocks or more; relative errors.

    Attributes:
        plans: How many.
        power: Of P(f), one activity per plan fitted to all its clocks, default ones included.
        locked: The same, locked clocks alone.
        left_power, left_time, left_energy: Locked clocks alone, each predicted from the others.
        waiting_w: Mean watts of plans that wait for a slow network: at locked and default clocks.
    """

    plans: int
    power: ErrorSummary
    locked: ErrorSummary
    left_power: ErrorSummary
    left_time: ErrorSummary
    left_energy: ErrorSummary
    waiting_w: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRow:
    """One GPU at one power cap: time and energy over those without a cap, and their predictions."""

    gpu: str
    cap_w: float
    time_ratio: float
    predicted_time_ratio: float
    energy_ratio: float
    predicted_energy_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapTable:
    """The power caps of at least half the rated power, and the relative errors of the law."""

    rows: tuple[CapRow, ...]
    time: ErrorSummary
    energy: ErrorSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sweep:
    """One plan: (n,) relative clock, watts per chip, step seconds, whether the clock was locked."""

    clock: FloatArray
    watts: FloatArray
    seconds: FloatArray
    locked: FloatArray


def clock_table(chip: Chip | None = None) -> ClockTable:
    """The clock sweep of V100 against the law of its record, or of another `chip`."""
    chip = chip or load_chip(SWEPT)
    busy, waiting = _sweeps()
    locked = [_only_locked(sweep) for sweep in busy]
    locked = [sweep for sweep in locked if len(sweep.clock) >= _FEWEST]
    left = np.concatenate([_left_out(chip, sweep) for sweep in locked], axis=1)
    names = ("left_power", "left_time", "left_energy")
    ones = np.ones(left.shape[1])
    return ClockTable(
        plans=len(busy),
        power=_fit_errors(chip, busy),
        locked=_fit_errors(chip, locked),
        waiting_w=waiting,
        **{
            name: ErrorSummary.of(ratio.tolist(), ones.tolist())
            for name, ratio in zip(names, left, strict=True)
        },
    )


def _sweeps() -> tuple[list[_Sweep], tuple[float, float]]:
    """Plans that ran at two clocks or more; and the mean watts of those that wait, see above."""
    points: dict[tuple[str, ...], list[tuple[float, float, float, float]]] = defaultdict(list)
    waits: dict[bool, list[float]] = {True: [], False: []}
    for row in published("runs"):
        if "lock-clock" not in row["source"] or not row["power_w_per_chip"]:
            continue
        mhz, locked = _clock_mhz(row)
        watts, seconds = float(row["power_w_per_chip"]), float(row["step_time_s"])
        if mhz is None:
            continue
        if row["inter_node_net"].startswith("Ethernet"):
            waits[locked].append(watts)
        else:
            key = tuple(row[name] for name in _PLAN)
            points[key].append((mhz / FULL_CLOCK_MHZ, watts, seconds, float(locked)))
    sweeps = [_Sweep(**dict(zip(_Sweep.__slots__, np.array(found).T, strict=True)))
              for found in points.values() if len(found) >= _FEWEST]  # fmt: skip
    return sweeps, (float(np.mean(waits[True])), float(np.mean(waits[False])))


def _clock_mhz(row: Mapping[str, str]) -> tuple[float | None, bool]:
    """The clock of a run and whether it was locked; None where it is not known."""
    found = _LOCKED.search(row["notes"]) or _NAMED.search(row["source"])
    if found:
        return float(found.group(1)), True
    return (FULL_CLOCK_MHZ, False) if "default clocks" in row["notes"] else (None, False)


def _only_locked(sweep: _Sweep) -> _Sweep:
    rows = sweep.locked > 0
    return _Sweep(**{name: getattr(sweep, name)[rows] for name in _Sweep.__slots__})


def _activity(chip: Chip, clock: FloatArray, watts: FloatArray) -> float:
    """A of P = P_idle + A g with the least squared relative error."""
    g = clock * voltage(chip, clock) ** 2
    return float(np.sum(g * (watts - chip.idle_w) / watts**2) / np.sum(g**2 / watts**2))


def _watts(chip: Chip, activity: float, clock: FloatArray) -> FloatArray:
    return np.asarray(chip.idle_w + activity * clock * voltage(chip, clock) ** 2)


def _fit_errors(chip: Chip, sweeps: Sequence[_Sweep]) -> ErrorSummary:
    fitted = [_watts(chip, _activity(chip, s.clock, s.watts), s.clock) for s in sweeps]
    measured = [sweep.watts for sweep in sweeps]
    return ErrorSummary.of(np.concatenate(fitted).tolist(), np.concatenate(measured).tolist())


def _left_out(chip: Chip, sweep: _Sweep) -> FloatArray:
    """(3, n) predicted over measured power, time, energy of each clock, from the other clocks."""
    from scipy.optimize import nnls  # noqa: PLC0415  (slow to import)

    ratios = []
    for clock in np.unique(sweep.clock):
        here, rest = sweep.clock == clock, sweep.clock != clock
        if len(np.unique(sweep.clock[rest])) < _FEWEST:
            continue
        activity = _activity(chip, sweep.clock[rest], sweep.watts[rest])
        power = _watts(chip, activity, sweep.clock[here]) / sweep.watts[here]
        terms = np.stack([np.ones(rest.sum()), 1 / sweep.clock[rest]], axis=1)
        weights = nnls(terms / sweep.seconds[rest, None], np.ones(rest.sum()))[0]
        time = (weights[0] + weights[1] / clock) / sweep.seconds[here]
        ratios.append(np.stack([power, time, power * time]))
    return np.concatenate(ratios, axis=1) if ratios else np.empty((3, 0))


def cap_table(chip: Chip | None = None) -> CapTable:
    """Power caps on four GPUs against the law of V100's record, or of another `chip`."""
    chip = chip or load_chip(SWEPT)
    jobs = _capped_jobs()
    rows = []
    for gpu, (rated, table) in jobs.items():
        others = [job for name, job in jobs.items() if name != gpu]
        share = _arithmetic_share(chip, others)
        ratios = _time_ratios(chip, share, rated, table)
        draw = _draw_w(table)
        energy = np.minimum(table[:, 0], draw) / draw * ratios
        for row, time, joules in zip(table, ratios, energy, strict=True):
            rows.append(
                CapRow(
                    gpu=gpu,
                    cap_w=float(row[0]),
                    time_ratio=float(row[1]),
                    predicted_time_ratio=float(time),
                    energy_ratio=float(row[2]),
                    predicted_energy_ratio=float(joules),
                )
            )
    return CapTable(
        rows=tuple(rows),
        time=ErrorSummary.of([r.predicted_time_ratio for r in rows], [r.time_ratio for r in rows]),
        energy=ErrorSummary.of(
            [r.predicted_energy_ratio for r in rows], [r.energy_ratio for r in rows]
        ),
    )


def _capped_jobs() -> dict[str, tuple[float, FloatArray]]:
    """GPU to its rated power and (n, 3) caps, time ratios and energy ratios below it."""
    jobs = {}
    for path, quantity in load_reference("power").quantities.items():
        if path.startswith("power_caps."):
            table = np.array(quantity.value, dtype=np.float64)
            rated = float(table[:, 0].max())
            usable = (table[:, 0] < rated) & (table[:, 0] >= LEAST_CAP_SHARE * rated)
            jobs[path.removeprefix("power_caps.")] = (rated, table[usable])
    return jobs


def _draw_w(table: FloatArray) -> float:
    """Mean draw without a cap: at a cap power is the cap, and energy over time that over it."""
    return float(np.median(table[:, 0] * table[:, 1] / table[:, 2]))


def _time_ratios(chip: Chip, share: float, rated: float, table: FloatArray) -> FloatArray:
    """1 - share + share / f at the clock f that each cap allows."""
    idle, draw = chip.idle_w / chip.tdp_w * rated, _draw_w(table)
    activity = (table[:, 0] - idle) / (draw - idle)
    clock = clock_at(chip.voltage_slope, chip.voltage_floor, activity)
    return np.asarray(1 - share + share / clock)


def _arithmetic_share(chip: Chip, jobs: Sequence[tuple[float, FloatArray]]) -> float:
    """The share of time that scales with the clock, with the least mean relative error."""

    def error(share: float) -> float:
        found = [np.abs(_time_ratios(chip, share, *job) / job[1][:, 1] - 1) for job in jobs]
        return float(np.concatenate(found).mean())

    return float(min(np.linspace(0, 1, 101), key=error))
