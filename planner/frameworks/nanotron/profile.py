"""What nanotron keeps in memory, sends and offers."""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile

NANOTRON = FrameworkProfile(
    name="nanotron",
    era="nanotron",
    weight_bytes=2.0,
    gradient_bytes=4.0,
    optimizer_bytes=12.0,
    gated_saved=8.0,
    logits_bytes=7.1,
    lingering_logits_bytes=3.3,
    gather_buffers=4.0,
    slows_without_headroom=True,
    gradient_residue=1.5,
    embedding_residue=7.3,
    optimizer_phase=6.4,
    splits=("by-cost",),
    schedules=("gpipe", "1f1b"),
    shardings=("ddp", "zero1"),
)
