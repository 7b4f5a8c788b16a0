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
    modern = modern and not unwritten_layers(model)
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


def unwritten_layers(model: Model) -> str:
    """Which layers of a model are none that a target here is written with; empty: all are.

    Megatron-LM builds them with pretrain_mamba.py (`--hybrid-layer-pattern`), and with
    pretrain_gpt.py (`--experimental-attention-variant gated_delta_net`, `--attention-output-gate`,
    `--moe-latent-size`); transformers by its own types. That these build the same layers has not
    been compared, so nothing is written.
    """
    kind = model.recurrence.kind if model.recurrence else ""
    found = {
        f"recurrences of kind {kind} in place of attention": bool(kind),
        "layers without attention or without a feed-forward": model.order is not None and not kind,
        "a gate on the output of attention": model.attention.output_gate and not kind,
        "experts at a latent width": model.moe is not None and model.moe.latent > 0 and not kind,
    }
    return ", ".join(words for words, holds in found.items() if holds)


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
