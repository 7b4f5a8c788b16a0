"""Images of a question: what it may not say of them."""

from __future__ import annotations

from collections.abc import Iterator

from planner.assumptions.assumptions import Assumptions
from planner.question.request import Request


def image_problems(request: Request, assumptions: Assumptions) -> Iterator[str]:
    """What means nothing without images, and what counts none, one line each."""
    if not request.images:
        if "tower_recompute" in request.model_fields_set:
            yield (
                f"tower-recompute: {request.tower_recompute} has no effect without images, which a "
                "vision tower encodes; give them or leave it out"
            )
        return
    if assumptions.mlp_blocks or assumptions.token_granularity or assumptions.component_energy:
        yield (
            f"images: under {request.assumptions} no vision tower is counted; use calibrated or "
            "leave them out"
        )
