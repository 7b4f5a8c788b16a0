"""What a folder of short launches holds once they were run: step times, memory, traces, tests.

A launch without a log is one that was not run yet; a trace is optional. All faults of all files are
reported at once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import not_one_of, one_line
from planner.cost.context import CostModel
from planner.evidence.calibration.answer import InputUsed
from planner.evidence.calibration.launches import manifest as names
from planner.evidence.calibration.launches.manifest import LaunchModel, Manifest, read_manifest
from planner.evidence.calibration.launches.short import of_launch
from planner.evidence.calibration.logs.kineto import read_kineto
from planner.evidence.calibration.logs.nccl_log import CollectiveTime, read_nccl
from planner.evidence.calibration.logs.nsight import read_nsight
from planner.evidence.calibration.logs.trace import DeviceTime, mean_time
from planner.evidence.runs.habits import COMMON
from planner.evidence.runs.profiles import Profile
from planner.evidence.runs.rows import Run
from planner.evidence.training_logs.log import TrainingLog
from planner.evidence.training_logs.megatron import parse_megatron
from planner.evidence.training_logs.own import OwnSteps, own_steps
from planner.evidence.training_logs.torchtitan import parse_torchtitan
from planner.plan import Plan
from planner.question.files.plan_file import plan_of, read_plan_file
from planner.question.resolved import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """How the log of a framework is read.

    Attributes:
        parse: From a text and what messages call it.
        home: Environment variable that names its checkout; empty: it is installed.
    """

    parse: Callable[[str, str], TrainingLog]
    home: str = ""


READERS: Mapping[str, LogReader] = MappingProxyType(
    {
        "megatron": LogReader(parse=parse_megatron, home="MEGATRON_HOME"),
        "torchtitan": LogReader(parse=parse_torchtitan),
    }
)
"""Targets of `planner.frameworks` whose short launches are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A short launch with what its folder holds.

    Attributes:
        name, tells, command: As in the manifest.
        run: Its plan, job and cluster; the measured step time is NaN where there is no log.
        time: Where a step goes, by its traces; None: there are none.
        left_out: What its log has of other runs, a sentence each.
    """

    name: str
    tells: str
    command: str
    run: Run
    time: DeviceTime | None
    left_out: tuple[str, ...] = ()

    @property
    def is_logged(self) -> bool:
        """Whether it was run."""
        return not math.isnan(self.run.measured_step_time_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFolder:
    """A folder of short launches.

    Attributes:
        manifest: What it says of itself.
        job: The plan whose step is to be predicted, as a run without a measured time.
        launches: Every launch of the manifest.
        collectives: Those of nccl-tests, with the names of their devices.
        devices: Names of the devices that they list.
        inputs: The files.
    """

    manifest: Manifest
    job: Run
    launches: tuple[Launched, ...]
    collectives: tuple[CollectiveTime, ...]
    devices: tuple[str, ...]
    inputs: tuple[InputUsed, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The launches that were run."""
        return tuple(one.run for one in self.launches if one.is_logged)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not measured and what is not of the plan, one line each."""
        return tuple(
            f"{one.name}: {line}"
            for one in self.launches
            for line in (one.left_out if one.is_logged else (f"was not run yet ({one.command})",))
        )

    def check_ran_with(self, chip: str, era: str) -> None:
        """Refuses another chip or software era than that of the launches.

        Raises:
            InputError: It is another one.
        """
        ran = {"hardware": self.job.cluster.chip.name, "era": self.job.job.era}
        lines = [
            f"{name}: the launches ran with {ran[name]}, not with {given}; leave it out"
            for name, given in (("hardware", chip), ("era", era))
            if given != ran[name]
        ]
        if lines:
            raise InputError("\n".join(lines))


@dataclass(slots=True)
class _Reading:
    """What is collected while a folder is read."""

    folder: Path
    faults: list[str] = field(default_factory=list)
    inputs: list[InputUsed] = field(default_factory=list)

    def used(self, path: Path, kind: str, rows: int) -> None:
        """Notes a file that was read."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = one_line(str(path.relative_to(self.folder)))
        self.inputs.append(InputUsed(file=name, kind=kind, sha256=digest, rows=rows))


def read_folder(folder: Path) -> MeasuredFolder:
    """The measurements of a folder.

    Raises:
        InputError: It has no manifest, nothing was run yet, or files of it cannot be read; one
            line per fault.
    """
    manifest = read_manifest(folder)
    if manifest.framework not in READERS:
        where = f"{one_line(str(folder / names.NAME))}: framework"
        raise InputError(f"{where}: {not_one_of(manifest.framework, tuple(READERS))}")
    job, planned = planned_runs(folder, manifest)
    reading = _Reading(folder)
    launches = tuple(
        _launched(reading, manifest, launch, run)
        for launch, run in zip(manifest.launches, planned, strict=True)
    )
    collectives, devices = _collectives(reading, manifest)
    if reading.faults:
        raise InputError("\n".join(reading.faults))
    if not reading.inputs:
        raise InputError(
            f"measurements: {one_line(str(folder))} has no log yet; run {launches[0].command} there"
        )
    return MeasuredFolder(
        manifest=manifest,
        job=job,
        launches=launches,
        collectives=collectives,
        devices=devices,
        inputs=tuple(reading.inputs),
    )


def planned_runs(folder: Path, manifest: Manifest) -> tuple[Run, tuple[Run, ...]]:
    """The plan whose step is to be predicted and the launches, as runs without measured times.

    Raises:
        InputError: The file of the plan, or a plan of the manifest, is wrong.
    """
    read = read_plan_file(folder / manifest.plan)
    cost = resolve(read.request, read.origin, read.plan.chips).cost
    return planned_run("job", cost, read.plan), tuple(
        planned_run(one.name, of_launch(cost, one.layers, one.global_batch_seqs), plan_of(one.plan))
        for one in manifest.launches
    )


def _launched(reading: _Reading, manifest: Manifest, launch: LaunchModel, run: Run) -> Launched:
    """A launch with its log and traces; faults are noted."""
    home = reading.folder / launch.name
    own = _own(reading, manifest, home, launch, run)
    time = _time(reading, home, launch, manifest.recorded_steps)
    if own is not None:
        tokens, batch = run.job.global_batch * run.job.seq_len, run.job.global_batch
        run = replace(
            run,
            measured_step_time_s=own.log.step_time_s(tokens, run.plan.chips, batch),
            measured_memory_bytes=own.log.memory_bytes,
        )
    return Launched(
        name=launch.name,
        tells=launch.tells,
        command=launch.command,
        run=run,
        time=time,
        left_out=() if own is None else own.left_out,
    )


def planned_run(key: str, cost: CostModel, plan: Plan) -> Run:
    """A plan of a job on a cluster as training runs are held."""
    job = cost.job
    profile = Profile(era=job.era, framework=job.framework.name, site="", rule="of the plan")
    return Run(
        key=key,
        group=job.model.name,
        source="measurements",
        profile=profile,
        habits=COMMON,
        plan=plan,
        job=job,
        cluster=cost.cluster,
        measured_step_time_s=math.nan,
        measured_memory_bytes=None,
        measured_power_w=None,
        filled={},
        partly=(),
        printed={},
    )


def _own(
    reading: _Reading, manifest: Manifest, home: Path, launch: LaunchModel, run: Run
) -> OwnSteps | None:
    """The steps of a launch in its logs; faults are noted.

    The logs of all nodes are one, since a framework may print steps on one of them only.
    """
    paths = sorted(home.glob(launch.logs))
    if not paths:
        return None
    try:
        text = "\n".join(read_text(path) for path in paths)
        label = one_line(str(home / launch.logs))
        log = READERS[manifest.framework].parse(text, label)
        own = own_steps(log, run.plan, run.job, label)
    except InputError as error:
        reading.faults += str(error).split("\n")
        return None
    for path in paths:
        reading.used(path, "log", len(own.log.steps))
    return own


def _time(reading: _Reading, home: Path, launch: LaunchModel, steps: int) -> DeviceTime | None:
    """The mean over the traces of a launch: ranks, and recorded parts of the run."""
    paths = sorted({path for pattern in launch.traces for path in home.glob(pattern)})
    times = []
    for path in paths:
        read = read_nsight if path.suffix == ".sqlite" else read_kineto
        try:
            times.append(read(path, steps))
            reading.used(path, "trace", 1)
        except InputError as error:
            reading.faults += str(error).split("\n")
    return mean_time(times) if times else None


def _collectives(
    reading: _Reading, manifest: Manifest
) -> tuple[tuple[CollectiveTime, ...], tuple[str, ...]]:
    """What the tests of collectives printed."""
    times: list[CollectiveTime] = []
    devices: list[str] = []
    nccl = manifest.nccl
    for path in sorted((reading.folder / names.NCCL).glob(nccl.logs)) if nccl else ():
        try:
            log = read_nccl(path)
        except InputError as error:
            reading.faults += str(error).split("\n")
            continue
        times += log.times
        devices += log.devices
        reading.used(path, "nccl", len(log.times))
    return tuple(times), tuple(devices)
