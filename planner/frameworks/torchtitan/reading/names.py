"""Settings of torchtitan: TOML of 0.2 and overrides of 0.3, by section.

Sources: torchtitan/config/job_config.py of v0.2.2 (73a0e69) and torchtitan/config/configs.py of
0.3.0 (PyPI).
"""

from __future__ import annotations

READ = {
    "model": """
        name flavor hf_assets_path tokenizer_path converters print_after_conversion
    """,
    "training": """
        dataset dataset_path local_batch_size global_batch_size seq_len max_norm steps
        enable_cpu_offload disable_cuda_graphs dtype mixed_precision_param mixed_precision_reduce
        gc_freq gc_debug deterministic seed
    """,
    "parallelism": """
        data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward
        enable_fsdp_symm_mem tensor_parallel_degree disable_loss_parallel
        enable_async_tensor_parallel enable_sequence_parallel spmd_backend
        pipeline_parallel_degree module_fqns_per_model_part
        pipeline_parallel_first_stage_less_layers pipeline_parallel_last_stage_less_layers
        pipeline_parallel_layers_per_stage pipeline_parallel_schedule
        pipeline_parallel_schedule_csv pipeline_parallel_microbatch_size
        pipeline_parallel_expert_parallel_overlap context_parallel_degree
        context_parallel_load_balancer context_parallel_rotate_method
        context_parallel_ptrr_mask_key expert_parallel_degree expert_tensor_parallel_degree
        expert_parallel_comm_backend
    """,
    "activation_checkpoint": """
        mode selective_ac_option per_op_sac_force_recompute_mm_shapes_by_fqns early_stop
        memory_budget visualize_memory_budget_pareto preserve_rng_state determinism_check debug
    """,
    "compile": "enable components backend enable_async_tensor_parallel",
}
"""Sections whose settings a plan may depend on, with all of their settings."""

OTHER_SECTIONS = {
    "job": "run",
    "profiling": "profiling",
    "profiler": "profiling",
    "metrics": "logging",
    "optimizer": "optimizer",
    "optimizers": "optimizer",
    "lr_scheduler": "learning rate",
    "checkpoint": "checkpointing",
    "quantize": "numerics of converters",
    "comm": "timeouts and traces",
    "memory_estimation": "estimation",
    "fault_tolerance": "fault tolerance",
    "experimental": "imports",
    "validation": "validation",
    "validator": "validation",
    "dataloader": "data",
    "tokenizer": "data",
    "loss": "loss",
    "debug": "debugging",
}
"""Sections that have no part in a plan, with what they are about."""

NOT_TEXT = {
    "training": """
        local_batch_size global_batch_size seq_len steps max_norm enable_cpu_offload
    """,
    "parallelism": """
        data_parallel_replicate_degree data_parallel_shard_degree tensor_parallel_degree
        disable_loss_parallel enable_async_tensor_parallel enable_sequence_parallel
        pipeline_parallel_degree pipeline_parallel_first_stage_less_layers
        pipeline_parallel_last_stage_less_layers pipeline_parallel_layers_per_stage
        pipeline_parallel_microbatch_size context_parallel_degree expert_parallel_degree
        expert_tensor_parallel_degree
    """,
    "compile": "enable",
}
"""Settings that are numbers or switches: TOML writes them without quotes.

torchtitan keeps a quoted one as text, with a warning, and fails where it counts with it (v0.2.2
config/manager.py, `_dict_to_dataclass`).
"""


def known_settings() -> tuple[str, ...]:
    """`section.name` of every setting that is read or known to have no part."""
    return _dotted(READ)


def settings_not_text() -> tuple[str, ...]:
    """`section.name` of the settings that are numbers or switches."""
    return _dotted(NOT_TEXT)


def _dotted(sections: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{section}.{name}" for section, names in sections.items() for name in names.split()
    )
