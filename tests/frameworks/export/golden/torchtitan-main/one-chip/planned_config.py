# planner 0.1.0: gpt3-125m, 8 sequences of 2048 tokens, 1 chips of dgx-h100-ndr, one chip, micro-batch 4, ddp, recompute none
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from models_to_register import gpt3_125m
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = gpt3_125m()
    config.training.num_tokens_per_microbatch_per_dp_rank = 8192
    config.training.num_tokens_per_train_step = 16384
    config.training.max_context_length = 2048
    config.training.mixed_precision_param = "bfloat16"
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 1
    config.parallelism.fsdp_reshard_after_forward = "default"
    config.parallelism.tensor_parallel_degree = 1
    config.parallelism.context_parallel_degree = 1
    config.parallelism.expert_parallel_degree = 1
    config.parallelism.pipeline_parallel_degree = 1
    config.compile.enable = True
    config.compile.components = ["model", "loss"]
    config.activation_checkpoint = None
    return config
