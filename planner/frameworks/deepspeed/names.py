"""Settings of DeepSpeed's JSON configuration.

Sources: DeepSpeed edaa722 (2026-08-22) and 0.19.8, runtime/constants.py, runtime/config.py,
runtime/precision_config.py, runtime/zero/config.py, runtime/zero/offload_config.py,
runtime/tensor_parallel/config.py, runtime/activation_checkpointing/config.py, compile/config.py,
module_inject/auto_ep_config.py. It takes an unknown setting at the top without a word.
"""

from __future__ import annotations

from planner.frameworks.deepspeed.effects import EFFECTS, REMOVED

READ = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps
    sequence_parallel_size data_parallel_size bf16.enabled bfloat16.enabled fp16.enabled
    torch_autocast.enabled torch_autocast.dtype
    zero_optimization.stage zero_optimization.offload_optimizer.device
    zero_optimization.offload_param.device zero_optimization.cpu_offload
    zero_optimization.cpu_offload_param zero_optimization.overlap_comm
    zero_optimization.zero_hpz_partition_size zero_optimization.mics_shard_size
    tensor_parallel.autotp_size expert_parallel.enabled expert_parallel.autoep_size
    pipeline.stages pipeline.activation_checkpoint_interval
    activation_checkpointing.cpu_checkpointing activation_checkpointing.number_checkpoints
    zero_optimization.offload_optimizer.ratio optimizer.type
"""
"""Settings that a plan, or what is said of it, depends on."""

NUMBERS = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps
    sequence_parallel_size tensor_parallel.autotp_size expert_parallel.autoep_size
    pipeline.activation_checkpoint_interval
"""
"""Settings that DeepSpeed calculates with as they stand, so that text in quotes ends a launch.

Those of ZeRO are read by pydantic, which takes a number in quotes for the number.
"""

_IGNORED = {
    "": """
        steps_per_print memory_breakdown dump_state disable_python_gc gradient_clipping
        prescale_gradients gradient_predivide_factor gradient_allreduce_op disable_allgather
        zero_allow_untested_optimizer zero_force_ds_cpu_optimizer dataloader_drop_last
        managed_gradient_accumulation log_level vocabulary_size allgather_size
    """,
    "zero_optimization": """
        contiguous_gradients reduce_bucket_size use_multi_rank_bucket_allreduce
        allgather_bucket_size compute_grad_norm load_from_fp32_weights elastic_checkpoint
        sub_group_size cpu_offload_use_pin_memory prefetch_bucket_size
        stage3_prefetch_bucket_size param_persistence_threshold stage3_param_persistence_threshold
        model_persistence_threshold stage3_model_persistence_threshold max_live_parameters
        stage3_max_live_parameters max_reuse_distance stage3_max_reuse_distance
        gather_16bit_weights_on_model_save stage3_gather_16bit_weights_on_model_save
        module_granularity_threshold stage3_module_granularity_threshold
        stage3_gather_fp16_weights_on_model_save ignore_unused_parameters legacy_stage1
        round_robin_gradients parameter_alignment memory_efficient_linear
        pipeline_loading_checkpoint override_module_apply log_trace_cache_warnings
        enable_sanity_checks save_muon_momentum_buffer_in_memory
    """,
}

_WITHIN = {
    "bf16": ("numerics", "immediate_grad_update check_grad_overflow"),
    "bfloat16": ("numerics", "immediate_grad_update check_grad_overflow"),
    "fp16": (
        "numerics",
        "auto_cast loss_scale initial_scale_power loss_scale_window hysteresis "
        "consecutive_hysteresis min_loss_scale",
    ),
    "torch_autocast": ("numerics", "lower_precision_safe_modules"),
    "data_types": ("numerics", "param_dtype buffer_dtype keep_in_fp32_modules"),
    "zero_optimization.offload_optimizer": (
        "buffers of the host",
        "nvme_path buffer_count pipeline_read pipeline_write fast_init cpuadam_cores_perc",
    ),
    "zero_optimization.offload_param": (
        "buffers of the host",
        "nvme_path buffer_count buffer_size max_in_cpu",
    ),
    "tensor_parallel": (
        "details of AutoTP",
        "dtype vocab_parallel_lm_head vocab_parallel_ce_backend tp tensor_parallel "
        "injection_policy_tuple preset_model keep_module_on_host replace_with_kernel_inject "
        "kernel_inject",
    ),
    "expert_parallel": (
        "details of AutoEP",
        "validate_folding_routing async_split_plan preset_model moe_layer_pattern expert_pattern "
        "router_pattern use_grouped_mm disable_triton_grouped_mm route_norm route_scale "
        "score_apply combine_impl row_weighting_impl gate_up_impl comm_num_sm comm_qp_margin "
        "comm_max_tokens_per_rank num_expert_groups num_limited_groups score_func top_k "
        "load_balance_coeff routed_scaling_factor expert_w1 expert_w2 expert_w3 num_experts_attr "
        "top_k_attr has_shared_experts shared_experts_pattern shared_experts_gate_pattern "
        "expert_activation",
    ),
    "pipeline": ("details of the pipeline", "partition seed_layers use_reentrant"),
    "activation_checkpointing": (
        "details of checkpoints of activations",
        "contiguous_memory_optimization profile",
    ),
    "compile": (
        "compilation",
        "autoep_non_moe free_activation_threshold offload_activation_pin_memory double_buffer "
        "symmetric_memory debug_log sync_before_reduce sync_after_reduce sync_before_allgather "
        "sync_after_allgather keep_int_input_tensors keep_all_input_tensors passes",
    ),
}
"""Sections whose settings are listed: what those are about that have no part in a plan."""

SECTIONS = {
    "optimizer": "optimizer",
    "scheduler": "learning rate",
    "zero_optimization.leaf_module": "hooks of ZeRO",
    "zero_optimization.zenflow": "details of ZenFlow",
    "tensor_parallel.tp": "details of AutoTP",
    "tensor_parallel.tensor_parallel": "details of AutoTP",
    "tensor_parallel.partition_config": "details of AutoTP",
    "comms_logger": "logging",
    "flops_profiler": "profiling",
    "tensorboard": "logging",
    "wandb": "logging",
    "csv_monitor": "logging",
    "comet": "logging",
    "timers": "logging",
    "checkpoint": "checkpointing",
    "datastates_ckpt": "checkpointing",
    "aio": "files",
    "autotuning": "tuning",
    "data_efficiency": "data",
    "weight_quantization": "details of quantization",
    "hybrid_engine": "inference",
    **dict.fromkeys(REMOVED, "removed from DeepSpeed"),
}
"""Sections any other setting of which has no part in a plan, with what they are about."""

OBJECTS = ("zero_optimization", "optimizer", *_WITHIN)
"""Sections, in whose place DeepSpeed takes nothing else."""


def reasons_by_name() -> dict[str, str]:
    """Why settings and sections that are known have no part in a plan, by their dotted names."""
    found = dict.fromkeys((*OBJECTS, *SECTIONS), "no part of a plan")
    found |= dict.fromkeys((*READ.split(), *EFFECTS), "without effect beside the others")
    for section, names in _IGNORED.items():
        before = f"{section}." if section else ""
        found |= {f"{before}{name}": "no part of a plan" for name in names.split()}
    for section, (about, names) in _WITHIN.items():
        found |= {f"{section}.{name}": about for name in names.split()}
    return found
