# planner 0.1.0: llama3-70b, 1024 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 16, tp 8, pp 4, micro-batch 1, zero1, interleaved x 5, split even, recompute none
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.models.llama3.config_registry import llama3_70b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = llama3_70b()
    config.training.num_tokens_per_microbatch_per_dp_rank = 8192
    config.training.num_tokens_per_train_step = 8388608
    config.training.max_context_length = 8192
    config.training.mixed_precision_param = "bfloat16"
    config.training.disable_cuda_graphs = True
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 16
    config.parallelism.fsdp_reshard_after_forward = "never"
    config.parallelism.tensor_parallel_degree = 8
    config.parallelism.enable_sequence_parallel = True
    config.parallelism.context_parallel_degree = 1
    config.parallelism.expert_parallel_degree = 1
    config.parallelism.pipeline_parallel_degree = 4
    config.parallelism.pipeline_parallel_schedule = "Interleaved1F1B"
    config.parallelism.num_pp_microbatches = 64
    config.parallelism.module_fqns_per_model_part = [
        ["tok_embeddings", "layers.0", "layers.1", "layers.2", "layers.3"],
        ["layers.4", "layers.5", "layers.6", "layers.7"],
        ["layers.8", "layers.9", "layers.10", "layers.11"],
        ["layers.12", "layers.13", "layers.14", "layers.15"],
        ["layers.16", "layers.17", "layers.18", "layers.19"],
        ["layers.20", "layers.21", "layers.22", "layers.23"],
        ["layers.24", "layers.25", "layers.26", "layers.27"],
        ["layers.28", "layers.29", "layers.30", "layers.31"],
        ["layers.32", "layers.33", "layers.34", "layers.35"],
        ["layers.36", "layers.37", "layers.38", "layers.39"],
        ["layers.40", "layers.41", "layers.42", "layers.43"],
        ["layers.44", "layers.45", "layers.46", "layers.47"],
        ["layers.48", "layers.49", "layers.50", "layers.51"],
        ["layers.52", "layers.53", "layers.54", "layers.55"],
        ["layers.56", "layers.57", "layers.58", "layers.59"],
        ["layers.60", "layers.61", "layers.62", "layers.63"],
        ["layers.64", "layers.65", "layers.66", "layers.67"],
        ["layers.68", "layers.69", "layers.70", "layers.71"],
        ["layers.72", "layers.73", "layers.74", "layers.75"],
        ["layers.76", "layers.77", "layers.78", "layers.79", "norm", "lm_head"],
    ]
    config.compile.enable = True
    config.compile.components = ["model", "loss"]
    config.activation_checkpoint = None
    return config
