"""What torchtitan leaves to other settings, and what a version of it cannot do."""

from __future__ import annotations

from planner.export.chosen import common_sharding
from planner.export.clocks import lost_clock
from planner.export.export import Lost
from planner.export.launch import Launch
from planner.export.torchtitan_models import Flavor, builds_llama

TO_REGISTER = "models_to_register"
"""Placeholder for the module of a model that torchtitan has not."""


def losses(launch: Launch) -> tuple[Lost, ...]:
    """What runs otherwise than the cost model assumes."""
    plan, early = launch.plan, launch.version == "0.2"
    found = []
    if early and plan.fsdp * plan.cp == 1 and plan.tp * plan.pp > 1 and not _sharded(launch):
        found.append(
            Lost("sharding", "0.2 computes in 32 bits where tp or pp stands without fsdp or cp")
        )
    if plan.cp > 1 and not early:
        reason = "keys and values are gathered before attention instead of passed from rank to rank"
        found.append(Lost("cp_mode", reason))
    if launch.model.mtp_modules:
        found.append(Lost("model", "the modules of multi-token prediction are left out"))
    return (*found, *lost_clock(launch))


def refusals(launch: Launch, flavor: Flavor | None) -> tuple[Lost, ...]:
    """What this version cannot do, beside the rules of torchtitan."""
    plan, job, version = launch.plan, launch.cost.job, launch.version
    found = []
    if flavor is None and not builds_llama(launch.model, version):
        found.append(
            Lost("model", f"torchtitan {version} has no model with the dimensions of "
                 f"{launch.model.name}; register one as {TO_REGISTER}.{function_name(launch)}")
        )  # fmt: skip
    if version == "0.2" and plan.tp > 1 and not plan.sequence_parallel:
        found.append(Lost("sequence_parallel", "torchtitan 0.2 has it wherever tp > 1; set it"))
    if flavor is not None and plan.cp > 1 and version not in flavor.splits_context:
        reason = f"torchtitan {version} does not split the contexts of {flavor.module}: use cp 1"
        found.append(Lost("cp", reason))
    if flavor is not None and version != "0.2" and launch.seq_len > flavor.longest:
        reason = f"{flavor.module} {flavor.name} has at most {flavor.longest} tokens per sequence"
        found.append(Lost("seq_len", f"{reason}, not {launch.seq_len}"))
    if job.precision not in ("bf16", "fp32"):
        reason = f"runs in bf16 without a converter, not in {job.precision}; allowed: bf16, fp32"
        found.append(Lost("precision", reason))
    if not job.trains_all:
        found.append(Lost("job", "trains all weights: a converter for LoRA is not written"))
    return tuple(found)


def function_name(launch: Launch) -> str:
    """A model's name as a Python name."""
    return "".join(one if one.isalnum() else "_" for one in launch.model.name)


def _sharded(launch: Launch) -> bool:
    """Whether weights are sharded for want of what the plan asks for."""
    return common_sharding(launch) in ("zero1", "zero2") and launch.plan.dp > 1
