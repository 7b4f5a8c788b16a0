"""What DeepSpeed keeps in memory, sends and offers."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.software import FrameworkProfile
from planner.base.units import GIB

# Beside a GiB of workspaces: two buckets of 5e8 gradients in 16 bits (`reduce_bucket_size`, and
# `overlap_comm` of ZeRO-3), as they are where a configuration does not name them.
# Gradients are reduced in the format of the weights (edaa7221, runtime/engine.py,
# `communication_data_type`).
# Hooks: a Llama layer of 13 modules, with checkpointing, takes the host 7.8 ms more under ZeRO-3,
# in three passes, where launching it takes 3.6 ms (0.19.8, `tests/oracles/zero3_hooks.py`).
DEEPSPEED = FrameworkProfile(
    name="deepspeed",
    era="torch-fsdp",
    weight_bytes=2.0,
    gradient_bytes=2.0,
    sent_bytes=2.0,
    optimizer_bytes=12.0,
    gated_saved=8.0,
    logits_bytes=14.0,
    widened_gradients=4.0,
    module_hook_s=0.20e-3,
    live_parameters=1e9,
    vocab_parallel_loss=False,
    constant_bytes=1.0 * GIB + 2 * 2.0 * 5e8,
    splits=("front",),
    schedules=("1f1b",),
    optimizers=("adam", "lion"),
)

PROFILES = (
    DEEPSPEED,
    replace(  # Liger kernels: a fused MLP, and a loss that never holds all logits
        DEEPSPEED,
        name="deepspeed-liger",
        gated_saved=6.0,
        logits_bytes=0.0,
        derived_from="deepspeed",
    ),
)
