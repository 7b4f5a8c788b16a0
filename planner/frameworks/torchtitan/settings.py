"""What a plan sets in torchtitan, by section and key, for each version of its configuration.

Batches (torchtitan trainer.py; v0.2.2 train.py): a pipeline runs all micro-batches of a step in one
accumulation step, so that the local batch is all of them; without a pipeline the local batch is one
micro-batch and the global batch says how many are accumulated. From main b5bcd76 on (2026-08-21)
batches are counted in tokens.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.writing.chosen import common_sharding
from planner.frameworks.writing.launch import Launch

Settings = dict[str, dict[str, Any]]
"""Section to key to value, in the order in which they are written."""

SCHEDULES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "Interleaved1F1B",
    "zb-v": "ZBVZeroBubble",
}
"""Names in torch.distributed.pipelining.schedules, `get_schedule_class`.

Neither ZB-H1 nor a pipeline of both directions is among them: ZBVZeroBubble is another schedule, of
exactly two chunks per rank.
"""

HEAD = {"0.2": "output", "0.3": "lm_head", "main": "lm_head"}
"""Module that holds the output head."""


def settings_of(launch: Launch) -> Settings:
    """Everything that a plan says, except which model and how activations are recomputed."""
    return {
        "training": _training(launch),
        **_moments(launch),
        "parallelism": _parallelism(launch),
        "compile": {
            "enable": True,
            "components": ["loss"] if launch.model.moe else ["model", "loss"],
        },
        **_recorded(launch),
    }


def _moments(launch: Launch) -> Settings:
    """Both moments of Adam in 16 bits beside weights of 32, where the job has them.

    Source: torchtitan 0.3.0 components/optimizer/optimizer.py, `fused_opt_states_bf16`.
    """
    if launch.cost.job.optimizer != "adam-bf16" or launch.version == "0.2":
        return {}
    return {"optimizer": {"implementation": "fused_opt_states_bf16"}}


def _recorded(launch: Launch) -> Settings:
    """What a launch of few steps prints and records, after three steps that warm the profiler up.

    Source: torchtitan 0.3.0 tools/profiler.py, Profiler.Config, which records the last
    `profiler_active` of every `profile_freq` steps; v0.2.2 calls the section `profiling`.
    """
    profiled = launch.profiled
    if profiled is None:
        return {}
    section = "profiling" if launch.version == "0.2" else "profiler"
    return {
        "metrics": {"log_freq": 1},
        section: {
            "enable_profiling": True,
            "profile_freq": profiled.steps,
            "profiler_active": profiled.recorded,
        },
    }


def stage_modules(launch: Launch) -> list[list[str]]:
    """Modules of every stage, with interleaving of every chunk, in pipeline order."""
    parts: list[list[str]] = []
    done = 0
    for layers in launch.chunk_layers:
        parts.append([f"layers.{layer}" for layer in range(done, done + layers)])
        done += layers
    parts[0].insert(0, "tok_embeddings")
    parts[-1] += ["norm", HEAD[launch.version]]
    return parts


def shard_degrees(launch: Launch) -> tuple[int, int]:
    """Replicas and shards: ranks of zero1 and zero2 are shards, those of ddp replicas."""
    plan = launch.plan
    if common_sharding(launch) in ("zero1", "zero2"):
        return 1, plan.dp * plan.fsdp
    return plan.dp, plan.fsdp


def _training(launch: Launch) -> dict[str, Any]:
    plan, found = launch.plan, dict[str, Any]()
    if launch.version == "main":
        found["num_tokens_per_microbatch_per_dp_rank"] = plan.micro_batch * launch.seq_len
        found["num_tokens_per_train_step"] = launch.global_batch * launch.seq_len
        found["max_context_length"] = launch.seq_len
    else:
        rounds = launch.micro_batches if plan.pp > 1 else 1
        found["local_batch_size"] = plan.micro_batch * rounds
        found["global_batch_size"] = launch.global_batch
        found["seq_len"] = launch.seq_len
    exact = launch.cost.job.precision == "fp32"
    found["mixed_precision_param"] = "float32" if exact else "bfloat16"
    if plan.offload:
        found["enable_cpu_offload"] = True
    if launch.profiled is not None:
        found["steps"] = launch.profiled.steps
    captured = plan.pp == 1 and plan.ep == 1 and not plan.offload
    if launch.version != "0.2" and not captured:
        found["disable_cuda_graphs"] = True
    return found


def _parallelism(launch: Launch) -> dict[str, Any]:
    plan, early = launch.plan, launch.version == "0.2"
    replicas, shards = shard_degrees(launch)
    gathered_once = common_sharding(launch) in ("zero1", "zero2")
    found: dict[str, Any] = {
        "data_parallel_replicate_degree": replicas,
        "data_parallel_shard_degree": shards,
        "fsdp_reshard_after_forward": "never" if gathered_once else "default",
        "tensor_parallel_degree": plan.tp,
    }
    if plan.tp > 1 and not early:
        found["enable_sequence_parallel"] = plan.sequence_parallel
    found["context_parallel_degree"] = plan.cp
    if plan.cp > 1 and early:
        found["context_parallel_rotate_method"] = "alltoall"
    found["expert_parallel_degree"] = plan.ep
    if plan.ep > 1 and early:
        found["expert_tensor_parallel_degree"] = 1
    found["pipeline_parallel_degree"] = plan.pp
    if plan.pp > 1:
        found |= _pipeline(launch)
    return found


def _pipeline(launch: Launch) -> dict[str, Any]:
    plan = launch.plan
    found: dict[str, Any] = {"pipeline_parallel_schedule": SCHEDULES[plan.schedule]}
    if launch.version == "main":
        found["num_pp_microbatches"] = launch.micro_batches
    else:
        found["pipeline_parallel_microbatch_size"] = plan.micro_batch
    return found | {"module_fqns_per_model_part": stage_modules(launch)}
