"""The columns of each kind of files of measurements, their units, and three example rows.

The examples are published rows of the package, shortened (but for the one that failed, which is
made up): a file of them can be read.
"""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.evidence.own_tables import OwnTable
from planner.evidence.runs.checking import NEEDED, STEP_TIME

_FLAG = "0 or 1"
_RUN = {
    "id": "label", "group": "label: plans of one job", "source": "label",
    "set": "label: scored together", "hardware": "chip or cluster (planner hardware list)",
    "n_chips": "count", "chips_per_node": "count", "inter_node_net": "8x NDR, 400 Gb/s per GPU",
    "intra_node_net": "NVLink, PCIe", "model_name": "planner models list", "n_layers": "count",
    "d_model": "count", "n_heads": "count", "n_kv_heads": "count", "d_ff": "count",
    "gated_mlp": _FLAG, "vocab": "count", "moe_experts": "count", "moe_topk": "count",
    "moe_d_ff": "count", "architecture": "head_dim=128; ...",
    "seq_len": "tokens", "global_batch_seqs": "sequences", "micro_batch_seqs": "sequences",
    "tp": "count", "sp": _FLAG, "pp": "count", "interleave_v": "count", "cp": "count",
    "ep": "count",
    "sharding": "ddp, zero1, zero2, zero3", "precision": "bf16, fp8, ...",
    "recompute": "none, selective, full, mlp+moe_act", "framework": "as --framework, or NeMo, ...",
    "framework_version": "version or date", "era": "as --era", "flags": "as printed",
    "optimizer": "adam, muon, ...", "job": "pretrain, sft, lora",
    "step_time_s": "seconds", "peak_mem_gib_per_chip": "GiB", "power_w_per_chip": "watts",
    "power_boundary": "chip, node, node_and_fabric, facility", "cooling": "air, liquid",
    "gold": _FLAG, "split": "fit, test", "complete": _FLAG,
}  # fmt: skip
_TITAN = {
    "source": "torchtitan 2024-12", "inter_node_net": "400 Gb/s per GPU",
    "intra_node_net": "NVLink", "hardware": "h100-sxm-96gb-hbm2e-500w", "chips_per_node": "8",
    "model_name": "llama3-8b", "sharding": "zero3", "framework": "torchtitan",
    "framework_version": "2024-12", "flags": "torch.compile", "job": "pretrain",
}  # fmt: skip
_RUNS = (
    {**_TITAN, "id": "titan-002", "n_chips": "8", "seq_len": "8192", "global_batch_seqs": "16",
     "micro_batch_seqs": "2", "precision": "bf16", "recompute": "selective",
     "step_time_s": "2.45748", "peak_mem_gib_per_chip": "77"},
    {**_TITAN, "id": "titan-005", "n_chips": "128", "seq_len": "8192", "global_batch_seqs": "256",
     "micro_batch_seqs": "2", "precision": "bf16", "recompute": "selective",
     "step_time_s": "2.5152", "peak_mem_gib_per_chip": "62"},
    {**_TITAN, "id": "titan-008", "n_chips": "8", "seq_len": "65536", "global_batch_seqs": "4",
     "micro_batch_seqs": "1", "cp": "2", "precision": "fp8", "recompute": "full",
     "step_time_s": "12.9008", "peak_mem_gib_per_chip": "84.2"},
)  # fmt: skip
RUNS = OwnTable(name="runs", columns=_RUN, needed=(*NEEDED, STEP_TIME), examples=_RUNS)
PEAK = "peak_mem_gib_per_chip"
MEMORY = OwnTable(name="memory", columns=_RUN, needed=(*NEEDED, PEAK), examples=_RUNS)
FAILED = "failed"
FAILURES = OwnTable(
    name="failures",
    columns={**_RUN, FAILED: "1: failed, 0: ran"},
    needed=(*NEEDED, FAILED),
    examples=(
        *({**row, FAILED: "0"} for row in _RUNS[:2]),
        {**_RUNS[2], "cp": "1", "global_batch_seqs": "8", "recompute": "none", FAILED: "1"},
    ),
)
_CALL = {"hardware": "h100-sxm5-80", "network": "infiniband", "inter_node_net": "8x NDR",
         "n_gpus": "64", "collective": "all_reduce", "source": "coreweave/nccl-tests"}  # fmt: skip
COLLECTIVES = OwnTable(
    name="collectives",
    columns={
        "id": "label", "system": "label: scored together", "source": "label",
        "hardware": "chip or cluster (planner hardware list)",
        "network": "infiniband, efa, efa-v1, tcpx", "inter_node_net": "8x NDR, 400 Gb/s per GPU",
        "n_gpus": "count", "collective": "all_reduce, all_gather, alltoall",
        "bytes": "bytes, as nccl-tests counts them", "time_us": "microseconds",
        "busbw": "GB/s, where no time", "algbw": "GB/s, where neither",
    },
    needed=("n_gpus", "collective", "bytes"),
    examples=(
        {**_CALL, "id": "a", "bytes": "536870912", "time_us": "2984.6"},
        {**_CALL, "id": "b", "bytes": "1073741824", "time_us": "5808.0"},
        {"id": "c", "system": "AWS p5.48xlarge H100 (EFA 3200 Gb/s/node)", "n_gpus": "16",
         "collective": "all_reduce", "bytes": "134217728", "busbw": "289.16"},
    ),
)  # fmt: skip
MICROBENCH = OwnTable(
    name="microbench",
    columns={
        "id": "label", "chip": "planner hardware list", "test": "gemm_bf16, gemm_fp8, ...; stream",
        "m": "count", "n": "count", "k": "count", "value": "rate",
        "unit": "TFLOP/s, GFLOP/s; TB/s, GB/s", "source": "label",
    },
    needed=("chip", "test", "value", "unit"),
    examples=(
        {"id": "a", "chip": "a100-sxm4-80", "test": "gemm_fp16", "m": "1024", "n": "1024",
         "k": "1024", "value": "119.4", "unit": "TFLOP/s"},
        {"id": "b", "chip": "a100-sxm4-80", "test": "gemm_fp16", "m": "2048", "n": "2048",
         "k": "2048", "value": "221.8", "unit": "TFLOP/s"},
        {"id": "c", "chip": "a100-sxm4-80", "test": "stream", "value": "1.70", "unit": "TB/s"},
    ),
)  # fmt: skip
ENERGY = OwnTable(
    name="energy",
    columns={
        "id": "label", "source": "label", "hardware": "chip or cluster (planner hardware list)",
        "n_chips": "count", "avg_power_w_per_chip": "watts, mean over training",
        "power_boundary": "chip or node: what the meter held", "cooling": "air, liquid",
        "busy_share": "share of the time at busy power, 0 to 1",
        "power_limit_w": "watts per chip, where a limit below the rated power was set",
    },
    needed=("hardware", "avg_power_w_per_chip", "power_boundary"),
    examples=(
        {"id": "a", "hardware": "h100-sxm5-80", "n_chips": "512", "avg_power_w_per_chip": "855.96",
         "power_boundary": "node", "cooling": "liquid", "busy_share": "0.9"},
        {"id": "b", "hardware": "b200-sxm-180", "n_chips": "8", "avg_power_w_per_chip": "1197.6",
         "power_boundary": "node", "cooling": "liquid", "power_limit_w": "1000"},
        {"id": "c", "hardware": "tpu-v4", "n_chips": "1024", "avg_power_w_per_chip": "326",
         "power_boundary": "node", "cooling": "air"},
    ),
)  # fmt: skip
TABLES = {table.name: table for table in (RUNS, COLLECTIVES, MICROBENCH, FAILURES, ENERGY, MEMORY)}
"""Every kind of file that `planner validate --data` reads, by its word for `--what`."""


def template(kind: str) -> str:
    """An empty file of a kind: its columns, their units, and three example rows as comments.

    Raises:
        InputError: There is no such kind.
    """
    if kind not in TABLES:
        raise InputError(f"template: {not_one_of(kind, tuple(TABLES))}")
    return TABLES[kind].template()
