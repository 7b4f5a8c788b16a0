# planner 0.1.0: mixtral-8x7b, 256 sequences of 4096 tokens, 128 chips of dgx-h100-ndr, dp 32, tp 2, ep 8, pp 2, micro-batch 1, zero1, 1f1b, split even, recompute none
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from models_to_register import mixtral_8x7b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = mixtral_8x7b()
    config.training.num_tokens_per_microbatch_per_dp_rank = 4096
    config.training.num_tokens_per_train_step = 1048576
    config.training.max_context_length = 4096
    config.training.mixed_precision_param = "bfloat16"
    config.training.disable_cuda_graphs = True
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 32
    config.parallelism.fsdp_reshard_after_forward = "never"
    config.parallelism.tensor_parallel_degree = 2
    config.parallelism.enable_sequence_parallel = True
    config.parallelism.context_parallel_degree = 1
    config.parallelism.expert_parallel_degree = 8
    config.parallelism.pipeline_parallel_degree = 2
    config.parallelism.pipeline_parallel_schedule = "1F1B"
    config.parallelism.num_pp_microbatches = 8
    config.parallelism.module_fqns_per_model_part = [
        [
            "tok_embeddings",
            "layers.0",
            "layers.1",
            "layers.2",
            "layers.3",
            "layers.4",
            "layers.5",
            "layers.6",
            "layers.7",
            "layers.8",
            "layers.9",
            "layers.10",
            "layers.11",
            "layers.12",
            "layers.13",
            "layers.14",
            "layers.15",
        ],
        [
            "layers.16",
            "layers.17",
            "layers.18",
            "layers.19",
            "layers.20",
            "layers.21",
            "layers.22",
            "layers.23",
            "layers.24",
            "layers.25",
            "layers.26",
            "layers.27",
            "layers.28",
            "layers.29",
            "layers.30",
            "layers.31",
            "norm",
            "lm_head",
        ],
    ]
    config.compile.enable = True
    config.compile.components = ["loss"]
    config.activation_checkpoint = None
    return config
