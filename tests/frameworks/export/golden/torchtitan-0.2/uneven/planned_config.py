# planner 0.1.0: llama2-13b, 256 sequences of 4096 tokens, 128 chips of dgx-a100-80-hdr, dp 16, tp 2, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 9,11*2,9, recompute none
# For torchtitan v0.2.2 73a0e69 (2026-02-20).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.models.llama3 import TransformerModelArgs, llama3_args

llama3_args["llama2-13b"] = TransformerModelArgs(
    dim=5120,
    n_layers=40,
    n_heads=40,
    n_kv_heads=40,
    vocab_size=32000,
    multiple_of=13824,
)
