"""Plans for Axolotl: one YAML file, and the command that takes it.

Sources: Axolotl 0.19.0 utils/schemas/ (config.py, peft.py, fsdp.py, training.py, datasets.py) and
cli/main.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.examples import RESULTS, kernel, losses_of_pairs, rows_of
from planner.frameworks.accelerate.mesh import loaded_in, mesh_of
from planner.frameworks.accelerate.tuning import WEIGHTS, data_linked
from planner.frameworks.accelerate.write import comments_of_tuning
from planner.frameworks.hugging_face.adapters import alpha_of, module_names
from planner.frameworks.writing.chosen import common_recompute, common_sharding
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import kept_scores
from planner.frameworks.writing.torchrun import beside_gpus, host_variables, static_ranks
from strict_yaml.writing import dump

SOURCES = {
    "0.19": "Axolotl 0.19.0 (PyPI)",
    "0.18": "Axolotl 0.18.0 (PyPI)",
}
"""Version to what its keys were read from."""
FILE, DATA = "axolotl.yaml", "data.jsonl"
STEPS = 30
_AMP = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float32"}
"""Keys that keep and multiply weights in one format (config.py: "without AMP")."""


def export(launch: Launch) -> Export:
    """A plan for Axolotl; see `planner.frameworks.writing.Export`."""
    comment = comments_of_tuning(launch, launch.read_from(SOURCES))
    several = launch.nodes > 1
    ranks = static_ranks(launch) if several else (f"--nproc-per-node {launch.node_chips}",)
    command = f'axolotl train {FILE} --base-model "$MODEL" --launcher torchrun -- {" ".join(ranks)}'
    return Export(
        target="axolotl",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(TextFile(name=FILE, text=comment + dump(settings(launch))),),
        command=command,
        environment=(("MODEL", "WEIGHTS"), *host_variables(launch)),
        lossy=_losses(launch),
        start=HostStart(
            command=data_linked(DATA, command),
            needs=(WEIGHTS, ("DATA", f"the file that stands for {DATA}")),
            binding=beside_gpus(launch, "axolotl", '"$@" --numa-binding node'),
            results=RESULTS,
            ends=f"{STEPS} steps: max_steps in {FILE}",
            restarts=f"save_strategy is no; save_strategy steps, save_steps and "
            f"auto_resume_from_checkpoints in {FILE} go on from the last checkpoint",
        ),
    )


def settings(launch: Launch) -> dict[str, Any]:
    """The file; `base_model` is replaced by the option of the command."""
    job, mesh = launch.cost.job, mesh_of(launch)
    ranks = mesh.replicas * mesh.shards
    found: dict[str, Any] = {
        "base_model": "WEIGHTS",
        **(_adapters(launch) if not job.trains_all else {}),
        **(_pairs(launch) if job.reference else _texts(launch)),
        "sequence_len": launch.seq_len,
        "micro_batch_size": rows_of(launch),
        "gradient_accumulation_steps": max(
            1, launch.global_batch // (ranks * launch.plan.micro_batch)
        ),
        _AMP[loaded_in(launch)]: True,
        "attn_implementation": kernel(launch),
        "optimizer": "adamw_torch_fused",
        "learning_rate": 1e-5 if job.trains_all else 2e-4,
        "lr_scheduler": "cosine",
        "max_steps": STEPS,
        "num_epochs": 1,
        "logging_steps": 1,
        "save_strategy": "no",
        "output_dir": RESULTS,
    }
    recomputes, sharded = common_recompute(launch) == "full", common_sharding(launch) != "ddp"
    if sharded:
        return found | _sharding(launch, recomputes=recomputes)
    return found | {"gradient_checkpointing": recomputes}


def _sharding(launch: Launch, *, recomputes: bool) -> dict[str, Any]:
    mesh = mesh_of(launch)
    return {
        "fsdp_version": 2,
        "dp_shard_size": mesh.shards,
        **({"dp_replicate_size": mesh.replicas} if mesh.replicas > 1 else {}),
        "fsdp_config": {
            "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "reshard_after_forward": True,
            "activation_checkpointing": recomputes,
            "offload_params": bool(launch.plan.offload),
            "cpu_ram_efficient_loading": not launch.cost.job.widens,  # it would not end
            "state_dict_type": "FULL_STATE_DICT",
        },
    }


def _adapters(launch: Launch) -> dict[str, Any]:
    job = launch.cost.job  # kernels of its own for adapters are not what the prediction has
    found: dict[str, Any] = {
        "adapter": "qlora" if job.widens else "lora",
        "lora_r": job.lora_rank,
        "lora_alpha": alpha_of(job),
        "lora_dropout": job.lora_dropout,
        "lora_target_modules": module_names(launch.cost),
        "peft_use_dora": job.adapter == "dora",
        "peft_autocast_adapter_dtype": False,
        **dict.fromkeys(("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"), False),
    }
    if job.widens:
        found |= {
            "load_in_4bit": True,
            "bnb_config_kwargs": {
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": True,
                "bnb_4bit_quant_storage": loaded_in(launch),
            },
        }
    return found


def _texts(launch: Launch) -> dict[str, Any]:
    """Examples fill sequences."""
    return {
        "datasets": [{"path": DATA, "ds_type": "json", "type": "completion"}],
        "sample_packing": True,
        "pad_to_sequence_len": True,
    }


def _pairs(launch: Launch) -> dict[str, Any]:
    fields = {"field_prompt": "prompt", "field_chosen": "chosen", "field_rejected": "rejected"}
    return {
        "rl": "dpo",
        "rl_beta": 0.1,
        "precompute_ref_log_probs": launch.cost.job.reference == "precomputed",
        "datasets": [{"path": DATA, "ds_type": "json", "split": "train", "type": fields}],
    }


def _losses(launch: Launch) -> tuple[Lost, ...]:
    job = launch.cost.job
    keys = "prompt, chosen and rejected" if job.reference else "text"
    found = [
        Lost("model", f"the environment variable MODEL names the weights; {DATA} has lines of "
             f"JSON with {keys}"),
    ]  # fmt: skip
    return (*found, *losses_of_pairs(launch), *kept_scores(kernel(launch)), *lost_clock(launch))
