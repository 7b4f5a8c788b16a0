"""Runs, logs and devices of a machine whose true constants are known."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hardware_db import load_calibration
from planner.evidence.calibration.runs import RunSet, with_values
from planner.evidence.runs.rows import Run, run_of

KEPT_FOLDER = Path(__file__).parent / "kept" / "measurements"
"""Short launches as `planner measure` writes them (scripts left out), with logs and a trace in the
form that `launched` writes: of a machine with slower kernels than the shipped constants say."""
_LLAMA = {
    "model_name": "own-8b", "n_layers": "32", "d_model": "4096", "n_heads": "32",
    "n_kv_heads": "8", "d_ff": "14336", "gated_mlp": "1", "vocab": "128256", "seq_len": "8192",
}  # fmt: skip
_SMALL = {
    "model_name": "own-1b", "n_layers": "16", "d_model": "2048", "n_heads": "32",
    "n_kv_heads": "8", "d_ff": "8192", "gated_mlp": "1", "vocab": "32000", "seq_len": "1024",
}  # fmt: skip
_EMPTY = dict.fromkeys(
    ("moe_experts", "moe_topk", "moe_d_ff", "inter_node_net", "interleave_v", "ep", "source",
     "peak_mem_gib_per_chip", "power_w_per_chip", "sharding_as_printed"), "",
)  # fmt: skip


def rows(count: int) -> list[dict[str, str]]:
    """So many different rows on H100s: models, meshes and micro-batches, small and large."""
    found: list[dict[str, str]] = []
    for chips in (8, 16, 64):
        for model, micros in ((_LLAMA, (1, 2)), (_SMALL, (1, 8))):
            for tp, pp in ((1, 1), (2, 1), (8, 1), (4, 2)):
                for micro in micros:
                    index = len(found)
                    found.append(
                        {
                            **_EMPTY,
                            **model,
                            "id": f"own-{index}",
                            "group": f"{chips}",
                            "hardware": "h100-sxm5-80",
                            "n_chips": str(chips),
                            "chips_per_node": "8",
                            "tp": str(tp),
                            "pp": str(pp),
                            "cp": "1",
                            "sp": "1" if tp > 1 else "0",
                            "sharding": "zero1",
                            "precision": "bf16",
                            "recompute": "none",
                            "micro_batch_seqs": str(micro),
                            "global_batch_seqs": str(8 * chips),
                            "step_time_s": "1.0",
                        }
                    )
    order = np.random.default_rng(3).permutation(len(found))
    return [found[index] for index in order[:count]]


def runs_under(
    truth: Mapping[str, float],
    count: int,
    *,
    factor: float = 1.0,
    noise: float = 0.0,
    seed: int = 0,
) -> list[Run]:
    """Runs measured on a machine with other constants, a site factor and noise."""
    runs = [run_of(row) for row in rows(count)]
    constants = with_values(load_calibration(), truth)
    seconds = RunSet.of(runs).predicted_s(constants)
    scatter = np.exp(noise * np.random.default_rng(seed).standard_normal(len(runs)))
    return [
        replace(run, measured_step_time_s=float(time * factor * by))
        for run, time, by in zip(runs, seconds, scatter, strict=True)
    ]


def csv_text(runs: Sequence[Run], count: int) -> str:
    """The runs as a user's file."""
    text = io.StringIO()
    table = rows(count)
    writer = csv.DictWriter(text, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row, run in zip(table, runs, strict=True):
        writer.writerow({**row, "step_time_s": f"{run.measured_step_time_s:.6g}"})
    return text.getvalue()


def nccl_text(
    lines: Sequence[tuple[int, float]],
    *,
    test: str = "all_reduce_perf",
    hosts: Sequence[str] = ("node-a",),
    per_host: int = 8,
    redop: str = "sum",
    device: str = "NVIDIA H100 80GB HBM3",
    version: bool = True,
    prefix: str = "",
) -> str:
    """What nccl-tests prints for (bytes, seconds) lines."""
    ranks = per_host * len(hosts)
    share = {"all_reduce_perf": 2 * (ranks - 1) / ranks, "sendrecv_perf": 1.0}
    bus = share.get(test, (ranks - 1) / ranks)
    text = []
    if version:
        text += ["# nccl-tests version 2.17.1 nccl-headers=22707 nccl-library=22707"]
        text += [f"# Collective test starting: {test}"]
    text += [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 "
        "iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    for rank in range(ranks):
        host = hosts[rank // per_host]
        text.append(
            f"#  Rank {rank:2d} Group  0 Pid {1700 + rank:6d} on {host:>10s} device "
            f"{rank % per_host:2d} [0x{27 + rank:02x}] {device}"
        )
    text += [
        "#",
        "#                                                              out-of-place"
        "                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
        "            (us)  (GB/s)  (GB/s)       ",
        "           0             0     float  " + redop + "      -1     0.21    0.00    0.00"
        "      0     0.18    0.00    0.00      0",
    ]
    for size, seconds in lines:
        rate = size / seconds / 1e9
        cells = f"{seconds * 1e6:8.2f} {rate:7.2f} {rate * bus:7.2f}      0"
        text.append(f"{size:12d}  {size // 4:12d}     float  {redop:>6s}      -1 {cells} {cells}")
    text += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 231.4 ", "#", ""]
    return "\n".join(prefix + line for line in text)


def write_measurements(folder: Path) -> None:
    """The files that the examples of `planner calibrate` and `planner validate` read."""
    runs = runs_under({}, 4, factor=1.1, noise=0.02)
    (folder / "runs.csv").write_text(csv_text(runs, 4), encoding="utf-8")
    lines = [(1 << 20, 60e-6), (1 << 24, 160e-6), (1 << 28, 1.6e-3)]
    (folder / "all_reduce_perf.txt").write_text(nccl_text(lines), encoding="utf-8")
    table = "m,n,k,dtype,tflops\n4096,4096,4096,bf16,640\n8192,8192,8192,bf16,700\n"
    (folder / "gemms.csv").write_text(table, encoding="utf-8")
    calls = (
        "hardware,n_gpus,collective,bytes,time_us\nh100-sxm5-80,64,all_reduce,536870912,2984.6\n"
    )
    (folder / "calls.csv").write_text(calls, encoding="utf-8")
    shutil.copytree(KEPT_FOLDER, folder / "measurements")
