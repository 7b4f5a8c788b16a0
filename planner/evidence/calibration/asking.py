"""`planner calibrate`: from measurements to findings, one kind of measurement after the other.

Benchmarks of single kernels come first, because they tell constants apart; what they leave of the
priors is what the training runs start from.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, field, replace
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, Cluster, load_calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.assumptions.software import ERAS, era_of_compiler
from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.base.messages import not_one_of, one_line
from planner.base.units import GIB
from planner.evidence.calibration.answer import (
    CalibrationResult,
    Errors,
    Finding,
    InputUsed,
    RunRow,
)
from planner.evidence.calibration.benchmarks import (
    Knowledge,
    from_collectives,
    from_device,
    from_gemms,
    from_traces,
)
from planner.evidence.calibration.effects import effects_of
from planner.evidence.calibration.launches.candidates import next_measurements
from planner.evidence.calibration.launches.measured import MeasuredFolder, read_folder
from planner.evidence.calibration.launches.parts import Traced
from planner.evidence.calibration.logs.gemm_log import GemmTime, read_gemm
from planner.evidence.calibration.logs.nccl_log import CollectiveTime, read_nccl
from planner.evidence.calibration.measurement.devices import chip_called, nearest_chips
from planner.evidence.calibration.measurement.measure import Measured
from planner.evidence.calibration.runs import (
    FEWEST,
    FEWEST_FOR_CONSTANTS,
    RunSet,
    RunsFit,
    enough_for_constants,
    fit_runs,
)
from planner.evidence.runs.reading import read_runs, reasons
from planner.evidence.runs.rows import Run
from planner.evidence.validation.memory import memory_row
from planner.evidence.validation.predicting import predict
from planner.frameworks.profiles import default_framework
from planner.question.provenance import versions
from planner.question.records import cluster_named

FITS = ("auto", "site-factor", "constants")
"""What may be fitted to runs: what predicts best those left out, or one of the two."""
BASE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to calibrate with.

    Attributes:
        runs, nccl, gemm: Files.
        measurements: Folder of short launches (`planner.evidence.calibration.launches`).
        assume_network: Take the cluster's own network for a text of runs that is not understood.
        measured: What a device of this machine gave.
        hardware: Cluster or chip of the logs; None: as the logs or the runs say.
        ranks, nodes: Of collective logs that do not list their devices.
        model: Of the reference plans; None: llama3-8b.
        era: Software era of the attention that is measured; None: the usual one of the chip.
        fit: One of `FITS`.
    """

    runs: tuple[Path, ...] = ()
    nccl: tuple[Path, ...] = ()
    gemm: tuple[Path, ...] = ()
    measurements: Path | None = None
    measured: Measured | None = None
    hardware: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    model: str | None = None
    era: str | None = None
    fit: str = "auto"
    assume_network: bool = False


@dataclass(slots=True)
class _Read:
    """Everything that was read."""

    runs: list[Run] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    gemms: list[GemmTime] = field(default_factory=list)
    collectives: list[CollectiveTime] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    inputs: list[InputUsed] = field(default_factory=list)
    folder: MeasuredFolder | None = None

    @property
    def traced(self) -> list[Traced]:
        """The short launches with traces."""
        launches = self.folder.launches if self.folder else ()
        return [Traced(run=one.run, time=one.time) for one in launches if one.time is not None]


def calibrate(question: Question) -> CalibrationResult:
    """Fits constants to measurements; nothing is written.

    Raises:
        InputError: There is nothing to fit, or none of it can be used; one line per fault.
    """
    started = time.perf_counter()
    _check(question)
    read = _read(question)
    cluster, notes = _cluster(question, read)
    era = question.era or (read.folder.job.job.era if read.folder else _era(cluster))
    if read.folder is not None:
        read.folder.check_ran_with(cluster.chip.name, era)
    base = load_calibration(BASE)
    known = Knowledge.of(base, cluster.chip, era)
    if read.gemms:
        from_gemms(known, read.gemms, "gemm", "gemm")
    from_collectives(known, read.collectives, cluster, "nccl")
    if question.measured is not None:
        notes += from_device(known, question.measured, cluster)
    from_traces(known, read.traced)
    fit = _runs(known, read, question, base, notes)
    chips = {run.cluster.chip.name for run in read.runs}
    if read.gemms or read.collectives or question.measured:
        chips.add(cluster.chip.name)
    result = CalibrationResult(
        based_on=base.name,
        date=date.today().isoformat(),
        chips=tuple(sorted(chips)),
        eras=tuple(sorted({run.job.era for run in read.runs})),
        inputs=tuple(read.inputs),
        findings=tuple(known.findings),
        measurements=_measurements(question.measured) + _launches(read.folder),
        notes=tuple(notes),
        skipped=tuple(read.skipped),
        versions=versions(),
    )
    if fit is not None:
        result = _with_runs(result, fit, read.runs, RunSet.of(read.runs).predicted_s(base))
    if read.folder is not None:
        values = {one.path: one.value for one in known.findings}
        result = replace(result, candidates=next_measurements(read.folder, base, values))
    effects = effects_of(result, base, cluster, era, question.model)
    return replace(result, effects=effects, seconds=time.perf_counter() - started)


def _check(question: Question) -> None:
    lines = []
    if question.fit not in FITS:
        lines.append(f"fit: {not_one_of(question.fit, FITS)}")
    if question.era is not None and question.era not in ERAS:
        lines.append(f"era: {not_one_of(question.era, sorted(ERAS))}")
    for name, value in (("gpus", question.ranks), ("nodes", question.nodes)):
        if value is not None and value < 1:
            lines.append(f"{name}: {value}: must be at least 1")
        if value is not None and not question.nccl:
            lines.append(f"{name}: has no effect without --nccl; leave it out")
    if question.assume_network and not question.runs:
        lines.append("assume-network: has no effect without --runs; leave it out")
    files = question.runs or question.nccl or question.gemm or question.measurements
    if not (files or question.measured):
        lines.append(
            "nothing to fit: give --runs runs.csv, --nccl log.txt, --gemm log.csv, --measurements "
            "folder or --measure"
        )
    if lines:
        raise InputError("\n".join(lines))


def _read(question: Question) -> _Read:
    """Reads every file; all faults of all files are reported at once."""
    read, faults = _Read(), []
    tasks = [
        *(partial(_add_gemms, read, path) for path in question.gemm),
        *(partial(_add_collectives, read, path, question) for path in question.nccl),
        *(partial(_add_runs, read, path, question) for path in question.runs),
    ]
    if question.measurements is not None:
        tasks.append(partial(_add_folder, read, question.measurements))
    for task in tasks:
        try:
            task()
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise InputError("\n".join(faults))
    if question.measured is not None:
        content = json.dumps(asdict(question.measured), sort_keys=True).encode()
        digest = hashlib.sha256(content).hexdigest()
        read.inputs.append(
            InputUsed(file="device", kind="measured", sha256=digest, rows=question.measured.count)
        )
    return read


def _add_gemms(read: _Read, path: Path) -> None:
    times = read_gemm(path)
    read.gemms += times
    read.inputs.append(_used(path, "gemm", len(times)))


def _add_collectives(read: _Read, path: Path, question: Question) -> None:
    log = read_nccl(path, question.ranks, question.nodes)
    read.collectives += log.times
    read.devices += log.devices
    read.inputs.append(_used(path, "nccl", len(log.times)))


def _add_runs(read: _Read, path: Path, question: Question) -> None:
    runs, skipped = _runs_of(path, assume_network=question.assume_network)
    read.runs += runs
    read.skipped += skipped
    read.inputs.append(_used(path, "runs", len(runs)))


def _add_folder(read: _Read, path: Path) -> None:
    """Short launches as training runs, and their tests of collectives."""
    read.folder = folder = read_folder(path)
    read.runs += folder.runs
    read.collectives += folder.collectives
    read.devices += folder.devices
    read.inputs += folder.inputs
    read.skipped += folder.left_out


def _runs_of(path: Path, *, assume_network: bool) -> tuple[list[Run], list[str]]:
    """The usable runs of a CSV file, and why others are left out, one line each.

    Raises:
        InputError: No run can be used; every fault is listed.
    """
    reading = read_runs(path, assume_network=assume_network)
    predictions, refused = predict(reading)
    skipped = sorted((*reading.skipped, *refused), key=lambda row: row.line)
    runs = [measured.run for measured in predictions.runs]
    return runs, [*reasons(reading.name, skipped), *reading.notes]


def _used(path: Path, kind: str, rows: int) -> InputUsed:
    digest = hashlib.sha256(read_bytes(path)).hexdigest()
    return InputUsed(file=one_line(path.name), kind=kind, sha256=digest, rows=rows)


def _cluster(question: Question, read: _Read) -> tuple[Cluster, list[str]]:
    """Where the logs were measured, and what speaks against it.

    Raises:
        InputError: It is not said, and no log or run tells.
    """
    devices = [*read.devices, *([question.measured.device] if question.measured else [])]
    told = [chip for device in devices if (chip := chip_called(device)) is not None]
    known = None if read.folder is None else read.folder.job.cluster
    if question.hardware is not None:
        known = cluster_named(question.hardware)
    if known is not None:
        wrong = sorted({chip for chip in told if chip != known.chip.name})
        whose = "the plan" if question.hardware is None else "--hardware"
        words = f"{', '.join(wrong)}, not the {known.chip.name} of {whose}"
        return known, [f"The devices that were measured are {words}."] if wrong else []
    if told:
        return cluster_named(told[0]), []
    if read.runs:
        return read.runs[0].cluster, []
    if devices:
        raise InputError(
            f"hardware: no chip of the database is called {devices[0]!r}; say which it is with "
            f"--hardware, e.g. {nearest_chips(devices[0])}"
        )
    raise InputError(
        "hardware: is missing; say what was measured, e.g. --hardware h100-sxm5-80 "
        "(planner hardware list)"
    )


def _era(cluster: Cluster) -> str:
    chip = cluster.chip
    return era_of_compiler(chip) or default_framework(chip.vendor).era


def _runs(
    known: Knowledge, read: _Read, question: Question, base: Calibration, notes: list[str]
) -> RunsFit | None:
    """What the runs teach, noted in `known` and in words."""
    if not read.runs:
        return None
    runs = RunSet.of(read.runs)
    count = len(read.runs)
    fit = fit_runs(runs, known.calibration, known.priors, question.fit)
    if count < FEWEST:
        words = "1 run" if count == 1 else f"{count} runs"
        notes.append(
            f"{words}: so few may make predictions of other plans worse, and no error on runs "
            f"left out can be given; give at least {FEWEST}."
        )
    elif question.fit == "auto" and not enough_for_constants(runs):
        notes.append(
            f"Only the site factor was fitted: constants need at least {FEWEST_FOR_CONSTANTS} "
            "runs of different plans or models."
        )
    if fit.choice == "shipped":
        notes.append(
            "No site factor: with one, runs that it was not fitted to are predicted no better; "
            "the file keeps 1."
        )
    known.add_runs(fit, count)
    return fit


def _with_runs(
    result: CalibrationResult, fit: RunsFit, runs: Sequence[Run], shipped_s: np.ndarray
) -> CalibrationResult:
    rows = tuple(
        RunRow(
            id=run.key,
            measured_s=run.measured_step_time_s,
            shipped_s=float(shipped),
            local_s=float(local),
            left_out_s=float(left_out),
        )
        for run, shipped, local, left_out in zip(
            runs, shipped_s, fit.local_s, fit.left_out_s, strict=True
        )
    )
    measured = np.array([row.measured_s for row in rows])
    error = float(np.abs(shipped_s / measured - 1).mean())
    enough = len(rows) >= FEWEST
    shipped = Errors(choice="shipped", in_sample=error, left_out=error if enough else None)
    others = tuple(
        replace(one, choice="benchmarks") if one.choice == "shipped" else one
        for one in fit.errors
        if one.choice != "shipped" or abs(one.in_sample - error) > 1e-9
    )
    return replace(result, choice=fit.choice, errors=(shipped, *others), rows=rows, noise=fit.noise)


def _measurements(measured: Measured | None) -> tuple[dict[str, object], ...]:
    """What a device gave, one record per measurement."""
    if measured is None:
        return ()
    gemms = [
        {"what": "gemm", **asdict(one), "flop_per_s": one.flop_per_s} for one in measured.gemms
    ]
    return (
        *gemms,
        *({"what": "attention", **asdict(one)} for one in measured.attention),
        {"what": "copy", "bytes_per_s": measured.copy_bytes_per_s},
        *({"what": "collective", **asdict(one)} for one in measured.collectives),
        *({"what": "power", **asdict(one)} for one in measured.power),
    )


def _launches(folder: MeasuredFolder | None) -> tuple[dict[str, object], ...]:
    """Where the time of short launches goes, and their memory."""
    found: list[dict[str, object]] = []
    for one in folder.launches if folder else ():
        if one.time is not None:
            found.append({"what": "trace", "launch": one.name, **asdict(one.time)})
        if (measured := one.run.measured_memory_bytes) is not None:
            predicted = memory_row(one.run).predicted_gib * GIB
            sizes = {"measured_bytes": measured, "predicted_bytes": predicted}
            found.append({"what": "memory", "launch": one.name, **sizes})
    return tuple(found)


def changed_findings(result: CalibrationResult) -> tuple[Finding, ...]:
    """The findings that a local calibration holds: those that moved, and the site factor.

    A constant that several kinds of measurements moved has its last value and its first prior.
    """
    found: dict[str, Finding] = {}
    for one in result.findings:
        if one.kept and one.path != SITE_FACTOR:
            continue
        first = found.get(one.path, one)
        found[one.path] = replace(one, prior=first.prior, prior_sigma=first.prior_sigma)
    return tuple(found.values())
