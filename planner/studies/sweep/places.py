"""Where a store may lie, and that one run at a time holds it: file systems, locks of others."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import is_folder
from planner.base.locks import holding as holding_file
from planner.base.messages import one_line
from planner.base.numerals import is_digits

_MOUNTS = Path("/proc/self/mounts")
_LOCKS = Path("/proc/locks")
_LOOKS_S = 0.25
"""Who only looks holds a lock for a moment."""
_ADVICE = "wait for its end, or watch it with planner sweep status"
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
        InputError: Another run holds it, its folder cannot be written to, or nothing here has
            locks, without which two runs could spoil it.
    """
    with holding_file(path, _LOOKS_S, _ADVICE) as held:
        if not held:
            raise InputError(f"{one_line(str(path))}: no file can be locked here; name another")
        yield


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
            if is_digits(holder) and is_digits(node) and int(node) in nodes:
                found[int(holder)] = None
    others = [f"process {pid}{_program(pid)}" for pid in found if pid != os.getpid()]
    return f" by {' and '.join(others)} on host {socket.gethostname()}" if others else ""


def _program(pid: int) -> str:
    with suppress(OSError):
        return f" ({Path(f'/proc/{pid}/comm').read_text(encoding='utf-8').strip()})"
    return ""
