"""The launchers that there are, and a job written for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.vocabulary import LAUNCHERS as NAMES
from planner.frameworks.framework import Target
from planner.frameworks.writing.export import Export, Lost
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers.devices import NVIDIA, TPU, Device, device_of
from planner.frameworks.writing.launchers.kubernetes import KUBERNETES
from planner.frameworks.writing.launchers.launcher import Job, Launcher
from planner.frameworks.writing.launchers.slurm import SLURM
from planner.frameworks.writing.launchers.torchrun import TORCHRUN

LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    dict(zip(NAMES, (SLURM, KUBERNETES, TORCHRUN), strict=True))
)
"""Every launcher by its name."""


def launcher_named(name: str) -> Launcher:
    """The launcher of that name.

    Raises:
        InputError: The name is unknown; the message lists the known ones.
    """
    if name not in LAUNCHERS:
        raise InputError(f"launcher: {not_one_of(name, LAUNCHERS)}")
    return LAUNCHERS[name]


def refusal(launcher: Launcher, target: Target, device: Device) -> str:
    """Why a launcher starts nothing of a target on a device; empty: it does."""
    if not target.processes:
        return f"the files of {target.title} are a part of your program, which starts itself"
    return launcher.refuses(target, device)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Which launchers start a target.

    Attributes:
        target: The target.
        chips: On which chips, in the plural; empty: on all that it runs on.
        refusals: Launcher to why it does not start it; empty: it does.
    """

    target: Target
    chips: str
    refusals: Mapping[str, str]


def started(targets: Iterable[Target]) -> tuple[Started, ...]:
    """Every target with what starts it, those with a process a host on GPUs and on TPUs."""
    return tuple(
        Started(
            target=target,
            chips=device.kind if len(devices) > 1 else "",
            refusals={
                name: refusal(launcher, target, device) for name, launcher in LAUNCHERS.items()
            },
        )
        for target in targets
        for devices in [(NVIDIA, TPU) if target.processes == "hosts" else (NVIDIA,)]
        for device in devices
    )


def _ends(job: Job, launcher: Launcher) -> tuple[Lost, ...]:
    """When the run ends, and what becomes of one that is started again."""
    start = job.start
    return (
        Lost("steps", f"the run ends after {start.ends}"),
        Lost("restart", f"{launcher.again} at step 0: {start.restarts}"),
    )


def launched(launcher: Launcher, target: Target, launch: Launch, export: Export) -> Export:
    """An export with what starts it on all hosts, in front of its own files.

    Raises:
        InputError: The launcher does not start it; the reason.
    """
    device = device_of(launch.cost.chip)
    reason = refusal(launcher, target, device)
    if reason or export.start is None:
        raise InputError(f"launcher: {launcher.name} does not start {target.title}: {reason}")
    job = Job(
        launch=launch,
        export=export,
        start=export.start,
        processes=target.processes,
        device=device,
    )
    written = launcher.write(job)
    return replace(
        export,
        files=(*written.files, *export.files),
        command=written.command,
        environment=written.environment,
        lossy=(*export.lossy, *written.lossy, *_ends(job, launcher)),
        launcher=launcher.name,
    )
