# planner 0.1.0: deepseek-v3, 2048 sequences of 4096 tokens, 256 chips of gb200-nvl72, dp 64, ep 64, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 16,15*3, recompute full
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.distributed.activation_checkpoint import FullAC
from torchtitan.models.deepseek_v3.config_registry import deepseek_v3_671b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = deepseek_v3_671b()
    config.training.num_tokens_per_microbatch_per_dp_rank = 4096
    config.training.num_tokens_per_train_step = 8388608
    config.training.max_context_length = 4096
    config.training.mixed_precision_param = "bfloat16"
    config.training.disable_cuda_graphs = True
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 64
    config.parallelism.fsdp_reshard_after_forward = "never"
    config.parallelism.tensor_parallel_degree = 1
    config.parallelism.context_parallel_degree = 1
    config.parallelism.expert_parallel_degree = 64
    config.parallelism.pipeline_parallel_degree = 4
    config.parallelism.pipeline_parallel_schedule = "1F1B"
    config.parallelism.num_pp_microbatches = 32
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
        ],
        [
            "layers.31",
            "layers.32",
            "layers.33",
            "layers.34",
            "layers.35",
            "layers.36",
            "layers.37",
            "layers.38",
            "layers.39",
            "layers.40",
            "layers.41",
            "layers.42",
            "layers.43",
            "layers.44",
            "layers.45",
        ],
        [
            "layers.46",
            "layers.47",
            "layers.48",
            "layers.49",
            "layers.50",
            "layers.51",
            "layers.52",
            "layers.53",
            "layers.54",
            "layers.55",
            "layers.56",
            "layers.57",
            "layers.58",
            "layers.59",
            "layers.60",
            "norm",
            "lm_head",
        ],
    ]
    config.compile.enable = True
    config.compile.components = ["loss"]
    config.activation_checkpoint = FullAC.Config()
    return config
