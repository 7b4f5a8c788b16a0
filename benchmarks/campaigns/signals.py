"""Signals: commands that write, in processes of their own, are ended at random moments."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.faults import halved
from campaigns.place import WRITES, Place
from planner.base.errors import ExitCode

PROGRAM = [sys.executable, "-c", "from planner.cli.entry import main; main()"]
_DONE = (ExitCode.OK, ExitCode.CHECK_FAILED)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(slots=True)
class Ended:
    """How one command fared that was ended.

    Attributes:
        tried: Signals.
        ended: Of these, those that came before the command was done.
        new: Files that were whole and new afterwards; all others were the old ones.
        left: Temporary files after SIGKILL, which nothing can take away.
        faults: What should not be.
    """

    tried: int = 0
    ended: int = 0
    new: int = 0
    left: int = 0
    faults: int = 0


def signalled(times: int, seed: int, told: Callable[[str], None]) -> Iterator[tuple[str, Ended]]:
    """Each command in processes of its own, ended so many times at a random moment of its life.

    Moments are spread evenly, one in each of so many parts of it: the first is an early one.
    """
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for command, words in WRITES.items():
            started = time.perf_counter()
            place.cleared(words, old=True)
            _signalled(place, words)
            life_s, whole, count = time.perf_counter() - started, place.entries(), Ended()
            for at in range(times):
                place.cleared(words, old=True)
                before, number = place.entries(), SIGNALS[at % len(SIGNALS)]
                after_s = life_s * (at + chance.random()) / times
                code, said = _signalled(place, words, number, after_s)
                found = place.entries()
                count.tried += 1
                count.ended += code not in _DONE
                count.new += sum(found[one] != before.get(one) for one in found if one in whole)
                left = [one for one in found if _is_left(one)]
                count.left += len(left) if number == signal.SIGKILL else 0
                if wrong := _wrong_after(number, code, said, found, before, whole):
                    count.faults += 1
                    told(f"{number.name} {command} after {after_s:.2f} s: {wrong}")
            if not count.ended:
                count.faults += 1
                told(f"{command}: no signal of {times} came before its end")
            yield command, count


def _signalled(
    place: Place, words: Sequence[str], number: signal.Signals | None = None, after_s: float = 0.0
) -> tuple[int, str]:
    """Exit code and standard error of a command that gets a signal after some seconds."""
    process = subprocess.Popen(
        [*PROGRAM, *place.words(words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    if number is not None:
        time.sleep(after_s)
        process.send_signal(number)
    _, said = process.communicate(timeout=300)
    return process.returncode, said


def _is_left(name: str) -> bool:
    """Whether a file is one that nothing takes away after SIGKILL: half a file, a lock, a log."""
    return Path(name).name.startswith(".planner-") or name.endswith((".lock", "-wal", "-shm"))


_BEGUN = re.compile(r'entry\.py", line [0-9]+, in main')


def _wrong_after(
    number: signal.Signals, code: int, said: str, files: Mapping[str, bytes],
    before: Mapping[str, bytes], whole: Mapping[str, bytes],
) -> str:  # fmt: skip
    """What is not as it should be after a signal; empty: all is.

    Before the program has begun, Python ends by the signal, or with 1, and a traceback of its own:
    also while it imports the first module.
    """
    early = number == signal.SIGINT and code in (-number, 1) and not _BEGUN.search(said)
    caught = () if number == signal.SIGKILL else (128 + number, ExitCode.UNFINISHED)
    ends = {*_DONE, -number, *caught}
    if not early and (code not in ends or "Traceback" in said):
        return f"exit code {code}, {said[-300:]!r}"
    killed = number == signal.SIGKILL  # nothing can put in order what it leaves
    kept = {
        name: content for name, content in files.items()
        if not (killed and _is_left(name))
    }  # fmt: skip
    return halved(kept, before, whole, together=not killed)
