"""Which output is which, by its content; files and folders of saved outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import is_folder, read_text
from planner.base.messages import one_line
from planner.machine.detection.readers import (
    ibstat,
    nccl,
    nvidia_matrix,
    nvidia_query,
    rocm,
    slurm,
)
from planner.machine.detection.seen import Output, Seen

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An output that is read.

    Attributes:
        name: What prints it, as people are told.
        recognises: Whether a text holds it.
        read: What it says.
    """

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[Output], Seen]


FORMATS = (
    Format(name=nvidia_matrix.TOOL, recognises=nvidia_matrix.recognises, read=nvidia_matrix.read),
    Format(name=nvidia_query.TOOL, recognises=nvidia_query.recognises, read=nvidia_query.read),
    Format(
        name=f"{nvidia_query.CSV_TOOL}={nvidia_query.QUERY} --format=csv",
        recognises=nvidia_query.recognises_csv,
        read=nvidia_query.read_csv,
    ),
    Format(name=nccl.TOOL, recognises=nccl.recognises, read=nccl.read),
    Format(name=" ".join((rocm.TOOL, *rocm.FLAGS)), recognises=rocm.recognises, read=rocm.read),
    Format(name=slurm.TOOL, recognises=slurm.recognises, read=slurm.read),
    Format(name=ibstat.TOOL, recognises=ibstat.recognises, read=ibstat.read),
)


def seen_in(name: str, text: str) -> list[Seen]:
    """What a text says, of all outputs that it holds.

    Args:
        name: Of the file, or the command that printed it.
        text: It.

    Raises:
        InputError: It holds none that is read here, or one that is cut off.
    """
    output = Output(name=name, text=_COLOURS.sub("", text))
    found = [one.read(output) for one in FORMATS if one.recognises(output.text)]
    if not found:
        allowed = ", ".join(one.name for one in FORMATS)
        raise InputError(f"from: {name} is no output that is read here; allowed are {allowed}")
    return found


def seen_in_files(paths: Sequence[Path]) -> list[Seen]:
    """What saved outputs say.

    Args:
        paths: Files, and folders all of whose files are read, hidden ones aside.

    Raises:
        InputError: One line for every file that cannot be used.
    """
    found: list[Seen] = []
    mistakes: list[str] = []
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        try:
            found += seen_in(one_line(str(path)), read_text(path))
        except InputError as error:
            mistakes.append(str(error))
    if mistakes:
        raise InputError("\n".join(mistakes))
    return found


def _files(path: Path) -> list[Path]:
    if not is_folder(path):
        return [path]
    files = sorted(
        file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
    )
    if not files:
        raise InputError(f"from: {path} has no files")
    return files
