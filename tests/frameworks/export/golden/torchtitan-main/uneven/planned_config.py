# planner 0.1.0: llama2-13b, 256 sequences of 4096 tokens, 128 chips of dgx-a100-80-hdr, dp 16, tp 2, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 9,11*2,9, recompute none
# For torchtitan main b5bcd76 (2026-08-21).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from dataclasses import replace
from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm
from torchtitan.models.llama3 import Llama3Model, _EMBEDDING_INIT, _NORM_INIT, _build_llama3_layers, _output_linear_init
from torchtitan.models.llama3.config_registry import llama3_8b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = llama3_8b()
    config.model_spec = replace(
        config.model_spec,
        flavor="llama2-13b",
        model=Llama3Model.Config(
            dim=5120,
            vocab_size=32000,
            enable_weight_tying=False,
            tok_embeddings=Embedding.Config(
                num_embeddings=32000,
                embedding_dim=5120,
                param_init=_EMBEDDING_INIT,
            ),
            norm=RMSNorm.Config(normalized_shape=5120, param_init=_NORM_INIT),
            lm_head=Linear.Config(
                in_features=5120,
                out_features=32000,
                param_init=_output_linear_init(5120),
            ),
            layers=_build_llama3_layers(
                n_layers=40,
                dim=5120,
                n_heads=40,
                n_kv_heads=40,
                hidden_dim=13824,
                rope=ComplexRoPE.Config(
                    dim=128,
                    max_context_length=131072,
                    theta=500000,
                    scaling="llama",
                ),
                attn_backend="flex",
            ),
        ),
    )
    config.loss = ChunkedLossWrapper.Config(
        loss_fn=CrossEntropyLoss.Config(global_vocab_size=32000),
    )
    config.hf_assets_path = "./assets/hf/llama2-13b"
    config.training.num_tokens_per_microbatch_per_dp_rank = 4096
    config.training.num_tokens_per_train_step = 1048576
    config.training.max_context_length = 4096
    config.training.mixed_precision_param = "bfloat16"
    config.training.disable_cuda_graphs = True
    config.parallelism.data_parallel_replicate_degree = 1
    config.parallelism.data_parallel_shard_degree = 16
    config.parallelism.fsdp_reshard_after_forward = "never"
    config.parallelism.tensor_parallel_degree = 2
    config.parallelism.enable_sequence_parallel = True
    config.parallelism.context_parallel_degree = 1
    config.parallelism.expert_parallel_degree = 1
    config.parallelism.pipeline_parallel_degree = 4
    config.parallelism.pipeline_parallel_schedule = "1F1B"
    config.parallelism.num_pp_microbatches = 16
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
        ],
        [
            "layers.9",
            "layers.10",
            "layers.11",
            "layers.12",
            "layers.13",
            "layers.14",
            "layers.15",
            "layers.16",
            "layers.17",
            "layers.18",
            "layers.19",
        ],
        [
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
            "norm",
            "lm_head",
        ],
    ]
    config.compile.enable = True
    config.compile.components = ["model", "loss"]
    config.activation_checkpoint = None
    return config
