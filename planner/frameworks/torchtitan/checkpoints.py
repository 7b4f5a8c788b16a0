"""What torchtitan loads a checkpoint into."""

from planner.frameworks.checkpoints import EVERY, Checkpoint

_EVERY = ("ddp", "zero1", "zero2", "zero3")

TORCHTITAN_CHECKPOINTS = (
    Checkpoint(
        name="dcp",
        said="checkpoint.enable: PyTorch's distributed checkpoint",
        of=_EVERY,
        into=_EVERY,
        writers=EVERY,
        written="torch/distributed/checkpoint/_dedup_save_plans.py, torch 2.13.0: what ranks "
        "share goes to the one with the least to write",
        version="b5bcd76c66 (2026-08-21)",
        source="torchtitan docs/checkpoint.md, Creating a seed checkpoint: DCP resharding to an "
        "arbitrary number of GPUs; states are kept by the names of parameters",
    ),
)
