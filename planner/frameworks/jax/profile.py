"""What JAX, and MaxText on it, keep in memory and offer."""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile

JAX = FrameworkProfile(
    name="jax",
    era="jax",
    weight_bytes=4.0,
    gradient_bytes=4.0,
    optimizer_bytes=8.0,
    master_bytes=0.0,
    logits_bytes=10.0,
    selective="half-matmuls",
    reserve_bytes=0.0,
    headroom_share=1.0,
    memory_knowledge="unmeasured",
    splits=("even",),
    orders=(),
    schedules=("gpipe", "interleaved"),
)
