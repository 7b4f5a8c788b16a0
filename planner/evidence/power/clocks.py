"""The law of clocks against published sweeps: GPU power and time of one load at locked clocks.

What a load asks of the chip is one number, its activity A, and its time has two, which the sweep
itself must give:

    P(f) = P_idle + A f V(f)^2         t(f) = t_rest + t_arithmetic / f

V100: plans of training runs. A100: forward and backward pass of one pipeline stage of two models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, load_chip, load_reference
from planner.base.arrays import FloatArray
from planner.cost.energy.clock import voltage
from planner.evidence.csvfile import published
from planner.evidence.power.power import ErrorSummary

SWEPT = ("v100-sxm2-32", "a100-sxm4-80")
FULL_CLOCK_MHZ = 1597.0
"""Clock of V100 by default: a run locked there draws what unlocked runs draw."""
A100_CLOCK_HZ = 1.29e9
"""Clock at which A100 meets its rated power with such loads: what its record calls full."""
_LOCKED = re.compile(r"locked at ([0-9]+) MHz")
_NAMED = re.compile(r"_([0-9]{3,4})_(?:retry_)?20[0-9]{6}")  # in the path of a log
_PLAN = ("model_name", "n_chips", "tp", "pp", "dp", "global_batch_seqs", "inter_node_net")
_FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTable:
    """A clock sweep, by loads that ran at two clocks or more; relative errors.

    Attributes:
        plans: How many loads.
        power: Of P(f), one activity per load fitted to all its clocks, default ones included.
        locked: The same, locked clocks alone.
        left_power, left_time, left_energy: Locked clocks alone, each predicted from the others.
    """

    plans: int
    power: ErrorSummary
    locked: ErrorSummary
    left_power: ErrorSummary
    left_time: ErrorSummary
    left_energy: ErrorSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sweep:
    """One plan: (n,) relative clock, watts per chip, step seconds, whether the clock was locked."""

    clock: FloatArray
    watts: FloatArray
    seconds: FloatArray
    locked: FloatArray


def clock_table(swept: str = SWEPT[0], chip: Chip | None = None) -> ClockTable:
    """The clock sweep of one of `SWEPT` against the law of its record, or of another `chip`."""
    chip = chip or load_chip(swept)
    busy = _runs_of_v100()[0] if swept == SWEPT[0] else _stages_of_a100()
    locked = [_only_locked(sweep) for sweep in busy]
    locked = [sweep for sweep in locked if len(sweep.clock) >= _FEWEST]
    left = np.concatenate([_left_out(chip, sweep) for sweep in locked], axis=1)
    names = ("left_power", "left_time", "left_energy")
    ones = np.ones(left.shape[1])
    return ClockTable(
        plans=len(busy),
        power=_fit_errors(chip, busy),
        locked=_fit_errors(chip, locked),
        **{
            name: ErrorSummary.of(ratio.tolist(), ones.tolist())
            for name, ratio in zip(names, left, strict=True)
        },
    )


def waiting_w() -> tuple[float, float]:
    """Mean watts of V100 plans that wait for a slow network: at locked and default clocks."""
    return _runs_of_v100()[1]


def _stages_of_a100() -> list[_Sweep]:
    """Stages at locked clocks, relative to the clock at which they draw the rated power."""
    tables = [
        np.array(quantity.value, dtype=np.float64)
        for path, quantity in load_reference("power").quantities.items()
        if path.startswith("clock_sweeps.a100_sxm.")
    ]
    return [
        _Sweep(clock=hz / A100_CLOCK_HZ, watts=watts, seconds=seconds, locked=np.ones_like(hz))
        for hz, seconds, watts in (table.T for table in tables)
    ]


def _runs_of_v100() -> tuple[list[_Sweep], tuple[float, float]]:
    """Plans that ran at two clocks or more; and what `waiting_w` returns."""
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
