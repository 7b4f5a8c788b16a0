"""What of a model has no part in its cost, or one that nothing confirms."""

from __future__ import annotations

from planner.base.units import plural
from planner.cost.context import CostModel


def unmodelled(model: CostModel) -> list[str]:
    """A line each; none for a transformer without a vision tower."""
    one, lines = model.job.model, []
    if one.unknown_keys:
        lines.append(f"model: keys of its config.json are {one.unknown_keys}")
    if one.recurrence is not None and model.shapes.scan is not None and model.shapes.scan.flop:
        lines.append(
            f"model: recurrences of kind {one.recurrence.kind} are timed as batched products, a "
            "rate that was fitted to nothing, since no fitted run has such layers: published runs "
            "of Nemotron 3 Nano reach 0.72 to 0.85 of the tokens per second predicted; a stage "
            "has as many as the average of its layers"
        )
    if one.vision is not None:
        tower = f"the vision tower of {one.name} ({one.vision_parameters / 1e6:,.1f} M parameters)"
        lines.append(_encoding(model, tower))
    return lines


def _encoding(model: CostModel, tower: str) -> str:
    """What is planned of a model's tower, in words."""
    job = model.job
    images = plural(job.images, "image")
    if not job.images:
        return (
            f"model: {tower} is left out: planned is its language model on sequences of text; "
            "--images says how many images a sequence has"
        )
    return (
        f"model: {tower} is on the first stage and encodes {images} of a sequence; no "
        "published run confirms its time and memory, and no target is written with it"
    )
