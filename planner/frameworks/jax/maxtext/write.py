"""Plans for MaxText: a YAML file over its base.yml, and the command that trains with it.

Keys and their meaning: MaxText e591f30 (2026-08-22), src/maxtext/configs/base.yml and types.py;
the meaning of mesh axes: `logical_axis_rules` there. `fsdp` and `context` shard weights; `expert`
carries sequences and shards the weights of attention as `fsdp` does, so that expert groups take
their ranks from it; `tensor_sequence` divides the norms' tokens as sequence parallelism does,
`tensor` divides the hidden width between blocks.
"""

from __future__ import annotations

import math
from typing import Any

from planner.frameworks.jax.maxtext import attention as maxtext_attention
from planner.frameworks.jax.maxtext import model as maxtext_model
from planner.frameworks.jax.maxtext.batch import share_of
from planner.frameworks.jax.maxtext.rules import formats, on_tpu
from planner.frameworks.jax.maxtext.slices import slice_name
from planner.frameworks.jax.slices import SliceMesh, slice_mesh
from planner.frameworks.writing.chosen import common_recompute, common_sharding, recompute_layers
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import Section, made_by, yaml_text

SOURCES = {
    "main": "e591f30 (2026-08-22)",
    "0.2.4": "maxtext-v0.2.4, 538fe7a3f3 (2026-08-21)",
    "0.2.3": "maxtext-v0.2.3, 3f36aef234 (2026-06-12)",
}
"""Version to what its keys were read from."""
FILE = "maxtext.yml"
_TRAIN = "python3 -m maxtext.trainers.pre_train.train"
_COMPILE = "python3 -m maxtext.trainers.pre_train.train_compile"
_REMAT = {"none": "minimal_with_context", "selective": "save_dot_except_mlp", "full": "full"}
_STEPS = 30
_PORT = "12355"
_DTYPES = {"fp16": "float16", "fp32": "float32"}


def export(launch: Launch) -> Export:
    """The plan as a YAML file and a command line."""
    mesh = slice_mesh(launch.cost, launch.plan)
    sections = [
        Section("", {"base_config": "base.yml", "hardware": _hardware(launch)}),
        Section("the model", maxtext_model.settings(launch)),
        Section("synthetic data stand for yours", _data()),
        Section(
            "experts by jax.lax.ragged_dot: the kernel for TPUs is interpreted here",
            _experts(launch),
        ),
        Section("the batch", _batch(launch)),
        Section(
            f"the mesh: ici_ inside a slice of {mesh.chips} chips, dcn_ over {mesh.slices} slices",
            mesh_sizes(launch, mesh),
        ),
        Section("the pipeline", _pipeline(launch)),
        Section("precision", _precision(launch)),
        Section("attention", maxtext_attention.settings(launch)),
        Section("memory", _memory(launch)),
    ]
    return Export(
        target="maxtext",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(TextFile(name=FILE, text=yaml_text(made_by(launch), sections)),),
        command=_command(launch, mesh),
        environment=_environment(launch),
        lossy=tuple(_lossy(launch)),
        start=_start(launch),
    )


def _devices(launch: Launch) -> int:
    """Devices that JAX shows."""
    return launch.plan.chips * launch.cost.chip.devices


def _hardware(launch: Launch) -> str:
    return "tpu" if on_tpu(launch.cost) else "gpu"


def _data() -> dict[str, Any]:
    return {"dataset_type": "synthetic", "packing": False, "enable_checkpointing": False}


def _experts(launch: Launch) -> dict[str, Any]:
    """On GPUs jax.lax.ragged_dot in place of the Pallas kernel.

    As configs/gpu/models/mixtral_8x7b.yml has it; layers/moe.py `gmm` interprets that kernel where
    the devices are no TPUs.
    """
    return {"megablox": False} if launch.model.moe and not on_tpu(launch.cost) else {}


def _batch(launch: Launch) -> dict[str, Any]:
    """Pipelines cut the batch of a step into micro-batches; else gradients are accumulated."""
    return {
        "max_target_length": launch.seq_len,
        "per_device_batch_size": share_of(launch.cost, launch.plan),
        "gradient_accumulation_steps": 1 if launch.plan.pp > 1 else launch.micro_batches,
    }


def mesh_sizes(launch: Launch, mesh: SliceMesh) -> dict[str, int]:
    """Every axis of the mesh that exceeds 1 and those that MaxText would fill in itself."""
    plan = launch.plan
    twins = _devices(launch) // plan.chips
    tensor = "tensor_sequence" if plan.sequence_parallel else "tensor"
    meshes = {"ici": dict(mesh.inside), "dcn": dict(mesh.across)}
    groups = _expert_groups(plan.ep, meshes)
    sizes: dict[str, int] = {}
    for kind, own in meshes.items():
        axes = {
            "data": own["dp"],
            "pipeline": own["pp"],
            "fsdp": own["fsdp"],
            "expert": groups[kind],
            "context": own["cp"],
            tensor: own["tp"] * (twins if kind == "ici" else 1),
        }
        kept = {axis: size for axis, size in axes.items() if size > 1 or axis in ("data", "fsdp")}
        sizes |= {f"{kind}_{axis}_parallelism": size for axis, size in kept.items()}
    return sizes


def _expert_groups(ep: int, meshes: dict[str, dict[str, int]]) -> dict[str, int]:
    """Size of the axis `expert` inside slices and over them, which its ranks leave.

    They are taken from fsdp, whose weights they shard; what it has not, from dp.
    """
    groups, left = dict.fromkeys(meshes, 1), ep
    for axis in ("fsdp", "dp"):
        for kind, own in meshes.items():
            part = math.gcd(left, own[axis])
            own[axis], left = own[axis] // part, left // part
            groups[kind] *= part
    return groups


def _pipeline(launch: Launch) -> dict[str, Any]:
    plan = launch.plan
    if plan.pp == 1:
        return {}
    chunks = plan.pp * plan.interleave
    each = launch.model.layers // chunks
    return {
        "pipeline_parallel_layers": each * chunks,
        "num_layers_per_pipeline_stage": each,
        "num_pipeline_repeats": plan.interleave,
        "num_pipeline_microbatches": launch.micro_batches,
        "scan_layers": False,
    }


def _precision(launch: Launch) -> dict[str, Any]:
    precision = launch.cost.job.precision
    values: dict[str, Any] = {
        "dtype": _DTYPES.get(precision, "bfloat16"),
        "weight_dtype": "float32",
        "grad_dtype": "float32",
    }
    if precision in formats(launch.cost):
        values["quantization"] = formats(launch.cost)[precision]
        if on_tpu(launch.cost):
            values["use_qwix_quantization"] = True
    return values


def _memory(launch: Launch) -> dict[str, Any]:
    """Recomputation, offloading, and ZeRO-1 over the data axis.

    Weights move to the host layer by layer, so that layers are their first dimension
    (utils/maxtext_utils.py get_abstract_state_nnx).
    """
    offload = launch.plan.offload
    remat = _REMAT[common_recompute(launch)]
    return {
        "remat_policy": "minimal_offloaded" if "activations" in offload else remat,
        "optimizer_memory_host_offload": "optimizer" in offload,
        "parameter_memory_host_offload": "weights" in offload,
        **({"param_scan_axis": 0} if "weights" in offload else {}),
        "shard_optimizer_over_data": common_sharding(launch) in ("zero1", "zero2"),
    }


def _command(launch: Launch, mesh: SliceMesh) -> str:
    """Training; below it, as a comment, what compiles for the slices without TPUs."""
    train = (
        f"{_TRAIN} {FILE} run_name=YOUR_RUN_NAME base_output_directory=YOUR_OUTPUT_DIRECTORY "
        f"steps={_STEPS}"
    )
    topology = slice_name(launch.cost.chip.name, mesh.chips)
    if not topology:
        return train
    return (
        f"{train}\n# compiles it for the slices without TPUs: {_COMPILE} {FILE} "
        f"compile_topology={topology} compile_topology_num_slices={mesh.slices}"
    )


def _start(launch: Launch) -> HostStart:
    """What a host runs: one process with all its chips."""
    folders = 'run_name="$RUN_NAME" base_output_directory="$OUTPUT_DIRECTORY"'
    found = (
        ("JAX_COORDINATOR_IP", "$MASTER_ADDR"),
        ("JAX_COORDINATOR_PORT", _PORT),
    )
    needs = (
        ("RUN_NAME", "the name of the run"),
        ("OUTPUT_DIRECTORY", "where checkpoints and logs go"),
    )
    several = not on_tpu(launch.cost) and launch.nodes > 1
    return HostStart(
        command=f"{_TRAIN} {FILE} {folders} steps={_STEPS}",
        environment=found if several else (),
        needs=needs,
        ends=f"{_STEPS} steps: steps in the command",
        restarts="enable_checkpointing is false; with true, a run of the same RUN_NAME goes on",
    )


def _environment(launch: Launch) -> tuple[tuple[str, str], ...]:
    """How the hosts of GPUs find one another; TPUs need nothing."""
    if on_tpu(launch.cost) or launch.nodes == 1:
        return ()
    return (
        ("JAX_COORDINATOR_IP", "ADDRESS_OF_THE_FIRST_NODE"),
        ("JAX_COORDINATOR_PORT", _PORT),
        ("NNODES", str(launch.nodes)),
        ("NODE_RANK", "RANK_OF_THIS_NODE"),
    )


def _lossy(launch: Launch) -> list[Lost]:
    plan = launch.plan
    lost = [*lost_clock(launch), *maxtext_model.lossy(launch), *maxtext_attention.lossy(launch)]
    if sum(size > 1 for _, size in plan.ranks) > 1:
        reason = "JAX lays the axes of a slice on its links itself (mesh_utils.create_device_mesh)"
        lost.append(Lost("placement", reason))
    if _experts(launch) and launch.cost.job.precision in formats(launch.cost):
        reason = "the products of experts stay in 16 bits: jax.lax.ragged_dot is not quantized"
        lost.append(Lost("precision", reason))
    kept = recompute_layers(launch)
    if kept["none"] and "activations" not in plan.offload:
        reason = "remat_policy minimal_with_context computes what is not a matrix product again"
        lost.append(Lost("recompute", reason))
    if kept["selective"]:
        reason = (
            "remat_policy save_dot_except_mlp keeps the products of attention and computes those "
            "of the MLP again; planner takes half of all products"
        )
        lost.append(Lost("recompute", reason))
    if plan.tp > 1 and not plan.sequence_parallel:
        reason = "axis tensor divides the hidden width between blocks, where nothing is divided"
        lost.append(Lost("sequence_parallel", reason))
    return lost
