"""What DeepSpeed loads a checkpoint into."""

from planner.frameworks.checkpoints import SHARDS, Checkpoint

_EVERY = ("ddp", "zero1", "zero2", "zero3")

DEEPSPEED_CHECKPOINTS = (
    Checkpoint(
        name="zero",
        said="engine.save_checkpoint, as it is",
        of=_EVERY,
        keeps=("tp", "pp", "ep"),
        same_chips=True,
        writers=SHARDS,
        written="deepspeed/runtime/engine.py lines 1911 to 1921: data rank 0 the weights (all "
        "under zero3), each its partition of the optimizer",
        version="0.19.8",
        source="deepspeed/runtime/engine.py lines 4748 to 4753: another data-parallel world size "
        "is refused; lines 4773 to 4785: a file per model-parallel and data-parallel rank",
    ),
    Checkpoint(
        name="universal",
        said="converted by deepspeed/checkpoint/ds_to_universal.py, with "
        '"checkpoint": {"load_universal": true}',
        of=("zero1", "zero2", "zero3"),
        into=("zero1", "zero2", "zero3"),
        version="0.19.8",
        source="deepspeed/checkpoint/ds_to_universal.py lines 1072 and 1163 to 1167: a file per "
        "parameter, whatever the stage; engine.py line 4744: nothing is compared",
    ),
)
