"""Environment variables of Megatron-LM and of what it runs on."""

from __future__ import annotations

from planner.frameworks.megatron.writing.parallel import overlaps_tp, uses_fsdp
from planner.frameworks.writing.launch import Launch

BEFORE_HOPPER = ("Volta", "Ampere", "Ada")


def environment(launch: Launch) -> tuple[tuple[str, str], ...]:
    """Variables with their values, in the order of the script.

    Sources: Megatron-LM megatron/training/arguments.py, validate_args (tp or cp on chips before
    Blackwell wants CUDA_DEVICE_MAX_CONNECTIONS=1, Megatron-FSDP more), d98e8a64dd (2026-08-22);
    Megatron-Bridge scripts/performance/utils/overrides.py (8, and 32 on Blackwell) and
    recipes/utils/environment_utils.py (the others), 067f987 (2026-08-22). Which algorithm NCCL
    takes is left to it, as the prediction does.
    """
    shared = (("CUDA_DEVICE_MAX_CONNECTIONS", connections(launch)),)
    if launch.cost.chip.vendor != "NVIDIA":
        return shared
    return (
        *shared,
        *_without_multicast(launch),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
        ("TORCH_NCCL_AVOID_RECORD_STREAMS", "1"),
    )


def _without_multicast(launch: Launch) -> tuple[tuple[str, str], ...]:
    """Chips before Hopper have no multicast, without which tp's overlap refuses to start.

    Source: TransformerEngine d0067d0da6 (2026-08-22), pytorch/module/base.py initialize_ub.
    """
    early = launch.cost.chip.architecture in BEFORE_HOPPER
    return (("UB_SKIPMC", "1"),) if early and overlaps_tp(launch) else ()


def connections(launch: Launch) -> str:
    """Hardware queues: one keeps collectives ahead of products on chips before Blackwell."""
    plan = launch.plan
    if launch.cost.chip.architecture.startswith("Blackwell"):
        return "32"
    return "1" if (plan.tp > 1 or plan.cp > 1) and not uses_fsdp(plan) else "8"
