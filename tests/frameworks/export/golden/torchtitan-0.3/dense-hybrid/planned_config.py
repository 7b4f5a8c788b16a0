# planner 0.1.0: llama3.1-405b, 128 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 2, fsdp 16, tp 8, cp 2, micro-batch 1, zero3, recompute full
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.

from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss
from torchtitan.models.llama3 import model_registry
from torchtitan.models.llama3.config_registry import llama3_8b
from torchtitan.trainer import Trainer


def planned() -> Trainer.Config:
    config = llama3_8b()
    config.model_spec = model_registry("405B", attn_backend="flex")
    config.loss = ChunkedLossWrapper.Config(
        loss_fn=CrossEntropyLoss.Config(global_vocab_size=128256),
    )
    config.hf_assets_path = "./assets/hf/llama3.1-405b"
    return config
