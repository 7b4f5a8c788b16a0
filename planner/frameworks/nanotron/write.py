"""Plans for nanotron: its YAML configuration and the command.

Keys: nanotron 2411b02 (2026-04-07), src/nanotron/config/config.py, parallelism_config.py and
models_config.py. LlamaConfig serves models like Llama; Qwen2Config, which is the same without
biases, has rings and experts besides. Dummy data stand for yours (`dataset: null`).
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.writing.chosen import common_recompute, common_sharding
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import Section, left_to_weights, made_by, yaml_text
from planner.frameworks.writing.torchrun import host_variables, torchrun

SOURCES = {
    "main": "2411b02 (2026-04-07)",
    "0.5": "v0.5, 4799d24702 (2024-04-19)",
}
"""Version to what its keys were read from."""
EARLY = "0.5"
"""The last release: it divides no sequences, computes nothing again, and has LlamaConfig only."""
FILE = "nanotron.yaml"
QUEUES = ("CUDA_DEVICE_MAX_CONNECTIONS", "1")
_DTYPES = {"fp16": "float16"}
_STEPS = 30
_OF_WEIGHTS = ("hidden_act", "rms_norm_eps", "rope_theta", "rope_scaling")
"""Keys of model_config that published weights need and a record does not hold."""


def export(launch: Launch) -> Export:
    """The plan as a YAML file and the command that starts it."""
    sections = [
        Section("", {"general": {"project": "planner", "run": "%date_%jobid", "seed": 42}}),
        Section("tp cp dp pp, innermost first", {"parallelism": _parallelism(launch)}),
        Section("", {"tokens": _tokens(launch)}),
        Section("", {"model": _model(launch)}),
        Section("", {"tokenizer": {"tokenizer_name_or_path": "YOUR_TOKENIZER"}}),
        Section("", {"optimizer": _optimizer(launch)}),
        Section("dummy data stand for yours", {"data_stages": _data()}),
        Section("", {"checkpoints": _checkpoints()}),
    ]
    source = launch.read_from(SOURCES)
    return Export(
        target="nanotron",
        version=launch.version,
        framework_version=source,
        files=(TextFile(name=FILE, text=yaml_text(made_by(launch), sections)),),
        command=_command(launch),
        environment=(QUEUES, *host_variables(launch)),
        lossy=tuple(_lossy(launch)),
        start=HostStart(
            command=_command(launch, '"$NANOTRON_HOME/run_train.py"'),
            environment=(QUEUES,),
            needs=(("NANOTRON_HOME", f"the folder of nanotron, {source}"),),
            ends=f"{_STEPS} steps: tokens.train_steps in {FILE}",
            restarts="checkpoints.checkpoint_interval is above its steps; a lower one, and "
            "resume_checkpoint_path, go on from the last checkpoint",
        ),
    )


def _parallelism(launch: Launch) -> dict[str, Any]:
    plan = launch.plan
    values = {
        "dp": plan.dp * plan.fsdp,
        "pp": plan.pp,
        "tp": plan.tp,
        "context_parallel_size": plan.cp,
        "expert_parallel_size": 1,
        "pp_engine": "afab" if plan.schedule == "gpipe" else "1f1b",
        "tp_mode": "REDUCE_SCATTER" if plan.sequence_parallel else "ALL_REDUCE",
        "tp_linear_async_communication": plan.sequence_parallel,
        "tp_recompute_allgather": True,
        "recompute_layer": common_recompute(launch) == "full",
    }
    if launch.version == EARLY:
        for key in ("context_parallel_size", "tp_recompute_allgather", "recompute_layer"):
            del values[key]
    return values


def _tokens(launch: Launch) -> dict[str, Any]:
    return {
        "sequence_length": launch.seq_len,
        "train_steps": _STEPS,
        "micro_batch_size": launch.plan.micro_batch,
        "batch_accumulation_per_replica": launch.micro_batches,
    }


def _model(launch: Launch) -> dict[str, Any]:
    return {
        "ddp_bucket_cap_mb": 25,
        "dtype": _DTYPES.get(launch.cost.job.precision, "bfloat16"),
        "init_method": {"std": 0.02},
        "make_vocab_size_divisible_by": 1,
        "model_config": model_config(launch),
    }


def model_config(launch: Launch) -> dict[str, Any]:
    """The keys of LlamaConfig, or of Qwen2Config."""
    model, early = launch.model, launch.version == EARLY
    ring = launch.plan.cp > 1 and not early
    qwen = bool(ring or model.attention.bias or model.moe) and not early
    values: dict[str, Any] = {
        "is_qwen2_config" if qwen else "is_llama_config": True,
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "intermediate_size": model.mlp.hidden or (model.moe.expert_hidden if model.moe else 0),
        "hidden_act": "silu",
        "max_position_embeddings": launch.seq_len,
        "tie_word_embeddings": model.tied_embeddings,
        "vocab_size": model.vocab_size,
    }
    if qwen:
        values["attention_bias"] = bool(model.attention.bias)
    if ring:
        values |= {"_attn_implementation": "llama3_ring_attention", "ring_attn_heads_k_stride": 1}
    if model.moe is not None and not early:
        values["moe_config"] = {
            "num_experts": model.moe.experts,
            "top_k": model.moe.experts_per_token,
            "moe_intermediate_size": model.moe.expert_hidden,
            "enable_shared_expert": model.moe.shared_experts > 0,
            "layers": [at for at, kind in enumerate(model.layer_kinds) if kind == "moe"],
        }
    return values


def _optimizer(launch: Launch) -> dict[str, Any]:
    return {
        "zero_stage": 0 if common_sharding(launch) == "ddp" else 1,
        "accumulate_grad_in_fp32": True,
        "clip_grad": 1.0,
        "weight_decay": 0.1,
        "optimizer_factory": {
            "name": "adamW",
            "adam_beta1": 0.9,
            "adam_beta2": 0.95,
            "adam_eps": 1.0e-8,
            "torch_adam_is_fused": True,
        },
        "learning_rate_scheduler": {
            "learning_rate": 3.0e-4,
            "lr_warmup_steps": 2,
            "lr_warmup_style": "linear",
            "lr_decay_style": "cosine",
            "min_decay_lr": 3.0e-5,
        },
    }


def _data() -> list[dict[str, Any]]:
    data = {"dataset": None, "num_loading_workers": 1, "seed": 42}
    return [{"name": "training", "start_training_step": 1, "data": data}]


def _checkpoints() -> dict[str, Any]:
    return {"checkpoints_path": "checkpoints", "checkpoint_interval": 10 * _STEPS}


def _command(launch: Launch, program: str = "run_train.py") -> str:
    return " ".join((*torchrun(launch), program, f"--config-file {FILE}"))


def _lossy(launch: Launch) -> list[Lost]:
    lost = [*lost_clock(launch), left_to_weights("nanotron", _OF_WEIGHTS)]
    if launch.plan.cp > 1:
        reason = "llama3_ring_attention gathers keys and values head by head instead of passing on"
        lost.append(Lost("cp_mode", reason))
    if launch.cost.job.kind == "finetune":
        lost.append(Lost("job", "checkpoints.resume_checkpoint_path names the checkpoint"))
    return lost
