"""What files held as they were read, noted where somebody keeps a result with it.

Every reader of users' files says here what a file held, in whichever package it is.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from strict_yaml.limits import largest

_Path = str | os.PathLike[str]
_NOTES: ContextVar[dict[str, str] | None] = ContextVar("notes", default=None)
_NOTE = re.compile("(?:(?:([0-9]{1,18}):)?[0-9a-f]{64})?")
MOST_BYTES = 128 * 2**20
"""Of a file that is compared with a note: no reader takes as much, unless more is allowed."""


@contextlib.contextmanager
def noting() -> Iterator[dict[str, str]]:
    """Inside of it is noted what files hold that this thread reads: what it gives, by their names.

    A note is a digest of the content, `BYTES:DIGEST` where that is the beginning of a file; empty:
    there is no such file. Names are seen from the current folder where they lie in it.
    """
    notes = dict[str, str]()
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def holds(path: _Path, content: bytes | None, *, whole: bool = True) -> None:
    """Notes what a file holds, as it was read.

    Args:
        path: The file.
        content: All of it, or its beginning; None: it cannot be read.
        whole: Which of the two.
    """
    notes = _NOTES.get()
    if notes is None:
        return
    name, note = _seen(path), "" if content is None else _note(content, whole=whole)
    known = notes.setdefault(name, note)
    if known != note:
        notes[name] = f"{known}, then {note}"  # which no file ever holds


def is_note(value: object) -> bool:
    """Whether it is a note of what one file held, as they are made here."""
    return isinstance(value, str) and _NOTE.fullmatch(value) is not None


def note_of(name: str, like: str = "") -> str:
    """The note of what a file holds now; empty: there is none, or none that readers would take.

    Args:
        name: As notes have it; perhaps somebody else chose it.
        like: Another note of it: as much of the file is read.
    """
    limit, form = largest(MOST_BYTES), _NOTE.fullmatch(like)
    beginning = form[1] if form else None
    try:
        status = os.stat(name)
        size = status.st_size if beginning is None else int(beginning)
        if not stat.S_ISREG(status.st_mode) or size > min(limit, status.st_size):
            return ""
        with open(name, "rb") as file:
            return _note(file.read(size), whole=beginning is None)
    except (OSError, ValueError):
        return ""


def _note(content: bytes, *, whole: bool) -> str:
    import hashlib  # noqa: PLC0415  (takes milliseconds; only where notes are taken)

    digest = hashlib.sha256(content).hexdigest()
    return digest if whole else f"{len(content)}:{digest}"


def _seen(path: _Path) -> str:
    """A path as notes have it: other hosts may have the current folder elsewhere.

    No `..` is taken out of it: after a symbolic link it leads to another folder.
    """
    name = str(Path(path))
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:  # that folder is gone
        return name
    return name.removeprefix(here)
