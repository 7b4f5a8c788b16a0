"""What Megatron-LM loads a checkpoint into."""

from planner.frameworks.checkpoints import EVERY, REPLICA, Checkpoint

_VERSION = "core 0.16.1"
_CHECKPOINTING = "Megatron-LM megatron/training/checkpointing.py"
_OPTIMIZER = "megatron/core/optimizer/distrib_optimizer.py"
_MESH = ("tp", "pp", "ep", "etp", "interleave")

MEGATRON_CHECKPOINTS = (
    Checkpoint(
        name="torch_dist",
        said="--ckpt-format torch_dist, the default, with the distributed optimizer",
        of=("zero1",),
        keeps=_MESH,
        writers=EVERY,
        written=f"{_CHECKPOINTING} line 627: FullyParallelSaveStrategyWrapper over the data ranks",
        version=_VERSION,
        source=f"{_CHECKPOINTING} lines 1594 to 1600: TP and PP mismatch is refused; {_OPTIMIZER} "
        "line 1187: dp_reshardable allows resharding only in the DP dimension",
    ),
    Checkpoint(
        name="torch_dist",
        said="--ckpt-format torch_dist, the default, without the distributed optimizer",
        of=("ddp",),
        writers=EVERY,
        written=f"{_CHECKPOINTING} line 627: FullyParallelSaveStrategyWrapper over the data ranks",
        version=_VERSION,
        source=f"{_CHECKPOINTING} lines 135 to 141: with torch_dist no degree is compared",
    ),
    Checkpoint(
        name="torch_dist-reshardable",
        said="--ckpt-format torch_dist --dist-ckpt-optim-fully-reshardable",
        of=("zero1",),
        writers=REPLICA,
        written=f"{_OPTIMIZER} line 1412: gathers what the optimizer has on data rank 0",
        version=_VERSION,
        source=f"{_OPTIMIZER} lines 104 to 108 and 1192: fully_reshardable, a canonical state "
        "like that of a regular optimizer",
    ),
    Checkpoint(
        name="torch",
        said="--ckpt-format torch, the legacy form: one file per model-parallel rank",
        of=("ddp", "zero1"),
        keeps=_MESH,
        writers=REPLICA,
        written=f"{_CHECKPOINTING} line 584, {_OPTIMIZER} line 1134: data rank 0 gathers, writes",
        version=_VERSION,
        source=f"{_CHECKPOINTING} lines 135 to 141: check_checkpoint_args compares TP and PP",
    ),
    Checkpoint(
        name="fsdp_dtensor",
        said="--ckpt-format fsdp_dtensor, that of Megatron-FSDP",
        of=("zero2", "zero3"),
        into=("zero2", "zero3"),
        writers=EVERY,
        written="torch/distributed/checkpoint/_dedup_save_plans.py, torch 2.13.0",
        version=_VERSION,
        source="Megatron-LM megatron/training/arguments.py lines 690 and 1049; "
        f"{_OPTIMIZER} line 1199: each parameter a DTensor, which PyTorch's distributed "
        "checkpoint reshards",
    ),
)
