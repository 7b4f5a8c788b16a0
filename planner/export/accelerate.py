"""Plans for Hugging Face Accelerate: a configuration, and arguments of a Transformers script.

Sources: Accelerate 16cb6eb commands/launch.py, parallelism_config.py, utils/dataclasses.py;
Transformers 5.23 training_args.py and examples/pytorch/language-modeling/run_clm.py. Rules:
`planner.rules.accelerate`.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from planner.export.chosen import common_recompute, common_sharding
from planner.export.clocks import lost_clock
from planner.export.export import Export, Lost, TextFile
from planner.export.hf_model import dimensions, keys_of_weights
from planner.export.launch import Launch
from planner.export.texts import left_to_weights, made_by
from planner.rules.hf_types import transformers_type

SOURCE = "Accelerate 1.15.0, 16cb6eb (2026-07-24)"
CONFIG, ARGUMENTS, MODEL = "accelerate.yaml", "training.json", "config.json"
SCRIPT = "run_clm.py"
TOKENIZER = "TOKENIZER"
PORT = 29500
LOADED_IN = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""Precisions of `planner.rules.accelerate` to those of PyTorch."""


def export(launch: Launch) -> Export:
    """A plan for Accelerate; see `planner.export.Export`."""
    several = launch.nodes > 1
    where = (
        f' --machine_rank "$NODE_RANK" --main_process_ip "$MASTER_ADDR" --main_process_port {PORT}'
    )
    command = f"accelerate launch --config_file {CONFIG}{where if several else ''}"
    hosts = (("MASTER_ADDR", "HOST_OF_THE_FIRST_NODE"), ("NODE_RANK", "RANK_OF_THIS_NODE"))
    model = model_configuration(launch)
    files = [
        TextFile(name=CONFIG, text=_comments(launch) + _yaml(_configuration(launch))),
        TextFile(name=ARGUMENTS, text=_json(_arguments(launch, known=model is not None))),
    ]
    if model is not None:
        files.append(TextFile(name=MODEL, text=_json(model)))
    return Export(
        target="accelerate",
        version="",
        framework_version=SOURCE,
        files=tuple(files),
        command=f"{command} {SCRIPT} {ARGUMENTS}",
        environment=hosts if several else (),
        lossy=_losses(launch, known=model is not None),
    )


def model_configuration(launch: Launch) -> dict[str, Any] | None:
    """The model's config.json; None where transformers has no architecture of its build."""
    kind = transformers_type(launch.model)
    if kind is None:
        return None
    return {
        "model_type": kind,
        **dimensions(launch.model, launch.seq_len),
        "dtype": LOADED_IN.get(launch.cost.job.precision, "bfloat16"),
        "use_cache": False,
    }


def _configuration(launch: Launch) -> dict[str, Any]:
    """The file of `accelerate launch --config_file`.

    The cost model counts weights, gradients and moments in 16 bits, so that nothing is mixed: under
    mixed precision FSDP keeps 32-bit weights (utils/fsdp_utils.py).
    """
    plan = launch.plan
    found: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": _distributed_type(launch),
        "num_machines": launch.nodes,
        "num_processes": plan.chips,
        "machine_rank": 0,
        "main_training_function": "main",
        "mixed_precision": "no",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    if found["distributed_type"] == "FSDP":
        found["fsdp_config"] = _sharding(launch)
        found["parallelism_config"] = _mesh(launch)
    return found


def _distributed_type(launch: Launch) -> str:
    plan = launch.plan
    if _state_is_sharded(launch):
        return "FSDP"
    return "MULTI_GPU" if plan.chips > 1 else "NO"


def _state_is_sharded(launch: Launch) -> bool:
    """Whether FSDP runs: under zero1 and zero2 too, which it is nearest to, and for tp and cp."""
    plan = launch.plan
    divided = common_sharding(launch) != "ddp" or plan.tp * plan.cp > 1
    return plan.chips > 1 and divided


def _sharding(launch: Launch) -> dict[str, Any]:
    plan = launch.plan
    return {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_reshard_after_forward": common_sharding(launch) not in ("zero1", "zero2"),
        "fsdp_activation_checkpointing": common_recompute(launch) == "full",
        "fsdp_offload_params": bool(plan.offload),
        "fsdp_cpu_ram_efficient_loading": False,
        "fsdp_state_dict_type": "SHARDED_STATE_DICT",
    }


def _mesh(launch: Launch) -> dict[str, Any]:
    """Sizes of the axes.

    Stages of a pipeline, of which there are none, become replicas; replicas become shards where
    they share state, or stand beside tp or cp without any shard.
    """
    plan = launch.plan
    replicas, shards = plan.dp * plan.pp, plan.fsdp
    alone = shards == 1 and plan.tp * plan.cp > 1
    if alone or common_sharding(launch) in ("zero1", "zero2"):
        replicas, shards = 1, replicas * shards
    prefix = "parallelism_config"
    found: dict[str, Any] = {
        f"{prefix}_dp_replicate_size": replicas,
        f"{prefix}_dp_shard_size": shards,
        f"{prefix}_tp_size": plan.tp,
        f"{prefix}_cp_size": plan.cp,
    }
    if plan.cp > 1:
        found[f"{prefix}_cp_comm_strategy"] = "alltoall"
    return found


def _arguments(launch: Launch, *, known: bool) -> dict[str, Any]:
    """Arguments of the script: of the model, of its data, and `TrainingArguments`."""
    plan = launch.plan
    found: dict[str, Any] = {
        "config_name": f"./{MODEL}" if known else "MODEL",
        "tokenizer_name": TOKENIZER,
        "dataset_name": "wikitext",
        "dataset_config_name": "wikitext-2-raw-v1",
        "block_size": launch.seq_len,
        "output_dir": "outputs",
        "do_train": True,
        "max_steps": 100,
        "per_device_train_batch_size": plan.micro_batch,
        "gradient_accumulation_steps": _accumulation(launch),
        "bf16": False,
        "torch_compile": True,
    }
    if not _state_is_sharded(launch) and common_recompute(launch) == "full":
        found["gradient_checkpointing"] = True
    return found


def _accumulation(launch: Launch) -> int:
    """Micro-batches of one data rank per step."""
    plan = launch.plan
    return max(1, launch.global_batch // (plan.dp * plan.fsdp * plan.pp * plan.micro_batch))


def _losses(launch: Launch, *, known: bool) -> tuple[Lost, ...]:
    """What runs otherwise than the cost model assumes, or is to be filled in."""
    plan, found = launch.plan, []
    if known:
        found.append(left_to_weights("the model type", keys_of_weights(launch.model)))
    else:
        found.append(
            Lost("model", f"no config.json is written for the architecture of {launch.model.name}; "
                 f"put the name of its configuration for MODEL in {ARGUMENTS}")
        )  # fmt: skip
    if plan.tp > 1:
        found.append(
            Lost("tp", f"{SCRIPT} builds an undivided model: give from_pretrained tp_plan='auto' "
                 "and the device mesh")
        )  # fmt: skip
    if plan.sequence_parallel:
        reason = "the tp plans of Transformers leave norms and residuals undivided"
        found.append(Lost("sequence_parallel", reason))
    return (*found, *lost_clock(launch))


def _comments(launch: Launch) -> str:
    """Who wrote a file, from what, and what must be put in its place before it runs."""
    lines = (
        made_by(launch),
        f"For {SOURCE}.",
        f"{SCRIPT} is that of Transformers (examples/pytorch/language-modeling); in {ARGUMENTS}",
        f"{TOKENIZER}, the data set and max_steps are placeholders.",
        "Weights, gradients and optimizer are of one precision, as the cost model counts them.",
    )
    return "".join(f"# {line}\n" for line in lines)


def _yaml(value: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False)
    return text


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"
