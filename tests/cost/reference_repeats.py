"""Reference of keys per token, of what recomputation leaves out, and of hooks under zero3."""

from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job


def last_share(job: Job) -> float:
    """Share of a layer's matrices that a recomputation which stops early leaves out."""
    model = job.model
    if not job.framework.stops_early or job.kind == "lora" or model.moe or model.order:
        return 0.0
    if model.norm.per_layer > 2:
        return 0.0
    return model.hidden * (model.mlp.hidden or 0) / model.layer_parameters("dense")


def second_share(job: Job) -> float:
    """Share of a layer's matrices that are keys, output and up, or down where none is gated."""
    model = job.model
    if model.moe or model.order or model.attention.kind == "mla":
        return 0.5
    keys = model.kv_heads * model.head_dim
    out = model.heads * model.attention.v_head_dim
    last = 0.0 if model.mlp.gated and last_share(job) else last_share(job)
    wide = keys + out + (model.mlp.hidden or 0)
    return model.hidden * wide / model.layer_parameters("dense") - last


def hooked_s(a: Assumptions, job: Job, sharding: str, kind: str) -> float:
    """Seconds in which the host launches a layer and runs the hooks of its modules; 0 without."""
    if not job.framework.module_hook_s or sharding != "zero3":
        return 0.0
    mlp = 5 if job.model.mlp.gated else 4  # itself, its matrices, its activation
    if kind == "moe" and job.model.moe is not None:
        mlp = 2 + (mlp * job.model.moe.experts if a.expert_host_s else 1)
    once = a.host_s_per_layer * (1 + a.host_forward_share)
    return once + 3 * job.framework.module_hook_s * (8 + mlp)


def attention_again(job: Job, *, fused: bool) -> bool:
    """Whether `selective` is attention alone, and runs it again."""
    framework = job.framework
    return framework.selective == "core-attention" and (not fused or framework.repeats_fused)


def mean_context(model: Model, seq_len: int) -> float:
    """Keys per token averaged over layers, twice the causal mean; counted token by token.

    A sliding window of w shows token t (from 0) min(t, w) keys on average: the integral of
    min(t, w) over 0..s, doubled and divided by s. A chunk of w begins again after w tokens.
    """
    total = 0.0
    for window in model.attention_windows:
        w = seq_len if window is None else min(window, seq_len)
        if model.window is not None and model.window.kind == "chunked":
            chunks, rest = divmod(seq_len, w)
            total += 2 * (chunks * w * w / 2 + rest * rest / 2) / seq_len
        else:
            total += 2 * (w * w / 2 + (seq_len - w) * w) / seq_len
    return total / model.layers
