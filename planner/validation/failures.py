"""Configurations that failed: does the model say that they do not fit?

The nanotron sweep lists configurations that "crashed or ran out of memory" beside those that ran.
Crashes for other reasons are among them, so the test is one-sided: how many of them are predicted
to exceed a share of the memory, and how many that ran are wrongly refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hardware_db import Calibration, load_calibration
from planner.plan import FloatArray
from planner.validation.checking import COLUMNS
from planner.validation.csvfile import Line, shipped
from planner.validation.predicting import Predictions, costs_of
from planner.validation.rows import Run, run_of

MARGINS = (1.15, 1.0, 0.95, 0.9, 0.85, 0.7)
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """How many configurations are refused under one rule.

    Attributes:
        model: Size of the model, or "all".
        margin: Share of (capacity - reserve) that a plan may fill.
        is_rule: It is the framework's own.
        failed, failed_flagged: Configurations that failed; how many of them are refused for
            their memory.
        failed_unplaced: How many have more stages than layers: no plan, whatever the memory.
        ran, ran_flagged: Configurations that ran; how many of them are refused.
    """

    model: str
    margin: float
    is_rule: bool
    failed: int
    failed_flagged: int
    failed_unplaced: int
    ran: int
    ran_flagged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Configurations that failed, predicted.

    Attributes:
        runs: n of them.
        memory_bytes: (n,) predicted per chip; NaN where the layers cannot be placed on the stages.
    """

    runs: tuple[Run, ...]
    memory_bytes: FloatArray


def predict_failed(constants: Calibration | None = None) -> Failed:
    """The failed configurations of the package with their predicted memory."""
    runs = tuple(run_of(cells) for cells in _rows())
    constants = constants or load_calibration()
    groups: dict[object, list[int]] = defaultdict(list)
    for row, run in enumerate(runs):
        if run.plan.pp <= run.job.model.layers:
            groups[replace(run.job, global_batch=1), run.cluster].append(row)
    memory = np.full(len(runs), np.nan)
    for rows in groups.values():
        _, costs = costs_of([runs[row] for row in rows], constants)
        memory[rows] = costs.memory_per_chip_bytes
    return Failed(runs=runs, memory_bytes=memory)


def _rows() -> list[dict[str, str]]:
    """The failed configurations as rows of runs: a run of the same model with another mesh."""
    first: dict[str, Line] = {}
    for line in shipped("runs"):
        if "nanotron" in line.cells["source"] and line.cells["complete"] == "1":
            first.setdefault(line.cells["model_name"].rsplit("-", 1)[1], line)
    rows = []
    for at, line in enumerate(shipped("failed")):
        cells = line.cells
        changed = {
            "id": f"failed-{at}",
            "n_chips": cells["n_gpus"],
            "tp": cells["tp"],
            "pp": cells["pp"],
            "sharding": "zero1" if cells["zero"] == "1" else "ddp",
            "micro_batch_seqs": cells["mbs"],
            "global_batch_seqs": cells["gbs"],
            "step_time_s": "nan",
        }
        template = {**dict.fromkeys(COLUMNS, ""), **first[cells["model"]].cells}
        rows.append({**template, **changed})
    return rows


def flagged(failed: Failed, ran: Predictions) -> list[Flagged]:
    """How many configurations are refused, by margin and by model at the framework's own margin.

    Args:
        failed: Those that failed.
        ran: Predictions, among them the runs of the same sweep.
    """
    worked = [row for row, m in enumerate(ran.runs) if m.run.profile.framework == "nanotron"]
    failed_share = _filled(failed.runs, failed.memory_bytes)
    ran_share = _filled([ran.runs[row].run for row in worked], ran.memory_bytes[worked])
    of_failed = _models(failed.runs)
    of_ran = _models([ran.runs[row].run for row in worked])
    own = failed.runs[0].job.framework.usable_share

    def row(model: str, margin: float) -> Flagged:
        bad, good = of_failed == model, of_ran == model
        if model == _ALL:
            bad, good = np.ones_like(bad), np.ones_like(good)
        return Flagged(
            model=model,
            margin=margin,
            is_rule=margin == own,
            failed=int(bad.sum()),
            failed_flagged=int((failed_share[bad] > margin).sum()),
            failed_unplaced=int(np.isnan(failed_share[bad]).sum()),
            ran=int(good.sum()),
            ran_flagged=int((ran_share[good] > margin).sum()),
        )

    margins = sorted({*MARGINS, own}, reverse=True)
    models = sorted(set(of_failed), key=lambda name: float(str(name).rstrip("B")))
    return [*(row(_ALL, margin) for margin in margins), *(row(name, own) for name in models)]


def _models(runs: Sequence[Run]) -> np.ndarray:
    return np.array([run.job.model.name.rsplit("-", 1)[-1] for run in runs])


def _filled(runs: Sequence[Run], memory_bytes: FloatArray) -> FloatArray:
    """(n,) share of (capacity - reserve) that is predicted to be filled."""
    room = [run.cluster.chip.memory_bytes - run.job.framework.reserve_bytes for run in runs]
    return np.asarray(memory_bytes / np.array(room))
