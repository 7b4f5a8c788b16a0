"""What a textbook counts: How to Scale Your Model, part 5."""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile

TEXTBOOK = FrameworkProfile(
    name="textbook",
    era="jax",
    weight_bytes=2.0,
    gradient_bytes=0.0,
    optimizer_bytes=8.0,
    master_bytes=0.0,
    gated_saved=4.0,
    plain_saved=2.0,
    logits_bytes=0.0,
    gathered_layers=0.0,
    constant_bytes=0.0,
    reserve_bytes=0.0,
    usable_share=1.0,
    headroom_share=1.0,
    memory_knowledge="unmeasured",
    splits=("even", "front"),
    orders=(),
)
