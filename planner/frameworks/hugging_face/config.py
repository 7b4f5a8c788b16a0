"""A model as a configuration of Hugging Face transformers (names of keys: release 5.23).

Source: transformers models/*/configuration_*.py. What a record does not know keeps the default of
the type: activation, rotary base, epsilon, scalings; groups of experts are not limited. Nothing is
dropped out: GPT-2 and OPT alone do so by default.
"""

from __future__ import annotations

from typing import Any

from models_db import Model
from planner.frameworks.hugging_face.types import LISTED, transformers_type

_EXPERT_WIDTH = ("mixtral", "gpt_oss")
_NAMES = {"mixtral": "num_local_experts", "gpt_oss": "num_local_experts",
          "qwen2_moe": "num_experts", "qwen3_moe": "num_experts"}  # fmt: skip
_ACTIVATIONS = {"gemma": "hidden_activation", "gemma2": "hidden_activation",
                "gemma3_text": "hidden_activation", "gpt2": "activation_function",
                "opt": "activation_function", "falcon": "activation", "bloom": "",
                "mpt": ""}  # fmt: skip
_EPSILONS = {"gpt2": "layer_norm_epsilon", "bloom": "layer_norm_epsilon",
             "mpt": "layer_norm_epsilon", "falcon": "layer_norm_epsilon", "opt": "",
             "gpt_neox": "layer_norm_eps", "cohere": "layer_norm_eps"}  # fmt: skip
_GROUPS = ("routed_scaling_factor", "n_group", "topk_group", "norm_topk_prob")
_SCALES = {
    "gemma2": ("query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"),
    "gemma3_text": ("query_pre_attn_scalar",),
    "cohere": ("logit_scale",),
    "deepseek_v2": (*_GROUPS, "topk_method"),
    "deepseek_v3": _GROUPS,
    "glm4_moe": _GROUPS,
    "gpt_oss": ("swiglu_limit",),
    "qwen2_moe": ("norm_topk_prob",),
    "qwen3_moe": ("norm_topk_prob",),
}
_OPT_OFFSET = 2
"""Rows of OPT's table before the first position."""


def dimensions(model: Model, seq_len: int) -> dict[str, Any]:
    """The keys of the model's type without `model_type`; those of llama where it has none.

    Args:
        model: The model.
        seq_len: Tokens per sequence, for which the positions must reach.
    """
    kind = transformers_type(model) or "llama"
    own = {"gpt2": _gpt2, "opt": _opt, "bloom": _bloom, "mpt": _mpt, "falcon": _falcon}
    if kind in own:
        return own[kind](model, seq_len)
    values: dict[str, Any] = {
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": _width(model, kind),
        "vocab_size": model.vocab_size,
        "max_position_embeddings": max(model.seq_len, seq_len),
        "tie_word_embeddings": model.tied_embeddings,
    }
    if kind == "gpt_neox":
        del values["num_key_value_heads"], values["head_dim"]
        values |= {
            "use_parallel_residual": model.parallel_block,
            "attention_bias": bool(model.attention.bias),
        }
    elif model.attention.bias and kind not in ("qwen2", "qwen2_moe"):
        values["attention_bias"] = True
    if kind == "llama" and model.mlp.bias:
        values["mlp_bias"] = True
    return values | _norms(model, kind) | _window(model, kind) | _latent(model) | _moe(model, kind)


def keys_of_weights(model: Model) -> tuple[str, ...]:
    """Keys of the model's type that published weights need and a record does not hold."""
    kind = transformers_type(model) or "llama"
    keys = [_ACTIVATIONS.get(kind, "hidden_act"), _EPSILONS.get(kind, "rms_norm_eps")]
    if model.positions.kind == "rope":
        keys.append("rope_parameters")
    return (*filter(None, keys), *_SCALES.get(kind, ()))


def _width(model: Model, kind: str) -> int:
    """The width of dense layers, or of experts where there are none or one key is for both."""
    expert = model.moe.expert_hidden if model.moe else 0
    return expert if kind in _EXPERT_WIDTH else model.mlp.hidden or expert


def _norms(model: Model, kind: str) -> dict[str, Any]:
    return {"use_qk_norm": model.attention.qk_norm != "none"} if kind == "glm4_moe" else {}


def _window(model: Model, kind: str) -> dict[str, Any]:
    """Which layers have a window, and of how many tokens."""
    window = model.window
    if window is None:
        alike = {"layer_types": ["full_attention"] * model.layers}
        return alike if kind in ("gemma2", "gemma3_text", "gpt_oss") else {}
    values: dict[str, Any] = {"sliding_window": window.tokens}
    if kind in LISTED:
        name = {True: "full_attention", False: "sliding_attention"}
        values["layer_types"] = [name[tokens is None] for tokens in model.attention_windows]
    return values | ({"use_sliding_window": True} if kind in ("qwen2", "qwen3") else {})


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


def _moe(model: Model, kind: str) -> dict[str, Any]:
    moe = model.moe
    if moe is None:
        return {}
    values: dict[str, Any] = {
        _NAMES.get(kind, "n_routed_experts"): moe.experts,
        "num_experts_per_tok": moe.experts_per_token,
    }
    if kind not in _EXPERT_WIDTH:
        values["moe_intermediate_size"] = moe.expert_hidden
    if kind in ("qwen2_moe", "qwen3_moe"):
        dense = [i for i, layer in enumerate(model.layer_kinds) if layer == "dense"]
        values["mlp_only_layers"] = dense
    if kind == "qwen2_moe":
        values["shared_expert_intermediate_size"] = moe.shared_expert_hidden
        values["qkv_bias"] = bool(model.attention.bias)
    if kind in ("deepseek_v2", "deepseek_v3", "glm4_moe"):
        values |= {
            "n_shared_experts": moe.shared_experts,
            "first_k_dense_replace": moe.first_dense_layers,
            "n_group": moe.groups,
            "topk_group": moe.groups_per_token,
        }
    return values


def _gpt2(model: Model, seq_len: int) -> dict[str, Any]:
    return {
        "n_layer": model.layers,
        "n_embd": model.hidden,
        "n_head": model.heads,
        "n_inner": model.mlp.hidden,
        "n_positions": max(model.positions.max_positions or 0, seq_len),
        "vocab_size": model.vocab_size,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
        "tie_word_embeddings": model.tied_embeddings,
    }


def _opt(model: Model, seq_len: int) -> dict[str, Any]:
    return {
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "word_embed_proj_dim": model.hidden,
        "num_attention_heads": model.heads,
        "ffn_dim": model.mlp.hidden,
        "max_position_embeddings": max((model.positions.max_positions or 0) - _OPT_OFFSET, seq_len),
        "vocab_size": model.vocab_size,
        "dropout": 0.0,
        "enable_bias": model.mlp.bias,
        "do_layer_norm_before": model.norm.final,
        "tie_word_embeddings": model.tied_embeddings,
    }


def _bloom(model: Model, seq_len: int) -> dict[str, Any]:
    return {
        "n_layer": model.layers,
        "hidden_size": model.hidden,
        "n_head": model.heads,
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tied_embeddings,
    }


def _mpt(model: Model, seq_len: int) -> dict[str, Any]:
    return {
        "n_layers": model.layers,
        "d_model": model.hidden,
        "n_heads": model.heads,
        "max_seq_len": max(model.seq_len, seq_len),
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tied_embeddings,
    }


def _falcon(model: Model, seq_len: int) -> dict[str, Any]:
    """The newer design has groups of key-value heads and up to two norms before its block."""
    grouped = model.kv_heads not in (1, model.heads)
    newer = model.parallel_block and (grouped or model.norm.per_layer == 2)
    values: dict[str, Any] = {
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden,
        "num_attention_heads": model.heads,
        "num_kv_heads": model.kv_heads,
        "ffn_hidden_size": model.mlp.hidden,
        "max_position_embeddings": max(model.seq_len, seq_len),
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tied_embeddings,
        "new_decoder_architecture": newer,
        "multi_query": model.kv_heads == 1,
        "parallel_attn": model.parallel_block,
        "bias": model.mlp.bias,
        "alibi": model.positions.kind == "alibi",
    }
    return values | ({"num_ln_in_parallel_attn": model.norm.per_layer} if newer else {})
