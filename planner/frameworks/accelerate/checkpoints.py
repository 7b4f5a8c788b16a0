"""What Accelerate loads a checkpoint into."""

from planner.frameworks.checkpoints import EVERY, ONE, Checkpoint

_FSDP = "accelerate/utils/fsdp_utils.py"
_SHARDED = ("zero2", "zero3")

ACCELERATE_CHECKPOINTS = (
    Checkpoint(
        name="sharded",
        said="fsdp_state_dict_type: SHARDED_STATE_DICT, the default of FSDP 2",
        of=_SHARDED,
        into=_SHARDED,
        writers=EVERY,
        written="torch/distributed/checkpoint/_dedup_save_plans.py, torch 2.13.0",
        version="1.15.0",
        source=f"{_FSDP} lines 172 and 260: PyTorch's distributed checkpoint, which reshards",
    ),
    Checkpoint(
        name="full",
        said="fsdp_state_dict_type: FULL_STATE_DICT, which one rank gathers in its memory",
        of=_SHARDED,
        into=_SHARDED,
        writers=ONE,
        written=f"{_FSDP} line 154: process 0",
        version="1.15.0",
        source=f"{_FSDP} lines 154 and 232: one file, sharded as it is loaded",
    ),
    Checkpoint(
        name="whole",
        said="save_state without FSDP",
        of=("ddp",),
        writers=ONE,
        written="accelerate/checkpointing.py line 114: one process, unless save_on_each_node",
        version="1.15.0",
        source="accelerate/checkpointing.py, save_accelerator_state: one file of the model, one of "
        "the optimizer",
    ),
)
