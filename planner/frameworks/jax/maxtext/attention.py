"""MaxText's settings of attention, and what its kernels on GPUs do otherwise than predicted."""

from __future__ import annotations

from typing import Any

from planner.base.units import GIB
from planner.frameworks.jax.maxtext.blocks import own_block
from planner.frameworks.jax.maxtext.kernels import CHOSEN, CUDNN, gpu_kernel, why_unfused
from planner.frameworks.jax.maxtext.rules import on_tpu
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch

_BLOCKS = (
    "sa_block_q", "sa_block_kv", "sa_block_kv_compute", "sa_block_q_dkv", "sa_block_kv_dkv",
    "sa_block_kv_dkv_compute", "sa_block_q_dq", "sa_block_kv_dq",
)  # fmt: skip


def settings(launch: Launch) -> dict[str, Any]:
    """The kernel, and how the ranks of `cp` attend together."""
    plan, ring = launch.plan, launch.plan.cp_mode == "ring"
    if not on_tpu(launch.cost):
        kernel = gpu_kernel(launch.cost)
        named = {} if kernel == CHOSEN else {"attention": kernel}
        return named | ({"context_parallel_strategy": "ring"} if plan.cp > 1 else {})
    if plan.cp == 1:
        return _blocks(launch)
    return _blocks(launch) | {
        "attention": "flash",
        "use_tokamax_splash": True,
        "context_parallel_strategy": "ring" if ring else "ulysses",
        "context_parallel_load_balance": ring,
    }


def _blocks(launch: Launch) -> dict[str, Any]:
    """Tokens of every block of the kernels on TPUs, where the usual ones divide no sequence."""
    tokens = own_block(launch.cost, launch.plan)
    return {} if tokens is None else dict.fromkeys(_BLOCKS, tokens)


def score_bytes(launch: Launch) -> float:
    """Bytes of the scores of one layer for a micro-batch on one chip."""
    plan = launch.plan
    number = 4 if launch.cost.job.precision == "fp32" else 2
    heads = launch.model.heads / plan.tp
    return plan.micro_batch * heads * launch.seq_len**2 / plan.cp * number


def lossy(launch: Launch) -> list[Lost]:
    """Scores that are kept, and chunks that the kernel does not see."""
    if on_tpu(launch.cost):
        return []
    model, lost = launch.model, []
    reason = why_unfused(launch.cost)
    if reason and launch.cost.assumptions.fused_attention:
        kept = f"the scores of a layer, {score_bytes(launch) / GIB:.3g} GiB per chip, are kept"
        lost.append(Lost("model", f"{reason}: {kept}, which the predicted memory leaves out"))
    window = model.window
    chunked = window is not None and window.kind == "chunked" and launch.seq_len > window.tokens
    if chunked and gpu_kernel(launch.cost) == CUDNN:
        lost.append(Lost("model", "cuDNN's kernel attends globally, without the chunks"))
    return lost
