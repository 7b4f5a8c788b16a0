"""Who writes a file: a lock beside it, which goes with the process that holds it.

The lock is one of the system on a file of its own, `NAME.lock`, so that one that a killed process
left behind holds nobody up. Some systems, and some file systems, have none.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from planner.base.errors import InputError
from planner.base.files import real_path
from planner.base.messages import one_line

_LOOK_S = 0.05
_OURS = '{"process"'
"""What the file of a lock begins with, unless it is empty."""


@contextmanager
def holding(path: Path, wait_s: float, advice: str) -> Iterator[bool]:
    """Holds a file, under whichever of its names; False: nothing here has locks.

    Args:
        path: The file, which need not be there.
        wait_s: Seconds to wait for another process that holds it.
        advice: What to do where that one still does.

    Raises:
        InputError: Another process holds it, its folder cannot be written to, or the file of the
            lock is somebody's own.
    """
    try:
        import fcntl  # noqa: F401, PLC0415  (not on every system)
    except ImportError:
        yield False
        return
    lock = _beside(path)
    file = _locked(lock, path, time.monotonic() + wait_s, advice)
    if file is None:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # gone while it is held: nobody can hold the same file after us
            lock.unlink()
        file.close()


def held_by(path: Path) -> str:
    """`process 4711 on host node3`: the one that holds a file; empty: none."""
    import fcntl  # noqa: PLC0415  (not on every system that reads stores)

    try:
        with _beside(path).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with _beside(path).open(encoding="utf-8") as file:
            return _holder(file)
    except OSError:
        return ""
    return ""


def _beside(path: Path) -> Path:
    """The file of the lock, beside the file itself wherever a link lies."""
    real = real_path(path)
    return real.with_name(f"{real.name}.lock")


def _locked(lock: Path, path: Path, until: float, advice: str) -> IO[str] | None:
    """The file of a lock, locked, with who holds it in it; None: no locks here."""
    import fcntl  # noqa: PLC0415  (not on every system)

    name = one_line(str(path))
    while True:
        try:
            file = lock.open("a+", encoding="utf-8")
        except OSError as error:
            reason = (error.strerror or "?").lower()
            raise InputError(f"{name}: cannot be written ({reason})") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _holder(file)
            file.close()
            if time.monotonic() < until:
                time.sleep(_LOOK_S)
                continue
            raise InputError(f"{name}: another run holds it ({holder}); {advice}") from error
        except OSError:
            file.close()
            _forget(lock)
            return None
        if _is_there(file, lock):
            _sign(file, lock)
            return file
        file.close()  # the one who held it has removed it meanwhile


def _is_there(file: IO[str], lock: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    return False


def _sign(file: IO[str], lock: Path) -> None:
    """Writes who holds the lock into its file.

    Raises:
        InputError: It has something else in it, which nobody may lose.
    """
    if not _is_ours(file):
        file.close()
        raise InputError(f"{one_line(str(lock))}: is no lock of planner; rename it")
    file.truncate(0)
    json.dump({"process": os.getpid(), "host": platform.node()}, file)
    file.flush()


def _is_ours(file: IO[str]) -> bool:
    file.seek(0)
    with suppress(ValueError):  # no text
        return file.read(len(_OURS)) in ("", _OURS)
    return False


def _forget(lock: Path) -> None:
    """Removes the file of a lock that holds nothing, if nothing is in it."""
    with suppress(OSError):
        if lock.stat().st_size == 0:
            lock.unlink()


def _holder(file: IO[str]) -> str:
    """`process 4711 on host node3`."""
    file.seek(0)
    with suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads(file.read(1000))
        return f"process {said['process']} on host {said['host']}"
    return "which has just begun"
