"""Plans for Hugging Face Accelerate: a configuration, a training script and its model.

Sources: Accelerate 16cb6eb commands/launch.py, parallelism_config.py, utils/dataclasses.py;
Transformers 5.23 distributed/configuration_utils.py. Rules: `planner.frameworks.accelerate.rules`.
"""

from __future__ import annotations

import json
from typing import Any

from planner.assumptions.number_formats import operand_bytes
from planner.base.units import GIB
from planner.frameworks.accelerate import adapters
from planner.frameworks.accelerate.examples import RESULTS
from planner.frameworks.accelerate.mesh import (
    Mesh,
    counts_masters,
    distributed_type,
    kept_in,
    kernel_of,
    loaded_in,
    mesh_of,
    mixes,
)
from planner.frameworks.accelerate.script import script
from planner.frameworks.accelerate.tuning import WEIGHTS
from planner.frameworks.hugging_face.adapters import lora_config
from planner.frameworks.hugging_face.config import dimensions, keys_of_weights
from planner.frameworks.hugging_face.types import transformers_type
from planner.frameworks.writing.chosen import common_recompute, common_sharding
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import kept_scores, left_to_weights, made_by, needed_package
from planner.frameworks.writing.torchrun import FIRST_PORT, host_variables
from strict_yaml.writing import dump

SOURCES = {
    "1.15": "Accelerate 1.15.0, 16cb6eb (2026-07-24)",
    "1.14": "Accelerate 1.14.0, beb0672aa8 (2026-06-11)",
}
"""Version to what its keys were read from."""
CONFIG, SCRIPT, MODEL = "accelerate.yaml", "train.py", "config.json"
ADAPTERS, ADAPTED = "adapter_config.json", "adapter"
STEPS = 30
EPS = {"float16": 1e-3}
"""Added to the root of AdamW's second moment, where not 1e-8.

With `betas` of the script, squares of gradients below 8e-4 leave a moment of 0 in 16 bits with 5
of exponent, whose least number is 6e-8; steps then stay near the learning rate.
"""


def export(launch: Launch) -> Export:
    """A plan for Accelerate; see `planner.frameworks.writing.Export`."""
    where, hosts = hosts_of_launch(launch)
    command = f"accelerate launch --config_file {CONFIG}{where}"
    mesh = mesh_of(launch)
    comment = _comments(launch, mesh)
    return Export(
        target="accelerate",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(
            TextFile(name=CONFIG, text=configuration_text(launch, comment)),
            *_programs(launch, mesh, comment),
        ),
        command=f"{command} {SCRIPT}",
        environment=(*((("MODEL", "WEIGHTS"),) if _tunes(launch) else ()), *hosts),
        lossy=_losses(launch, mesh),
        start=HostStart(
            command=f"{command} {SCRIPT}",
            needs=(WEIGHTS,) if _tunes(launch) else (),
            binding=binding(launch),
            results=_results(launch),
            wants=_wants(launch),
            ends=f"{STEPS} steps: STEPS in {SCRIPT}",
            restarts=f"{SCRIPT} saves no state; accelerator.save_state and load_state do",
        ),
    )


def _wants(launch: Launch) -> tuple[tuple[str, str], ...]:
    """What a script that tunes weights reads."""
    what = 'lines of JSON, each with a "text"; random tokens without it'
    return (("DATA", what),) if _tunes(launch) else ()


def _tunes(launch: Launch) -> bool:
    """Whether the script starts from published weights, and leaves what becomes of them."""
    return launch.cost.job.learns != "pretrain"


def _results(launch: Launch) -> str:
    """The folder that the script writes."""
    if not _tunes(launch):
        return ""
    return RESULTS if launch.cost.job.trains_all else ADAPTED


def binding(launch: Launch) -> tuple[str, ...]:
    """Accelerate's own setting, which ends a run without the package that knows the cores.

    Source: utils/environment.py override_numa_affinity.
    """
    package = {"NVIDIA": "pynvml", "AMD": "amdsmi"}.get(launch.cost.chip.vendor)
    if package is None:
        return ()
    found = f"python3 -c 'import {package}' 2> /dev/null"
    return (
        "# Processes keep to the cores beside their GPUs where a package knows them.",
        f"if {found}; then export ACCELERATE_CPU_AFFINITY=1; fi",
    )


def hosts_of_launch(launch: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Options of the launcher for several hosts, and the variables that they read; none for one."""
    if launch.nodes == 1:
        return "", ()
    where = (
        ' --machine_rank "$NODE_RANK" --main_process_ip "$MASTER_ADDR" '
        f'--main_process_port "{FIRST_PORT}"'
    )
    return where, host_variables(launch)


def configuration_text(launch: Launch, comment: str) -> str:
    """The file of `accelerate launch --config_file`, under comment lines."""
    return comment + _yaml(_configuration(launch, mesh_of(launch)))


def _programs(launch: Launch, mesh: Mesh, comment: str) -> tuple[TextFile, ...]:
    """The script with what it reads: the model, or its adapters."""
    constants, tunes = _constants(launch, mesh), _tunes(launch)
    if launch.cost.job.trains_all:
        constants |= {"RESULTS": RESULTS} if tunes else {}
        text = script(comment, constants, split=mesh.tp > 1, in_parts=mesh.cp > 1, tunes=tunes)
        model = TextFile(name=MODEL, text=_json(model_configuration(launch)))
        return (TextFile(name=SCRIPT, text=text), *(() if tunes else (model,)))
    names = ("DTYPE", "ATTENTION", "SEQ_LEN", "SEQUENCES", "CHIPS", "STEPS", "MICRO_BATCH",
             "ACCUMULATION", "SHARDED", "RECOMPUTE")  # fmt: skip
    own = {name: constants[name] for name in names}
    own |= {"FROZEN_WEIGHTS": launch.cost.job.frozen_weights, "LEARNING_RATE": 2e-4}
    return (
        TextFile(name=SCRIPT, text=adapters.script(comment, own)),
        TextFile(name=ADAPTERS, text=_json(lora_config(launch.cost))),
    )


def model_configuration(launch: Launch) -> dict[str, Any]:
    """The model's config.json, of llama where transformers has no architecture of its build."""
    return {
        "model_type": transformers_type(launch.model) or "llama",
        **dimensions(launch.model, launch.seq_len),
        "dtype": kept_in(launch, mesh_of(launch)),
        "use_cache": False,
    }


def _configuration(launch: Launch, mesh: Mesh) -> dict[str, Any]:
    """The file of `accelerate launch --config_file`.

    Under mixed precision FSDP keeps 32-bit weights and their gradients (utils/fsdp_utils.py
    fsdp2_prepare_model), and so do replicas, which multiply under autocast. Layers are compiled one
    by one, which a split model is not (utils/other.py compile_regions builds its class anew).
    """
    found: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": distributed_type(launch, mesh),
        "num_machines": launch.nodes,
        "num_processes": launch.plan.chips,
        "machine_rank": 0,
        "main_training_function": "main",
        "mixed_precision": launch.cost.job.precision if mixes(launch, mesh) else "no",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    if mesh.tp == 1 and launch.cost.job.trains_all:
        found["dynamo_config"] = {
            "dynamo_backend": "INDUCTOR",
            "dynamo_use_regional_compilation": True,
        }
    if found["distributed_type"] == "FSDP":
        found["fsdp_config"] = _sharding(launch)
        found["parallelism_config"] = _axes(mesh)
    return found


def _sharding(launch: Launch) -> dict[str, Any]:
    """Quantized weights are loaded by every process (Axolotl 0.19.0, schemas/validation.py)."""
    return {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_reshard_after_forward": common_sharding(launch) not in ("zero1", "zero2"),
        "fsdp_activation_checkpointing": common_recompute(launch) == "full",
        "fsdp_offload_params": bool(launch.plan.offload),
        "fsdp_cpu_ram_efficient_loading": not launch.cost.job.widens,
        "fsdp_state_dict_type": "SHARDED_STATE_DICT",
    }


def _axes(mesh: Mesh) -> dict[str, Any]:
    prefix = "parallelism_config"
    found: dict[str, Any] = {
        f"{prefix}_dp_replicate_size": mesh.replicas,
        f"{prefix}_dp_shard_size": mesh.shards,
        f"{prefix}_tp_size": mesh.tp,
        f"{prefix}_cp_size": mesh.cp,
    }
    if mesh.cp > 1:
        found[f"{prefix}_cp_comm_strategy"] = "alltoall"
    return found


def _constants(launch: Launch, mesh: Mesh) -> dict[str, Any]:
    """What the script reads.

    Gradients of sharded state are reduced among the shards with every micro-batch, in the format
    that the prediction has for them. The fused optimizer takes no split weights beside whole ones.
    """
    plan, fsdp = launch.plan, distributed_type(launch, mesh) == "FSDP"
    ranks = mesh.replicas * mesh.shards
    kept, short = kept_in(launch, mesh), launch.cost.assumptions.gradient_wire_bytes <= 2.0
    found: dict[str, Any] = {
        "DTYPE": kept,
        "ATTENTION": kernel_of(launch, mesh),
        "VOCABULARY": launch.model.vocab_size,
        "SEQ_LEN": launch.seq_len,
        "SEQUENCES": launch.global_batch,
        "CHIPS": plan.chips,
        "STEPS": STEPS,
        "MICRO_BATCH": plan.micro_batch,
        "ACCUMULATION": max(1, launch.global_batch // (ranks * plan.micro_batch)),
        "SHARDED": fsdp,
        "RECOMPUTE": not fsdp and common_recompute(launch) == "full",
        "FUSED": mesh.tp == 1,
        "EPS": EPS.get(kept, 1e-8),
        "MULTIPLIED_IN": loaded_in(launch) if fsdp and mixes(launch, mesh) else None,
        "REDUCED_IN": loaded_in(launch) if short else "float32",
    }
    if mesh.tp > 1:
        return found | {"REPLICAS": mesh.replicas, "SHARDS": mesh.shards, "TP": mesh.tp}
    return found | {"FIRST_RANK_LOADS": fsdp}


def _losses(launch: Launch, mesh: Mesh) -> tuple[Lost, ...]:
    """What runs otherwise than the cost model assumes, or is to be filled in."""
    if not launch.cost.job.trains_all:
        return (*_losses_of_adapters(launch, mesh), *lost_clock(launch))
    found = (
        [*_losses_of_weights()]
        if _tunes(launch)
        else [left_to_weights("the model type", keys_of_weights(launch.model))]
    )
    kernel = kernel_of(launch, mesh)
    found += [*kept_scores(kernel), *needed_package(SCRIPT, kernel)]
    if mesh.tp > 1:
        found.append(Lost("tp", "a model that transformers splits runs without torch.compile"))
    if mesh.tp > 1 and transformers_type(launch.model) == "gpt_neox":
        found.append(Lost("tp", "transformers leaves the embedding of GPT-NeoX undivided"))
    if mesh.tp > 1 and counts_masters(launch) and loaded_in(launch) != "float32":
        reason = (
            "a model that transformers splits has weights, gradients and moments of "
            f"{loaded_in(launch)}, 8 B a parameter; the plan counts 32-bit ones"
        )
        found.append(Lost("precision", reason))
    if kept_in(launch, mesh) in EPS:
        found.append(
            Lost(
                "precision",
                "fp16 without 32-bit weights, which the plan does not count, and without a scale "
                "of the loss: gradients below 6e-8 are 0, and eps of AdamW is 1e-3; nearest: bf16",
            )
        )
    found += _in_hosts(launch, mesh)
    return (*found, *lost_clock(launch))


def _losses_of_weights() -> tuple[Lost, ...]:
    """What the user names of a run that starts from published weights."""
    return (
        Lost("model", f"{SCRIPT} reads the weights that the environment variable MODEL names"),
        Lost(
            "lengths",
            f"{SCRIPT} joins the texts of DATA until a sequence is full, random "
            "tokens without it; attention goes on past the end of a text",
        ),
    )


def _losses_of_adapters(launch: Launch, mesh: Mesh) -> tuple[Lost, ...]:
    """The same of a script with adapters, which loads published weights."""
    kernel = kernel_of(launch, mesh)
    return (
        *_losses_of_weights(),
        *_uncompiled(launch),
        *kept_scores(kernel),
        *needed_package(SCRIPT, kernel),
        *_in_hosts(launch, mesh),
    )


def _uncompiled(launch: Launch) -> tuple[Lost, ...]:
    """What a script that launches kernel by kernel lacks where another era is predicted."""
    job = launch.cost.job
    if job.era == job.framework.adapters_era:
        return ()
    reason = f"the script runs without torch.compile, which the era {job.era} has"
    return (Lost("framework", reason),)


def _in_hosts(launch: Launch, mesh: Mesh) -> list[Lost]:
    """What hosts cannot hold of the weights that a script makes there before it shards them.

    The first process of all makes them where it hands them out, else each process; those of a
    split model are made on the chips.
    """
    made_in = "fp32" if mixes(launch, mesh) else launch.cost.job.precision
    whole = launch.model.total_parameters * operand_bytes(made_in) / GIB
    has = launch.cost.cluster.node_chips * launch.cost.chip.host_memory_bytes / GIB
    sharded = distributed_type(launch, mesh) == "FSDP"
    processes = 1 if sharded else launch.node_chips
    if mesh.tp > 1 or processes * whole <= has:
        return []
    if sharded:
        line = (
            f"the first process makes all weights, {whole:,.0f} GiB, in the memory of its host, "
            f"which has {has:,.0f} GiB"
        )
    else:
        line = (
            f"each of the {processes} processes of a host makes all weights in its memory: "
            f"{processes} x {whole:,.0f} GiB, where it has {has:,.0f} GiB"
        )
    return [Lost("model", line)]


def _comments(launch: Launch, mesh: Mesh) -> str:
    """Who wrote a file, from what, and what must be put in its place before it runs."""
    kept = kept_in(launch, mesh)
    also = f", products have {loaded_in(launch)}" if mixes(launch, mesh) else ""
    if not launch.cost.job.trains_all:
        return comments_of_tuning(
            launch, f"{launch.read_from(SOURCES)}, PEFT 0.21.2 and transformers 5.23"
        )
    lines = (
        made_by(launch),
        f"For {launch.read_from(SOURCES)}, and transformers 5.23.",
        "The learning rate and the number of steps are placeholders."
        if _tunes(launch)
        else "Data are random tokens; the learning rate and the number of steps are placeholders.",
        f"Weights, gradients and moments of Adam are kept in {kept}{also}.",
    )
    return "".join(f"# {line}\n" for line in lines)


def comments_of_tuning(launch: Launch, versions: str) -> str:
    """The same of a launch that tunes weights."""
    job = launch.cost.job
    lines = (
        made_by(launch),
        f"For {versions}.",
        "The learning rate and the number of steps are placeholders.",
        f"All weights are trained, in {loaded_in(launch)}."
        if job.trains_all
        else f"{job.adapter} of rank {job.lora_rank} beside {', '.join(job.adapted)}, in "
        f"{loaded_in(launch)}; frozen weights in {job.frozen_weights}.",
    )
    return "".join(f"# {line}\n" for line in lines)


def _yaml(value: dict[str, Any]) -> str:
    return dump(value)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"
