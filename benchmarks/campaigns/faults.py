"""Faults: each call of the system by which a command writes fails in turn.

Within this process a fault takes the place of the k-th call of open, write, close, fsync, chmod,
rename, link, unlink, mkdir or rmdir, or comes as soon as the call has returned, for every k.
Signals at random moments are in `campaigns.signals`, surroundings that are not as usual in
`campaigns.surroundings`.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import io
import itertools
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from campaigns.place import STORE, WRITES, Place
from campaigns.running import Outcome, run
from planner.base.errors import ExitCode

_CALLS = ("open", "fsync", "chmod", "replace")
_OF_NAMES = ("link", "unlink", "mkdir", "rmdir")
"""Calls that are those of the command where the name lies in its folder."""
_HIDDEN, _LOCK, _FOLDER = ".planner-", ".lock", "/"
"""How names of temporary files begin, and how those of locks and folders end."""
FAULTS: tuple[tuple[BaseException, bool], ...] = (
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), False),
    (KeyboardInterrupt(), True),
    (SystemExit(128 + signal.SIGTERM), True),
)
"""What is raised, and whether the call is made before: a full disk, and two signals."""


@dataclass(slots=True)
class Injection:
    """A fault at one call.

    Attributes:
        within: Where commands write; what is opened by name elsewhere is not theirs.
        at: Which call, from 0; -1: none, calls are counted alone.
        error: What is raised.
        after: Whether the call is made first.
        calls: Names of the calls that came so far.
        links: Whether a file may have several names.
        unsafe: What would be lost if power were cut.
        stuck: Names of what the fault did not let go: nothing takes it away then.
    """

    within: Path
    at: int = -1
    error: BaseException = field(default_factory=OSError)
    after: bool = False
    links: bool = True
    calls: list[str] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    _old: set[int] = field(default_factory=set)
    _kept: dict[int, tuple[int, int]] = field(default_factory=dict)
    _renamed: dict[int, str] = field(default_factory=dict)
    _files: list[Any] = field(default_factory=list)

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A call that may fail; a file that fails to be closed is closed nevertheless."""

        def called(*given: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return real(*given, **named)  # of a library; no signal is raised there either
            mine = len(self.calls) == self.at
            self.calls.append(name)
            if mine and not self.after and name != "close":
                raise self.error
            try:
                found = real(*given, **named)
            except OSError:
                if mine:  # a signal comes also where the call fails by itself
                    raise self.error from None
                raise
            if mine:
                raise self.error
            return found

        return called

    def _is_within(self, file: Any) -> bool:
        """Whether a name, or a descriptor where the system says of what, is of the folder."""
        if not isinstance(file, int):
            return Path(file).is_relative_to(self.within)
        link = Path("/proc/self/fd") / str(file)
        return not link.is_symlink() or link.resolve().is_relative_to(self.within.resolve())

    def _opened(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`io.open`, whose files may fail at each write and when they are closed."""

        def noted(*given: Any, **named: Any) -> Any:
            self._files.append(real(*given, **named))
            return self._files[-1]

        def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            mine = self._is_within(file)
            if not (mine and set(mode) & set("wax+")):
                return real(file, mode, *given, **named)
            opening = noted if isinstance(file, int) else self.around("open", noted)
            made = opening(file, mode, *given, **named)
            wrapped = mock.MagicMock(wraps=made)
            wrapped.__enter__.return_value = wrapped
            wrapped.close.side_effect = self.around("close", made.close)
            wrapped.__exit__.side_effect = lambda *_: wrapped.close()
            wrapped.write.side_effect = self.around("write", made.write)
            return wrapped

        return opened

    def _synced(self, real: Callable[[int], None]) -> Callable[[int], None]:
        """`os.fsync`, which notes what of a file or a folder is kept when power is cut."""

        def synced(descriptor: int) -> None:
            real(descriptor)
            found = os.fstat(descriptor)
            self._kept[found.st_ino] = _written(found)
            self._renamed.pop(found.st_ino, None)

        return synced

    def _replaced(self, real: Callable[..., None]) -> Callable[..., None]:
        """`os.replace`, which notes a file that is not kept so."""

        def replaced(source: Any, target: Any) -> None:
            found = os.stat(source)
            mine = Path(target).is_relative_to(self.within)  # caches are sealed, and made anew
            kept = found.st_ino in self._old or self._kept.get(found.st_ino) == _written(found)
            if mine and not kept:
                self.unsafe.append(f"{Path(target).name} is renamed before it is kept by fsync")
            real(source, target)
            if mine:
                self._noted(Path(target), "renamed")

        return replaced

    def _noted(self, path: Path, what: str) -> None:
        """Notes a name that its folder has to keep."""
        self._renamed[path.parent.stat().st_ino] = f"{path.name} is {what}"

    def _named(self, name: str, real: Callable[..., None]) -> Callable[..., None]:
        """A call that gives or takes a name, which may fail where it lies in the folder."""
        failing = self.around(name, real)

        def called(path: Any, *given: Any, **named: Any) -> None:
            at = Path(os.fsdecode(path))
            mine = at.is_relative_to(self.within)
            if mine and name == "link" and not self.links:
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
            if mine and len(self.calls) == self.at and not self.after:
                self.stuck += {"unlink": [at.name], "rmdir": [_FOLDER]}.get(name, [])
            (failing if mine else real)(path, *given, **named)
            if mine and name == "mkdir":
                self._noted(at, "made")

        return called

    def _left(self) -> None:
        """Notes what the last rename of a folder may lose, unless the fault itself is why."""
        if self.at == -1:
            self.unsafe += [
                f"{said}, and its folder not kept by fsync" for said in self._renamed.values()
            ]

    def _close(self) -> None:
        """Closes what was opened, also where its opener was told that it was not."""
        for file in self._files:
            with suppress(OSError, ValueError):
                file.close()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Inside of it the calls by which a command writes go through this."""
        noted = {"fsync": self._synced(os.fsync), "replace": self._replaced(os.replace)}
        self._old = {path.stat().st_ino for path in self.within.rglob("*")}
        with ExitStack() as stack:
            stack.callback(self._close)
            stack.callback(self._left)
            for name in _CALLS:
                real = noted.get(name, getattr(os, name))
                stack.enter_context(mock.patch(f"os.{name}", self.around(name, real)))
            for name in _OF_NAMES:
                stack.enter_context(mock.patch(f"os.{name}", self._named(name, getattr(os, name))))
            opened = self._opened(io.open)
            for name in ("io.open", "builtins.open"):  # `Path.open` and `os.fdopen` call the first
                stack.enter_context(mock.patch(name, opened))
            for writer, name in _writers_of_arrow():
                call = self.around(name.partition("_")[0], getattr(writer, name))
                stack.enter_context(
                    mock.patch.object(writer, name, lambda *given, call=call: call(*given))
                )
            yield


def _written(status: os.stat_result) -> tuple[int, int]:
    """How long a file is, and when it was written last."""
    return status.st_size, status.st_mtime_ns


def _writers_of_arrow() -> list[tuple[Any, str]]:
    """What of the library writes and closes a file; empty: it is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return []
    stream = importlib.import_module("pyarrow.ipc").RecordBatchFileWriter
    table = importlib.import_module("pyarrow.parquet").ParquetWriter
    return list(itertools.product((stream, table), ("write_table", "close")))


@dataclass(slots=True)
class Count:
    """How one command fared.

    Attributes:
        calls: Of the system, by which it writes.
        tried: Faults that were put in.
        left: Temporary files after the call failed that takes them away.
        faults: What should not be.
    """

    calls: int = 0
    tried: int = 0
    left: int = 0
    faults: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usual:
    """A command without a fault: what was there before and after it, and what it said."""

    before: Mapping[str, bytes]
    whole: Mapping[str, bytes]
    done: Outcome


def injected(told: Callable[[str], None], only: str = "") -> Iterator[tuple[str, Count]]:
    """Every fault at every call of each command that writes, over nothing and over old files.

    Several files are written once more where no file may have a second name (exFAT, SMB).
    """
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for command, words in WRITES.items():
            if only not in command:
                continue
            yield command, _of_command(command, words, place, told)
            new = [word for word in words if word.startswith("OUT")]
            if len(new) > 1 or not Path(new[0]).suffix:
                unlinked = f"{command}, no hard links"
                yield unlinked, _of_command(unlinked, words, place, told, links=False)


def _of_command(
    name: str, words: Sequence[str], place: Place, told: Callable[[str], None], *,
    links: bool = True,
) -> Count:  # fmt: skip
    count = Count()
    for old in (False, True):
        place.cleared(words, old=old)
        before, injection = place.entries(), Injection(within=place.out, links=links)
        with injection.installed():
            done = run(*place.words(words))
        usual = _Usual(before=before, whole=place.entries(), done=done)
        said = [*injection.unsafe]
        if not done.answered or not usual.whole or (usual.whole == before and not _adds(words)):
            said.append(f"wrote nothing: {done.err}")
        for error, after in FAULTS:
            for at in itertools.count():
                place.cleared(words, old=old)
                one = Injection(place.out, at, _anew(error), after, links)
                found, entries = _injected(one, words, place)
                if at >= len(one.calls):  # it came to its end before
                    break
                count.tried += 1
                kept, left = _parted(entries, one.stuck)
                count.left += len(left)
                wrong = _wrong(found, error, usual, kept) or "".join(one.unsafe[:1])
                if wrong := wrong or _broken(words, place):
                    said.append(f"{one.calls[at]} {at} {error!r} {after=}: {wrong}")
            count.calls += at if error is FAULTS[0][0] else 0
        count.faults += len(said)
        for line in said:
            told(f"{name}: {line}")
    return count


def _injected(
    one: Injection, words: Sequence[str], place: Place
) -> tuple[Outcome, dict[str, bytes]]:
    """A command with a fault, and what it leaves."""
    with one.installed():
        found = run(*place.words(words))
    return found, place.entries()


def _adds(words: Sequence[str]) -> bool:
    """Whether a command adds to a store."""
    return any(word.startswith("OUT") and word.endswith(STORE) for word in words)


def _broken(words: Sequence[str], place: Place) -> str:
    """Why a command cannot go on with the store that a fault left; empty: it can, or has none."""
    again = run(*place.words(words)) if _adds(words) else None
    return "" if again is None or again.answered else f"cannot go on: {again.err}"


def _parted(
    entries: Mapping[str, bytes], stuck: Sequence[str]
) -> tuple[dict[str, bytes], list[str]]:
    """What a command is asked for, and names of what only the fault left."""
    left = [
        name for name in entries
        if (_FOLDER in stuck and name.endswith(_FOLDER))
        or (Path(name).name in stuck and (Path(name).name.startswith(_HIDDEN)
                                          or name.endswith(_LOCK)))
    ]  # fmt: skip
    return {name: entries[name] for name in entries if name not in left}, left


def _anew(error: BaseException) -> BaseException:
    """Such an error that was never raised; one that was keeps where, each time."""
    return type(error)(*error.args)


def _wrong(done: Outcome, error: BaseException, usual: _Usual, files: Mapping[str, bytes]) -> str:
    """What is not as it should be after a fault; empty: all is."""
    if wrong := halved(files, usual.before, usual.whole):
        return wrong
    if isinstance(error, KeyboardInterrupt):
        ends = (ExitCode.INTERRUPTED, ExitCode.UNFINISHED)  # a study says that it can go on
        return "" if done.code in ends else f"exit code {done.code}: {done.err}"
    if isinstance(error, SystemExit):
        return "" if done.code == error.code else f"exit code {done.code}: {done.err}"
    fault = done.fault(usual.done.out)
    return "" if done.code in (usual.done.code, 2, 5) and not fault else f"{done.code}: {fault}"


def halved(
    files: Mapping[str, bytes], before: Mapping[str, bytes], whole: Mapping[str, bytes], *,
    together: bool = True,
) -> str:  # fmt: skip
    """What of some files is neither as it was nor as it is to be; empty: nothing.

    Args:
        files: What is there.
        before, whole: What was there, and what a command leaves that nothing happens to.
        together: Whether they are all old or all new.
    """
    for name, content in files.items():
        if name not in whole and name not in before:
            return f"{name} is left"
        if content not in (before.get(name), whole.get(name)):
            return f"{name} is neither the old file nor the new one"
    changed = [name for name in whole if whole[name] != before.get(name)]
    new = [name for name in changed if files.get(name) == whole[name]]
    old = [name for name in changed if files.get(name) == before.get(name)]
    gone = [name for name in before if name not in files]
    if gone:
        return f"{gone[0]} is gone"
    return f"{new[0]} is new and {old[0]} is not" if together and new and old else ""
