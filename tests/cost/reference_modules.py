"""What single modules of a layer compute again and drop, in plain floats.

Source: Megatron-LM d98e8a64dd, core/transformer/transformer_config.py (`recompute_modules`),
transformer_layer.py, multi_latent_attention.py, moe/moe_layer.py and moe/experts.py.
"""

from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job
from planner.plan import Plan

PLAIN = ("none", "selective", "full")


def named(recompute: str, kind: str) -> set[str]:
    """Modules that run again in a layer of a kind; what is inside of the experts goes with them."""
    names = set() if recompute in PLAIN else set(recompute.split("+"))
    if kind == "dense":
        return names - {"moe", "moe_act", "shared_experts"}
    return names - {"mlp"} - ({"moe_act", "shared_experts"} if "moe" in names else set())


def parameters_again(model: Model, recompute: str, kind: str) -> float:
    """Parameters of a layer whose products run again for a token."""
    names, h, gated = named(recompute, kind), model.hidden, 2 if model.mlp.gated else 1
    latent, total = model.attention, 0.0
    if "mlp" in names:
        total += (gated + 1) * h * (model.mlp.hidden or 0)
    if "mla_up_proj" in names and latent.kind == "mla":
        nope, rope = latent.qk_nope_head_dim or 0, latent.qk_rope_head_dim or 0
        total += (latent.kv_lora_rank or 0) * model.heads * (nope + latent.v_head_dim)
        total += (latent.q_lora_rank or h) * model.heads * (nope + rope)
    if moe := model.moe:
        shared = (gated + 1) * h * moe.shared_experts * moe.shared_expert_hidden
        if "moe" in names:
            total += (gated + 1) * h * moe.experts_per_token * moe.expert_hidden
            total += h * moe.experts + shared
        if "shared_experts" in names:
            total += shared
    return total


def elements_again(a: Assumptions, model: Model, recompute: str, kind: str) -> tuple[float, float]:
    """Elements per token read and written again, between blocks and inside of them."""
    names, gated = named(recompute, kind), 2 if model.mlp.gated else 1
    latent, moe = model.attention, model.moe
    norm, inside = min(2.0, a.row_bytes / 2), a.ffn_bytes * gated
    rows = ranks = 0.0
    if "layernorm" in names:
        rows += ((latent.kind == "mla") + (kind == "moe")) * norm * model.hidden
    if "mla_up_proj" in names and latent.kind == "mla":
        rows += norm * ((latent.q_lora_rank or 0) + (latent.kv_lora_rank or 0))
        ranks += min(2.0, a.tp_bytes) * 2 * model.heads * model.head_dim
    if "mlp" in names:
        rows += norm * model.hidden
        ranks += inside * (model.mlp.hidden or 0)
    if moe is not None:
        routed = moe.experts_per_token * moe.expert_hidden
        shared = moe.shared_experts * moe.shared_expert_hidden
        ranks += inside * (routed + shared) * ("moe" in names)
        ranks += min(gated + 1.0, inside) * routed * ("moe_act" in names)
        ranks += inside * shared * ("shared_experts" in names)
    return rows, ranks


def dropped_bytes(
    job: Job, plan: Plan, recompute: str, kind: str, scores: float
) -> tuple[float, float]:
    """Bytes per token that a layer does not keep, and those of gradients while it runs again."""
    model, tp, names = job.model, plan.tp, named(recompute, kind)
    rows = tp if plan.sequence_parallel else 1
    latent, moe, h = model.attention, model.moe, model.hidden
    per_width = job.framework.gated_saved if model.mlp.gated else job.framework.plain_saved
    is_latent = latent.kind == "mla"
    total, width = 0.0, float(model.mlp.hidden or 0)
    if "core_attn" in names:
        total += scores + 4 * model.heads / tp
    if "layernorm" in names:
        total += 2 * h / rows * (is_latent + (kind == "moe"))
    if "mla_up_proj" in names and is_latent:
        total += 2 * model.heads * (2 * model.head_dim + latent.v_head_dim) / tp
        total += 2 * ((latent.q_lora_rank or 0) + (latent.kv_lora_rank or 0))
    if "mlp" in names:
        total += per_width * width / tp + 2 * h / rows
    if kind == "moe" and moe is not None:
        routed = moe.experts_per_token * moe.expert_hidden
        shared = moe.shared_experts * moe.shared_expert_hidden
        width = float(routed + shared)
        copies = 2 * moe.experts_per_token * h * (job.framework.combined_saved / 2 + plan.etp)
        total += (per_width * width + copies) / tp * ("moe" in names)
        total += 2 * routed / tp * ("moe_act" in names)
        total += per_width * shared / tp * ("shared_experts" in names)
    whole = bool({"mlp", "moe"} & names)
    return total, (4 * width / tp + 4 * h / rows) if whole else 0.0
