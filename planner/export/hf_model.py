"""A model as a configuration of Hugging Face transformers (names of keys: release 5.23)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models_db import Model
from planner.rules.maxtext_models import block_of

_TYPES = {
    "llama2": "llama",
    "mixtral": "mixtral",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3_moe",
    "gpt3": "gpt2",
    "deepseek": "deepseek_v3",
}


def model_type(model: Model) -> str:
    """The `model_type` of models of this kind; empty where none is known to be equal."""
    if model.window is not None and block_of(_global(model)) == "llama2":
        return "mistral"
    found = _TYPES.get(block_of(model) or "", "")
    if found == "deepseek_v3" and not (model.moe and model.moe.router_bias):
        return "deepseek_v2"
    return found


def _global(model: Model) -> Model:
    """The model without its windows, where every layer has one."""
    alike = model.window is not None and model.window.global_layers == 0
    return replace(model, window=None) if alike else model


def dimensions(model: Model, seq_len: int) -> dict[str, Any]:
    """The configuration's keys; those of `model_type`."""
    kind = model_type(model)
    if kind == "gpt2":
        return {
            "n_layer": model.layers,
            "n_embd": model.hidden,
            "n_head": model.heads,
            "n_inner": model.mlp.hidden,
            "n_positions": max(model.positions.max_positions or 0, seq_len),
            "vocab_size": model.vocab_size,
        }
    values: dict[str, Any] = {
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.mlp.hidden or _expert_width(model),
        "max_position_embeddings": seq_len,
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tied_embeddings,
    }
    if kind == "mistral" and model.window is not None:
        values["sliding_window"] = model.window.tokens
    return values | _latent(model) | _experts(model, kind)


def _expert_width(model: Model) -> int:
    return model.moe.expert_hidden if model.moe else 0


def _latent(model: Model) -> dict[str, Any]:
    attention = model.attention
    if attention.kind != "mla":
        return {}
    return {
        "q_lora_rank": attention.q_lora_rank,
        "kv_lora_rank": attention.kv_lora_rank,
        "qk_nope_head_dim": attention.qk_nope_head_dim,
        "qk_rope_head_dim": attention.qk_rope_head_dim,
        "v_head_dim": attention.v_head_dim,
        "head_dim": attention.qk_rope_head_dim,
    }


def _experts(model: Model, kind: str) -> dict[str, Any]:
    moe = model.moe
    if moe is None:
        return {}
    number = {"mixtral": "num_local_experts", "qwen3_moe": "num_experts"}
    values: dict[str, Any] = {
        number.get(kind, "n_routed_experts"): moe.experts,
        "num_experts_per_tok": moe.experts_per_token,
    }
    if kind != "mixtral":
        values["moe_intermediate_size"] = moe.expert_hidden
    if kind.startswith("deepseek"):
        values |= {
            "n_shared_experts": moe.shared_experts,
            "first_k_dense_replace": moe.first_dense_layers,
        }
    return values
