"""What torchtitan keeps in memory, sends and offers."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.software import FrameworkProfile

# Since 2025 the loss is compiled: one published run (Llama 3 8B on H200, June 2025) leaves 5.2 B
# per logit, as a fused loss has. In the runs of 2024 only the blocks were compiled, and the loss
# kept what an eager one keeps: with 14 B the six without a pipeline are 5 % off, with 10 B 15 %.
TORCHTITAN = FrameworkProfile(
    name="torchtitan",
    era="torch-fsdp",
    weight_bytes=0.0,
    gradient_bytes=4.0,
    optimizer_bytes=12.0,
    logits_bytes=6.0,
    selective="second-matmuls",  # `_get_custom_policy`: odd products of a layer are saved
    stops_early=True,
    gathers_once_under_pp=True,
    reduces_replicas_every_micro_batch=True,
    gathers_context=True,
    splits=("front-counted",),
    schedules=("gpipe", "1f1b", "interleaved", "zb-v"),
    most_chunks=3,
    shardings=("ddp", "zero3"),
    takes_lists=True,
    optimizers=("adam", "adam-bf16"),
)

PROFILES = (
    TORCHTITAN,
    replace(  # before PyTorch 2.6 had ZBVZeroBubble
        TORCHTITAN,
        name="torchtitan-2024",
        logits_bytes=14.0,
        schedules=("gpipe", "1f1b", "interleaved"),
        derived_from="torchtitan",
        optimizers=("adam",),
    ),
)
