"""What MaxText loads a checkpoint into."""

from planner.frameworks.checkpoints import Checkpoint

_EVERY = ("ddp", "zero1", "zero2", "zero3")

MAXTEXT_CHECKPOINTS = (
    Checkpoint(
        name="orbax",
        said="enable_checkpointing: Orbax",
        of=_EVERY,
        keeps=("pp", "interleave"),
        into=_EVERY,
        version="e591f30cbb (2026-08-22)",
        source="MaxText src/maxtext/layers/pipeline.py lines 682 to 690: the arrays of a pipeline "
        "have axes of repeats and stages; Orbax restores any other sharding of the same arrays",
    ),
)
