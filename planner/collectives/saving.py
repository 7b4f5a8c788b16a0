"""Schedules to files and back: .json, and .xml for MSCCL."""

from __future__ import annotations

from pathlib import Path

from planner.collectives.question import Question
from planner.errors import InputError
from planner.files import check_writable, same_path
from planner.messages import did_you_mean
from solvers.collectives.schedule import Schedule

ENDINGS = (".json", ".xml")


def check_schedule_file(path: Path, graph: Path | None = None) -> None:
    """Finds out before a search that its schedule could not be written.

    Raises:
        InputError: The ending is unknown, the file cannot be written or is that of the graph.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        near = did_you_mean(ending, ENDINGS) if ending else ""
        raise InputError(f"output: {path}: schedules are written as .json or .xml{near}")
    if graph is not None and same_path(path, Path(graph)):
        raise InputError(f"output: {path} is the file of --graph; name another")
    check_writable(path)


def save_schedule(path: Path, schedule: Schedule, question: Question) -> None:
    """Writes a schedule for the machine that it was made for."""
