"""A checked run as a row of `planner calibrate --runs`, and what such a row cannot say of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from models_db import Model
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import one_line
from planner.base.units import GIB
from planner.base.version import __version__
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.evidence.calibration.launches.measured import planned_run
from planner.evidence.csvfile import Line, read
from planner.evidence.own_columns import RUNS
from planner.evidence.runs.checking import known_model
from planner.evidence.runs.reading import reading_of
from planner.evidence.runs.rows import JOBS, Run
from planner.plan import Plan, PlanTable
from planner.question.request import Request
from strict_yaml.inputs import replacing

_DIFFERENT = 0.005
_OF_TUNING = {
    "lora_rank": "lora-rank",
    "adapter": "adapter",
    "adapted": "lora-targets",
    "lora_dropout": "lora-dropout",
    "reference": "reference",
    "frozen_weights": "frozen-weights",
}
"""Attributes of a job that tuning has, with the fields that set them."""


def row_of(
    key: str,
    request: Request,
    run: Run,
    measured_s: float,
    memory_bytes: float | None,
) -> dict[str, str]:
    """The row of a run, by `own_columns.RUNS`.

    Args:
        key: What identifies it.
        request: As asked; names the cluster and the model.
        run: Its plan, job and cluster.
        measured_s: Seconds of a step.
        memory_bytes: Peak of a chip; None: not measured.
    """
    plan, job, model = run.plan, run.job, run.job.model
    kinds = {kind: word for word, kind in JOBS.items()}
    held = "" if memory_bytes is None else f"{memory_bytes / GIB:.6g}"
    cells: dict[str, object] = {
        "id": key, "group": model.name, "source": f"planner check {__version__}",
        "hardware": request.hardware, "n_chips": plan.chips, "model_name": model.name,
        "seq_len": int(job.seq_len), "global_batch_seqs": job.global_batch,
        "micro_batch_seqs": plan.micro_batch, "tp": plan.tp, "sp": int(plan.sequence_parallel),
        "pp": plan.pp, "interleave_v": plan.interleave, "cp": plan.cp, "ep": plan.ep,
        "sharding": plan.sharding, "precision": job.precision, "recompute": plan.recompute,
        "framework": job.framework.name, "era": job.era, "optimizer": job.optimizer,
        "job": kinds.get(job.kind, job.kind), "step_time_s": f"{measured_s:.6g}",
        "peak_mem_gib_per_chip": held,
    }  # fmt: skip
    cells |= {} if known_model(model.name) else _dimensions(model)
    return {name: str(cells.get(name, "")) for name in RUNS.columns}


def _dimensions(model: Model) -> dict[str, object]:
    """Those of a model that the database does not have."""
    cells: dict[str, object] = {
        "n_layers": model.layers, "d_model": model.hidden, "n_heads": model.heads,
        "n_kv_heads": model.kv_heads, "d_ff": model.mlp.hidden or "",
        "gated_mlp": int(model.mlp.gated), "vocab": model.vocab_size,
    }  # fmt: skip
    if model.moe is not None:
        cells |= {
            "moe_experts": model.moe.experts, "moe_topk": model.moe.experts_per_token,
            "moe_d_ff": model.moe.expert_hidden,
        }  # fmt: skip
    return cells


def check_columns(request: Request, cost: CostModel, plan: Plan) -> None:
    """A row without what makes a job another one would mislead those who calibrate from it.

    Raises:
        InputError: A row cannot say which adapters the job trains, or what its reference is.
    """
    row = row_of("row", request, planned_run("job", cost, plan), 1.0, None)
    runs = reading_of("row", [Line(number=2, cells=row)]).runs
    unnamed = [
        words
        for name, words in _OF_TUNING.items()
        for read_back in runs
        if getattr(read_back.run.job, name) != getattr(cost.job, name)
    ]
    if unnamed:
        raise InputError(
            f"output: a row has no column for {' and '.join(unnamed)}, so that planner calibrate "
            "would read another job; leave it out"
        )


def lacking(row: Mapping[str, str], cost: CostModel, plan: Plan) -> tuple[str, ...]:
    """What a row does not say of a plan: fields whose reading differs, and by how much it counts.

    Args:
        row: Of `row_of`.
        cost: Job, cluster and assumptions of the plan.
        plan: The plan.
    """
    reading = reading_of("row", [Line(number=2, cells=dict(row))])
    if not reading.runs:
        return tuple(f"planner calibrate refuses it: {one.reason}" for one in reading.skipped)
    found = reading.runs[0].run
    names = ("dp", "fsdp", "schedule", "offload", "split", "clock", "order", "layout", "stages",
             "cp_mode")  # fmt: skip
    lines = [
        f"{name}: {getattr(plan, name)} is read as {getattr(found.plan, name)}"
        for name in names
        if getattr(plan, name) != getattr(found.plan, name)
    ]
    if found.cluster != cost.cluster:
        lines.append(f"hardware: {found.cluster.name} is taken as recorded, without changes")
    own, read_back = (
        float(evaluate_totals(model, PlanTable.from_plans([one])).step_time_s[0])
        for model, one in (
            (cost, plan),
            (CostModel.build(found.job, found.cluster, cost.assumptions), found.plan),
        )
    )
    if abs(read_back / own - 1) > _DIFFERENT:
        lines.append(f"the step is predicted as {read_back:.4g} s from the row, not {own:.4g} s")
    return tuple(lines)


def file_with(path: Path, row: Mapping[str, str]) -> str:
    """The text of a file of runs with a row added; one of the same id goes, all else stays.

    Raises:
        InputError: The file is there and is no such file.
    """
    if not path.exists():
        return _csv(RUNS.columns) + _csv(row.values())
    with replacing():
        (columns, rows), text = read(path), read_text(path)
    if columns != list(RUNS.columns):
        raise InputError(
            f"output: {one_line(str(path))} is there and has other columns than planner check "
            "writes; name another file"
        )
    old = {line.number for line in rows if line.cells.get("id") == row["id"]}
    lines = enumerate(text.splitlines(), 1)
    kept = "".join(f"{line}\n" for number, line in lines if number not in old)
    return kept + _csv(row.values())


def _csv(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
