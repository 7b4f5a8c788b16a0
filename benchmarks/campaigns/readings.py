"""What reads each kind of file, without the command around it, in a few milliseconds or less.

A command also parses its options, works out an answer and writes it, which takes most of its time.
Kinds that are not here are read quickly by their commands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hardware_db import load_cluster
from planner.assumptions.local_file import read_local
from planner.base.files import read_bytes, read_text
from planner.base.messages import Origin
from planner.collectives.files.schedule_file import read_schedule
from planner.evidence.calibration.launches.manifest import NAME, read_manifest
from planner.evidence.calibration.logs.gemm_log import read_gemm
from planner.evidence.calibration.logs.kineto import read_kineto
from planner.evidence.calibration.logs.nccl_log import read_nccl
from planner.evidence.calibration.logs.nsight import read_nsight
from planner.evidence.failure_log.reading import stretches
from planner.evidence.runs.reading import read_runs
from planner.evidence.training_logs.log import text_in
from planner.evidence.training_logs.readers import read_log
from planner.machine.detection.formats import seen_in
from planner.network.topology.custom import read_graph
from planner.network.topology.graphs import graph_of
from planner.network.topology.spec import parse_topology
from planner.network.topology.traffic import read_traffic
from planner.network.topology.wiring import Wiring, wiring_of
from planner.question.files.plan_file import read_job_file, read_plan_file
from planner.question.launch.read import read_launch
from planner.question.records import assumptions_named, cluster_named, model_named
from planner.question.request import request_from
from planner.studies.fleet.question import read_fleet
from planner.studies.ridgeline.points import read_points
from planner.studies.sweep.question.study import read_study
from planner.verification.document import parsed
from planner.verification.stages.document import opened

CHIP = "h100-sxm5-80"
_JOB = {"model": "llama3-8b", "hardware": CHIP, "chips": 8}


def _job(path: Path) -> object:
    fields, text = read_job_file(path)
    return request_from(fields, Origin(file=str(path), content=text.content))


def _graph(path: Path) -> object:
    return wiring_of(read_graph(path))


@functools.cache
def _ring() -> Wiring:
    return wiring_of(graph_of(parse_topology("ring:8")))


def _assumptions(path: Path) -> object:
    return assumptions_named(str(path), load_cluster(CHIP).chip, "megatron-core", "bf16")


def _launch(source: str, **job: Any) -> Callable[[Path], object]:
    return lambda path: read_launch(source, path, job or _JOB)


def _manifest(path: Path) -> object:
    return read_manifest(path.replace(path.with_name(NAME)).parent)


DETECTED = tuple(f"outputs, {name}" for name in ("CSV", "matrix", "list", "NCCL", "ROCm", "Slurm",
                                                 "ports"))  # fmt: skip
"""What tools print of a node."""
READINGS: Mapping[str, Callable[[Path], object]] = {
    "job": _job,
    "plan": read_plan_file,
    "plan with stages": read_plan_file,
    "front, JSON": lambda path: read_plan_file(path, row=1),
    "study": read_study,
    "fleet": lambda path: read_fleet(path, {}),
    "assumptions": _assumptions,
    "cluster": lambda path: cluster_named(str(path)),
    "cluster in full": lambda path: cluster_named(str(path)),
    "model": lambda path: model_named(str(path)),
    "config.json": lambda path: model_named(str(path)),
    "graph, JSON": _graph,
    "graph, YAML": _graph,
    "graph, GraphML": _graph,
    "graph, edges": _graph,
    "graph, adjacency": _graph,
    "traffic, npy": lambda path: read_traffic(path, _ring()),
    "traffic, CSV": lambda path: read_traffic(path, _ring()),
    "runs": read_runs,
    "calibration": lambda path: read_local(str(path)),
    "nccl-tests": read_nccl,
    "GEMM": read_gemm,
    "failures": lambda path: stretches([path]),
    "points": lambda path: read_points(path, 2),
    "log of a run": lambda path: read_log(text_in(read_bytes(path), str(path)), str(path)),
    "launch": _launch("auto", model="llama2-7b", hardware="dgx-a100-80-hdr"),
    **dict.fromkeys(DETECTED, lambda path: seen_in(str(path), read_text(path))),
    "certificate": lambda path: parsed(read_bytes(path), str(path)),
    "certificate of stages": lambda path: opened(read_bytes(path), str(path)),
    "manifest": _manifest,
    "trace, Kineto": lambda path: read_kineto(path, 1),
    "trace, Nsight": lambda path: read_nsight(path, 1),
    "schedule": read_schedule,
    "schedule, XML": read_schedule,
    "launch of megatron": _launch("megatron"),
    "launch of deepspeed": _launch("deepspeed"),
    "launch of torchtitan": _launch("torchtitan"),
    "launch of maxtext": _launch("maxtext"),
    "launch of nanotron": _launch("nanotron"),
    "launch of axolotl": _launch("axolotl"),
    "launch of trl": _launch("trl"),
    "launch of torchtune": _launch("torchtune"),
}
"""By the names of `campaigns.readers.readers`."""
