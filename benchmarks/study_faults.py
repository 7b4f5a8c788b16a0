"""What a run of `planner sweep` says where something goes wrong, and what is lost by it.

    python benchmarks/study_faults.py
    python benchmarks/study_faults.py --only clocks,scheduler

Each row is one fault, made in earnest while real commands run: a file system that is full or
cannot be written to (mounted for it, which needs root), locks, damage, a scheduler that is killed
and comes back a minute later, clocks that are set, memory that runs out. Printed are the line that
the command says, its exit code, how many answers are stored then, and what the same command does
once the fault is gone. Its answers are compared, each, with those of a study that nothing
disturbed; the exit status is 1 where one is lost, twice or different.
`--points 10000 --only undisturbed` compares two studies of so many points, one of them killed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import measuring
from measuring import Report, Table
from sweeping import SMALL_JOB, WORKERS, answers, crossed, workers_of

from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.store import Store

STORE, STUDY = "study.db", "study.yaml"
PROCESS = re.compile(r"process \d+(?: \(\w+\))? on host \S+?(?=[;)]|$)")
LOOK_S, LONG_S = 0.1, 600.0
AWAY_S, LOCKED_S = 60.0, 40.0
FULL_BYTES, ROOMY = 1_000_000, "size=512m"
NO_MEMORY = 64 * 2**20  # bytes of address space, of which a worker has far more by then
JUMPED = '''"""Clocks of a process that are set by the number of seconds in a file."""
import pathlib, time
_file, _time, _time_ns = pathlib.Path({file!r}), time.time, time.time_ns
def _shift():
    try:
        return float(_file.read_text())
    except (OSError, ValueError):
        return 0.0
time.time = lambda: _time() + _shift()
time.time_ns = lambda: _time_ns() + int(1e9 * _shift())
'''


class NotPossibleError(Exception):
    """This machine does not allow a fault to be made."""


class Tried(NamedTuple):
    """What a command did: its exit code, its last line of an error, answers that are stored."""

    exit: int
    said: str
    stored: int


class Place:
    """A folder with a study of so many points, at least, in which commands run."""

    def __init__(self, folder: Path, points: int) -> None:
        self.folder, self.store = folder, folder / STORE
        axes = crossed(points)
        self.points = math.prod(map(len, axes.values()))
        text = json.dumps({"job": SMALL_JOB, "cross": axes}, indent=1)
        (folder / STUDY).write_text(text, encoding="utf-8")
        self.options: tuple[str, ...] = ("--workers", str(WORKERS))
        self.environment: Mapping[str, str] = {}

    def started(self, *more: str) -> subprocess.Popen[str]:
        """The command of the study, in a session of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "planner", "sweep", "run", STUDY, "-o", STORE, *self.options,
             *more],
            cwd=self.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=os.environ | self.environment, start_new_session=True,
        )  # fmt: skip

    def ended(self, command: subprocess.Popen[str]) -> Tried:
        """What it said in the end."""
        _, errors = command.communicate(timeout=LONG_S)
        lines = [line for line in errors.splitlines() if line.startswith("error:")]
        said = lines[-1].removeprefix("error: ") if lines else ""
        said = PROCESS.sub("process 4711 on host node3", said)
        return Tried(command.returncode, said, answers(self.store))

    def reached(self, command: subprocess.Popen[str], share: float) -> None:
        """Waits until a command has stored so large a part.

        Raises:
            SystemExit: It ended before.
        """
        while answers(self.store) < share * self.points:
            if command.poll() is not None:
                raise SystemExit(f"error: the run ended too soon: {self.ended(command)}")
            time.sleep(LOOK_S)

    def cut_off(self, share: float = 0.3) -> None:
        """A run that is killed on its way, with its workers."""
        command = self.started()
        self.reached(command, share)
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
        command.communicate()


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A file system in memory on a folder.

    Raises:
        NotPossibleError: None can be mounted.
    """
    _mount(folder, "-t", "tmpfs", "-o", options, "tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)


def _mount(folder: Path, *words: str) -> None:
    try:
        done = subprocess.run(["mount", *words, str(folder)], check=False, capture_output=True)
    except OSError as error:
        raise NotPossibleError("no file system can be mounted") from error
    if done.returncode:
        raise NotPossibleError("no file system can be mounted here")


def disk_full(place: Place) -> Tried:
    """The file system of the store is full after a while; then it has room."""
    found = place.ended(place.started())
    _mount(place.folder, "-o", f"remount,{ROOMY}")
    return found


def read_only(place: Place) -> Tried:
    """The file system of a store that a run has begun cannot be written to."""
    place.cut_off()
    _mount(place.folder, "-o", "remount,ro")
    found = place.ended(place.started())
    _mount(place.folder, "-o", f"remount,rw,{ROOMY}")
    return found


def locked(place: Place) -> Tried:
    """Another process keeps the store locked for longer than a run waits."""
    command = place.started()
    place.reached(command, 0.3)
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import sqlite3,sys,time\n"
         f"db = sqlite3.connect({STORE!r}, timeout=30, isolation_level=None)\n"
         "db.execute('BEGIN IMMEDIATE')\n"
         f"time.sleep({LOCKED_S})"],
        cwd=place.folder,
    )  # fmt: skip
    found = place.ended(command)
    holder.kill()
    holder.wait()
    return found


def damaged(place: Place) -> Tried:
    """Pages in the middle of a store are overwritten; it is refused, and a copy is put back."""
    place.cut_off()
    with closing(sqlite3.connect(place.store)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = place.folder / "copy.db"
    shutil.copyfile(place.store, copy)
    content = bytearray(copy.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = random.Random(1).randbytes(8192)
    place.store.write_bytes(content)
    found = place.ended(place.started())
    if place.store.read_bytes() != content:
        raise SystemExit("error: a damaged store was written to")
    os.replace(copy, place.store)
    return found


def twice(place: Place) -> Tried:
    """A second run begins on the store of one that is under way."""
    first = place.started()
    place.reached(first, 0.1)
    found = place.ended(place.started())
    if place.ended(first).exit:
        raise SystemExit("error: the first run did not end well")
    return found


def scheduler_away(place: Place) -> Tried:
    """The scheduler of `--scheduler` and its workers are killed; others come a minute later."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place.options = ("--scheduler", f"tcp://127.0.0.1:{port}")
    there = _cluster(place.folder, port)
    try:
        command = place.started()
        place.reached(command, 0.3)
        _kill(there)
        time.sleep(AWAY_S)
        there = _cluster(place.folder, port)
        found = place.ended(command)
        again = place.ended(place.started())
    finally:
        _kill(there)
    place.options = ("--workers", str(WORKERS))
    return found if not again.exit else again


def _cluster(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    """A scheduler and its workers, as somebody runs them for many."""
    words = [
        ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        *[["worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-dashboard"]] * WORKERS,
    ]
    log = (folder / "dask.log").open("ab")
    return [
        subprocess.Popen([sys.executable, "-m", "dask", *each], cwd=folder, stdout=log, stderr=log,
                         start_new_session=True)
        for each in words
    ]  # fmt: skip


def _kill(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def clocks(place: Place) -> Tried:
    """Clocks of all processes go an hour forward, then two back."""
    shift = place.folder / "shift"
    site = place.folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(JUMPED.format(file=str(shift)), encoding="utf-8")
    inherited = os.environ.get("PYTHONPATH")
    place.environment = {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, [inherited])])}
    command = place.started()
    for share, jumped_s in ((0.2, 3600.0), (0.5, -3600.0)):
        place.reached(command, share)
        shift.write_text(str(jumped_s), encoding="utf-8")
    return place.ended(command)


def memory(place: Place) -> Tried:
    """Each worker that is there may get no more memory; others come once they are of no use."""
    command = place.started()
    place.reached(command, 0.3)
    first = {*workers_of(command.pid)}
    for worker in first:
        subprocess.run(["prlimit", "--pid", str(worker), f"--as={NO_MEMORY}"], check=True)
    while not {*workers_of(command.pid)} - first:
        if command.poll() is not None:
            raise SystemExit("error: no worker ran out of memory")
        time.sleep(LOOK_S)
    return place.ended(command)


def killed(place: Place) -> Tried:
    """The run and its workers are killed at three tenths, at six, and one worker between."""
    place.cut_off(0.3)
    command = place.started()
    place.reached(command, 0.5)
    with suppress(ProcessLookupError, IndexError):
        os.kill(workers_of(command.pid)[0], signal.SIGKILL)
    place.reached(command, 0.6)
    os.killpg(command.pid, signal.SIGKILL)
    return place.ended(command)


class Fault(NamedTuple):
    """What happens, what makes and mends it, options of a file system that is mounted for it."""

    title: str
    make: Callable[[Place], Tried]
    file_system: str = ""


FAULTS = {
    "full": Fault("the disk is full", disk_full, f"size={FULL_BYTES}"),
    "read-only": Fault("the folder cannot be written to", read_only, ROOMY),
    "locked": Fault("another process locks the store for 40 s", locked),
    "damaged": Fault("8 kB in the middle of the store are overwritten", damaged),
    "twice": Fault("a second run on the store", twice),
    "scheduler": Fault("the scheduler and its workers are gone for a minute", scheduler_away),
    "clocks": Fault("clocks go an hour forward, then two back", clocks),
    "memory": Fault("workers get no more memory", memory),
    "undisturbed": Fault("the run is killed twice, a worker once", killed),
}


def kept(store: Path) -> list[tuple[int, str]]:
    """Place and answer of every point."""
    with Store(store) as opened:
        rows = list(opened.rows(answering_version()))
    return [(row.place, json.dumps([row.status, row.answer], sort_keys=True)) for row in rows]


def undisturbed(points: int) -> dict[int, str]:
    """Answers of a study in whose way nothing comes."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), points)
        found = place.ended(place.started())
        if found.exit:
            raise SystemExit(f"error: the study did not end well: {found}")
        return dict(kept(place.store))


def row_of(fault: Fault, points: int, wanted: Mapping[int, str]) -> dict[str, Any]:
    """One fault, and what the same command does after it."""
    with tempfile.TemporaryDirectory() as folder:
        if not fault.file_system:
            return _row(fault, Place(Path(folder), points), wanted)
        try:
            with mounted(Path(folder), fault.file_system):
                return _row(fault, Place(Path(folder), points), wanted)
        except NotPossibleError as error:
            return _cells(fault, None, f"not tried: {error}")


def _row(fault: Fault, place: Place, wanted: Mapping[int, str]) -> dict[str, Any]:
    tried = fault.make(place)
    after = place.ended(place.started())
    found = kept(place.store)
    places = [at for at, _ in found]
    return _cells(
        fault, tried.exit, tried.said or "(nothing)", tried.stored, after.exit, len(found),
        len(places) - len(set(places)), sum(wanted.get(at) != answer for at, answer in found),
    )  # fmt: skip


def _cells(fault: Fault, *values: Any) -> dict[str, Any]:
    columns = ("exit code", "what it says", "answers then", "the same command",
               "answers", "twice", "different")  # fmt: skip
    padded = [*values, *[None] * (len(columns) - len(values))]
    return {"what happens": fault.title, **dict(zip(columns, padded, strict=True))}


def chosen(text: str) -> list[Fault]:
    """Faults by their short names.

    Raises:
        argparse.ArgumentTypeError: There is none of a name.
    """
    names = text.split(",")
    for name in names:
        if name not in FAULTS:
            raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(FAULTS)}")
    return [FAULTS[name] for name in names]


def main() -> int:
    """Makes each fault, prints the table, and returns 1 where something was lost."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--points", type=measuring.positive, default=1000)
    parser.add_argument("--only", type=chosen, default=list(FAULTS.values()), metavar="NAMES",
                        help=f"of {', '.join(FAULTS)}")  # fmt: skip
    options = parser.parse_args()
    wanted = undisturbed(options.points)
    rows = [row_of(fault, options.points, wanted) for fault in options.only]
    title = f"A study of {len(wanted):,} real solves on {WORKERS} workers"
    measuring.show(Report(name="study_faults", tables=[Table(title=title, rows=rows)]), options)
    whole = {"the same command": 0, "answers": len(wanted), "twice": 0, "different": 0}
    tried = [row for row in rows if row["exit code"] is not None]
    return int(any(row[name] != value for row in tried for name, value in whole.items()))


if __name__ == "__main__":
    sys.exit(main())
