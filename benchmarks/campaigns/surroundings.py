"""Surroundings of a command: home, locale, terminal, streams, disk or folder are not as usual.

Terminals are pseudo-terminals, one behind standard output and one behind standard error. On a dumb
one nothing may come that steers it. What is laid out (tables and the text around them) is no wider
than the terminal, down to one column; lines that are printed as they are, such as notes of `models
import`, are left to the terminal, which wraps them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from campaigns.faults import halved
from campaigns.place import WRITES, Place
from campaigns.signals import PROGRAM

COMMANDS = ("solve", "models import", "rack topology")
_LAID_OUT = ("solve", "rack topology")
_OF_TERMINALS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
"""Variables that would say what the terminal itself has to say."""
_STEERS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_DROP_OF_BOUNDING_SET, _WRITES_ANYWHERE = 24, 1
"""PR_CAPBSET_DROP of prctl(2), CAP_DAC_OVERRIDE of capabilities(7)."""


@dataclass(slots=True)
class Count:
    """How commands fared in one of them."""

    tried: int = 0
    faults: int = 0


def _limited() -> None:
    """A process whose files may hold a kilobyte."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def _no_more_than_others() -> None:
    """A process that the modes of files and folders hold for, also where root runs it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_DROP_OF_BOUNDING_SET, _WRITES_ANYWHERE, 0, 0, 0)


SURROUNDINGS: Mapping[str, Mapping[str, Any]] = {
    "no HOME": {"without": ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")},
    "HOME that is no folder": {"env": {"HOME": "/nowhere"}},
    "C locale": {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "dumb terminal": {"env": {"TERM": "dumb"}, "without": _OF_TERMINALS, "columns": 80},
    "20 columns": {"env": {"TERM": "xterm"}, "without": _OF_TERMINALS, "columns": 20},
    "1 column": {"env": {"TERM": "xterm"}, "without": _OF_TERMINALS, "columns": 1},
    "closed pipe": {"stdout": "closed"},
    "read-only folder": {"mode": 0o555, "preexec": _no_more_than_others, "codes": (2,)},
    "full disk behind standard output": {"stdout": "/dev/full", "codes": (2,)},
    "files of at most a kilobyte": {"preexec": _limited, "codes": (0, 2)},
    "a folder that has vanished": {"cwd": "gone", "codes": (0, 2)},
}


def surrounded(told: Callable[[str], None], only: str = "") -> Iterator[tuple[str, Count]]:
    """A few commands where home, locale, terminal, streams, disk or folder are not as usual.

    Args:
        told: Called with a line for each fault.
        only: Part of the names of surroundings.
    """
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        usual = {command: _files_of(place, command) for command in COMMANDS}
        for what, how in SURROUNDINGS.items():
            if only not in what:
                continue
            count = Count()
            for command in COMMANDS:
                place.cleared(WRITES[command], old=True)
                before = place.files()
                place.out.chmod(how.get("mode", 0o755))
                done = _run_in(place, WRITES[command], how)
                place.out.chmod(0o755)
                count.tried += 1
                wrong = _wrong(done, how, place.files(), before, usual[command])
                if wrong := wrong or _on_terminal(done, how, laid_out=command in _LAID_OUT):
                    count.faults += 1
                    told(f"{what}: {command}: {wrong} {done.stderr[-500:]}")
            yield what, count


def _files_of(place: Place, command: str) -> dict[str, bytes]:
    """What a command leaves where all is as usual."""
    place.cleared(WRITES[command], old=True)
    done = _run_in(place, WRITES[command], {})
    if done.returncode != 0:
        raise SystemExit(f"error: {command}: {done.stderr}")
    return place.files()


def _wrong(
    done: subprocess.CompletedProcess[str], how: Mapping[str, Any], files: Mapping[str, bytes],
    before: Mapping[str, bytes], whole: Mapping[str, bytes],
) -> str:  # fmt: skip
    """What is not as it should be; empty: all is."""
    if "Traceback" in done.stderr or done.returncode not in how.get("codes", (0,)):
        return f"exit code {done.returncode}"
    if wrong := halved(files, before, whole):
        return wrong
    return "nothing is written" if done.returncode == 0 and files != whole else ""


def _on_terminal(
    done: subprocess.CompletedProcess[str], how: Mapping[str, Any], *, laid_out: bool
) -> str:
    """What a terminal was not to get; empty: nothing, or it is none."""
    if "columns" not in how:
        return ""
    if not done.stdout.strip():
        return "nothing is printed"
    if how["env"]["TERM"] == "dumb":
        found = _CONTROL.search(done.stdout + done.stderr)
        return f"a dumb terminal gets {found[0]!r}" if found else ""
    if laid_out and not _STEERS.search(done.stdout):
        return "no style is printed: it took the terminal for none"
    lines = [_STEERS.sub("", line) for line in done.stdout.splitlines()] if laid_out else []
    wide = [line for line in lines if cell_len(line) > how["columns"]]
    return f"a line is wider than {how['columns']}: {wide[0]!r}" if wide else ""


@contextmanager
def _terminal(columns: int, took: list[str]) -> Iterator[int]:
    """A pseudo-terminal to write to; what it took is there when it is closed."""
    reading, writing = os.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pieces: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # EIO: nobody writes any longer
            while piece := os.read(reading, 65_536):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield writing
    finally:
        os.close(writing)
        reader.join()
        os.close(reading)
        took.append(b"".join(pieces).decode("utf-8", "replace").replace("\r\n", "\n"))


def _run_in(
    place: Place, command: Sequence[str], how: Mapping[str, Any]
) -> subprocess.CompletedProcess[str]:
    """A command in its surroundings."""
    env = {**os.environ, **how.get("env", {})}
    for variable in how.get("without", ()):
        env.pop(variable, None)
    cwd = place.folder / "gone" if "cwd" in how else place.folder
    cwd.mkdir(exist_ok=True)
    wanted = how.get("stdout")
    words = [*PROGRAM, *place.words(command)]
    if "cwd" in how:
        words = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *words]
        env["PYTHONPATH"] = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
    took: list[str] = []
    with ExitStack() as stack:
        out: Any = None
        err: Any = subprocess.PIPE
        if wanted == "closed":  # whoever read it has gone
            reading, writing = os.pipe()
            os.close(reading)
            out = stack.enter_context(os.fdopen(writing, "wb"))
        elif wanted is not None:
            out = stack.enter_context(open(wanted, "wb"))
        if "columns" in how:  # the one that is left first is that of standard output
            err, out = (stack.enter_context(_terminal(how["columns"], took)) for _ in range(2))
        done = subprocess.run(
            words, cwd=cwd, env=env, text=True, timeout=120, check=False, stderr=err,
            stdout=out or subprocess.DEVNULL, preexec_fn=how.get("preexec"),
        )  # fmt: skip
    if took:
        done.stdout, done.stderr = took
    return done
