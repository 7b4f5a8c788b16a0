"""What of a model has no part in its cost, or one that nothing confirms."""

from __future__ import annotations

from planner.cost.context import CostModel


def unmodelled(model: CostModel) -> list[str]:
    """A line each; none for a transformer without a vision tower."""
    one, lines = model.job.model, []
    if one.recurrence is not None and model.shapes.scan is not None and model.shapes.scan.flop:
        lines.append(
            f"model: recurrences of kind {one.recurrence.kind} are timed as batched products, a "
            "rate that was fitted to nothing, since no fitted run has such layers: published runs "
            "of Nemotron 3 Nano reach 0.72 to 0.85 of the tokens per second predicted; a stage "
            "has as many as the average of its layers"
        )
    if one.vision is not None:
        lines.append(
            f"model: the vision tower of {one.name} ({one.vision_parameters / 1e6:,.1f} M "
            "parameters) is left out: planned is its language model on sequences of text"
        )
    return lines
