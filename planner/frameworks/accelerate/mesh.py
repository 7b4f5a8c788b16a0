"""The axes and the formats of a run on PyTorch FSDP: what Accelerate and its tuners are told.

Sources: Accelerate 16cb6eb parallelism_config.py; transformers 5.23 distributed/.
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.frameworks.accelerate.rules import TP_PLANS, divisible_attention
from planner.frameworks.hugging_face.attention import attention_kernel
from planner.frameworks.hugging_face.types import transformers_type
from planner.frameworks.writing.chosen import common_sharding
from planner.frameworks.writing.launch import Launch

LOADED_IN = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""Precisions of `planner.frameworks.accelerate.rules` to those of PyTorch."""
MASTER_BYTES = 12.0
"""Of a parameter: its weight and both moments of Adam in 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Sizes of the axes: replicas of sharded state, its shards, and what divides a sequence."""

    replicas: int
    shards: int
    tp: int
    cp: int


def mesh_of(launch: Launch) -> Mesh:
    """The axes of a run; what cannot divide tensors or sequences shards state.

    Stages of a pipeline, of which there are none, become replicas; replicas become shards where
    they share state, or stand beside tp or cp without any shard.
    """
    plan = launch.plan
    tp, cp = _split(launch), _parts(launch)
    replicas = plan.dp * plan.pp
    shards = plan.fsdp * (plan.tp // tp) * (plan.cp // cp)
    alone = shards == 1 and tp * cp > 1
    if alone or common_sharding(launch) in ("zero1", "zero2"):
        replicas, shards = 1, replicas * shards
    return Mesh(replicas=replicas, shards=shards, tp=tp, cp=cp)


def _split(launch: Launch) -> int:
    """Ranks that tensors are split over: the plan's, or 1 where transformers cannot."""
    tp, shapes = launch.plan.tp, launch.cost.shapes
    known = transformers_type(launch.model) in TP_PLANS and shapes.kv_heads % tp == 0
    return tp if known else 1


def _parts(launch: Launch) -> int:
    """Ranks that sequences are divided over: the plan's, or 1 where Accelerate cannot."""
    whole = launch.model.window is None and divisible_attention(launch.cost)
    return launch.plan.cp if whole and _split(launch) == 1 else 1


def loaded_in(launch: Launch) -> str:
    """The format that products have, as PyTorch names it."""
    return LOADED_IN.get(launch.cost.job.precision, "bfloat16")


def mixes(launch: Launch, mesh: Mesh) -> bool:
    """Whether weights, gradients and moments have 32 bits, and products 16.

    So it is where the plan's memory counts them, but for a model that transformers splits, which
    has one format for all.
    """
    return counts_masters(launch) and mesh.tp == 1 and loaded_in(launch) != "float32"


def counts_masters(launch: Launch) -> bool:
    """Whether the plan's memory has 32-bit weights and moments."""
    profile = launch.cost.framework
    return profile.weight_bytes + profile.optimizer_bytes >= MASTER_BYTES


def kept_in(launch: Launch, mesh: Mesh) -> str:
    """The format that weights are made and kept in."""
    return "float32" if mixes(launch, mesh) else loaded_in(launch)


def kernel_of(launch: Launch, mesh: Mesh) -> str:
    """The kernel of attention; PyTorch's own is what divided sequences need."""
    return "sdpa" if mesh.cp > 1 else attention_kernel(launch.cost, flash_always=False)


def distributed_type(launch: Launch, mesh: Mesh) -> str:
    """FSDP under zero1 and zero2 too, which it is nearest to, and for cp.

    A model that transformers splits is one of several GPUs to Accelerate.
    """
    if launch.plan.chips == 1:
        return "NO"
    sharded = common_sharding(launch) != "ddp" or mesh.cp > 1
    return "FSDP" if sharded and mesh.tp == 1 else "MULTI_GPU"
