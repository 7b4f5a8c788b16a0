"""The optimizer of a launch as flags of Megatron-LM, and what then runs otherwise than predicted.

Source: megatron/training/arguments.py (`validate_args`, `_add_training_args`) and
core/optimizer/optimizer_config.py, core 0.16.1; d98e8a64dd (2026-08-22) takes the same flags.
"""

from __future__ import annotations

from planner.frameworks.megatron.words import MOMENTS, MUON
from planner.frameworks.megatron.writing.flags import Flag, flag
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch

_SPLITS = ("bf16", "fp8", "fp4")
"""Precisions whose 32-bit weights are kept as what those of 16 bits lack (`master_param` of
core/optimizer/distrib_optimizer.py)."""


def by_muon(launch: Launch) -> bool:
    """Whether matrices are stepped by Muon, which shares its state out by whole layers."""
    return launch.cost.job.optimizer == MUON


def optimizer_flags(launch: Launch, sharding: str) -> list[Flag]:
    """The optimizer, where it is not Adam with moments in 32 bits.

    Moments on the host have those of Adam whatever the flags say (core/optimizer/cpu_offloading).
    """
    if by_muon(launch):
        return [flag("--optimizer", "dist_muon" if sharding == "zero1" else MUON)]
    kept = MOMENTS.get(launch.cost.job.optimizer)
    if kept is None or "optimizer" in launch.plan.offload:
        return []
    return [
        flag("--use-precision-aware-optimizer"),
        flag("--exp-avg-dtype", kept),
        flag("--exp-avg-sq-dtype", kept),
    ]


def optimizer_lost(launch: Launch) -> tuple[Lost, ...]:
    """What another optimizer changes beside the bytes of its moments."""
    if by_muon(launch):
        reason = (
            "beside Muon core 0.16.1 neither reduces gradients behind the backward pass nor "
            "gathers weights behind the forward pass, and it sums whole gradients: more time"
        )
        return (Lost("optimizer", reason),)
    if launch.cost.job.optimizer in MOMENTS and launch.cost.job.precision in _SPLITS:
        reason = (
            "Transformer Engine from 2.1 on keeps the lower half of the 32-bit weights alone "
            "(store_param_remainders): 2 B a parameter less than the plan counts"
        )
        return (Lost("optimizer", reason),)
    return ()
