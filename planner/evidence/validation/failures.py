"""Configurations that failed, as a one-sided test of the memory limit.

1,529 configurations of the nanotron sweep "crashed or ran out of memory"; which of the two is not
said, and their memory was not printed. Those that ran are the other side: 1,265 runs. A
configuration is flagged where its predicted memory is above the limit; a flagged run is a false
alarm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import GIB, plural
from planner.cost.job import Job
from planner.cost.memory.risk import memory_risks
from planner.evidence.csvfile import published, read
from planner.evidence.own_columns import FAILED
from planner.evidence.runs.reading import (
    MeasuredRun,
    Reading,
    Skipped,
    read_runs,
    reasons,
    skipped_run,
)
from planner.evidence.runs.rows import Run, run_of
from planner.evidence.validation.memory import cost_model, peaks_by_mode
from planner.evidence.validation.risk import RiskTable, chances, risk_table
from planner.plan import PlanTable
from planner.question.asked.usual import OOM_RISK

MARGINS = (1.15, 1.10, 1.05, 1.00, 0.95, 0.90, 0.85, 0.80, 0.75, 0.70)
MODES = ("expected", "always kept", "never kept")
_EDGES_GIB = (0.0, 40.0, 55.0, 65.0, 72.0, 80.0, 100.0, float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """What a limit flags, as shares from 0 to 1.

    Attributes:
        mode: Whether gathered inputs are kept; one of `MODES`.
        margin: Share of (capacity - reserve) that a plan may fill, as in `--memory-margin`.
        limit_gib: The same in GiB; None where chips differ.
        flagged: Of the failed, those above the limit.
        false_alarms: Of the runs that succeeded, those above the limit.
    """

    mode: str
    margin: float
    limit_gib: float | None
    flagged: float
    false_alarms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OfModel:
    """The default risk on the configurations of one model, shares from 0 to 1; None: of none."""

    model: str
    failed: int
    succeeded: int
    flagged: float | None
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSize:
    """Configurations whose predicted memory lies between two figures, and the share that failed.

    The largest have no upper figure; where there are none, no share failed.
    """

    from_gib: float
    to_gib: float | None
    configurations: int
    share_failed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresTable:
    """The one-sided test of the failed configurations.

    Attributes:
        failed, succeeded: Configurations on each side.
        auc: Chance that a failed configuration is predicted larger than one that ran.
        risk: The limit that searches use unless told otherwise, held against all published runs.
        margins: What each margin flags, for every mode that makes a difference.
        models, sizes: What that limit flags by model, and who failed by predicted memory, with the
            expected mode.
    """

    failed: int
    succeeded: int
    auc: float
    risk: RiskTable
    margins: tuple[Flagged, ...]
    models: tuple[OfModel, ...]
    sizes: tuple[OfSize, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One side of the test.

    Attributes:
        models: (n,) their names.
        gib: (3, n) predicted GiB by mode.
        room: (n,) GiB that plans may fill.
        chance: (n,) to run out of memory, with the expected mode.
    """

    models: np.ndarray
    gib: FloatArray
    room: FloatArray
    chance: FloatArray


def failures_table() -> FailuresTable:
    """Counts, shares and the curve of the failed configurations, with the shipped profiles."""
    ran = {row["id"]: row for row in published("runs") if _swept(row)}
    templates = {_size_of(row): row for row in ran.values()}
    bad = _side([_as_run(row, templates[row["model"]]) for row in published("failed")])
    good = _side([run_of(row) for row in ran.values()])
    source = next(iter(ran.values()))["source"]
    risk = risk_table(read_runs().runs, [(source, chance) for chance in bad.chance.tolist()])
    return _table(bad, good, list(templates), risk)


def own_failures(path: Path, *, assume_network: bool) -> tuple[FailuresTable, Reading]:
    """The same of a user's file: runs with a column that says which failed.

    Args:
        path: The file.
        assume_network: Take the cluster's own network for a text that is not understood.

    Returns:
        The table, and what was read, with the rows that are left out.

    Raises:
        InputError: The file cannot be used, or one of the two sides is empty.
    """
    reading = read_runs(path, assume_network=assume_network, measured="", extra=(FAILED,))
    said = {line.number: line.cells.get(FAILED, "") for line in read(path)[1]}
    refused: list[Skipped] = []
    sides: dict[str, list[MeasuredRun]] = {"1": [], "0": []}
    for one in reading.runs:
        if said[one.line] in sides:
            sides[said[one.line]].append(replace(one, run=replace(one.run, source=one.set_name)))
        else:
            refused.append(skipped_run(one, f"{FAILED}: {shown(said[one.line])} is not 0 or 1"))
    for name, runs in sides.items():
        chance, _ = chances(runs)
        usable = np.isfinite(chance)
        refused += [
            skipped_run(one, "the model refuses its plan; planner evaluate says why")
            for one, known in zip(runs, usable, strict=True)
            if not known
        ]
        sides[name] = [one for one, known in zip(runs, usable, strict=True) if known]
    reading = replace(reading, skipped=(*reading.skipped, *refused))
    failed, ran = sides["1"], sides["0"]
    if not (failed and ran):
        found = f"{plural(len(failed), 'row')} that failed and {len(ran)} that ran"
        lines = reasons(reading.name, reading.skipped)
        raise InputError("\n".join([f"{reading.name}: has {found}; needs both", *lines]))
    bad, good = (_side([one.run for one in side]) for side in (failed, ran))
    lost = zip([one.run.source for one in failed], bad.chance.tolist(), strict=True)
    names = list(dict.fromkeys([*bad.models, *good.models]))
    return _table(bad, good, names, risk_table(ran, lost)), reading


def _table(bad: _Side, good: _Side, models: Sequence[str], risk: RiskTable) -> FailuresTable:
    return FailuresTable(
        failed=len(bad.models),
        succeeded=len(good.models),
        auc=_auc(bad.gib[0], good.gib[0]),
        risk=risk,
        margins=tuple(
            _flagged(bad, good, mode, margin) for mode in _modes(bad, good) for margin in MARGINS
        ),
        models=tuple(_of_model(bad, good, name) for name in models),
        sizes=_of_sizes(bad.gib[0], good.gib[0]),
    )


def _modes(bad: _Side, good: _Side) -> range:
    """The modes; the expected one alone where whether gathered inputs are kept is known."""
    known = all((side.gib == side.gib[0]).all() for side in (bad, good))
    return range(1 if known else len(MODES))


def _swept(row: Mapping[str, str]) -> bool:
    """Whether a published run belongs to the sweep of the failed configurations."""
    return row["model_name"].startswith("nanotron-llama-") and row["complete"] == "1"


def _size_of(row: Mapping[str, str]) -> str:
    return row["model_name"].removeprefix("nanotron-llama-")


def _as_run(failed: Mapping[str, str], template: Mapping[str, str]) -> Run:
    """A failed configuration as a run of the same model."""
    tp, dp = int(failed["tp"]), int(failed["dp"])
    return run_of(
        {
            **template,
            "n_chips": failed["n_gpus"],
            "tp": failed["tp"],
            "sp": str(int(tp > 1)),
            "pp": failed["pp"],
            "global_batch_seqs": failed["gbs"],
            "micro_batch_seqs": failed["mbs"],
            "sharding": "zero1" if failed["zero"] == "1" and dp > 1 else "ddp",
            "peak_mem_gib_per_chip": "",
        }
    )


def _side(runs: list[Run]) -> _Side:
    """Predicts all runs, those of one job at a time."""
    gib, room, chance = np.empty((len(MODES), len(runs))), *np.empty((2, len(runs)))
    jobs: dict[tuple[Job, Cluster], list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        jobs[run.job, run.cluster].append(at)
    for rows in jobs.values():
        first = runs[rows[0]]
        table = PlanTable.from_plans([runs[at].plan for at in rows])
        expected, never, always = peaks_by_mode(first, first.job.framework, table)
        gib[:, rows] = np.stack([expected, always, never]) / GIB
        model = cost_model(first)
        room[rows] = model.allocatable_bytes / GIB
        chance[rows] = memory_risks(model, table, expected)[0]
    names = [run.job.model.name.removeprefix("nanotron-llama-") for run in runs]
    return _Side(models=np.array(names), gib=gib, room=room, chance=chance)


def _flagged(bad: _Side, good: _Side, mode: int, margin: float) -> Flagged:
    rooms = {*bad.room.tolist(), *good.room.tolist()}
    return Flagged(
        mode=MODES[mode],
        margin=margin,
        limit_gib=margin * rooms.pop() if len(rooms) == 1 else None,
        flagged=float((bad.gib[mode] > margin * bad.room).mean()),
        false_alarms=float((good.gib[mode] > margin * good.room).mean()),
    )


def _share(values: BoolArray) -> float | None:
    """The share that is true; None of none."""
    return float(values.mean()) if len(values) else None


def _of_model(bad: _Side, good: _Side, name: str) -> OfModel:
    of_bad, of_good = bad.chance[bad.models == name], good.chance[good.models == name]
    return OfModel(
        model=name,
        failed=len(of_bad),
        succeeded=len(of_good),
        flagged=_share(of_bad > OOM_RISK),
        false_alarms=_share(of_good > OOM_RISK),
    )


def _of_sizes(bad: FloatArray, good: FloatArray) -> tuple[OfSize, ...]:
    """Shares that failed, by predicted memory."""
    failed, ran = (np.histogram(side, _EDGES_GIB)[0] for side in (bad, good))
    return tuple(
        OfSize(
            from_gib=low,
            to_gib=None if high == _EDGES_GIB[-1] else high,
            configurations=int(lost + kept),
            share_failed=float(lost / (lost + kept)) if lost + kept else None,
        )
        for low, high, lost, kept in zip(_EDGES_GIB, _EDGES_GIB[1:], failed, ran, strict=False)
    )


def _auc(bad: FloatArray, good: FloatArray) -> float:
    """Chance that one of `bad` exceeds one of `good`, ties by half."""
    ordered = np.sort(good)
    below: IntArray = np.searchsorted(ordered, bad, side="left")
    up_to: IntArray = np.searchsorted(ordered, bad, side="right")
    return float((below + up_to).mean() / 2 / len(good))
