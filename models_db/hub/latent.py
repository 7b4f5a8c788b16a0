"""Decoders with latent attention: DeepSeek-V2, DeepSeek-V3, Kimi K2.

Shapes: DeepSeek-V2 (arXiv:2405.04434), section 2.1; modeling_deepseek_v3.py of transformers 5.23.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models_db.hub.experts import EXPERTS, after_dense, dense_hidden, moe_block, predictors
from models_db.hub.fields import Fields, Number, derived
from models_db.hub.order import layer_count
from models_db.hub.parts import Parts, sequence

_OF_EXPERTS = (
    *("first_k_dense_replace", "moe_layer_freq", "moe_intermediate_size", "num_experts_per_tok"),
    *("n_shared_experts", "n_group", "topk_group"),
)
_DIMS = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def deepseek_v2(fields: Fields) -> Parts:
    """DeepSeek-V2: the router has no bias."""
    fields.raw("topk_method")
    return _deepseek(fields, router_bias=False)


def deepseek_v3(fields: Fields) -> Parts:
    """DeepSeek-V3 and Kimi K2: a learned bias per expert balances the router."""
    method = fields.raw("topk_method")
    return _deepseek(fields, router_bias=method in (None, "noaux_tc"))


def _deepseek(fields: Fields, *, router_bias: bool) -> Parts:
    """What both generations share."""
    heads = fields.count("num_attention_heads")
    latent = {key: fields.count(key) for key in _DIMS}
    if fields.stated("q_lora_rank"):
        latent = {"q_lora_rank": fields.count("q_lora_rank"), **latent}
    width = latent["qk_nope_head_dim"]["value"] + latent["qk_rope_head_dim"]["value"]
    fields.require(
        not fields.flag("attention_bias"),
        "attention_bias",
        "true: latent attention with biases is more than a record holds",
    )
    fields.require(
        not fields.raw("mlp_bias"),
        "mlp_bias",
        "true: some feed-forwards with biases and some without are more than a record holds",
    )
    fields.raw("num_key_value_heads", "head_dim", "qk_head_dim")  # say nothing about latents
    parts = Parts(
        layers=layer_count(fields, "num_hidden_layers"),
        hidden=fields.count("hidden_size"),
        heads=heads,
        kv_heads=derived(heads["value"], "keys and values are expanded for every head"),
        head_dim=derived(width, "qk_nope_head_dim + qk_rope_head_dim"),
        vocab_size=fields.count("vocab_size", unit="tokens"),
        seq_len=sequence(fields, "max_position_embeddings"),
        tied=fields.flag("tie_word_embeddings"),
        latent=latent,
        mlp_hidden=fields.count("intermediate_size"),
        mtp=predictors(fields),
    )
    return _with_experts(fields, parts, router_bias=router_bias)


def _with_experts(fields: Fields, parts: Parts, *, router_bias: bool) -> Parts:
    """Adds the experts, unless `n_routed_experts` is null."""
    if fields.null(*EXPERTS):
        fields.raw(*_OF_EXPERTS)
        return parts
    order = after_dense(fields, parts.layers)
    expert = fields.count("moe_intermediate_size")
    shared, width = _shared(fields, expert)
    moe: dict[str, Any] = moe_block(
        fields,
        hidden=expert,
        order=order,
        shared=shared,
        shared_hidden=width,
        router_bias=router_bias,
    )
    if fields.stated("n_group") and fields.stated("topk_group"):
        groups = fields.count("n_group"), fields.count("topk_group")
        moe |= dict(zip(("groups", "groups_per_token"), groups, strict=True))
    return replace(parts, mlp_hidden=dense_hidden(fields, order), moe=moe)


def _shared(fields: Fields, expert: Number) -> tuple[Number, Number | None]:
    """Shared experts and their width, which is that of a routed one."""
    if not fields.stated("n_shared_experts"):
        return derived(0, "n_shared_experts is null"), None
    found = fields.count("n_shared_experts", least=0)
    width = derived(expert["value"], "moe_intermediate_size")
    return found, width if found["value"] else None
