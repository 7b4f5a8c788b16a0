# planner 0.1.0: llama3-8b, 32 sequences of 32768 tokens, 64 chips of dgx-h100-ndr, dp 8, tp 2, cp 4, micro-batch 1, zero1, recompute full
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.distributed.activation_checkpoint import FullAC
from torchtitan.models.llama3.config_registry import llama3_8b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = llama3_8b()
    config.training.num_tokens_per_microbatch_per_dp_rank = 32768
    config.training.num_tokens_per_train_step = 1048576
    config.training.max_context_length = 32768
    config.training.mixed_precision_param = "bfloat16"
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 8
    config.parallelism.fsdp_reshard_after_forward = "never"
    config.parallelism.tensor_parallel_degree = 2
    config.parallelism.enable_sequence_parallel = True
    config.parallelism.context_parallel_degree = 4
    config.parallelism.expert_parallel_degree = 1
    config.parallelism.pipeline_parallel_degree = 1
    config.compile.enable = True
    config.compile.components = ["model", "loss"]
    config.activation_checkpoint = FullAC.Config()
    return config
