"""Kinds of decoder blocks, which several frameworks build.

Names are those of `decoder_block` in MaxText's configs/base.yml at commit e591f30 (2026-08-22).
"""

from __future__ import annotations

from models_db import Model, Moe

_Blocks = dict[tuple[tuple[str, ...], str], str]
_QKV = ("query", "key", "value")


def block_of(model: Model) -> str | None:
    """The decoder block of models of this kind; None where none is known."""
    attention, moe = model.attention, model.moe
    plain = model.norm.kind == "layernorm" and model.positions.kind == "learned"
    if plain:
        return "gpt3" if _like_gpt3(model) else None
    modern = model.norm.kind == "rmsnorm" and model.norm.per_layer == 2
    if not modern or model.parallel_block or model.positions.kind != "rope" or not model.mlp.gated:
        return None
    if model.window is not None or attention.sinks or model.mlp.bias or model.norm.embedding:
        return None
    if attention.kind == "mla":
        return "deepseek" if moe is not None and _like_deepseek(moe) else None
    dense: _Blocks = {((), "none"): "llama2", (_QKV, "none"): "qwen2", ((), "per-head"): "qwen3"}
    if moe is None:
        return dense.get((attention.bias, attention.qk_norm))
    alike = moe.layer_period == 1 and moe.first_dense_layers == 0 and moe.shared_experts == 0
    mixed: _Blocks = {((), "none"): "mixtral", ((), "per-head"): "qwen3_moe"}
    return mixed.get((attention.bias, attention.qk_norm)) if alike else None


def _like_gpt3(model: Model) -> bool:
    """Whether all matrices and norms have biases, and nothing is between them (models/gpt3.py)."""
    attention = model.attention
    biased = model.norm.bias and model.mlp.bias and set(attention.bias) == {*_QKV, "output"}
    plain = model.window is None and attention.qk_norm == "none" and not attention.sinks
    alike = model.kv_heads == model.heads and model.norm.per_layer == 2 and model.norm.final
    whole = not model.mlp.gated and model.tied_embeddings and model.moe is None
    return biased and plain and alike and whole and not model.parallel_block


def _like_deepseek(moe: Moe) -> bool:
    """Whether shared experts are as wide as the others, without a gate (models/deepseek.py)."""
    wide = moe.shared_experts == 0 or moe.shared_expert_hidden == moe.expert_hidden
    return moe.layer_period == 1 and wide and not moe.shared_expert_gate
