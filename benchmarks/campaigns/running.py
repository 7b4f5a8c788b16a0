"""Commands run inside this process, with all that they may do wrong noticed."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.base.errors import ExitCode, InputError
from planner.cli.main import ended as said_of
from planner.cli.main import main

ANSWERED = (ExitCode.OK, ExitCode.CHECK_FAILED, ExitCode.INFEASIBLE, ExitCode.TIME_LIMIT)
MOST_LINES, LONGEST_LINE = 11, 820
CPU_S, MEMORY_BYTES = 2.0, 500e6
COMMAND_CPU_S = 30.0
"""Of a command that works something out, where an input may take `CPU_S`."""
_HANGS_S = 120.0
_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did.

    Attributes:
        words: It.
        code: Its exit code; -1: it raised what it should not.
        out, err: What it printed.
        cpu_s: CPU seconds.
        more_bytes: The largest memory of this process meanwhile, beyond that at its start.
    """

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    cpu_s: float
    more_bytes: float

    @property
    def answered(self) -> bool:
        """Whether it gave an answer, a refusal being none."""
        return self.code in ANSWERED

    @property
    def document(self) -> Any:
        """The JSON that it printed; NaN is none."""
        return json.loads(self.out, parse_constant=_no_constant)

    def fault(self, answer: str = "") -> str:
        """What is wrong with it as a command that may refuse its input; empty: nothing.

        `answer`: what it may have printed though its files could not be written.
        """
        if self.code == -1:
            return self.err
        if not (self.answered or self.code == ExitCode.INPUT):
            return f"exit code {self.code}"
        if "Traceback" in self.err or "Warning" in self.err or _ESCAPES.search(self.err):
            return f"said {self.err[-300:]!r}"
        lines = self.err.splitlines()
        if len(lines) > MOST_LINES or any(len(line) > LONGEST_LINE for line in lines):
            return f"{len(lines)} lines, the longest of {max(map(len, lines))} characters"
        if self.code == ExitCode.INPUT:
            told = lines and all(line.startswith("error: ") for line in lines)
            silent = self.out == "" or self._begins(self.out) == self._begins(answer)
            return "" if told and silent else f"refused with {self.err!r} and {self.out!r}"
        return self._wrong_document()

    def _begins(self, text: str) -> str:
        """The first part of what it prints: what follows may name files that were written.

        Where one is not, what it would hold is called by the name that it has of it.
        """
        for path in [Path(word) for word in self.words if os.sep in word]:
            text = text.replace(str(path), path.stem)
        return text.partition("\n\n")[0]

    def _wrong_document(self) -> str:
        if "--json" not in self.words:
            return ""
        try:
            found = self.document
        except ValueError as error:
            return f"no JSON: {error}"
        return "" if isinstance(found, dict) else "no JSON object"

    def cost(self, cpu_s: float = CPU_S) -> str:
        """What it took beyond the limits, of an input where none are told; empty: nothing."""
        if self.cpu_s > cpu_s:
            return f"{self.cpu_s:.1f} CPU s"
        return f"{self.more_bytes / 1e6:.0f} MB" if self.more_bytes > MEMORY_BYTES else ""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def run(*words: object) -> Outcome:
    """Runs `planner WORDS`, whatever it raises, in an empty folder.

    Some commands write to a name of their own where they are told none.
    """
    return _noticed(tuple(map(str, words)), main)


def read(reading: Callable[[Path], object], path: Path) -> Outcome:
    """Reads a file as a command does that refuses it, without the command."""

    def called() -> None:
        try:
            reading(path)
        except InputError as error:
            raise SystemExit(int(said_of(error))) from error

    return _noticed((str(path),), called)


def _noticed(told: tuple[str, ...], called: Callable[[], object]) -> Outcome:
    """What a call does, with the words of the command line that it sees."""
    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0
    sys.argv = ["planner", *told]
    started, memory = time.process_time(), _most_bytes(anew=True)
    try:
        with (
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _ended(),
            warnings.catch_warnings(), _apart(),
        ):  # fmt: skip
            warnings.simplefilter("always")
            called()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else -1
    except BaseException as error:
        code = -1
        last = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})", file=err)
    finally:
        sys.argv = before
    return Outcome(
        words=told, code=code, out=out.getvalue(), err=err.getvalue(),
        cpu_s=time.process_time() - started, more_bytes=_most_bytes() - memory,
    )  # fmt: skip


_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK = re.compile(rb"VmHWM:\s+(\d+) kB")


def _most_bytes(*, anew: bool = False) -> float:
    """The largest memory of this process, since it was last taken anew.

    Where the system cannot forget an earlier one, it is that of the whole life of the process: an
    input that takes less than an earlier one is not noticed there.
    """
    if anew and os.access(_FORGET, os.W_OK):
        _FORGET.write_bytes(b"5")  # proc(5): the peak becomes what is resident now
    if _STATUS.is_file() and (found := _PEAK.search(_STATUS.read_bytes())):
        return 1024.0 * int(found[1])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class HungError(BaseException):
    """A command had not ended; no error that a command may turn into a refusal."""


@contextlib.contextmanager
def _ended() -> Iterator[None]:
    """Ends what would never end."""

    def late(*_: object) -> None:
        raise HungError(f"not done after {_HANGS_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@functools.cache
def _scratch() -> Path:
    """A folder of this process, for as long as it runs."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Inside of it the current folder is an empty one, which is empty again afterwards."""
    with contextlib.chdir(_scratch()):
        try:
            yield
        finally:
            for path in [*_scratch().iterdir()]:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def filled(command: Sequence[str], **places: object) -> tuple[str, ...]:
    """A command with names in place of words in capitals."""
    return tuple(str(places[word]) if word in places else word for word in command)
