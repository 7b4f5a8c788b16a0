"""Where a store may lie, and who holds it: file systems, the lock of a run, locks of others."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from planner.base.errors import InputError
from planner.base.files import is_folder, real_path
from planner.base.messages import one_line

_MOUNTS = Path("/proc/self/mounts")
_LOCKS = Path("/proc/locks")
_TRIES, _LOOK_S = 5, 0.05
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smbfs", "smb3", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs",
        "beegfs_nodev", "orangefs", "pvfs2", "glusterfs", "fuse.glusterfs", "fuse.sshfs",
        "fuse.ceph", "fuse.juicefs", "fuse.s3fs", "fuse.gcsfuse", "panfs", "weka", "wekafs",
        "vboxsf",
    }
)  # fmt: skip
"""Kinds of file systems of which several machines, or a host and its guest, may share a folder."""


def check_local(path: Path, mounts: Path = _MOUNTS) -> None:
    """Refuses a store on a network file system.

    In WAL mode SQLite shares memory among processes, which no network file system has:
    https://www.sqlite.org/wal.html

    Args:
        path: Of the store.
        mounts: What lists the file systems; where there is no such list, nothing is known.

    Raises:
        InputError: It lies on one, it is a folder, or it has several names: see
            https://www.sqlite.org/howtocorrupt.html, section 2.6.
    """
    if is_folder(path):
        raise InputError(f"{one_line(str(path))}: cannot be written (it is a folder)")
    if _names(path) > 1:
        raise InputError(
            f"{one_line(str(path))}: has several names (hard links), and SQLite keeps its log "
            "beside one of them; copy it, and name the copy"
        )
    kind = _kind_of(path, mounts)
    if kind in _NETWORK:
        raise InputError(
            f"{one_line(str(path))}: lies on a network file system ({kind}), where SQLite can lose "
            "what is written; name a file on a local disk, and copy it when the study is done"
        )


def _names(path: Path) -> int:
    """How many names a file has; 0: it is not there."""
    try:
        return path.stat().st_nlink
    except (OSError, ValueError):
        return 0


def _kind_of(path: Path, mounts: Path) -> str:
    """The kind of file system that a path is on; empty: not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real, best, kind = os.path.realpath(path), "", ""
    for line in lines:
        _, point, found, *_ = [*line.split(" "), "", "", ""]
        point = point.replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, found
    return kind


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Holds a store for one run; the lock goes with the process, however it ends.

    Args:
        path: Of the store.

    Raises:
        InputError: Another run holds it, or its folder cannot be written to.
    """
    lock = _lock_of(path)
    file = _locked(lock, path)
    try:
        yield
    finally:
        with suppress(OSError):  # gone while it is held: nobody can hold the same file after us
            lock.unlink()
        file.close()


def held_by(path: Path) -> str:
    """`process 4711 on host node3`: the run that holds a store; empty: none."""
    import fcntl  # noqa: PLC0415  (not on every system that reads stores)

    try:
        with _lock_of(path).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with _lock_of(path).open(encoding="utf-8") as file:
            return _holder(file)
    except OSError:
        return ""
    return ""


def _lock_of(path: Path) -> Path:
    """The file that the runs of a store lock: one beside the store itself, whatever leads there."""
    real = real_path(path)
    return real.with_name(f"{real.name}.lock")


def _locked(lock: Path, path: Path) -> IO[str]:
    """The file of a lock, locked, with who holds it in it."""
    import fcntl  # noqa: PLC0415  (not on every system that reads stores)

    for left in reversed(range(_TRIES)):
        try:
            file = lock.open("a+", encoding="utf-8")
        except OSError as error:
            reason = (error.strerror or "?").lower()
            raise InputError(f"{one_line(str(path))}: cannot be written ({reason})") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(file)
            file.close()
            if left:  # who only looks holds it for a moment
                time.sleep(_LOOK_S)
                continue
            raise InputError(
                f"{one_line(str(path))}: another run holds it ({holder}); wait for its end, or "
                "watch it with planner sweep status"
            ) from error
        with suppress(OSError):
            if os.fstat(file.fileno()).st_ino == lock.stat().st_ino:
                file.truncate(0)
                json.dump({"process": os.getpid(), "host": socket.gethostname()}, file)
                file.flush()
                return file
        file.close()  # the one who held it has removed it meanwhile
    raise InputError(f"{one_line(str(path))}: its lock cannot be had; try again")


def _holder(file: IO[str]) -> str:
    """`process 4711 on host node3`."""
    file.seek(0)
    with suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads(file.read(1000))
        return f"process {said['process']} on host {said['host']}"
    return "which has just begun"


def locked_by(path: Path, locks: Path = _LOCKS) -> str:
    """` by process 4711 (sqlite3) on host node3`: who keeps a database locked; empty: not known."""
    found = dict[int, None]()
    with suppress(OSError):
        nodes = {
            os.stat(f"{path}{ending}").st_ino
            for ending in ("", "-shm", "-wal")
            if os.path.exists(f"{path}{ending}")
        }
        for line in locks.read_text(encoding="ascii", errors="replace").splitlines():
            parts = line.split()
            holder, node = parts[-4], parts[-3].rpartition(":")[2]
            if holder.isdecimal() and node.isdecimal() and int(node) in nodes:
                found[int(holder)] = None
    others = [f"process {pid}{_program(pid)}" for pid in found if pid != os.getpid()]
    return f" by {' and '.join(others)} on host {socket.gethostname()}" if others else ""


def _program(pid: int) -> str:
    with suppress(OSError):
        return f" ({Path(f'/proc/{pid}/comm').read_text(encoding='utf-8').strip()})"
    return ""
