"""From a row of published measurements to a plan, a job and a cluster.

A row gives the architecture, the chips, the mesh and the measured step time; what it leaves out
is filled in by rules per software (`planner.evidence.runs.profiles`), and every filled field is
listed. The shipped constants were fitted under the same rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Chip, Cluster, load_cluster
from models_db import (
    Model,
)
from planner.assumptions.fitted import UNFUSED, UNMASKED
from planner.base.errors import InputError
from planner.cost.job import USUAL_RANK, Job
from planner.cost.stages.layout import head_cost_in_layers, layers_by_cost
from planner.evidence.csvfile import number_in, whole_in
from planner.evidence.runs.experts import experts_of
from planner.evidence.runs.habits import Habits, frozen_weights, habits_of, offload, optimizer
from planner.evidence.runs.models import model_of
from planner.evidence.runs.networks import beside_others, with_networks
from planner.evidence.runs.partly import partly_said
from planner.evidence.runs.profiles import Profile, profile_of
from planner.evidence.runs.recomputed import checkpointed, recomputation
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, Stage

SOFTWARE = ("framework", "framework_version", "flags", "optimizer", "job")
"""Columns that say what ran."""
JOBS = {"pretrain": "pretrain", "sft": "finetune", "lora": "lora"}
"""Words of the column `job`, and kinds of `planner.cost.job.JOB_KINDS`."""
_LIMITED = "power-limited B200"
"""Notes of B200 held below the power of others; what its products reach was measured."""
_UNFUSED = "no flash attention"
"""Flags or notes of runs whose attention is batched products, whatever their software can do."""
_FLASH_2 = "--use-flash-attn"
"""The flag of Megatron-LM for the package flash-attn, whose version 2 it asks for."""
_CUDNN = "cuDNN's attention"
"""Flags of PyTorch's attention with cuDNN above 9.15, which it prefers on Hopper: pytorch,
aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, `check_prefer_cudnn_attention`."""
_UNMASKED = "use_flash_attention 0"
"""Flags of Neuron's scripts: its compiler keeps the scores on the chip, and masks none of them."""
_CORES_PER_CHIP = 2  # NeuronCores of a Trainium 1; the rows' notes say what they count


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One published run as the cost model takes it.

    Attributes:
        key: Identifier of the row.
        group: Rows with the same group are plans of one job.
        source: Where it was published.
        profile: Its software and installation, and the rule that says so.
        habits: What its source does that its rows do not say.
        plan, job, cluster: As reconstructed.
        measured_step_time_s: As published; NaN: not published.
        measured_memory_bytes: Peak per chip as published; None: not published.
        measured_power_w: Mean per chip as published; None: not published.
        filled: Fields that the row leaves out, with the value taken.
        partly: What the row says of its memory that a plan cannot (`planner.evidence.runs.partly`).
        printed: What the row says of its software, of `SOFTWARE`, as printed.
    """

    key: str
    group: str
    source: str
    profile: Profile
    habits: Habits
    plan: Plan
    job: Job
    cluster: Cluster
    measured_step_time_s: float
    measured_memory_bytes: float | None
    measured_power_w: float | None
    filled: dict[str, str]
    partly: tuple[str, ...]
    printed: dict[str, str]


def run_of(row: Mapping[str, str], *, assume_network: bool = False) -> Run:
    """The run of a row.

    Args:
        row: Its columns.
        assume_network: Take the cluster's own network for a text that is not understood.

    Raises:
        InputError: The row lacks a field that no rule fills, or contradicts itself.
    """
    filled: dict[str, str] = {}
    profile, habits = profile_of(row), habits_of(row)
    cluster = _cluster(row, profile, filled, assume_network=assume_network)
    job = Job(
        model=model_of(row, profile),
        seq_len=whole_in(row, "seq_len"),
        global_batch=_global_batch(row, filled),
        precision=_precision(row, cluster.chip, filled),
        kind=_kind(row, filled),
        lora_rank=habits.lora_rank or USUAL_RANK,
        trained_ends="lora (emb)" in row.get("flags", "").lower(),
        frozen_weights=frozen_weights(row),
        optimizer=optimizer(row, filled),
        framework=habits.of(FRAMEWORKS[profile.framework]),
        era=profile.era,
        experts=experts_of(row, profile, filled),
    )
    if habits.because:
        filled["habits"] = habits.because
    memory_gib, power_w = (
        number_in(row, "peak_mem_gib_per_chip"),
        number_in(row, "power_w_per_chip"),
    )
    return Run(
        key=row["id"],
        group=row["group"],
        source=row["source"],
        profile=profile,
        habits=habits,
        plan=_plan(row, job, profile, habits, filled),
        job=job,
        cluster=cluster,
        measured_step_time_s=float(row["step_time_s"] or "nan"),
        measured_memory_bytes=memory_gib and memory_gib * habits.printed_gib * 2**30,
        measured_power_w=power_w,
        filled=filled,
        partly=partly_said(row),
        printed={name: row[name] for name in SOFTWARE if row.get(name)},
    )


def _precision(row: Mapping[str, str], chip: Chip, filled: dict[str, str]) -> str:
    """As printed; else 8 bits where the notes or MLPerf's habits say so; else bf16."""
    printed = {"nvfp4": "fp4"}.get(row["precision"], row["precision"])
    if not printed:
        narrow = "int8" if "int8" in row.get("notes", "") else "fp8"
        known = narrow == "int8" or re.search(r"MLPerf Training v[45]", row["source"])
        printed = narrow if known else "bf16"
        filled["precision"] = printed
    if printed == "int8" and "int8" not in chip.peak_flop_per_s:
        return "fp8"
    return printed


def _kind(row: Mapping[str, str], filled: dict[str, str]) -> str:
    """The kind of job as the row says; else adapters where its labels say so, else pretraining."""
    if row.get("job"):
        return JOBS[row["job"]]
    filled["job"] = "lora: its labels say so" if _is_lora(row) else "pretrain"
    return "lora" if _is_lora(row) else "pretrain"


def _global_batch(row: Mapping[str, str], filled: dict[str, str]) -> int:
    """As printed; of rows that have a memory only, as many micro-batches as stages."""
    if row["global_batch_seqs"] or row["step_time_s"] or not row["micro_batch_seqs"]:
        return whole_in(row, "global_batch_seqs")
    chips, tp = whole_in(row, "n_chips"), whole_in(row, "tp", 1)
    ranks = chips // (tp * whole_in(row, "cp", 1))  # data ranks times stages
    filled["global_batch"] = "as many micro-batches as stages: only memory is compared"
    return ranks * whole_in(row, "micro_batch_seqs")


def _is_lora(row: Mapping[str, str]) -> bool:
    """Whether a row trains adapters; MLPerf's Llama-2 70B is a fine-tuning of them."""
    return "lora" in f"{row['model_name']} {row['id']} {row['source']}".lower()


def _plan(
    row: Mapping[str, str], job: Job, profile: Profile, habits: Habits, filled: dict[str, str]
) -> Plan:
    pp, ep = (whole_in(row, name, 1) for name in ("pp", "ep"))
    tp = _tensor_degree(row, profile, filled)
    data, cp = _data_ranks(row, profile, tp * pp, job.global_batch, filled)
    micro = _micro_batch(row, profile, data, job.global_batch, filled)
    usual = "ddp" if profile.era.startswith("megatron-d") else "zero1"
    sharding = row["sharding"] or habits.sharding or usual
    if not row["sharding"]:
        filled["sharding"] = sharding
    if data * cp == 1 and not job.framework.module_hook_s:  # hooks run on one chip too
        sharding = "ddp"
    sequence_parallel = row["sp"] == "1"
    if row["sp"] == "" and profile.era.startswith(("megatron-core", "torch-fsdp", "jax")):
        filled["sequence_parallel"], sequence_parallel = "true", True
    layers = whole_in(row, "n_layers")
    counted = checkpointed(row, job.model, layers) if pp == 1 else None
    recompute = recomputation(row, job.model, profile, habits, filled)
    interleave = _interleave(row, layers, pp)
    replicas = _replicas(row, data, tp * cp) if sharding == "zero3" else data
    return Plan(
        dp=replicas,
        fsdp=data // replicas,
        tp=tp,
        cp=cp,
        ep=ep,
        pp=pp,
        micro_batch=micro,
        schedule=_schedule(row, interleave),
        interleave=interleave,
        sharding=sharding,
        sequence_parallel=sequence_parallel and tp > 1,
        recompute="none" if counted else recompute,
        offload=offload(row, habits),
        split=_split(layers, pp, interleave),
        stages=later_stages(job.model, pp) if profile.deals_by_share else counted,
    )


def _interleave(row: Mapping[str, str], layers: int, pp: int) -> int:
    """Chunks per stage as printed, at most one per layer; embedding and head may count as two."""
    chunks = whole_in(row, "interleave_v", 1) if pp > 1 else 1
    return chunks if (layers + 2) % (pp * chunks) == 0 else min(chunks, max(layers // pp, 1))


def _schedule(row: Mapping[str, str], interleave: int) -> str:
    """As the flags say; else interleaved where a stage has several chunks."""
    if re.search(r"\bdualpipe\b", row.get("flags", ""), re.IGNORECASE):
        return "dualpipe"
    return "interleaved" if interleave > 1 else "1f1b"


def _data_ranks(
    row: Mapping[str, str], profile: Profile, model_ranks: int, batch: int, filled: dict[str, str]
) -> tuple[int, int]:
    """Data ranks and context parallelism; XLA cuts sequences where there are fewer than chips."""
    chips, cp = whole_in(row, "n_chips"), whole_in(row, "cp", 1)
    if chips % (model_ranks * cp):
        raise InputError(
            f"{row['id']}: {chips} chips do not divide into tp x pp {model_ranks}, cp {cp}"
        )
    data = chips // (model_ranks * cp)
    if profile.era == "jax" and not row["cp"] and data > batch and data % batch == 0:
        data, cp = batch, data // batch
        filled["cp"] = f"{cp}: fewer sequences than chips"
    return data, cp


def _replicas(row: Mapping[str, str], data: int, inner: int) -> int:
    """Replicas of hybrid zero3 among the data ranks, as the row prints its sharding; else 1.

    PyTorch's HSDP shards within a node (Zhao et al., arXiv:2304.11277, section 3.2.2), MaxText
    within a slice of TPUs where its axis `dcn_data_parallelism` is left free.

    Args:
        row: Its columns.
        data: Data ranks.
        inner: Chips of a data rank that stand beside one another in a node.
    """
    printed = row.get("sharding_as_printed", "")
    if said := re.search(r"FSDP over [0-9]+ .*DP over ([0-9]+)", printed):
        return math.gcd(int(said[1]), data)
    node = whole_in(row, "chips_per_node", 1)
    if "HSDP" in printed and inner < node:
        return max(data * inner // node, 1)
    return 1


def _tensor_degree(row: Mapping[str, str], profile: Profile, filled: dict[str, str]) -> int:
    """Chips of tensor parallelism; rows of Trainium count cores."""
    tp = whole_in(row, "tp", 1)
    if profile.era == "neuron" and "NeuronCores" in row.get("notes", ""):
        tp = -(-tp // _CORES_PER_CHIP)
        filled["tp"] = f"{tp} chips: the row counts cores, {_CORES_PER_CHIP} of a chip"
    return tp


def later_stages(model: Model, pp: int) -> tuple[Stage, ...] | None:
    """Layers per stage of published runs that deal them out by cost; None on one stage.

    By cost, but where the layers of a stage cost exactly its share, as in the 1B model with pp 2
    and 4, the next layer is on the next stage. The code of today puts it on the earlier one
    (`planner.cost.stages.layout`); the memory of the runs with tp = 1 says that it was not there.
    Where there are more stages than layers and head can fill, the last ones are empty.
    """
    head = head_cost_in_layers(model) * (1 - 1e-9)
    sizes = layers_by_cost(model.layers, pp, head)
    return tuple(Stage(layers=size) for size in sizes) if pp > 1 else None


def _micro_batch(
    row: Mapping[str, str], profile: Profile, data: int, batch: int, filled: dict[str, str]
) -> int:
    """As printed; else a data rank's whole share of the batch under XLA, and 1 elsewhere."""
    if row["micro_batch_seqs"]:
        micro = whole_in(row, "micro_batch_seqs")
    else:
        micro = max(batch // data, 1) if profile.era == "jax" else 1
        filled["micro_batch"] = f"{micro}: batch / data ranks" if profile.era == "jax" else "1"
    if batch % (data * micro):
        least = data * micro
        raise InputError(
            f"{row['id']}: a batch of {batch} sequences does not divide among {data} data ranks x "
            f"micro-batch {micro}; nearest: {max(round(batch / least), 1) * least}"
        )
    return micro


def _split(layers: int, pp: int, interleave: int) -> str:
    chunks = pp * interleave
    if layers % chunks == 0:
        return "even"
    return "even-counted" if (layers + 2) % chunks == 0 else "front"


def _chip(row: Mapping[str, str], chip: Chip) -> Chip:
    """The chip with the kernels that the row says ran on it."""
    said = f"{row.get('flags', '')}; {row.get('notes', '')}"
    if _LIMITED in said and chip.calibration_gemm == "b200":
        chip = replace(chip, calibration_gemm="b200-limited")
    if _UNFUSED in said.lower():
        chip = replace(chip, calibration_attention=UNFUSED)
    if _UNMASKED in said:
        chip = replace(chip, calibration_attention=UNMASKED)
    if _CUDNN in said and chip.calibration_attention == "hopper":
        chip = replace(chip, calibration_attention="cudnn")
    if _FLASH_2 in said and chip.calibration_attention == "hopper":
        chip = replace(chip, calibration_attention="fa2_hopper")
    return chip


def _cluster(
    row: Mapping[str, str], profile: Profile, filled: dict[str, str], *, assume_network: bool
) -> Cluster:
    """The chip's default cluster with the row's node size and network, else its site's."""
    if not row["hardware"]:
        raise InputError(f"{row['id']}: hardware is missing")
    if not row["inter_node_net"] and profile.network:
        filled["inter_node_net"] = f"{profile.network}: {profile.rule}"
        row = {**row, "inter_node_net": profile.network}
    cluster = load_cluster(row["hardware"])
    cluster = replace(cluster, chip=_chip(row, cluster.chip))
    first = cluster.levels[0]
    node = whole_in(row, "chips_per_node", cluster.node_chips)
    domain = first.domain_chips or node
    if first.torus is None and domain <= 16 and node != domain:
        levels = [replace(first, domain_chips=node, bandwidth_by_group=())]
        levels += [replace(lv, domain_chips=None) for lv in cluster.levels[-1:]]
        cluster = replace(cluster, node_chips=node, levels=tuple(levels), max_chips=2**20)
    found = with_networks(cluster, row, filled, node=node, assume=assume_network)
    return beside_others(found, row["inter_node_net"])
