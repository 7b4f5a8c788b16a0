"""A folder of short launches as a machine with other constants leaves it: logs, traces, tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from evidence.calibration.synthetic import nccl_text
from hardware_db import Calibration, load_calibration
from planner.base.arrays import FloatArray
from planner.evidence.calibration.collectives import predicted_collectives
from planner.evidence.calibration.launches.manifest import read_manifest
from planner.evidence.calibration.launches.measured import planned_runs
from planner.evidence.calibration.launches.parts import predicted_parts
from planner.evidence.calibration.logs.nccl_log import CollectiveTime
from planner.evidence.calibration.runs import RunSet, with_values
from planner.evidence.runs.rows import Run

KERNELS = (
    "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
    "void cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16",
    "void at::native::vectorized_elementwise_kernel<4, ...>",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
)
"""Names as CUDA prints them: multiplication, attention, element-wise, collective."""


def megatron_line(step: int, seconds: float, sequences: int = 16) -> str:
    """A line of Megatron-LM's training log, core 0.16.1."""
    return (
        f" [2026-03-16 10:00:{step:02d}] iteration {step:8d}/      20 | consumed samples: "
        f"{sequences * step:12d} | elapsed time per iteration (ms): {1e3 * seconds:.1f} | "
        "throughput per GPU (TFLOP/s/GPU): 401.3 | learning rate: 1.000000E-04 | "
        f"global batch size: {sequences:5d} | "
        "lm loss: 1.184012E+01 | loss scale: 1.0 | grad norm: 2.410 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n"
    )


def megatron_log(seconds: float, steps: int = 20, sequences: int = 16) -> str:
    """A log whose first steps are slow and whose last two a profiler slows."""
    memory = (
        "[Rank 0] (after 2 iterations) memory (MB) | allocated: 20211.66796875 | max allocated: "
        "40112.51171875 | reserved: 42000.0 | max reserved: 42000.0\n"
    )
    slow = {1: 20.0, 2: 2.0, steps - 1: 1.3, steps: 1.3}
    lines = [
        megatron_line(step, seconds * slow.get(step, 1.0), sequences)
        for step in range(1, steps + 1)
    ]
    return "".join([*lines[:2], memory, *lines[2:]])


def trace_of(parts: FloatArray, steps: int = 2) -> dict[str, object]:
    """A trace in Kineto's form: the kernels of each step one after the other, then idling."""
    compute, attention, other, exposed, idle = 1e6 * parts
    lengths = (compute - attention, attention, other, exposed)
    events: list[dict[str, object]] = []
    at = 1000.0
    for step in range(steps):
        whole = float(sum(lengths) + idle)
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step + 18}",
             "pid": 1, "tid": 1, "ts": at, "dur": whole}
        )  # fmt: skip
        start = at
        for name, length in zip(KERNELS, lengths, strict=True):
            event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7}
            events.append({**event, "ts": start, "dur": float(length)})
            start += float(length)
        # A collective behind the first multiplication costs nothing.
        hidden = {"ph": "X", "cat": "kernel", "name": KERNELS[3], "pid": 0, "tid": 20}
        events.append({**hidden, "ts": at, "dur": float(lengths[0]) / 2})
        at += whole
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}


def write_run(
    folder: Path, truth: Mapping[str, float], *, factor: float = 1.0, traces: bool = True
) -> None:
    """What the launches of a folder print and record on a machine with those constants."""
    constants = with_values(load_calibration(), truth)
    for run in planned_runs(folder, read_manifest(folder))[1]:
        seconds = float(RunSet.of([run]).predicted_s(constants)[0]) * factor
        text = megatron_log(seconds, sequences=int(run.job.global_batch))
        (folder / run.key / "log-0.txt").write_text(text, encoding="utf-8")
        if traces:
            write_trace(folder / run.key / "tensorboard", run, constants)


def write_trace(home: Path, run: Run, constants: Calibration) -> None:
    """A trace of a run beside its log."""
    home.mkdir(exist_ok=True)
    text = json.dumps(trace_of(predicted_parts([run], constants)[0]))
    (home / "host_1.1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))


def write_nccl(folder: Path, truth: Mapping[str, float], nodes: int = 1) -> None:
    """What nccl-tests prints there."""
    constants = with_values(load_calibration(), truth)
    run, _ = planned_runs(folder, read_manifest(folder))
    ranks = 8 * nodes
    sizes = [2**power for power in range(16, 31, 2)]
    times = [
        CollectiveTime(
            collective="all_gather", ranks=ranks, nodes=nodes, size_bytes=float(size), time_s=1.0
        )
        for size in sizes
    ]
    seconds = predicted_collectives(times, run.cluster, constants)
    lines = list(zip(sizes, np.asarray(seconds).tolist(), strict=True))
    hosts = tuple(f"node-{index}" for index in range(nodes))
    text = nccl_text(lines, test="all_gather_perf", hosts=hosts, redop="none")
    (folder / "nccl" / f"all_gather_perf-{nodes}.txt").write_text(text, encoding="utf-8")
