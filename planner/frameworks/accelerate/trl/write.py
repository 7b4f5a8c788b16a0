"""Plans for TRL: its configuration of `trl.scripts.sft` or `trl.scripts.dpo`, and Accelerate's.

Sources: TRL 1.16.0 trainer/sft_config.py, trainer/dpo_config.py, trainer/model_config.py,
scripts/utils.py; transformers 5.23 training_args.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.examples import RESULTS, kernel, losses_of_pairs, rows_of
from planner.frameworks.accelerate.mesh import loaded_in, mesh_of, mixes
from planner.frameworks.accelerate.tuning import WEIGHTS
from planner.frameworks.accelerate.write import (
    CONFIG,
    binding,
    comments_of_tuning,
    configuration_text,
    hosts_of_launch,
)
from planner.frameworks.hugging_face.adapters import alpha_of, module_names
from planner.frameworks.writing.chosen import common_recompute, common_sharding
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import kept_scores
from strict_yaml.writing import dump

SOURCES = {
    "1.16": "TRL 1.16.0 (PyPI)",
    "1.15": "TRL 1.15.0 (PyPI)",
}
"""Version to what its keys were read from."""
FILE = "trl.yaml"
STEPS = 30


def export(launch: Launch) -> Export:
    """A plan for TRL; see `planner.frameworks.writing.Export`."""
    job = launch.cost.job
    script = "dpo" if job.reference else "sft"
    where, hosts = hosts_of_launch(launch)
    command = (
        f"accelerate launch --config_file {CONFIG}{where} -m trl.scripts.{script} "
        f'--config {FILE} --model_name_or_path "$MODEL" --dataset_name "$DATA"'
    )
    source = launch.read_from(SOURCES)
    comment = comments_of_tuning(launch, f"{source}, Accelerate 1.15.0 and PEFT 0.21.2")
    return Export(
        target="trl",
        version=launch.version,
        framework_version=source,
        files=(
            TextFile(name=FILE, text=comment + dump(settings(launch))),
            TextFile(name=CONFIG, text=configuration_text(launch, comment)),
        ),
        command=command,
        environment=(("MODEL", "WEIGHTS"), ("DATA", "DATA_SET"), *hosts),
        lossy=_losses(launch),
        start=HostStart(
            command=command,
            needs=(WEIGHTS, ("DATA", "the data set, by its name or its folder")),
            binding=binding(launch),
            results=RESULTS,
            ends=f"{STEPS} steps: max_steps in {FILE}",
            restarts=f"save_strategy is no, and trl.scripts.{script} loads no checkpoint",
        ),
    )


def settings(launch: Launch) -> dict[str, Any]:
    """The file of `--config`."""
    job, mesh = launch.cost.job, mesh_of(launch)
    ranks, dtype = mesh.replicas * mesh.shards, loaded_in(launch)
    sharded = common_sharding(launch) != "ddp"
    found: dict[str, Any] = {
        "dtype": "float32" if mixes(launch, mesh) else dtype,
        "attn_implementation": kernel(launch),
        "bf16": mixes(launch, mesh) and dtype == "bfloat16",
        "fp16": mixes(launch, mesh) and dtype == "float16",
        "max_length": launch.seq_len,
        **(_pairs(launch) if job.reference else _texts(launch)),
        "per_device_train_batch_size": rows_of(launch),
        "gradient_accumulation_steps": max(
            1, launch.global_batch // (ranks * launch.plan.micro_batch)
        ),
        "gradient_checkpointing": not sharded and common_recompute(launch) == "full",
        "optim": "adamw_torch_fused",
        "learning_rate": 1e-5 if job.trains_all else 2e-4,
        "max_steps": STEPS,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "output_dir": RESULTS,
    }
    return found | ({} if job.trains_all else _adapters(launch))


def _texts(launch: Launch) -> dict[str, Any]:
    """Examples fill sequences; where attention ends with each of them they are packed whole."""
    strategy = "bfd" if launch.cost.job.lengths else "wrapped"
    return {"packing": True, "packing_strategy": strategy}


def _pairs(launch: Launch) -> dict[str, Any]:
    ahead = launch.cost.job.reference == "precomputed"
    return {"loss_type": ["sigmoid"], "beta": 0.1, "precompute_ref_log_probs": ahead}


def _adapters(launch: Launch) -> dict[str, Any]:
    job = launch.cost.job
    found: dict[str, Any] = {
        "use_peft": True,
        "lora_r": job.lora_rank,
        "lora_alpha": alpha_of(job),
        "lora_dropout": job.lora_dropout,
        "lora_target_modules": module_names(launch.cost),
        "use_dora": job.adapter == "dora",
    }
    if job.widens:
        found |= {
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "use_bnb_nested_quant": True,
            "bnb_4bit_quant_storage": loaded_in(launch),
        }
    return found


def _losses(launch: Launch) -> tuple[Lost, ...]:
    job = launch.cost.job
    found = [Lost("model", "the environment variables MODEL and DATA name weights and data set")]
    if not job.trains_all and not job.widens:
        reason = "TRL keeps adapters in 32 bits beside weights in 16, which the plan has in 16"
        found.append(Lost("precision", reason))
    if job.lora_dropout and job.reference:
        found.append(Lost("lora_dropout", "DPO of TRL switches dropout off (disable_dropout)"))
    return (*found, *losses_of_pairs(launch), *kept_scores(kernel(launch)), *lost_clock(launch))
