"""Surroundings of a command: home, locale, terminal, streams, disk or folder are not as usual."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from campaigns.faults import WRITES, Count, Place, halved
from campaigns.signals import PROGRAM

COMMANDS = ("solve", "models import", "rack topology")
_DROP_OF_BOUNDING_SET, _WRITES_ANYWHERE = 24, 1
"""PR_CAPBSET_DROP of prctl(2), CAP_DAC_OVERRIDE of capabilities(7)."""


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
    "dumb terminal": {"env": {"TERM": "dumb", "FORCE_COLOR": "1"}},
    "20 columns": {"env": {"COLUMNS": "20", "TERM": "xterm", "FORCE_COLOR": "1"}},
    "1 column": {"env": {"COLUMNS": "1", "TERM": "xterm", "FORCE_COLOR": "1"}},
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
                if wrong := _wrong(done, how, place.files(), before, usual[command]):
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
    with ExitStack() as stack:
        out = None
        if wanted == "closed":  # whoever read it has gone
            reading, writing = os.pipe()
            os.close(reading)
            out = stack.enter_context(os.fdopen(writing, "wb"))
        elif wanted is not None:
            out = stack.enter_context(open(wanted, "wb"))
        return subprocess.run(
            words, cwd=cwd, env=env, text=True, timeout=120, check=False, stderr=subprocess.PIPE,
            stdout=out or subprocess.DEVNULL, preexec_fn=how.get("preexec"),
        )  # fmt: skip
