"""Models as a Hugging Face config.json, where Transformers has an architecture of their build.

Source: transformers 5.23 models/{llama,qwen2,qwen3,mixtral}/configuration_*.py.
"""

from __future__ import annotations

from typing import Any

from models_db import Model


def hf_config(model: Model, seq_len: int) -> dict[str, Any] | None:
    """The content of a config.json with random weights in 16 bits; None where there is none.

    Args:
        model: The model.
        seq_len: Tokens per sequence, for which the position table must be long enough.
    """
    kind = _model_type(model)
    if kind is None:
        return None
    found: dict[str, Any] = {
        "model_type": kind,
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.moe.expert_hidden if model.moe else model.mlp.hidden,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": max(model.seq_len, seq_len),
        "tie_word_embeddings": model.tied_embeddings,
        "dtype": "bfloat16",
        "use_cache": False,
    }
    if model.moe is not None:
        found["num_local_experts"] = model.moe.experts
        found["num_experts_per_tok"] = model.moe.experts_per_token
    return found


def _model_type(model: Model) -> str | None:
    """The architecture of gated, rotary models with two RMS norms per layer."""
    attention, norm, moe = model.attention, model.norm, model.moe
    gated = model.mlp.gated and not model.mlp.bias and not model.parallel_block
    normed = norm.kind == "rmsnorm" and not norm.bias and norm.per_layer == 2
    common = gated and normed and norm.final and not norm.embedding and model.window is None
    rotary = model.positions.kind == "rope" and attention.kind != "mla" and not attention.sinks
    if not (common and rotary):
        return None
    if moe is not None:
        plain = not attention.bias and attention.qk_norm == "none" and not moe.shared_experts
        every = moe.first_dense_layers == 0 and moe.layer_period == 1 and not moe.router_bias
        return "mixtral" if plain and every else None
    styles = {
        ("none", ()): "llama",
        ("none", ("key", "query", "value")): "qwen2",
        ("per-head", ()): "qwen3",
    }
    return styles.get((attention.qk_norm, tuple(sorted(attention.bias))))
