"""A CSV file of a user's training runs: the runs in it and every fault with its line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from hardware_db import HardwareError, load_calibration
from models_db import ModelError
from planner.calibration.runs import RunSet
from planner.errors import InputError
from planner.files import read_text
from planner.messages import did_you_mean, one_line, shown
from planner.plan import PlanTable
from planner.validation.rows import Run, run_of

NEEDED = (
    "hardware", "n_chips", "n_layers", "d_model", "n_heads", "d_ff", "vocab", "seq_len",
    "global_batch_seqs", "step_time_s",
)  # fmt: skip
"""Columns that every file must have."""
OPTIONAL = (
    "id", "group", "source", "model_name", "n_kv_heads", "gated_mlp", "moe_experts", "moe_topk",
    "moe_d_ff", "chips_per_node", "inter_node_net", "tp", "sp", "pp", "interleave_v", "cp", "ep",
    "sharding", "micro_batch_seqs", "precision", "recompute", "peak_mem_gib_per_chip",
    "power_w_per_chip", "era", "framework",
)  # fmt: skip
"""Columns that may be left out; rules fill them in."""
_WHOLE = ("n_chips", "n_layers", "d_model", "n_heads", "d_ff", "vocab", "seq_len",
          "global_batch_seqs")  # fmt: skip
_FEW = 3  # columns whose absence is told one by one
_MILLISECONDS = 100.0  # a step so many times as long as predicted was written in milliseconds


def read_runs(path: Path) -> tuple[list[Run], list[str]]:
    """The usable runs of a file, and what is wrong with the others, one line each.

    Raises:
        InputError: No run can be used; every fault is listed.
    """
    name = one_line(str(path))
    rows = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")))
    faults = [f"{name}: {text}" for text in _heading(rows.fieldnames or [])]
    runs: list[Run] = []
    seen: set[str] = set()
    for row in () if faults else rows:
        line = f"{name}: line {rows.line_num}"
        cells = {
            **dict.fromkeys(OPTIONAL, ""),
            **{k: (v or "").strip() for k, v in row.items() if k},
        }
        cells["id"] = cells["id"] or f"line-{rows.line_num}"
        problems = _row_problems(cells, seen)
        seen.add(cells["id"])
        run = None if problems else _run(cells, problems)
        faults += [f"{line}: {text}" for text in problems]
        if run is not None:
            runs.append(run)
    if not runs:
        raise InputError("\n".join(faults or [f"{name}: has no rows; nothing can be fitted"]))
    return runs, faults


def _heading(names: object) -> list[str]:
    columns = list(names) if isinstance(names, list | tuple) else []
    if not columns:
        return ["is empty; a CSV file with a heading is required"]
    known = (*NEEDED, *OPTIONAL)
    missing = [need for need in NEEDED if need not in columns]
    if len(missing) > _FEW:
        return [f"is no CSV file of runs: the columns {', '.join(missing)} are missing"]
    return [f"column {need!r} is missing{_hint(need, columns, known)}" for need in missing]


def _hint(need: str, columns: list[str], known: tuple[str, ...]) -> str:
    others = [name for name in columns if name not in known]
    if need == "step_time_s" and (ms := [n for n in others if n.endswith("_ms")]):
        return f"; {ms[0]!r} is there: give seconds"
    return did_you_mean(need, others)


def _row_problems(cells: dict[str, str], seen: set[str]) -> list[str]:
    problems = [f"id: {shown(cells['id'])} is there twice"] if cells["id"] in seen else []
    for name in _WHOLE:
        value = _number(cells[name])
        if value is None or value < 1 or value != int(value):
            problems.append(f"{name}: {shown(cells[name])} is not a positive whole number")
    seconds = _number(cells["step_time_s"])
    if seconds is None:
        problems.append(f"step_time_s: {shown(cells['step_time_s'])} is not a number of seconds")
    elif not seconds > 0:
        problems.append(f"step_time_s: {seconds:g}: must be greater than 0")
    return problems


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _run(cells: dict[str, str], problems: list[str]) -> Run | None:
    """The run of a row, or None and a problem noted; its prediction is compared for the unit."""
    try:
        run = run_of(cells)
        predicted = float(RunSet.of([run]).predicted_s(load_calibration())[0])
    except (InputError, HardwareError, ModelError) as error:
        problems += str(error).removeprefix(f"{cells['id']}: ").split("\n")
        return None
    except (ValueError, KeyError) as error:
        problems.append(f"cannot be read ({one_line(str(error))})")
        return None
    chips = int(PlanTable.from_plans([run.plan]).chips[0])
    ratio = run.measured_step_time_s / predicted
    if ratio > _MILLISECONDS:
        problems.append(
            f"step_time_s: {run.measured_step_time_s:g}: is {ratio:,.0f} times the "
            f"{predicted:.3g} s predicted on {chips:,} chips; milliseconds? give seconds"
        )
    elif ratio < 1 / _MILLISECONDS:
        problems.append(
            f"step_time_s: {run.measured_step_time_s:g}: is {1 / ratio:,.0f} times less than the "
            f"{predicted:.3g} s predicted on {chips:,} chips; check the unit, seconds"
        )
    return None if problems else run
