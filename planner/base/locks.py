"""Who writes a file: a lock beside it, which goes with the process that holds it.

The lock is one of the system on a file of its own, `NAME.lock`, so that one that a killed process
left behind holds nobody up. Some systems, and some file systems, have none.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import naming_file, real_path
from planner.base.messages import one_line
from planner.base.replacement import despite_signals

_LOOK_S = 0.05
_OURS = b'{"process"'
"""What the file of a lock begins with, unless a full disk took less of it."""


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
    lock = _Lock(path)
    try:
        yield lock.take(time.monotonic() + wait_s, advice)
    finally:
        despite_signals(lock.let_go)


def held_by(path: Path) -> str:
    """`process 4711 on host node3`: the one that holds a file; empty: none."""
    import fcntl  # noqa: PLC0415  (not on every system that reads stores)

    with suppress(OSError, InputError), _opened(_beside(path), os.O_RDONLY) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(file)
    return ""


class _Lock:
    """The lock of a file, from the first look at it until nothing of it is left."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, _beside(path)
        self._file: FileIO | None = None

    def take(self, until: float, advice: str) -> bool:
        """Waits for the lock and says in its file who holds it; False: no locks here.

        Raises:
            InputError: See `holding`.
        """
        while True:
            with naming_file(self._path):
                self._file = file = _opened(self._lock, os.O_RDWR | os.O_CREAT)
            try:
                locked = _locked(file)
            except BlockingIOError as error:
                holder, name = _holder(file), one_line(str(self._path))
                self._close()
                if time.monotonic() >= until:
                    said = f"{name}: another run holds it ({holder}); {advice}"
                    raise InputError(said) from error
                time.sleep(_LOOK_S)
                continue
            if not locked:
                return False
            if _is_there(file, self._lock):
                with naming_file(self._path):
                    _sign(file, self._lock)
                return True
            self._close()  # the one who held it has removed it meanwhile

    def let_go(self) -> None:
        """Removes the file, unless it is somebody's own or another process holds it.

        A signal may have come as soon as it was made: it is opened again then.
        """
        try:
            with suppress(OSError, InputError):  # one that stays holds nobody up
                file = self._file = self._file or _opened(self._lock, os.O_RDWR)
                empty = os.fstat(file.fileno()).st_size == 0
                ours = _is_ours(file) if _locked(file) else empty
                if ours and _is_there(file, self._lock):
                    self._lock.unlink()
        finally:
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


def _beside(path: Path) -> Path:
    """The file of the lock, beside the file itself wherever a link lies."""
    real = real_path(path)
    return real.with_name(f"{real.name}.lock")


def _opened(lock: Path, flags: int) -> FileIO:
    """The file of a lock, as it is; opening and reading it takes no time, whatever lies there.

    Raises:
        OSError: It cannot be opened.
        InputError: It is no file.
    """
    descriptor = os.open(lock, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _no_lock(lock)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "rb+", buffering=0)


def _no_lock(lock: Path) -> InputError:
    return InputError(f"{one_line(str(lock))}: is no lock of planner; rename it")


def _locked(file: FileIO) -> bool:
    """Locks a file; False: no locks here.

    Raises:
        BlockingIOError: Another process holds it.
    """
    import fcntl  # noqa: PLC0415  (not on every system)

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_there(file: FileIO, lock: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    return False


def _sign(file: FileIO, lock: Path) -> None:
    """Writes who holds the lock into its file.

    Raises:
        OSError: It cannot be written.
        InputError: It has something else in it, which nobody may lose.
    """
    if not _is_ours(file):
        raise _no_lock(lock)
    text = json.dumps({"process": os.getpid(), "host": platform.node()}).encode()
    file.seek(0)
    file.truncate(0)
    if file.write(text) != len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_ours(file: FileIO) -> bool:
    file.seek(0)
    return _OURS.startswith(file.read(len(_OURS)))


def _holder(file: FileIO) -> str:
    """`process 4711 on host node3`."""
    file.seek(0)
    with suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads(file.read(1000))
        return f"process {said['process']} on host {said['host']}"
    return "which has just begun"
