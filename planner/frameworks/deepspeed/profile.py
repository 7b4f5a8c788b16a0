"""What DeepSpeed keeps in memory, sends and offers."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.software import FrameworkProfile
from planner.base.units import GIB

# Beside a GiB of workspaces: two buckets of 5e8 gradients in 16 bits (`reduce_bucket_size`, and
# `overlap_comm` of ZeRO-3), as they are where a configuration does not name them.
# Hooks: DeepSpeed 0.19.8 on PyTorch 2.13, one rank on a processor, Llama layers of 13 modules with
# checkpointing (`.ci/oracles.md`): 10.3 ms more a layer under ZeRO-3, where launching the layer
# takes 5.5 ms; by the 4 ms that servers take for that (`era.torch-eager.host_s_per_layer`, its
# prior).
DEEPSPEED = FrameworkProfile(
    name="deepspeed",
    era="torch-fsdp",
    weight_bytes=2.0,
    gradient_bytes=2.0,
    optimizer_bytes=12.0,
    gated_saved=8.0,
    logits_bytes=14.0,
    widened_gradients=4.0,
    module_hook_s=0.19e-3,
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
