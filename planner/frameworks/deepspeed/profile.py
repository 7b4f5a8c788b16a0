"""What DeepSpeed keeps in memory, sends and offers."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.software import GIB, FrameworkProfile

DEEPSPEED = FrameworkProfile(
    name="deepspeed",
    era="torch-fsdp",
    weight_bytes=2.0,
    gradient_bytes=2.0,
    optimizer_bytes=12.0,
    gated_saved=8.0,
    logits_bytes=14.0,
    vocab_parallel_loss=False,
    constant_bytes=1.0 * GIB,
    splits=("front",),
    schedules=("1f1b",),
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
