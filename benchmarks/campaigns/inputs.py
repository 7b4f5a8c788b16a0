"""Inputs: every reader of the command line is given damaged files of its kind.

A file is damaged as a tree, where it is one, or as text; then the command that reads it runs in
this process. Allowed is an answer, or a refusal in a few lines with exit code 2 and nothing on
standard output. Answers of `planner solve` are sealed again, so that what reads them is reached.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import io
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from campaigns import samples
from campaigns.damage import text_damage, tree_damage
from campaigns.readings import DETECTED, READINGS
from campaigns.running import Outcome, filled, read, run
from campaigns.strain import strained
from planner.base.files import write_atomically
from planner.base.jsonfile import sealed
from planner.verification.document import sealed as proof_sealed
from strict_yaml.errors import YamlError
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "answers" / "files"
FORMATS = ROOT / "tests" / "formats"
STRAINED_EACH = 16
"""Of so many files one strains its reader: it may take a thousand times as long as others."""
_AS_TEXT = 0.4
"""The share of the damage of a tree that is done to its text."""
_JOB = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A kind of file.

    Attributes:
        suffix: Of its name.
        command: What reads it: FILE, and PLAN, NEW, TOPOLOGY and OUT of the folder; none: a command
            takes the folder in which it lies, and it is read alone.
        content: An undamaged one; empty: `made` gives it.
        made: The command that writes one, and the name of the file that it writes to MADE.
        seal: Gives it its digest anew, where it carries one.
    """

    suffix: str
    command: tuple[str, ...]
    content: bytes = b""
    made: tuple[tuple[str, ...], str] = ((), "")
    seal: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def tree(self) -> Any:
        """It as data, not to be changed; None: it is no tree."""
        return _tree(self.suffix, self.content)

    def damaged(self, random: Random) -> bytes:
        """It after some damage."""
        tree = self.tree
        if tree is None or random.random() < _AS_TEXT:
            return text_damage(self.content, random)
        tree = tree_damage(tree, random)
        try:
            return self._written(tree)
        except (ValueError, TypeError, YamlError):  # no such file can be written
            return text_damage(self.content, random)

    def strained(self, random: Random) -> bytes:
        """It with much of the same, deep nesting or odd members."""
        return strained(self.content, random)

    def _written(self, tree: Any) -> bytes:
        if self.suffix != ".json":
            return dump_yaml(tree).encode("utf-8", "surrogatepass")
        if self.seal is not None and isinstance(tree, dict):
            tree = self.seal(tree)
        return json.dumps(tree).encode()


@functools.cache
def _tree(suffix: str, content: bytes) -> Any:
    """A file as data; read once, as that takes longer than most damage."""
    try:
        if suffix == ".json":
            return json.loads(content)
        return load_yaml(content) if suffix in (".yaml", ".yml") else None
    except (YamlError, ValueError):
        return None


def readers() -> dict[str, Reader]:
    """Every kind of file that a command reads, by name."""
    kept = {
        name: Reader(suffix=suffix, command=(*command, "--json") if command else (),
                     content=content, seal=sealed if name == "answer" else None)
        for name, (suffix, content, command) in {**_plans(), **_machines(), **_measured(),
                                                **_outputs()}.items()
    }  # fmt: skip
    return kept | _made()


Given = Mapping[str, tuple[str, bytes, tuple[str, ...]]]


def _plans() -> Given:
    return {
        "job": (".yaml", samples.JOB, ("solve", "FILE")),
        "job with a layout": (".yaml", _kept(FILES / "layout.yaml"), ("evaluate", "FILE")),
        "plan": (".yaml", _kept(FORMATS / "plan-1.yaml"), ("evaluate", "FILE")),
        "plan with stages": (".yaml", _kept(FILES / "plan-uneven.yaml"), ("evaluate", "FILE")),
        "front, JSON": (".json", _kept(FORMATS / "front-1.json"),
                        ("evaluate", "FILE", "--row", "1")),
        "answer": (".json", _kept(FORMATS / "result-2.json"), ("compare", "FILE", "NEW")),
        "study": (".yaml", samples.STUDY, ("sweep", "run", "FILE", "--dry-run")),
        "store": (".db", _kept(FORMATS / "store-1.db"), ("sweep", "status", "FILE")),
        "fleet": (".yaml", _kept(FILES / "fleet.yaml"), ("fleet", "FILE")),
        "assumptions": (".yaml", samples.ASSUMPTIONS,
                        ("evaluate", "PLAN", "--assumptions", "FILE")),
    }  # fmt: skip


def _machines() -> Given:
    graph, traffic = ("rack", "topology", "--graph", "FILE"), ("rack", "topology", "ring:8",
                                                               "--traffic", "FILE")  # fmt: skip
    cluster = _kept(FILES / "full-cluster.yaml")
    array = io.BytesIO()
    np.save(array, 1.0 - np.eye(8))
    return {
        "cluster": (".yaml", _kept(FILES / "my-cluster.yaml"), ("hardware", "show", "FILE")),
        "cluster in full": (".yaml", cluster, ("evaluate", "PLAN", "--hardware", "FILE")),
        "chip": (".yaml", dump_yaml(load_yaml(cluster)["chip"]).encode(),
                 ("hardware", "show", "FILE")),
        "model": (".yaml", _kept(FILES / "my-model.yaml"), ("models", "show", "FILE")),
        "config.json": (".json", _kept(FILES / "config.json"),
                        ("models", "import", "FILE", "--name", "mine", "-o", "OUT")),
        "graph, JSON": (".json", samples.GRAPH_JSON, graph),
        "graph, YAML": (".yaml", _kept(FILES / "triangle.yaml"), graph),
        "graph, GraphML": (".graphml", samples.GRAPHML, graph),
        "graph, edges": (".edgelist", samples.EDGES, graph),
        "graph, adjacency": (".adjlist", samples.ADJACENT, graph),
        "traffic, npy": (".npy", array.getvalue(), traffic),
        "traffic, CSV": (".csv", samples.MATRIX, traffic),
    }  # fmt: skip


def _measured() -> Given:
    calibrate = ("calibrate", "--hardware", "h100-sxm5-80")
    return {
        "runs": (".csv", _kept(FILES / "runs.csv"), ("validate", "--data", "FILE")),
        "calibration": (".yaml", _kept(FILES / "local.yaml"),
                        ("evaluate", "PLAN", "--calibration", "FILE")),
        "nccl-tests": (".txt", _kept(FILES / "all_reduce_perf.txt"),
                       (*calibrate, "--nccl", "FILE")),
        "GEMM": (".csv", _kept(FILES / "gemm.csv"), (*calibrate, "--gemm", "FILE")),
        "failures": (".csv", samples.FAILURES, ("calibrate", "--failures", "FILE", "-o", "OUT")),
        "points": (".csv", _kept(FILES / "points.csv"),
                   ("ridgeline", "--hardware", "h100-sxm5-80", "--csv", "FILE")),
        "log of a run": (".log", samples.LOG, ("check", "PLAN", "--log", "FILE")),
        "launch": (".sh", samples.MEGATRON,
                   ("evaluate", "--from", "auto", "FILE", "--model", "llama2-7b", "--hardware",
                    "dgx-a100-80-hdr")),
    }  # fmt: skip


def _outputs() -> Given:
    """What tools print of a node, and traces of profilers."""
    texts = (samples.GPUS, samples.TOPOLOGY, samples.QUERY, samples.NCCL, samples.ROCM,
             samples.SLURM, samples.PORTS)  # fmt: skip
    detect = ("hardware", "detect", "--from", "FILE", "--chip", "h100-sxm5-80")
    found = {name: (".txt", text, detect) for name, text in zip(DETECTED, texts, strict=True)}
    rocm, ports = DETECTED[4], DETECTED[6]
    return {
        **found,
        rocm: (*found[rocm][:2], detect[:4]),  # it names the chip
        ports: (*found[ports][:2], (*detect, "TOPOLOGY")),
        "trace, Kineto": (".json", samples.KINETO, ()),
        "trace, Nsight": (".sqlite", samples.nsight(), ()),
    }  # fmt: skip


_EXPORTED = {
    "megatron": "run.sh", "deepspeed": "ds_config.json", "torchtitan": "torchtitan.sh",
    "maxtext": "maxtext.yml", "nanotron": "nanotron.yaml", "axolotl": "axolotl.yaml",
    "trl": "trl.yaml", "torchtune": "torchtune.yaml",
}  # fmt: skip


def _made() -> dict[str, Reader]:
    """Files that other commands write: schedules, and launches of each framework."""
    found = {
        f"launch of {name}": Reader(
            suffix=Path(file).suffix,
            command=("evaluate", "--from", name, "FILE", *_JOB, "--json"),
            made=(("export", "LAUNCHED", "--to", name, "--allow-lossy", "-o", "MADE"), file),
        )
        for name, file in _EXPORTED.items()
    }
    ring = ("--topology", "ring:4", "-o")
    schedules = {
        "schedule": Reader(
            suffix=".json",
            command=("collective", "simulate", "FILE", "--json"),
            made=(("collective", "synthesize", *ring, "MADE.json"), ""),
        ),
        "schedule, XML": Reader(
            suffix=".xml",
            command=("collective", "simulate", "FILE", "--json"),
            made=(("collective", "export", *ring, "MADE.xml"), ""),
        ),
    }
    measure = ("measure", *_JOB, "--framework", "megatron", "-o", "MADE")
    proved = ("solve", "--model", "gpt3-125m", *_JOB[2:], "--certificate")
    others = {
        "manifest": Reader(suffix=".yaml", command=(), made=(measure, "manifest.yaml")),
        "certificate": Reader(
            suffix=".json", command=("verify", "FILE", "--json"), seal=proof_sealed,
            made=((*proved, "MADE.json", "--axes", "dp"), ""),
        ),
        "certificate of stages": Reader(
            suffix=".zip", command=("verify", "FILE", "--json"),
            made=((*proved, "MADE.zip", "--layout", "uneven", "--axes", "pp",
                   "--front-points", "1"), ""),
        ),
    }  # fmt: skip
    return schedules | found | others


def _kept(path: Path) -> bytes:
    return path.read_bytes()


class Folder:
    """A temporary folder with what the commands need beside the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan, self.launched, self.new, self.out, self.topology = (
            path / name
            for name in ("plan.yaml", "launched.yaml", "new.json", "out.yaml", "topology.txt")
        )
        self.topology.write_bytes(samples.TOPOLOGY)
        self.launched.write_bytes(samples.PLAN)
        self.plan.write_bytes(_kept(FORMATS / "plan-1.yaml"))
        self.new.write_bytes(_kept(FORMATS / "result-2.json"))

    def tried(
        self, reader: Reader, content: bytes, reading: Callable[[Path], object] | None = None
    ) -> Outcome:
        """What the command says to a file, or what reads it alone."""
        file = self.path / f"file{reader.suffix}"
        file.write_bytes(content)
        if reading is not None:
            return read(reading, file)
        self.out.unlink(missing_ok=True)
        words = filled(
            reader.command, FILE=file, PLAN=self.plan, NEW=self.new, OUT=self.out,
            TOPOLOGY=self.topology,
        )  # fmt: skip
        return run(*words)


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
