"""Files that are read and files that are to be written, where somebody keeps count of both.

An answer never takes the place of a file that its question is read from. Every reader of users'
files says here what it reads, in whichever package it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

_Path = str | os.PathLike[str]


class _Files:
    """What is read, each with its kind, and what is to be written, each with its flag and name.

    A pair of them that are one file stays: nothing is written then. A file that is updated is both,
    for readers of its own kind alone.
    """

    def __init__(self) -> None:
        self.read: dict[str, str] = {}
        self.written: dict[str, tuple[str, str]] = {}
        self.updated: dict[str, tuple[str, str, str]] = {}
        self.both: tuple[str, str] | None = None


_none = _Files()  # outside of `counting` it stays empty
_files = _none


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """Inside of it files are counted, from none on: a command."""
    with _kept(_Files()):
        yield


@contextlib.contextmanager
def replacing() -> Iterator[None]:
    """Inside of it no file is counted: what is read is the old content of what is written."""
    with _kept(_none):
        yield


@contextlib.contextmanager
def _kept(files: _Files) -> Iterator[None]:
    global _files  # noqa: PLW0603  (of the process, as its files are)
    before, _files = _files, files
    try:
        yield
    finally:
        _files = before


def read(path: _Path, kind: str = "") -> None:
    """Counts a file that is read.

    Args:
        path: The file.
        kind: What messages call it; a kind that is known stays.
    """
    if _files is not _none:
        key = _real(path)
        if key in _files.updated and _files.updated[key][0] == kind:
            return
        _files.read[key] = _files.read.get(key) or kind
        _find((target, key) for target in [*_files.written, *_files.updated])


def written(path: _Path, flag: str = "") -> None:
    """Counts a file that is to be written.

    Args:
        path: The file.
        flag: Names it in messages; a flag that is known stays.
    """
    if _files is not _none:
        key = _real(path)
        known = _files.written.get(key, ("", ""))
        _files.written[key] = known if known[0] else (flag, os.fspath(path))
        _find((key, source) for source in [*_files.read, *_files.updated])


def updated(path: _Path, kind: str, flag: str = "") -> None:
    """Counts a file whose own content is read and written anew.

    Args:
        path: The file.
        kind: Of those who read that content.
        flag: As of `written`.
    """
    if _files is not _none:
        key = _real(path)
        if _files.read.get(key) == kind:
            del _files.read[key]
        _files.updated[key] = (kind, flag, os.fspath(path))
        _find((target, key) for target in [*_files.written])
        _find((key, source) for source in [*_files.read])


def _find(pairs: Iterable[tuple[str, str]]) -> None:
    _files.both = _files.both or next((pair for pair in pairs if same(*pair)), None)


def clash() -> str:
    """`output: my.yaml is the hardware file that is read; name another`; empty: none is both."""
    if _files.both is None:
        return ""
    target, source = _files.both
    kind = _files.read.get(source, "")
    if target in _files.written:
        flag, name = _files.written[target]
        kind = kind or _files.updated.get(source, ("",))[0]
    else:
        _, flag, name = _files.updated[target]
    said = f"{name} is the {f'{kind} file' if kind else 'file'} that is read; name another"
    return f"{flag}: {said}" if flag else said


def _real(path: _Path) -> str:
    """Where a path leads through symbolic links; itself where no file can have such a path."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.fspath(path)


def same(one: _Path, other: _Path) -> bool:
    """Whether two paths lead to one file: through links, by other names of it."""
    try:
        return _real(one) == _real(other) or os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
