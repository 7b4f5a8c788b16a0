# planner 0.1.0: llama2-70b, 1024 sequences of 4096 tokens, 512 chips of tpu-v5p, fsdp 128, tp 4, micro-batch 1, zero3, recompute full
# For torchtitan 0.3.0 (PyPI).
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
        flavor="llama2-70b",
        model=Llama3Model.Config(
            dim=8192,
            vocab_size=32000,
            enable_weight_tying=False,
            tok_embeddings=Embedding.Config(
                num_embeddings=32000,
                embedding_dim=8192,
                param_init=_EMBEDDING_INIT,
            ),
            norm=RMSNorm.Config(normalized_shape=8192, param_init=_NORM_INIT),
            lm_head=Linear.Config(
                in_features=8192,
                out_features=32000,
                param_init=_output_linear_init(8192),
            ),
            layers=_build_llama3_layers(
                n_layers=80,
                dim=8192,
                n_heads=64,
                n_kv_heads=8,
                hidden_dim=28672,
                rope=ComplexRoPE.Config(
                    dim=128,
                    max_seq_len=131072,
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
    config.hf_assets_path = "./assets/hf/llama2-70b"
    return config
