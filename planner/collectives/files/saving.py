"""Schedules of answers to files, and questions about schedules from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.files import check_writable
from planner.base.messages import did_you_mean, one_line
from planner.collectives.files.schedule_file import ENDINGS, Saved, read_schedule, write_schedule
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.question import MACHINE_FIELDS, Question, question_of
from solvers.collectives.schedule import Schedule

_ASKING = ("collective", "root", "chunks", "steps", "pareto", "max_chunks", "size")


def check_schedule_file(path: Path, read: Mapping[str, Path | None]) -> None:
    """Finds out before a search that its schedule could not be written.

    Args:
        path: The file.
        read: Files that the question is read from, by what they are.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or it is read.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        near = did_you_mean(ending, ENDINGS) if ending else ""
        name = one_line(str(path))
        raise InputError(f"output: {name}: schedules are written as {' or '.join(ENDINGS)}{near}")
    check_apart([("output", path)], read)
    check_writable(path)


def save_schedule(path: Path, schedule: Schedule, question: Question) -> None:
    """Writes a schedule for the machine that it was made for.

    Raises:
        InputError: A limit of the MSCCL runtime is exceeded, or the file cannot be written.
    """
    write_schedule(path, question.machine, schedule, root=question.root)


def question_of_file(path: Path, asked: Mapping[str, Any]) -> tuple[Question, Schedule]:
    """A schedule from a file as a question about it, on the machine of the file or another.

    An MSCCL file says which links there are, not how fast: those are as fast as asked, else as
    those of a machine that nothing is known of.

    Args:
        path: A schedule, .json or .xml.
        asked: Fields of `question_of`; those of the machine replace what the file says.

    Raises:
        InputError: The file cannot be read, its schedule breaks a rule (the send is named), or a
            flag contradicts the file.
    """
    given = {name: value for name, value in asked.items() if value not in (None, False)}
    if wrong := [name for name in _ASKING if name in given]:
        flag = wrong[0].replace("_", "-")
        raise InputError(f"{flag}: the file {one_line(str(path))} has its own; leave it out")
    saved = read_schedule(path, _machine_asked(given))
    machine = saved.machine or _of_links(saved, path, given)
    question = Question(
        machine=machine, collective=saved.schedule.collective, root=saved.root,
    )  # fmt: skip
    return question, saved.schedule


def _machine_asked(given: Mapping[str, Any]) -> Machine | None:
    """The machine that flags name; None without a topology or a graph."""
    if "topology" in given or "graph" in given:
        return question_of({name: given[name] for name in MACHINE_FIELDS if name in given}).machine
    return None


def _of_links(saved: Saved, path: Path, given: Mapping[str, Any]) -> Machine:
    """A machine of the links that a schedule uses, named by its file: it is not what that names."""
    figures = {name: given[name] for name in ("bandwidth", "latency", "start") if name in given}
    like = question_of({"topology": "ring:2", **figures}).machine
    network, label = saved.network, f"the links of {one_line(path.name)}"
    unnamed = saved.label == f"the links of {one_line(str(path))}"
    those = "that it was made for" if unnamed else f"of {saved.label}"
    lost = (
        f"an MSCCL file has no rates: all links are alike here, whatever those {those} are; name "
        "the machine with --topology or --graph"
    )
    return Machine(
        label=label,
        names=tuple(map(str, range(network.nodes))),
        network=network,
        lane_bytes_per_s=like.lane_bytes_per_s,
        latency_s=np.full(len(network.links), float(like.latency_s[0])),
        start_s=like.start_s,
        notes=(lost, *(note for note in like.notes if note), "links: those that the file uses"),
    )
