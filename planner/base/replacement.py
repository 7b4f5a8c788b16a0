"""How files take the place of others: whole, with their owner and mode, all of several or none."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from planner.base.errors import InputError
from planner.base.messages import one_line

BAD_PATHS = (OSError, ValueError)  # ValueError: a path with a NUL or half a character
_NEW_FILE_MODE = 0o666  # less what the umask takes away
_ACL = "system.posix_acl_access"
_BY_DESCRIPTOR = {os.chmod, os.utime} <= os.supports_fd


def despite_signals(call: Callable[[], None]) -> None:
    """Makes a call to its end: after each signal it is made again, then the last signal counts."""
    last: KeyboardInterrupt | SystemExit | None = None
    while True:
        try:
            call()
            break
        except (KeyboardInterrupt, SystemExit) as signal:
            last = signal
    if last is not None:
        raise last


def reason_of(error: OSError | ValueError) -> str:
    """Why a file cannot be used, in words for a message."""
    words = error.strerror if isinstance(error, OSError) else None
    return one_line(words or str(error)).lower()


def name_beside(target: str) -> str:
    """A name for a temporary file in the folder of another."""
    import secrets  # noqa: PLC0415  (takes a millisecond or two; only when a file is written)

    return os.path.join(os.path.dirname(target), f".planner-{secrets.token_hex(8)}")


class Rights(NamedTuple):
    """Who may do what with a file: its status, and its access control list where it has one."""

    status: os.stat_result
    acl: bytes


def rights_of(target: str) -> Rights | None:
    """Owner, group, mode and access control list of the file that is there already.

    Raises:
        OSError: It cannot be replaced by a file.
    """
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise OSError("it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a regular file")
    if not os.access(target, os.W_OK):
        raise OSError("the file there is read-only")
    return Rights(status, _acl_of(target))


def _acl_of(file: str) -> bytes:
    """Empty: it has none, or the system has no such lists."""
    try:
        return os.getxattr(file, _ACL)
    except (OSError, AttributeError):
        return b""


def _has_acl(file: int | str, acl: bytes) -> bool:
    """Gives a file an access control list, or none as folders give it; whether it is so then."""
    try:
        if acl:
            os.setxattr(file, _ACL, acl)
        else:
            os.removexattr(file, _ACL)
    except (OSError, AttributeError):  # there is none, or the system has no such lists
        return not acl
    return True


@contextlib.contextmanager
def new_file(path: str, like: Rights | None) -> Iterator[IO[bytes]]:
    """A file to write to, on the disk at the end.

    Args:
        path: Of the file, which must not be there.
        like: Rights that it gets before anything is in it, as far as the process may give them;
            None: those of new files.
    """
    private = _NEW_FILE_MODE if like is None else stat.S_IRUSR | stat.S_IWUSR
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, private)
    with os.fdopen(descriptor, "wb") as file:
        if like is not None:
            _make_like(descriptor if _BY_DESCRIPTOR else path, like)
        yield file
        file.flush()
        os.fsync(file.fileno())  # else a crash of the machine may leave an empty file


def _make_like(file: int | str, like: Rights) -> None:
    """Gives a file the rights of another; nobody gets more than before where they cannot stay."""
    old = like.status
    made, owner, group = os.stat(file), old.st_uid, old.st_gid
    if (made.st_uid, made.st_gid) != (owner, group):
        for given in ((owner, group), (-1, group), (owner, -1)):
            with contextlib.suppress(OSError):
                os.chown(file, *given)
                break
        made = os.stat(file)
    mode = stat.S_IMODE(old.st_mode)
    kept = _has_acl(file, like.acl)  # else bits of the group are those of the list
    if made.st_gid != group or not kept:
        of_others = (mode & stat.S_IRWXO) << 3
        mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | mode & of_others
    os.chmod(file, mode if made.st_uid == owner else mode & ~stat.S_ISUID)


def rename(temporary: str, target: str) -> None:
    """Puts a file in its place, and the folder on the disk, which a power cut may undo else."""
    os.replace(temporary, target)
    _sync_folder(os.path.dirname(target))


def _sync_folder(folder: str) -> None:
    with contextlib.suppress(OSError):  # a system whose folders cannot be opened
        descriptor = os.open(folder or os.curdir, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove(*paths: str) -> None:
    """Removes files, where they are there.

    Raises:
        InputError: Some stay; a line for each.
    """
    stay = []
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            stay.append(f"{one_line(path)}: cannot be removed ({reason_of(error)})")
    if stay:
        raise InputError("\n".join(stay))


class Replacements:
    """Files that take the place of others, which come back where one fails; see `all_or_none`."""

    def __init__(self) -> None:
        self._copies: dict[str, str] = {}
        self._new: list[str] = []
        self._replaced: list[str] = []

    def keep(self, target: str) -> None:
        """Keeps a file, or that there is none: all of them before the first is replaced.

        Raises:
            OSError: It cannot be kept.
        """
        if target in self._copies or target in self._new:
            raise OSError("another of the files goes to the same place")
        if os.path.lexists(target):
            self._copies[target] = name_beside(target)
            _copy(target, self._copies[target])
        else:
            self._new.append(target)

    def replace(self, temporary: str, target: str) -> None:
        """Puts a file in its place.

        Raises:
            OSError: It cannot be put there.
        """
        self._replaced.append(target)
        rename(temporary, target)

    def put_back(self) -> None:
        """Brings all that was replaced back to what was kept.

        Raises:
            InputError: Some is not; where its old content is, a line for each.
        """
        lost = []
        for target in (*self._replaced,):
            try:
                if target in self._copies:
                    rename(self._copies[target], target)
                elif target in self._new:
                    os.unlink(target)
                self._replaced.remove(target)
            except FileNotFoundError:  # it is as it was already
                self._replaced.remove(target)
            except OSError as error:
                copy = self._copies.pop(target, "")
                kept = f"; what it held is in {one_line(copy)}" if copy else ""
                lost.append(f"{one_line(target)}: cannot be put back ({reason_of(error)}){kept}")
        if lost:
            raise InputError("\n".join(lost))

    def done(self) -> None:
        """All are replaced: nothing comes back."""
        self._replaced.clear()

    def forget(self) -> None:
        """Removes what was kept, but of files that were replaced and have not come back.

        Raises:
            InputError: Some stays.
        """
        remove(*(copy for one, copy in self._copies.items() if one not in self._replaced))


def _copy(target: str, copy: str) -> None:
    """Gives a file a second name; a copy where the system has no such names."""
    try:
        os.link(target, copy)
    except OSError:
        import shutil  # noqa: PLC0415  (hardly ever)

        status = os.stat(target)
        like = Rights(status, _acl_of(target))
        with open(target, "rb") as source, new_file(copy, like) as file:
            shutil.copyfileobj(source, file)
            file.flush()
            at = file.fileno() if _BY_DESCRIPTOR else copy
            os.utime(at, ns=(status.st_atime_ns, status.st_mtime_ns))


@contextlib.contextmanager
def all_or_none() -> Iterator[Replacements]:
    """Brings all of several files back to what they were where one fails.

    Raises:
        InputError: See `Replacements`.
    """
    files = Replacements()
    try:
        yield files
        files.done()
    except BaseException:
        despite_signals(files.put_back)
        raise
    finally:
        despite_signals(files.forget)


@contextlib.contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """A folder, made with those above it; what was made goes again where what follows fails.

    Raises:
        OSError: It cannot be made, or is no folder.
    """
    made: list[Path] = []
    try:
        for one in (*reversed(folder.parents), folder):
            if not one.is_dir():
                _make_folder(one, made)
        yield
    except BaseException:
        despite_signals(lambda: _remove_folders(made))
        raise


def _make_folder(folder: Path, made: list[Path]) -> None:
    made.append(folder)  # a signal may come as soon as it is there
    try:
        folder.mkdir()
    except FileExistsError:
        made.remove(folder)  # somebody else was faster
        if not folder.is_dir():
            raise
    _sync_folder(str(folder.parent))


def _remove_folders(made: list[Path]) -> None:
    for one in reversed(made):
        with contextlib.suppress(OSError):  # somebody else has put something there
            one.rmdir()
