"""Settings of DeepSpeed's JSON configuration.

Sources: DeepSpeed edaa722 (2026-08-22), deepspeed/runtime/constants.py, runtime/config.py,
runtime/zero/config.py, runtime/tensor_parallel/config.py, runtime/activation_checkpointing/
config.py, module_inject/auto_ep_config.py. It takes an unknown setting at the top without a word.
"""

from __future__ import annotations

READ = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps
    sequence_parallel_size bf16.enabled bfloat16.enabled fp16.enabled
    zero_optimization.stage zero_optimization.offload_optimizer.device
    zero_optimization.offload_param.device zero_optimization.cpu_offload
    zero_optimization.zero_hpz_partition_size zero_optimization.mics_shard_size
    zero_optimization.zero_quantized_weights zero_optimization.zero_quantized_gradients
    tensor_parallel.autotp_size expert_parallel.enabled expert_parallel.autoep_size
    pipeline.stages pipeline.activation_checkpoint_interval
    activation_checkpointing.partition_activations activation_checkpointing.cpu_checkpointing
    activation_checkpointing.number_checkpoints
"""
"""Settings that a plan may depend on."""

NUMBERS = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps
    sequence_parallel_size tensor_parallel.autotp_size expert_parallel.autoep_size
    pipeline.activation_checkpoint_interval
"""
"""Settings that DeepSpeed calculates with as they stand, so that text in quotes ends a launch.

Those of ZeRO are read by pydantic, which takes a number in quotes for the number.
"""

ZERO = """
    zero_quantized_nontrainable_weights overlap_comm contiguous_gradients reduce_scatter
    reduce_bucket_size use_multi_rank_bucket_allreduce
    allgather_partitions allgather_bucket_size load_from_fp32_weights elastic_checkpoint
    sub_group_size cpu_offload_param cpu_offload_use_pin_memory prefetch_bucket_size
    stage3_prefetch_bucket_size param_persistence_threshold stage3_param_persistence_threshold
    model_persistence_threshold stage3_model_persistence_threshold max_live_parameters
    stage3_max_live_parameters max_reuse_distance stage3_max_reuse_distance
    gather_16bit_weights_on_model_save stage3_gather_16bit_weights_on_model_save
    stage3_module_granularity_threshold stage3_use_all_reduce_for_fetch_params
    stage3_allgather_sequential stage3_gather_fp16_weights_on_model_save
    ignore_unused_parameters legacy_stage1 round_robin_gradients mics_hierarchical_params_gather
    memory_efficient_linear pipeline_loading_checkpoint override_module_apply
    log_trace_cache_warnings enable_sanity_checks save_muon_momentum_buffer_in_memory
"""
"""Settings of ZeRO that have no part in a plan."""

SECTIONS = {
    "optimizer": "optimizer",
    "scheduler": "learning rate",
    "bf16": "numerics",
    "bfloat16": "numerics",
    "fp16": "numerics",
    "amp": "numerics",
    "torch_autocast": "numerics",
    "data_types": "numerics",
    "zero_optimization.offload_optimizer": "buffers of the host",
    "zero_optimization.offload_param": "buffers of the host",
    "zero_optimization.leaf_module": "hooks of ZeRO",
    "tensor_parallel": "details of AutoTP",
    "expert_parallel": "details of AutoEP",
    "pipeline": "details of the pipeline",
    "activation_checkpointing": "details of checkpoints of activations",
    "comms_logger": "logging",
    "flops_profiler": "profiling",
    "tensorboard": "logging",
    "wandb": "logging",
    "csv_monitor": "logging",
    "comet": "logging",
    "monitor_config": "logging",
    "checkpoint": "checkpointing",
    "nebula": "checkpointing",
    "aio": "files",
    "autotuning": "tuning",
    "elasticity": "restarts",
    "data_efficiency": "data",
    "curriculum_learning": "data",
    "compile": "compilation",
    "hybrid_engine": "inference",
    "progressive_layer_drop": "training recipe",
    "eigenvalue": "training recipe",
}
"""Sections whose other settings have no part in a plan, with what they are about."""

TOP = """
    steps_per_print wall_clock_breakdown memory_breakdown dump_state gradient_clipping
    prescale_gradients gradient_predivide_factor sparse_gradients disable_allgather
    communication_data_type seq_parallel_communication_data_type zero_allow_untested_optimizer
    zero_force_ds_cpu_optimizer dataloader_drop_last gradient_allreduce_op graph_harvesting
    managed_gradient_accumulation use_data_before_expert_parallelism log_level seed
    use_node_local_storage
"""
"""Single settings at the top that have no part in a plan."""


def known_settings() -> tuple[str, ...]:
    """Every setting by its dotted name."""
    zero = (f"zero_optimization.{name}" for name in ZERO.split())
    return (*READ.split(), *TOP.split(), *zero, *SECTIONS)
