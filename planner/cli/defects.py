"""What is said when planner itself breaks: one line, and a file to report with nothing private.

The file says where in the program it happened, with which of our commands and options. Of other
words it has numbers and names of the database; texts of exceptions, which may hold what files do,
are left out.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Container, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any

from planner.base.errors import ExitCode
from planner.base.libraries import broken_library, is_ours
from planner.base.messages import clipped, printable
from planner.base.version import __version__

_PACKAGES = ("numpy", "ortools", "scipy", "networkx", "pydantic", "typer", "rich", "ruamel.yaml")
_ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(
    r"(?:[a-z]{2}=)?[0-9][0-9.,]*(?:e-?[0-9]{1,2}|[kKMGTP]i?B?|%|ms|min|k?W|[shdy])?"
)
_SUFFIXES = (".yaml", ".yml", ".json", ".csv", ".npy", ".db", ".toml", ".log", ".txt", ".xml",
             ".html", ".svg", ".sh", ".py", ".zip", ".gz")  # fmt: skip
_NOBODY = "those who gave you planner"


def unexpected(error: Exception, arguments: Sequence[str]) -> ExitCode:
    """Says what nobody expected: a library that cannot be imported, or a defect of ours.

    Args:
        error: What was raised.
        arguments: The words of the command.
    """
    package = broken_library(error)
    if not package:
        report(error, arguments)
        return ExitCode.DEFECT
    said = printable(" ".join(str(error).split()))
    words = f"{type(error).__name__}: {said}" if said else type(error).__name__
    line = f"error: {package} cannot be imported ({words}); planner doctor tries every library"
    with contextlib.suppress(OSError, AttributeError):  # closed, or there is none
        print(clipped(line), file=sys.stderr)
    return ExitCode.INPUT


def report(error: Exception, arguments: Sequence[str]) -> None:
    """Says it in one line on standard error; the details are in a new file, or follow it.

    Args:
        error: What was raised.
        arguments: The words of the command.
    """
    details = details_of(error, arguments)
    path = _written(details)
    where = "details follow" if path is None else f"details: {path}"
    line = f"error: a defect of planner ({_short(error)}); {where}; report it to {_address()}"
    with contextlib.suppress(OSError, AttributeError):  # closed, or there is none
        print(line, *([details.rstrip()] if path is None else []), sep="\n", file=sys.stderr)


def details_of(error: Exception, arguments: Sequence[str]) -> str:
    """What a report needs: versions, options, and where in the program it happened."""
    lines = [
        f"planner {__version__}",
        f"python {platform.python_version()}, {platform.system()} {platform.machine()}",
        ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        f"command: planner {' '.join(_public_words(arguments))}",
        "",
    ]
    return "\n".join(lines) + "\n" + "".join(_told(error))


def _told(error: BaseException) -> Iterator[str]:
    """Where it happened, what led to it first; texts of exceptions may hold what files do."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _told(before)
        yield "\nthen:\n\n"
    yield from map(_frame, traceback.extract_tb(error.__traceback__))
    yield f"{type(error).__name__}: {len(str(error)):,} characters, left out\n"


def _frame(frame: traceback.FrameSummary) -> str:
    """A line of the program with its text, one of other code without."""
    name = _own_name(frame.filename)
    if not name:
        return f'  File "{_ending(frame.filename)}", line {frame.lineno}\n'
    return f'  File "{name}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n'


def _own_name(filename: str) -> str:
    """A file of the program from its package on; empty: it is none."""
    if is_ours(filename):
        return Path(filename).relative_to(_ROOT).as_posix()
    places = (f"{folder}{os.sep}" for folder in sorted(_installed(), key=len, reverse=True))
    inside = (filename.removeprefix(one) for one in places if filename.startswith(one))
    return next(inside, "")


def _installed() -> set[str]:
    """Folders that hold what runs beside our code: other packages, the standard library."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    installed = {path for path in sys.path if path.endswith("-packages")}
    return installed | {sysconfig.get_path(kind) for kind in kinds}


def _public_words(arguments: Sequence[str]) -> Iterator[str]:
    """The command, its options, numbers and names of the database; others are left out."""
    names = _shipped()
    command, options = _root()
    for word in _in_order(arguments):
        inner = _command_named(word, command)
        if inner is not None:
            command, options = inner, options | _options_of(inner)
            yield word
        elif word.startswith("-") and word not in ("-", "--"):
            yield _public_option(word, options, names)
        elif word == "--":
            yield word
        else:
            command = None  # what follows is of the user, whatever it is called
            yield _public(word, names)


def _in_order(arguments: Sequence[str]) -> Sequence[str]:
    """The words with the options of every command first, so that no value stands for a command."""
    try:
        from planner.cli.leading import moved_first  # noqa: PLC0415  (may be what broke)

        return moved_first(arguments)
    except Exception:  # whatever broke, the report is written
        return arguments


def _root() -> tuple[Any, set[str]]:
    """The program's command and its options; None where what broke is that."""
    try:
        from planner.cli.main import tree  # noqa: PLC0415  (may be what broke)

        root = tree()
        return root, _options_of(root)
    except Exception:  # whatever broke, the report is written
        return None, set()


def _command_named(word: str, command: Any) -> Any:
    """The command of a group that has a name; None: it is none, or has none of that name."""
    try:
        return getattr(command, "commands", {}).get(word)
    except Exception:  # its module may be what broke
        return None


def _options_of(command: Any) -> set[str]:
    """The options of a command as they are written."""
    every = [one for one in command.params if one.param_type_name == "option"]
    return {name for one in every for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}


def _public_option(word: str, options: Container[str], names: Container[str]) -> str:
    """An option that there is; what is attached to it as far as it is public."""
    option, equals, value = word.partition("=")
    if not word.startswith("--"):  # -oVALUE
        option, equals, value = word[:2], "", word[2:]
    if option not in options:
        return word if _NUMBER.fullmatch(word[1:]) else "<option>"
    return option + (f"{equals}{_public(value, names)}" if equals or value else "")


def _public(value: str, names: Container[str]) -> str:
    """A value of an option, or what it is."""
    return value if value in names or _NUMBER.fullmatch(value) else _ending(value)


def _shipped() -> set[str]:
    """Models, chips and clusters of the database, where it can be read."""
    try:
        from hardware_db import list_chips, list_clusters  # noqa: PLC0415  (may be what broke)
        from models_db import list_models  # noqa: PLC0415  (may be what broke)

        return {*list_chips(), *list_clusters(), *list_models()}
    except Exception:  # whatever broke, the report is written
        return set()


def _ending(path: str) -> str:
    suffix = Path(path).suffix.lower()
    return f"<file{suffix}>" if suffix in _SUFFIXES else "<text>"


def _short(error: Exception) -> str:
    """`ValueError in planner/cost/step.py, line 12`: where in our code it was raised."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if is_ours(frame.filename)]
    if not ours:
        return type(error).__name__
    name = Path(ours[-1].filename).relative_to(_ROOT).as_posix()
    return f"{type(error).__name__} in {name}, line {ours[-1].lineno}"


def _written(details: str) -> Path | None:
    """The file with the details, readable by its owner alone; None: there is no place for one."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="planner-defect-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(details)
    except OSError:
        return None
    return Path(name)


def _address() -> str:
    """Where defects are reported: as the package says, once it has an address."""
    with contextlib.suppress(PackageNotFoundError):
        for one in metadata("parallelism-planner").get_all("Project-URL") or ():
            name, _, address = one.partition(",")
            if name.strip().lower() in ("issues", "bug tracker"):
                return str(address).strip()
    return _NOBODY


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
