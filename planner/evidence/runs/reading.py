"""Measured runs from a CSV file: those that travel in the package, or a user's own.

A file needs the columns `planner.evidence.runs.checking.NEEDED` and either the five of `DIMENSIONS`
or a `model_name` of the database; what else it leaves out is filled by the rules of
`planner.evidence.runs.rows`, and every value so filled is listed. A row with a fault is skipped and
named with its line; a row that lacks what nothing can fill is skipped as incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from frozen_records import dataclass
from hardware_db import HardwareError
from models_db import Model, ModelError, load_model
from planner.base.errors import InputError
from planner.base.messages import not_one_of, one_line, shown
from planner.base.progress import Progress
from planner.cost.energy.boundaries import PRINTED
from planner.evidence.csvfile import (
    NOT_USED,
    Line,
    missing_columns,
    read,
    shipped,
    unused_columns,
)
from planner.evidence.power.meters import meter_of
from planner.evidence.runs.checking import (
    COLUMNS,
    DIMENSIONS,
    NEEDED,
    STEP_TIME,
    faults,
    is_incomplete,
    known_model,
)
from planner.evidence.runs.rows import Run, run_of
from planner.question.defaults import Defaults
from planner.question.facility import cooled_as

_EVERY = 100
_PLAIN = {
    "tp": "1", "pp": "1", "cp": "1", "ep": "1", "interleave_v": "1", "n_kv_heads": "n_heads",
    "gated_mlp": "0", "precision": "bf16",
}  # fmt: skip

_ALIASES = {
    "tp": ("tensor_parallel", "tensor_parallel_size", "tp_size", "tp_degree"),
    "pp": ("pipeline_parallel", "pipeline_parallel_size", "pp_size", "pp_degree"),
    "cp": ("context_parallel", "context_parallel_size", "cp_size", "cp_degree"),
    "ep": ("expert_parallel", "expert_parallel_size", "ep_size", "ep_degree"),
    "sharding": ("zero", "zero_stage", "fsdp"),
    "recompute": ("activation_checkpointing", "recomputation", "checkpointing"),
    "micro_batch_seqs": ("mbs", "micro_batch", "micro_batch_size"),
    "model_name": ("model", "architecture"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A row that can be predicted.

    Attributes:
        line: Of the file.
        run: As the cost model takes it; `run.filled` lists what the row leaves out.
        set_name: Name under which it is scored: its set, else its source.
        gold: Whether it is among the rows without known faults.
        split: "fit", "test" or "" (unknown).
        power_boundary: What the meter of its power held, of
            `planner.cost.energy.energy.BOUNDARIES`.
        job_key: Rows with the same are plans of one job on the same chips.
    """

    line: int
    run: Run
    set_name: str
    gold: bool
    split: str
    power_boundary: str
    job_key: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that is not predicted.

    Attributes:
        line: Of the file.
        key: Its id.
        source: Its set, else where it was published.
        reason: Why.
        is_fault: Something is wrong with it; False: it is only incomplete.
    """

    line: int
    key: str
    source: str
    reason: str
    is_fault: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file holds.

    Attributes:
        name: Of the file, as told to the user.
        runs: Rows that can be predicted.
        skipped: The others, in the order of the file.
        notes: What else the user should know, one sentence each.
    """

    name: str
    runs: tuple[MeasuredRun, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...] = ()


def read_runs(
    path: Path | None = None,
    on_progress: Progress | None = None,
    *,
    assume_network: bool = False,
    measured: str = STEP_TIME,
    extra: Sequence[str] = (),
) -> Reading:
    """The runs of a file; default: those of the package.

    Args:
        path: The file.
        on_progress: Called now and then with what is done, how many, of how many, of a file.
        assume_network: Take the cluster's own network for a text that is not understood.
        measured: The column without which a row is incomplete.
        extra: Columns that are known beside those of runs; they are needed too.

    Raises:
        InputError: A needed column is missing, or no row is left; one line per fault.
    """
    if path is None:
        return _of_package()
    name = one_line(str(path))
    columns, found = read(path)
    if problems := missing_columns(name, columns, (*_needed(columns, measured), *extra)):
        raise InputError("\n".join(map(_model_suffices, problems)))
    if not found:
        raise InputError(f"{name}: has no rows below its header")
    reading = reading_of(name, found, on_progress, assume_network=assume_network, measured=measured)
    if not reading.runs:
        raise InputError("\n".join([f"{name}: no row is left", *reasons(name, reading.skipped)]))
    return replace(reading, notes=tuple(unused_columns(columns, (*COLUMNS, *extra), _ALIASES)))


@cache
def _of_package() -> Reading:
    """The runs of the package, read once in a process."""
    sets = {line.cells["id"]: line.cells for line in shipped("sets")}
    lines = [_with_set(line, sets.get(line.cells["id"], {})) for line in shipped("runs")]
    return reading_of("runs.csv", lines)


def reasons(name: str, skipped: Iterable[Skipped]) -> list[str]:
    """One line per fault of a file's rows: where it is, the row's id, and what is wrong."""
    return [f"{name} line {row.line} ({shown(row.key)}): {row.reason}" for row in skipped]


def skipped_run(measured: MeasuredRun, reason: str) -> Skipped:
    """A run that turns out to be faulty."""
    return Skipped(
        line=measured.line,
        key=measured.run.key,
        source=measured.set_name,
        reason=reason,
        is_fault=True,
    )


def of_sources(reading: Reading, patterns: Sequence[str]) -> Reading:
    """The part of a file that some sources make.

    Args:
        reading: The file.
        patterns: Names of sources, or patterns such as `nemo*`.

    Raises:
        InputError: A pattern fits no source; one line each.
    """
    names = sorted({row.set_name for row in reading.runs})
    wanted: set[str] = set()
    problems = []
    for pattern in patterns:
        found = matching(names, [pattern])
        wanted.update(found)
        if not found:
            problems.append(f"source: {not_one_of(pattern, names)}")
    if problems:
        raise InputError("\n".join(problems))
    return replace(
        reading,
        runs=tuple(row for row in reading.runs if row.set_name in wanted),
        skipped=tuple(row for row in reading.skipped if row.source in wanted),
    )


def matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that are, or fit, one of some patterns such as `nemo*`."""
    return [
        name
        for name in names
        if any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _needed(columns: Sequence[str], measured: str) -> tuple[str, ...]:
    """Columns that a file must have: the name of a model unless dimensions describe it."""
    described = "model_name" not in columns and any(name in columns for name in DIMENSIONS)
    needed = tuple(dict.fromkeys((*NEEDED, *filter(None, [measured]))))
    return (*needed, *DIMENSIONS) if described else (*needed, "model_name")


def _with_set(line: Line, entry: Mapping[str, str]) -> Line:
    """A row of the package with what is said of it in `sets`, and of its power by its meter.

    A power that no meter showed is not compared: `planner.evidence.power.power` lists why. Nor is
    that of a chip whose limit or clock is not that of its record, which is compared there alone.
    """
    said = {name: entry.get(name, "") for name in ("set", "gold", "split")}
    if line.cells["power_w_per_chip"]:
        meter = meter_of(line.cells).meter
        if meter is None or meter.limit_w is not None:
            said["power_w_per_chip"] = ""
        else:
            said |= {"power_boundary": meter.boundary, "cooling": meter.cooling}
    return replace(line, cells={**line.cells, **said})


def _model_suffices(problem: str) -> str:
    """What is said of a missing column; of models, that they can be described instead."""
    if "column 'model_name' is missing" not in problem:
        return problem
    return f"{problem}; names of planner models list suffice, else give {', '.join(DIMENSIONS)}"


def is_unused(note: str) -> bool:
    """Whether a note is about a column that is not used."""
    return note.startswith("column ") and f" {NOT_USED}" in note


def reading_of(
    name: str,
    lines: Sequence[Line],
    on_progress: Progress | None = None,
    *,
    assume_network: bool = False,
    measured: str = STEP_TIME,
) -> Reading:
    """The runs of the rows of a file.

    Args:
        name: Of the file.
        lines: Its rows.
        on_progress: Called now and then with what is done, how many, of how many.
        assume_network: Take the cluster's own network for a text that is not understood.
        measured: The column without which a row is incomplete; empty: none.
    """
    runs: list[MeasuredRun] = []
    skipped: list[Skipped] = []
    seen: dict[str, int] = {}
    for at, line in enumerate(lines):
        if on_progress is not None and at % _EVERY == 0:
            on_progress("rows", at, len(lines))
        cells = {**dict.fromkeys(COLUMNS, ""), **line.cells}
        cells["id"] = cells["id"] or f"line-{line.number}"
        found = _measured(line, cells, seen, assume_network=assume_network, measured=measured)
        seen.setdefault(cells["id"], line.number)
        if isinstance(found, MeasuredRun):
            runs.append(found)
        else:
            skipped += found
    if on_progress is not None:
        on_progress("rows", len(lines), len(lines))
    return Reading(name=name, runs=tuple(runs), skipped=tuple(skipped))


def _measured(
    line: Line,
    cells: dict[str, str],
    seen: Mapping[str, int],
    *,
    assume_network: bool,
    measured: str,
) -> MeasuredRun | list[Skipped]:
    """A row that can be predicted, or why it cannot, one entry per fault."""

    def skip(reasons: Iterable[str], *, is_fault: bool = True) -> list[Skipped]:
        return [
            Skipped(
                line=line.number,
                key=cells["id"],
                source=cells["set"] or cells["source"],
                reason=reason,
                is_fault=is_fault,
            )
            for reason in reasons
        ]

    marked = cells["complete"] == "0"
    if wrong := [] if marked else _faults(line, cells, seen):
        return skip(wrong)
    if lacking := is_incomplete(cells, measured):
        return skip([lacking], is_fault=False)
    try:
        return _labelled(line, cells, _run(cells, assume_network=assume_network))
    except (InputError, HardwareError, ModelError) as error:
        return skip(str(error).split("\n"))


def _faults(line: Line, cells: Mapping[str, str], seen: Mapping[str, int]) -> list[str]:
    """What is wrong with a row before it is read; the first kind of fault that it has."""
    if line.problem:
        return [line.problem]
    if cells["id"] and cells["id"] in seen:
        return [f"id: {shown(cells['id'])} is also that of line {seen[cells['id']]}"]
    return faults(cells)


def _labelled(line: Line, cells: Mapping[str, str], run: Run) -> MeasuredRun:
    return MeasuredRun(
        line=line.number,
        run=run,
        set_name=cells["set"] or cells["source"] or "given",
        gold=cells["gold"] == "1",
        split=cells["split"],
        power_boundary=cells["power_boundary"] or PRINTED,
        job_key=(cells["group"] or cells["source"], run.job, run.cluster, run.plan.chips),
    )


def _run(cells: dict[str, str], *, assume_network: bool) -> Run:
    """The run of a row; a model of the database where the row has no dimensions of its own."""
    model = None
    if not cells["n_layers"] and (known := known_model(cells["model_name"])):
        model = _model_named(known)
        cells = {**cells, **_dimensions(model)}
    run = run_of(cells, assume_network=assume_network)
    filled = {name: value for name, value in _PLAIN.items() if not cells[name]}
    if cells["power_w_per_chip"] and not cells["power_boundary"]:
        filled["power_boundary"] = PRINTED
    if cells["cooling"] == "liquid":
        run = replace(run, cluster=cooled_as(run.cluster, "liquid", Defaults()))
    run = replace(run, filled={**filled, **run.filled})
    if min(level.bandwidth_bytes_per_s for level in run.cluster.levels) <= 0:
        raise InputError(f"inter_node_net: {shown(cells['inter_node_net'])} gives no bandwidth")
    return run if model is None else replace(run, job=replace(run.job, model=model))


@cache
def _model_named(name: str) -> Model:
    return load_model(name)


def _dimensions(model: Model) -> dict[str, str]:
    """The columns that describe a model of the database."""
    return {
        "n_layers": str(model.layers),
        "d_model": str(model.hidden),
        "n_heads": str(model.heads),
        "n_kv_heads": str(model.kv_heads),
        "d_ff": str(model.mlp.hidden or model.hidden),
        "gated_mlp": "1" if model.mlp.gated else "0",
        "vocab": str(model.vocab_size),
    }
