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
from models_db import ModelError
from models_db.hub import import_model
from planner.assumptions.local_file import read_local
from planner.base.errors import InputError
from planner.base.files import read_bytes, read_text
from planner.base.messages import Origin
from planner.cli.models_definitions import read_definition
from planner.collectives.files.schedule_file import read_schedule
from planner.collectives.machines.renumber import parse_topo
from planner.cost.goodput.own_site import read_own_site
from planner.evidence.calibration.launches.manifest import NAME, read_manifest
from planner.evidence.calibration.logs.gemm_log import read_gemm
from planner.evidence.calibration.logs.kineto import read_kineto
from planner.evidence.calibration.logs.nccl_log import read_nccl
from planner.evidence.calibration.logs.nsight import read_nsight
from planner.evidence.failure_log.reading import stretches
from planner.evidence.goodput.gaps import read_gaps
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
from planner.question.records import (
    assumptions_named,
    cluster_named,
    model_named,
    one_per_line,
)
from planner.question.request import request_from
from planner.studies.fleet.question import read_fleet
from planner.studies.rack.model.workload_file import read_workload
from planner.studies.ridgeline.points import read_points
from planner.studies.sweep.question.study import read_study
from planner.studies.sweep.running.queued import read_cluster
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


def _log(path: Path) -> object:
    return read_log(text_in(read_bytes(path), str(path)), str(path))


def _definition(which: str | None = None) -> Callable[[Path], object]:
    return lambda path: read_definition(path, which=which, name="mine", given={}, made_by="this")


def _config(path: Path) -> object:
    """The model of a config.json with weights beside it."""
    try:
        return import_model(path, name="mine")
    except ModelError as error:
        raise InputError(one_per_line(str(error))) from error


def _launch(source: str, **job: Any) -> Callable[[Path], object]:
    return lambda path: read_launch(source, path, job or _JOB)


def _manifest(path: Path) -> object:
    return read_manifest(path.replace(path.with_name(NAME)).parent)


DETECTED = tuple(f"outputs, {name}" for name in ("CSV", "matrix", "list", "NCCL", "ROCm", "Slurm",
                                                 "ports"))  # fmt: skip
"""What tools print of a node."""
LOGS = {"torchtitan": "torchtitan.txt", "maxtext": "maxtext.txt", "nanotron": "nanotron.txt",
        "deepspeed": "deepspeed.txt", "DeepSpeed's pipeline": "deepspeed-pipeline.txt",
        "transformers": "trainer.txt"}  # fmt: skip
"""By what prints them, beside Megatron-LM's and that of our own script."""
RECIPES = (
    "recipe of Megatron-Bridge", "recipe of NeMo 2", "recipe of NeMo 2 by name",
    "functions of torchtitan", "launch, TOML of torchtitan", "launch of NeMo 1",
    "launch of GPT-NeoX", "launch of Primus", "launch of Megatron-DeepSpeed",
    "launch of a Bridge recipe", "launch with experts", "launch, script of MaxText",
    "settings beside a script", "launcher's settings beside a script", "hosts beside a script",
)  # fmt: skip
"""Launches of a form that nothing exports."""
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
    "log of a run": _log,
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
    **dict.fromkeys(("log of accelerate", *(f"log of {name}" for name in LOGS)), _log),
    **dict.fromkeys(("GEMM, hipBLASLt", "GEMM, mamf-finder"), read_gemm),
    "runs, packed": read_runs,
    "trace, packed": lambda path: read_kineto(path, 1),
    "front, CSV": lambda path: read_plan_file(path, row=1),
    "cluster of workers": read_cluster,
    "site of failures": lambda path: read_own_site(str(path)),
    "gaps between failures": read_gaps,
    "record like another": lambda path: cluster_named(str(path)),
    "traffic, YAML": lambda path: read_traffic(path, _ring()),
    "workload": read_workload,
    "order of GPUs": lambda path: parse_topo(read_text(path), str(path)),
    **dict.fromkeys(RECIPES, _launch("auto", hardware="dgx-h100-ndr", chips=16)),
    "definition, data classes": _definition("Hybrid8B"),
    "definition, arguments of torchtitan": _definition("8B"),
    "definition, built by torchtitan": _definition("1B"),
    "definition, MaxText": _definition(),
    "definition, arguments": _definition(),
    **dict.fromkeys(("weights, index", "weights, header"), _config),
}
"""By the names of `campaigns.readers.readers`."""
