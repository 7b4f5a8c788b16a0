"""What is said when planner itself breaks: one line, and a file to report without private paths.

Arguments that name files and all paths of this machine are left out of the file: it says where in
the program it happened, with which options, and on what.
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
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

from planner.base.version import __version__

_PACKAGES = ("numpy", "ortools", "scipy", "networkx", "pydantic", "typer", "rich", "ruamel.yaml")
_OURS = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")
_ROOT = Path(__file__).parents[2]
_PLACE = r"[^\s'\":;,<>|()\[\]{}]+"
_START = r"(?:[A-Za-z]:[\\/]|~?/|\\\\)"
_PATH = re.compile(
    rf"(?<=')(?:{_START})[^'\n]+(?=')|(?<=\"){_START}[^\"\n]+(?=\")"  # may have spaces in quotes
    rf"|(?<![\w.<\"]){_START}{_PLACE}"  # from a root
    r"|(?<![\w\"/<])[\w./-]+\.(?:ya?ml|json|csv|db|toml|log|npy|html|svg|txt|sh|xml)\b"
)
_FILE = re.compile(r"[\\/]|\.[A-Za-z][\w.]{0,9}$|^\.")
_NOBODY = "those who gave you planner"


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
    """All that a report needs: versions, the options, the traceback; no path of this machine."""
    lines = [
        f"planner {__version__}",
        f"python {platform.python_version()}, {platform.system()} {platform.machine()}",
        ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        f"command: planner {' '.join(map(_masked_word, arguments))}",
        "",
    ]
    private = [word.partition("=")[2] or word for word in arguments if _names_a_file(word)]
    return "\n".join(lines) + "\n" + masked("".join(traceback.format_exception(error)), private)


def masked(text: str, private: Iterable[str]) -> str:
    """A text without places of this machine: the program's own files from their package on.

    Args:
        text: Any.
        private: Words that are left out wherever they stand.
    """
    for folder in sorted(_program(), key=len, reverse=True):
        text = text.replace(f'File "{folder}{os.sep}', 'File "')
    for word in sorted(set(private), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda found: _ending(found[0]), text)
    return _PATH.sub(lambda found: _ending(found[0]), text)


def _program() -> set[str]:
    """Folders that hold what runs: ours, those of other packages, the standard library's."""
    installed = {path for path in sys.path if path.endswith("-packages")}
    return {str(_ROOT), *installed, *sysconfig.get_paths().values()}


def _masked_word(word: str) -> str:
    """An argument, with the ending alone of a file that it names."""
    if not _names_a_file(word):
        return word
    option, equals, value = word.partition("=")
    return f"{option}={_ending(value)}" if equals and word.startswith("-") else _ending(word)


def _names_a_file(word: str) -> bool:
    value = word.partition("=")[2] if word.startswith("-") else word
    return bool(_FILE.search(value)) or os.path.exists(value)


def _ending(path: str) -> str:
    return f"<file{Path(path).suffix}>"


def _short(error: Exception) -> str:
    """`ValueError in planner/cost/step.py, line 12`: where in our code it was raised."""
    ours = [
        frame for frame in traceback.extract_tb(error.__traceback__) if _is_ours(frame.filename)
    ]
    if not ours:
        return type(error).__name__
    name = Path(ours[-1].filename).relative_to(_ROOT).as_posix()
    return f"{type(error).__name__} in {name}, line {ours[-1].lineno}"


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _OURS


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
