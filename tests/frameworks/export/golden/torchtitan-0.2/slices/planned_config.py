# planner 0.1.0: llama2-70b, 1024 sequences of 4096 tokens, 512 chips of tpu-v5p, fsdp 128, tp 4, micro-batch 1, zero3, recompute full
# For torchtitan v0.2.2 73a0e69 (2026-02-20).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.models.llama3 import TransformerModelArgs, llama3_args

llama3_args["llama2-70b"] = TransformerModelArgs(
    dim=8192,
    n_layers=80,
    n_heads=64,
    n_kv_heads=8,
    vocab_size=32000,
    multiple_of=28672,
)
