"""Which output is which, by its content; files and folders of saved outputs."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import is_file, is_folder, read_text
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


def seen_in_files(paths: Sequence[Path]) -> tuple[list[Seen], tuple[str, ...]]:
    """What saved outputs say, and a remark for each thing in their folders that is no file.

    Args:
        paths: Files, and folders all of whose files are read, hidden ones aside.

    Raises:
        InputError: One line for every file that cannot be used.
    """
    found: list[Seen] = []
    mistakes: list[str] = []
    remarks: dict[str, None] = {}
    files: dict[Path, None] = {}
    for given in paths:
        if is_folder(given):
            inside, left_out = _files(given)
            files |= dict.fromkeys(inside)
            remarks |= dict.fromkeys(left_out)
        else:
            files[given] = None
    for path in files:
        try:
            found += seen_in(one_line(str(path)), _text_of(path))
        except InputError as error:
            mistakes.append(str(error))
    if mistakes:
        raise InputError("\n".join(mistakes))
    return found, tuple(remarks)


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """The files of a folder, and what is said of pipes and devices in it.

    Raises:
        InputError: It cannot be read, or has no files.
    """
    try:
        entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as error:
        reason = (error.strerror or "?").lower()
        raise InputError(f"from: {one_line(str(folder))}: cannot be read ({reason})") from error
    files = [one for one in entries if is_file(one)]
    others = [one for one in entries if not is_file(one) and not is_folder(one)]
    if not files:
        raise InputError(f"from: {one_line(str(folder))} has no files")
    return files, [f"{one_line(str(one))} is no regular file, and is left out" for one in others]


def _text_of(path: Path) -> str:
    """What a file of a saved output holds.

    A pipe or a device may never end; so may files of the kernel, which say that they are empty.

    Raises:
        InputError: It is none of these, or cannot be read.
    """
    try:
        known = path.stat()
    except (OSError, ValueError):
        return read_text(path)  # says what is wrong
    if not stat.S_ISREG(known.st_mode) and not stat.S_ISDIR(known.st_mode):
        raise InputError(
            f"from: {one_line(str(path))} is no regular file; save the output in a file first"
        )
    if not known.st_size:
        raise InputError(f"from: {one_line(str(path))} is empty")
    return read_text(path)
