"""What a launcher is: its name, what it cannot start, and what it writes."""

from __future__ import annotations

from collections.abc import Callable

from frozen_records import dataclass
from planner.frameworks.framework import Target
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers.devices import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A launch with what every host of it runs.

    Attributes:
        launch: The plan.
        export: Its texts.
        start: What a host runs.
        processes: Of which there is one each (`Target.processes`).
        device: What its chips are to a scheduler.
    """

    launch: Launch
    export: Export
    start: HostStart
    processes: str
    device: Device

    @property
    def placeholders(self) -> tuple[tuple[str, str], ...]:
        """What only the user can fill in, by the names of variables."""
        return tuple((name, f"YOUR_{name}") for name, _ in self.start.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What a launcher writes.

    Attributes:
        files: Its own, the one that is submitted first.
        command: What is typed, once or on every host.
        environment: Variables that it needs, with what they are in the place of their values.
        lossy: What is left to the user's cluster.
    """

    files: tuple[TextFile, ...]
    command: str
    environment: tuple[tuple[str, str], ...] = ()
    lossy: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A way to start a job on many hosts.

    Attributes:
        name: As typed by the user.
        title: As its authors write it.
        refuses: Why it starts nothing of a target on a device, in one line; empty: it does.
        write: What it writes for a job.
        again: When it starts a job a second time, as a sentence begins.
    """

    name: str
    title: str
    refuses: Callable[[Target, Device], str]
    write: Callable[[Job], Launched]
    again: str
