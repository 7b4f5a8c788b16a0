"""What an exporter returns: texts, and what they do not say."""

from __future__ import annotations

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A file to be written.

    Attributes:
        name: File name, without a folder.
        text: Its content.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Something of a plan that an export does not carry.

    Attributes:
        field: The field of the plan, or of the job, that it is about.
        reason: One line: what is lost, and what to do about it where something can be done.
    """

    field: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStart:
    """How the processes of one host start, in the folder of the files.

    `NODE_RANK` is the number of the host, `MASTER_ADDR` and `MASTER_PORT` say where the first one
    is reached, and `NNODES` counts them. A launcher (`planner.frameworks.writing.launchers`) sets
    these four, whatever starts the job.

    Attributes:
        command: As a shell takes it, on one line.
        environment: Variables that it needs beside those four, with values as a shell takes them
            between double quotes.
        needs: Variables that only the user can fill, each with what it is.
        binding: Lines of bash that have processes keep to the cores beside their chips, where it
            is not torchrun that starts them.
        results: The folder, beside the files, that the run leaves what it trained in; empty: it
            leaves nothing.
        wants: Variables that the user may fill, each with what it is and what is done without it.
        ends: After how many steps the run ends, with the setting that says so.
        restarts: Why a second start begins at step 0, and what goes on from a checkpoint instead.
    """

    command: str
    environment: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    binding: tuple[str, ...] = ()
    results: str = ""
    wants: tuple[tuple[str, str], ...] = ()
    ends: str = ""
    restarts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A plan as written for a target.

    Attributes:
        target: Name of the target.
        version: Version of the target's input, "" where there is one only.
        framework_version: The source that its keys were read from: version, commit, date.
        files: Texts; the first is the main one.
        command: The command line that launches it, as one would type it on every node.
        environment: Environment variables with their values, which the command needs.
        hosts: Lines on which hosts it is launched; empty where any do, one after the other.
        lossy: What the texts leave to the framework or to other settings: the plan runs all the
            same, perhaps not as predicted.
        unsupported: What the target cannot do: it would run another plan. The rules say it
            (`planner.frameworks.writing.export_plan`), not the exporter of the target.
        start: What every host runs; None: nothing, the texts are a part of the user's program.
        launcher: What starts the job on all hosts, whose files are then among those above.
    """

    target: str
    version: str
    framework_version: str
    files: tuple[TextFile, ...]
    command: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()
    lossy: tuple[Lost, ...] = ()
    unsupported: tuple[Lost, ...] = ()
    start: HostStart | None = None
    launcher: str = ""
