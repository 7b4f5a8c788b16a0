"""What a command writes is kept apart from what it reads.

Every file that is read is counted, also those that files name, and every file that is asked for:
whichever comes second is refused, in `files` at the latest when something would be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from planner.base.errors import ExitCode, InputError, PlannerError
from planner.base.messages import one_line
from strict_yaml import inputs


class OverwriteError(PlannerError):
    """Raised when a command is to write over a file that it reads.

    No `InputError`: who goes on without a file that cannot be read does not go on here.
    """

    exit_code = ExitCode.INPUT


def reading(path: Path, kind: str = "") -> None:
    """Says that a file is read.

    Args:
        path: The file.
        kind: What messages call it, where that is known.

    Raises:
        OverwriteError: The command is to write there.
    """
    inputs.read(path, kind)
    check_read()


def writing(path: Path, flag: str = "") -> None:
    """Says that a file is to be written.

    Args:
        path: The file.
        flag: Names it in messages, where that is known.

    Raises:
        OverwriteError: The command reads it.
    """
    inputs.written(path, flag)
    check_read()


def updating(path: Path, kind: str, flag: str = "") -> None:
    """Says that a file's own content is read and written anew.

    Args:
        path: The file.
        kind: Of those who read that content.
        flag: Names it in messages, where that is known.

    Raises:
        OverwriteError: The command reads it as something else, or is to write another file there.
    """
    inputs.updated(path, kind, flag)
    check_read()


def check_apart(
    written: Iterable[tuple[str, Path | None]],
    read: Mapping[str, Path | str | None] | None = None,
) -> None:
    """Finds out before anything is computed that a file would cost another one.

    Args:
        written: Files that are asked for, each with its flag.
        read: Files that the question is read from, by what they are.

    Raises:
        InputError: One is asked for twice.
        OverwriteError: One is read.
    """
    for kind, source in (read or {}).items():
        if source is not None:
            inputs.read(source, kind)
    earlier: dict[str, Path] = {}
    for flag, path in written:
        if path is None:
            continue
        for other, target in earlier.items():
            if inputs.same(path, target):
                name = one_line(str(path))
                raise InputError(f"{flag}: {name} is the file of --{other} too; name another")
        earlier[flag] = path
        writing(path, flag)


def check_read() -> None:
    """Refuses what was read, perhaps by another package, where the command is to write.

    Raises:
        OverwriteError: There is such a file.
    """
    if said := inputs.clash():
        raise OverwriteError(one_line(said))
