"""What torchtitan leaves to other settings, or to be filled in."""

from __future__ import annotations

from planner.frameworks.rules.alike import keeps_scores
from planner.frameworks.torchtitan.models import attends_by_sdpa, builds_llama, flavor_of
from planner.frameworks.writing.chosen import common_sharding
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import without_kernel

TO_REGISTER = "models_to_register"
"""Placeholder for the module of a model that torchtitan has not."""


def losses(launch: Launch) -> tuple[Lost, ...]:
    """What runs otherwise than the cost model assumes, or is to be filled in."""
    plan, early = launch.plan, launch.version == "0.2"
    found = []
    if must_be_registered(launch):
        found.append(Lost("model", f"register it as {TO_REGISTER}.{function_name(launch)}"))
    if early and plan.fsdp * plan.cp == 1 and plan.tp * plan.pp > 1 and not _sharded(launch):
        found.append(
            Lost("sharding", "0.2 computes in 32 bits where tp or pp stands without fsdp or cp")
        )
    by_sdpa = attends_by_sdpa(launch.model, launch.version)
    if by_sdpa and keeps_scores(launch.cost):
        found.append(without_kernel(launch.cost, "torchtitan 0.2"))
    if plan.cp > 1 and not early:
        reason = "keys and values are gathered before attention instead of passed from rank to rank"
        found.append(Lost("cp_mode", reason))
    if launch.model.mtp_modules:
        found.append(Lost("model", "the modules of multi-token prediction are left out"))
    return (*found, *lost_clock(launch))


def must_be_registered(launch: Launch) -> bool:
    """Whether the version neither ships the model nor builds it from that of Llama 3."""
    model, version = launch.model, launch.version
    return flavor_of(model, version) is None and not builds_llama(model, version)


def function_name(launch: Launch) -> str:
    """A model's name as a Python name."""
    return "".join(one if one.isalnum() else "_" for one in launch.model.name)


def _sharded(launch: Launch) -> bool:
    """Whether weights are sharded for want of what the plan asks for."""
    return common_sharding(launch) in ("zero1", "zero2") and launch.plan.dp > 1
