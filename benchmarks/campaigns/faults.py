"""Faults: each call of the system by which a command writes fails in turn.

Within this process a fault takes the place of the k-th call of open, write, close, fsync, chmod,
rename, link or unlink, or comes as soon as the call has returned, for every k. Signals at random
moments are in `campaigns.signals`, surroundings that are not as usual in `campaigns.surroundings`.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from campaigns import samples
from campaigns.readers import FILES, FORMATS
from campaigns.running import Outcome, run
from planner.base.errors import ExitCode

_CALLS = ("open", "fsync", "chmod", "replace")
_OF_NAMES = ("link", "unlink")
"""Calls that are those of the command where the name lies in its folder."""
_SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp")
WRITES: Mapping[str, tuple[str, ...]] = {
    "solve": ("solve", *_SMALL, "-o", "OUT.yaml", "--pareto", "OUT.json", "--plot", "OUT.svg"),
    "evaluate": ("evaluate", "PLAN", "--plot", "OUT.html"),
    "export": ("export", "PLAN", "--to", "deepspeed", "--allow-lossy", "-o", "OUT"),
    "models import": ("models", "import", "CONFIG", "--name", "mine", "-o", "OUT.yaml"),
    "hardware new": (
        "hardware",
        "new",
        "--like",
        "h100-sxm5-80",
        "--name",
        "mine",
        "-o",
        "OUT.yaml",
    ),
    "collective synthesize": ("collective", "synthesize", "--topology", "ring:4", "-o", "OUT.json"),
    "calibrate": ("calibrate", "--failures", "FAILURES", "-o", "OUT.yaml"),
    "rack topology": ("rack", "topology", "ring:8", "--plot", "OUT.svg"),
    "sweep table": ("sweep", "table", "STORE", "--csv", "OUT.csv"),
}
_OF_ARROW = {
    f"sweep table, {name}": ("sweep", "table", "STORE", f"--{name}", f"OUT.{name}")
    for name in ("parquet", "arrow")
}
"""What the extra `sweep` writes: its library opens files by itself, and closes and writes them."""
if importlib.util.find_spec("pyarrow") is not None:
    WRITES = {**WRITES, **_OF_ARROW}
_HIDDEN = ".planner-"
"""How names of temporary files begin."""
OLD = b"what was here before\n"
OTHER = "other.txt"
"""A file in the folder of a command that no command writes."""
FAULTS: tuple[tuple[BaseException, bool], ...] = (
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), False),
    (KeyboardInterrupt(), True),
    (SystemExit(128 + signal.SIGTERM), True),
)
"""What is raised, and whether the call is made before: a full disk, and two signals."""


class Place:
    """A folder with what commands read, and names for what they write."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir()
        self._inside: dict[tuple[str, ...], list[str]] = {}
        given = {
            "PLAN": ("plan.yaml", (FORMATS / "plan-1.yaml").read_bytes()),
            "CONFIG": ("config.json", (FILES / "config.json").read_bytes()),
            "FAILURES": ("failures.csv", samples.FAILURES),
            "STORE": ("store.db", (FORMATS / "store-1.db").read_bytes()),
        }
        self.names = {word: str(folder / name) for word, (name, _) in given.items()}
        for name, content in given.values():
            (folder / name).write_bytes(content)

    def words(self, command: Sequence[str]) -> list[str]:
        """A command that writes into the folder of its own."""
        return [
            self.names.get(word, word.replace("OUT", str(self.out / "new"))
                           if word.startswith("OUT") else word)
            for word in command
        ]  # fmt: skip

    def cleared(self, command: Sequence[str], *, old: bool) -> None:
        """Nothing there, or old files where new ones go; in a folder also one that stays."""
        names = [Path(word) for word in self.words(command) if word.startswith(str(self.out))]
        written: list[Path] = []
        for path in names if old else ():
            inside = [] if path.suffix else [OTHER, *self._written(command)]
            written += [path / name for name in inside] or [path]
        self._clear()
        for path in written:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(OLD)

    def _written(self, command: Sequence[str]) -> list[str]:
        """Names of the files that a command writes into its folder."""
        key = tuple(command)
        if key not in self._inside:
            self._clear()
            run(*self.words(command))
            self._inside[key] = [Path(name).name for name in self.files()]
        return self._inside[key]

    def _clear(self) -> None:
        for path in sorted(self.out.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    def files(self) -> dict[str, bytes]:
        """What is in the folder."""
        return {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in self.out.rglob("*") if path.is_file()
        }  # fmt: skip


@dataclass(slots=True)
class Injection:
    """A fault at one call.

    Attributes:
        within: Where commands write; what is opened by name elsewhere is not theirs.
        at: Which call, from 0; -1: none, calls are counted alone.
        error: What is raised.
        after: Whether the call is made first.
        calls: Names of the calls that came so far.
        unsafe: What would be lost if power were cut.
        stuck: Names of files that the fault did not let go: nothing takes them away then.
    """

    within: Path
    at: int = -1
    error: BaseException = field(default_factory=OSError)
    after: bool = False
    calls: list[str] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    _kept: dict[int, tuple[int, int]] = field(default_factory=dict)
    _renamed: dict[int, str] = field(default_factory=dict)
    _files: list[Any] = field(default_factory=list)

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A call that may fail; a file that fails to be closed is closed nevertheless."""

        def called(*given: Any, **named: Any) -> Any:
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

    def _opened(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`io.open`, whose files may fail at each write and when they are closed."""

        def noted(*given: Any, **named: Any) -> Any:
            self._files.append(real(*given, **named))
            return self._files[-1]

        def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            mine = isinstance(file, int) or Path(file).is_relative_to(self.within)
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
            if mine and self._kept.get(found.st_ino) != _written(found):
                self.unsafe.append(f"{Path(target).name} is renamed before it is kept by fsync")
            real(source, target)
            if mine:
                self._renamed[os.stat(Path(target).parent).st_ino] = Path(target).name

        return replaced

    def _named(self, name: str, real: Callable[..., None]) -> Callable[..., None]:
        """A call that gives or takes a name, which may fail where it lies in the folder."""
        failing = self.around(name, real)

        def called(path: Any, *given: Any, **named: Any) -> None:
            mine = Path(os.fsdecode(path)).is_relative_to(self.within)
            if mine and name == "unlink" and len(self.calls) == self.at and not self.after:
                self.stuck.append(Path(os.fsdecode(path)).name)
            (failing if mine else real)(path, *given, **named)

        return called

    def _left(self) -> None:
        """Notes what the last rename of a folder may lose."""
        for name in self._renamed.values():
            self.unsafe.append(f"{name} is renamed, and its folder not kept by fsync")

    def _close(self) -> None:
        """Closes what was opened, also where its opener was told that it was not."""
        for file in self._files:
            with suppress(OSError, ValueError):
                file.close()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Inside of it the calls by which a command writes go through this."""
        noted = {"fsync": self._synced(os.fsync), "replace": self._replaced(os.replace)}
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


def injected(told: Callable[[str], None], only: str = "") -> Iterator[tuple[str, Count]]:
    """Every fault at every call of each command that writes, over nothing and over old files."""
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for command, words in WRITES.items():
            if only in command:
                yield command, _of_command(command, words, place, told)


def _of_command(
    name: str, words: Sequence[str], place: Place, told: Callable[[str], None]
) -> Count:
    count = Count()
    for old in (False, True):
        place.cleared(words, old=old)
        before, injection = place.files(), Injection(within=place.out)
        with injection.installed():
            done = run(*place.words(words))
        whole = place.files()
        if not done.answered or whole.keys() == before.keys() == set():
            told(f"{name}: wrote nothing: {done.err}")
        for line in injection.unsafe:
            count.faults += 1
            told(f"{name}: {line}")
        for error, after in FAULTS:
            for at in itertools.count():
                place.cleared(words, old=old)
                one = Injection(within=place.out, at=at, error=_anew(error), after=after)
                with one.installed():
                    found = run(*place.words(words))
                if at >= len(one.calls):  # it came to its end before
                    break
                count.tried += 1
                files = place.files()
                stuck = {name for name in one.stuck if name.startswith(_HIDDEN)}
                left = [name for name in files if Path(name).name in stuck]
                count.left += len(left)
                kept = {name: files[name] for name in files if name not in left}
                if wrong := _wrong(found, error, done.out, kept, before, whole):
                    count.faults += 1
                    told(f"{name}: {one.calls[at]} {at} {error!r} {after=}: {wrong}")
            count.calls += at if error is FAULTS[0][0] else 0
    return count


def _anew(error: BaseException) -> BaseException:
    """Such an error that was never raised; one that was keeps where, each time."""
    return type(error)(*error.args)


def _wrong(
    done: Outcome, error: BaseException, answer: str, files: Mapping[str, bytes],
    before: Mapping[str, bytes], whole: Mapping[str, bytes],
) -> str:  # fmt: skip
    """What is not as it should be after a fault; empty: all is. `answer`: printed without one."""
    if wrong := halved(files, before, whole):
        return wrong
    if isinstance(error, KeyboardInterrupt):
        return "" if done.code == ExitCode.INTERRUPTED else f"exit code {done.code}: {done.err}"
    if isinstance(error, SystemExit):
        return "" if done.code == error.code else f"exit code {done.code}: {done.err}"
    fault = done.fault(answer)
    return "" if done.code in (0, 2, 5) and not fault else f"{done.code}: {fault}"


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
