"""Inputs: every reader of the command line is given damaged files of its kind.

A file is damaged as a tree, where it is one, or as text; then the command that reads it runs in
this process. Allowed is an answer, or a refusal in a few lines with exit code 2 and nothing on
standard output. Answers of `planner solve` are sealed again, so that what reads them is reached.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from campaigns import samples
from campaigns.reader import Reader
from campaigns.readers import FORMATS, readers
from campaigns.readings import READINGS
from campaigns.running import Outcome, filled, read, run
from planner.base.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
STRAINED_EACH = 16
"""Of so many files one strains its reader: it may take a thousand times as long as others."""


class Folder:
    """A temporary folder with what the commands need beside the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan, self.launched, self.new, self.out = (
            path / name for name in ("plan.yaml", "launched.yaml", "new.json", "out.yaml")
        )
        self.topology = path / "topology.txt"
        self.topology.write_bytes(samples.TOPOLOGY)
        self.launched.write_bytes(samples.PLAN)
        self.plan.write_bytes((FORMATS / "plan-1.yaml").read_bytes())
        self.new.write_bytes((FORMATS / "result-2.json").read_bytes())
        self.own = frozenset(path.iterdir())

    def tried(
        self, reader: Reader, content: bytes, reading: Callable[[Path], object] | None = None
    ) -> Outcome:
        """What the command says to a file, or what reads it alone."""
        for old in self.path.iterdir():  # also what a command left beside it
            if old.is_file() and old not in self.own:
                old.unlink()
        file = self.path / named(reader.suffix)
        file.write_bytes(content)
        if reader.beside[0]:
            file = self.path / named(reader.beside[0])
            file.write_bytes(reader.beside[1])
        if reading is not None:
            return read(reading, file)
        written = {f"OUT{end}": self.out.with_suffix(end) for end in (".xml", ".html", ".csv")}
        words = filled(
            reader.command, FILE=file, PLAN=self.plan, NEW=self.new, OUT=self.out,
            TOPOLOGY=self.topology, LAUNCHED=self.launched, **written,
        )  # fmt: skip
        return run(*words)


def named(suffix: str) -> str:
    """The name of a file by its `Reader.suffix`."""
    return f"file{suffix}" if suffix.startswith(".") else suffix


def whole(reader: Reader, folder: Folder) -> Reader:
    """A reader whose undamaged file is there, where another command writes it."""
    command, file = reader.made
    if not command:
        return reader
    place = folder.path / "made"
    words = [
        word.replace("MADE", str(place)).replace("LAUNCHED", str(folder.launched))
        for word in command
    ]
    done = run(*words)
    if file == "-":
        return replace(reader, content=done.out.encode())
    path = place / file if file else place.with_suffix(reader.suffix)
    if not path.is_file():
        raise SystemExit(f"error: {' '.join(words)}: {done.err}")
    content = path.read_bytes()
    return replace(reader, content=content)


@dataclass(slots=True)
class Count:
    """How one reader fared."""

    inputs: int = 0
    answered: int = 0
    refused: int = 0
    faults: int = 0
    slow: int = 0
    most_cpu_s: float = 0.0


_TURN_S = 0.5  # CPU seconds of a reader, before it is the turn of the next: all get as many


def campaign(
    inputs: int, seed: int, told: Callable[[str], None], *, most_s: float = math.inf,
    kept: Path | None = None, directly: bool = False,
) -> dict[str, Count]:  # fmt: skip
    """Goes through all readers, each with as many CPU seconds, until they had so many inputs.

    Args:
        inputs: Of each reader, at most.
        seed: Of the damage.
        told: Called with a line for each fault.
        most_s: CPU seconds after which it ends, wherever it is.
        kept: A file with the counts so far of this seed and this code, from which it goes on.
        directly: Calls what reads a file, without the command; kinds of `READINGS` alone.
    """
    ends_s = time.process_time() + most_s
    run_of = f"{seed} read" if directly else str(seed)
    counts = _read(kept, run_of)
    readings = READINGS if directly else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        found = {
            kind: whole(reader, folder) for kind, reader in readers().items()
            if (kind in readings if directly else reader.command)
        }  # fmt: skip
        for kind, reader in found.items():
            undamaged = folder.tried(reader, reader.content, readings.get(kind))
            if not undamaged.answered:
                told(f"{kind}: the undamaged file is refused: {undamaged.err}")
        gc.freeze()
        while time.process_time() < ends_s:
            before = {kind: count.inputs for kind, count in counts.items()}
            for kind, reader in found.items():
                count = counts.setdefault(kind, Count())
                trying = functools.partial(folder.tried, reader, reading=readings.get(kind))
                _go_on(kind, reader, trying, inputs, run_of, count, told)
            _keep(kept, run_of, counts)
            if before == {kind: count.inputs for kind, count in counts.items()}:
                break
    return counts


def _read(kept: Path | None, run_of: str) -> dict[str, Count]:
    """Counts of earlier runs."""
    if kept is None or not kept.is_file():
        return {}
    found = json.loads(kept.read_text(encoding="utf-8")).get(f"{run_of} of {_code()}", {})
    return {kind: Count(**count) for kind, count in found.items()}


@functools.cache
def _code() -> str:
    """A digest of the code that is tried: counts of other code say nothing of it."""
    digest = hashlib.sha256()
    for package in ("planner", "strict_yaml", "hardware_db", "models_db", "solvers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _keep(kept: Path | None, run_of: str, counts: Mapping[str, Count]) -> None:
    if kept is not None:
        before = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        before[f"{run_of} of {_code()}"] = {kind: asdict(count) for kind, count in counts.items()}
        write_atomically(kept, json.dumps(before))


def _go_on(
    kind: str, reader: Reader, trying: Callable[[bytes], Outcome], inputs: int, run_of: str,
    count: Count, told: Callable[[str], None],
) -> None:  # fmt: skip
    """Tries a reader for a turn, or until its count is so large."""
    ends_s = time.process_time() + _TURN_S
    for at in range(count.inputs, inputs):
        if time.process_time() > ends_s:
            break
        random = Random(f"{run_of} {kind} {at}")
        made = reader.strained if at % STRAINED_EACH == 0 else reader.damaged
        content = made(random)
        outcome = trying(content)
        count.inputs += 1
        count.answered += outcome.answered
        count.refused += outcome.code == 2
        count.most_cpu_s = max(count.most_cpu_s, outcome.cpu_s)
        if fault := outcome.fault():
            count.faults += 1
            told(f"{kind} {at}: {fault}: {content[:300]!r}")
        if cost := outcome.cost():
            count.slow += 1
            told(f"{kind} {at}: {cost}: {content[:300]!r}")
