"""What commands read: a small undamaged file of each kind, its command, and damage of its kind."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from campaigns import samples, stores
from campaigns.launch_readers import KEPT, definition_readers, launch_readers
from campaigns.reader import Reader
from campaigns.readings import DETECTED, LOGS
from planner.base.jsonfile import sealed
from planner.verification.document import sealed as proof_sealed
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "answers" / "files"
FORMATS = ROOT / "tests" / "formats"
_LOGS = ROOT / "tests" / "evidence" / "training_logs" / "kept"
_JOB = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "8")
_SMALL = (*_JOB[2:], "--model", "gpt3-125m", "--axes", "dp")
_GOODPUT = ("goodput", "--chips", "512", "--step-time", "10s", "--stall", "5s")


def readers() -> dict[str, Reader]:
    """Every kind of file that a command reads, by name."""
    kept = {
        name: Reader(suffix=suffix, command=(*command, "--json") if command else (),
                     content=content, seal=sealed if name == "answer" else None)
        for name, (suffix, content, command) in {**_plans(), **_machines(), **_measured(),
                                                **_outputs()}.items()
    }  # fmt: skip
    return kept | launch_readers() | definition_readers() | _stores() | _made() | _documents()


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
        "plan beside another": (".yaml", _kept(FORMATS / "plan-1.yaml"),
                                ("compare", "FILE", "PLAN")),
        "plan with stages": (".yaml", _kept(FILES / "plan-uneven.yaml"), ("evaluate", "FILE")),
        "front, JSON": (".json", _kept(FORMATS / "front-1.json"),
                        ("evaluate", "FILE", "--row", "1")),
        "answer": (".json", _kept(FORMATS / "result-2.json"), ("compare", "FILE", "NEW")),
        "study": (".yaml", samples.STUDY, ("sweep", "run", "FILE", "--dry-run")),
        "fleet": (".yaml", _kept(FILES / "fleet.yaml"), ("fleet", "FILE")),
        "assumptions": (".yaml", samples.ASSUMPTIONS,
                        ("evaluate", "PLAN", "--assumptions", "FILE")),
        "cluster of workers": (".yaml", samples.WORKERS, ()),
        "site of failures": (".yaml", samples.SITE, (*_GOODPUT, "--failure-site", "FILE")),
        "gaps between failures": (".txt", samples.GAPS,
                                  (*_GOODPUT, "--simulate", "FILE", "--runs", "3")),
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
        "record like another": (".yaml", samples.LIKE, ("hardware", "show", "FILE")),
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
        "traffic, YAML": (".yaml", samples.TRAFFIC, traffic),
        "workload": (".yaml", samples.WORKLOAD, ("ridgeline", "--workload", "FILE")),
        "order of GPUs": (".txt", samples.LINKS, ("collective", "export", "--topology", "ring:4",
                                                  "--topo", "FILE", "-o", "OUT.xml")),
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
        "GEMM, hipBLASLt": (".txt", _kept(KEPT / "hipblaslt.txt"), (*calibrate, "--gemm", "FILE")),
        "GEMM, mamf-finder": (".txt", _kept(KEPT / "mamf.txt"), (*calibrate, "--gemm", "FILE")),
        "runs, packed": (".csv.gz", gzip.compress(_kept(FILES / "runs.csv"), mtime=0),
                         ("validate", "--data", "FILE")),
        **{f"rows of {what}": (".csv", _kept(KEPT / f"{what}.csv"),
                               ("validate", "--what", what, "--data", "FILE"))
           for what in ("collectives", "microbench", "failures", "energy", "memory")},
        "failures": (".csv", samples.FAILURES, ("calibrate", "--failures", "FILE", "-o", "OUT")),
        "points": (".csv", _kept(FILES / "points.csv"),
                   ("ridgeline", "--hardware", "h100-sxm5-80", "--csv", "FILE")),
        "log of a run": (".log", samples.LOG,
                         ("check", "PLAN", "--log", "FILE", "-o", "OUT.csv")),
        "log of accelerate": (".log", samples.EXPORTED, ("check", "PLAN", "--log", "FILE")),
        **{f"log of {name}": (".log", _kept(_LOGS / file), ()) for name, file in LOGS.items()},
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
        "trace, packed": (".json.gz", gzip.compress(samples.KINETO, mtime=0), ()),
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
        "front, CSV": Reader(
            suffix=".csv", command=("evaluate", "FILE", "--row", "1", "--json"),
            made=(("solve", *_SMALL, "--front", "time,energy", "--pareto", "MADE.csv"), ""),
        ),
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


def _documents() -> dict[str, Reader]:
    """Answers, of which a report is made."""
    made: dict[str, tuple[str, ...]] = {
        "solve": ("solve", *_SMALL), "evaluate": ("evaluate", "LAUNCHED"),
        "explain": ("explain", "LAUNCHED"),
        "phases": ("solve", *_SMALL, "--phases", "1e9", "--phases", "2e9,seq_len=4Ki"),
        "down": ("solve", "--down", "1chips", "--resume-from", "LAUNCHED"),
    }  # fmt: skip
    command = ("report", "FILE", "-o", "OUT.html")
    return {
        f"document of {name}": Reader(
            suffix=".json", command=command, made=((*words, "--json"), "-"), seal=sealed
        )
        for name, words in made.items()
    }


def _kept(path: Path) -> bytes:
    return path.read_bytes()
