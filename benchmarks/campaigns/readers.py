"""What commands read: a small undamaged file of each kind, its command, and damage of its kind."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from campaigns import samples, stores
from campaigns.damage import text_damage, tree_damage
from campaigns.json_texts import json_text, large
from campaigns.readings import DETECTED
from campaigns.strain import strained
from planner.base.jsonfile import sealed
from planner.verification.document import sealed as proof_sealed
from strict_yaml.errors import YamlError
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "answers" / "files"
FORMATS = ROOT / "tests" / "formats"
_AS_TEXT, _OF_KIND = 0.4, 0.6
"""The share of the damage of a tree that is done to its text; of other damage, that of its kind."""
_AS_JSON, _LARGE = 0.3, 0.3
"""The share of files of YAML that are written as JSON, and of strained trees that are large."""
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
        damage: Of its kind.
        beside: Suffix and content of the file that the command is given, beside which it lies.
    """

    suffix: str
    command: tuple[str, ...]
    content: bytes = b""
    made: tuple[tuple[str, ...], str] = ((), "")
    seal: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    damage: Callable[[bytes, Random], bytes] | None = None
    beside: tuple[str, bytes] = ("", b"")

    @property
    def tree(self) -> Any:
        """It as data, not to be changed; None: it is no tree."""
        return _tree(self.suffix, self.content)

    def damaged(self, random: Random) -> bytes:
        """It after some damage."""
        if self.damage is not None and random.random() < _OF_KIND:
            return self.damage(self.content, random)
        tree = self.tree
        if tree is None or random.random() < _AS_TEXT:
            return text_damage(self.content, random)
        tree = tree_damage(tree, random)
        as_json = self.suffix == ".json" or random.random() < _AS_JSON
        try:
            return (
                self._written(tree, random)
                if as_json
                else dump_yaml(tree).encode("utf-8", "surrogatepass")
            )
        except (ValueError, TypeError, YamlError):  # no such file can be written
            return text_damage(self.content, random)

    def strained(self, random: Random) -> bytes:
        """It with much of the same, deep nesting or odd members; as JSON with much in it."""
        if isinstance(self.tree, dict) and random.random() < _LARGE:
            return self._written(large(self.tree, random), random)
        return strained(self.content, random)

    def _written(self, tree: Any, random: Random) -> bytes:
        """It as JSON, which files of YAML may be too."""
        if self.seal is not None and isinstance(tree, dict):
            tree = self.seal(tree)
        return json_text(tree, random)


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
    return kept | _stores() | _made()


def _stores() -> dict[str, Reader]:
    """The store of a study, and the log beside one, of what is not in it yet."""
    status, store = ("sweep", "status", "FILE", "--json"), _kept(FORMATS / "store-1.db")
    base, log = stores.logged(store)
    return {
        "store": Reader(suffix=".db", command=status, content=store, damage=stores.damaged),
        "store, its log": Reader(
            suffix=".db-wal", command=status, content=log, beside=(".db", base),
            damage=lambda _, random: stores.logged(store, random)[1],
        ),
    }  # fmt: skip


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
