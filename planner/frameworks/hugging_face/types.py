"""The architecture of Hugging Face transformers that has a model's layers.

A type is named where its layers have the same matrices, biases and norms, so that a run has the
same parameters and products. Activations and scalings are no part of a record; they follow the
type. Source: transformers 5.23 models/*/modeling_*.py.
"""

from __future__ import annotations

from models_db import Model
from planner.frameworks.decoders import unwritten_layers

ALL = ("key", "output", "query", "value")
QKV = ("key", "query", "value")
TYPES = (
    "bloom", "cohere", "deepseek_v2", "deepseek_v3", "falcon", "gemma", "gemma2", "gemma3_text",
    "glm4_moe", "gpt2", "gpt_neox", "gpt_oss", "llama", "mistral", "mixtral", "mpt", "olmo2",
    "opt", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
)  # fmt: skip
"""What `transformers_type` finds."""
LISTED = ("gemma2", "gemma3_text", "gpt_oss", "qwen2", "qwen3")
"""Types whose configuration says of every layer whether it has a window."""


def transformers_type(model: Model) -> str | None:
    """The `model_type` whose layers are those of the model; None where there is none."""
    if unwritten_layers(model):
        return None
    plain = model.norm.kind == "rmsnorm" and model.norm.final and not model.norm.embedding
    if model.norm.kind == "layernorm":
        return _with_layer_norms(model)
    if not plain or model.norm.bias or model.positions.kind != "rope" or model.parallel_block:
        return None
    found = _with_rms_norms(model) if model.mlp.gated else None
    return found if found and _windows_fit(model, found) else None


def flash_attention(model: Model) -> bool:
    """Whether fused kernels know its attention, which has neither ALiBi nor sinks."""
    return model.positions.kind != "alibi" and not model.attention.sinks


def _biases(model: Model) -> tuple[str, ...]:
    return tuple(sorted(model.attention.bias))


def _windows_fit(model: Model, kind: str) -> bool:
    """Whether the type can have the model's windows."""
    window = model.window
    if window is None:
        return kind != "mistral"
    everywhere = window.global_layers == 0 and kind in ("mistral", "mixtral")
    return window.kind == "sliding" and (everywhere or kind in LISTED)


def _with_rms_norms(model: Model) -> str | None:
    attention, moe, per_layer = model.attention, model.moe, model.norm.per_layer
    if attention.sinks or attention.kind == "mla":
        found = _latent(model) if attention.kind == "mla" else _with_sinks(model)
        return found if per_layer == 2 else None
    if per_layer == 4 and moe is None and not model.mlp.bias and _biases(model) in ((), ALL):
        return {"none": "gemma2", "per-head": "gemma3_text"}.get(attention.qk_norm)
    if per_layer != 2:
        return None
    return _dense(model) if moe is None else _mixed(model)


def _dense(model: Model) -> str | None:
    styles = {
        ("none", ()): "llama",
        ("none", ALL): "llama",
        ("none", QKV): "qwen2",
        ("per-head", ()): "qwen3",
        ("per-head", ALL): "qwen3",
        ("full-width", ()): "olmo2",
        ("full-width", ALL): "olmo2",
    }
    found = styles.get((model.attention.qk_norm, _biases(model)))
    if model.mlp.bias and found != "llama":
        return None
    local = found == "llama" and model.window is not None
    if local and (_biases(model) or model.mlp.bias):
        return None
    if found == "llama" and model.family == "gemma" and not model.mlp.bias:
        return None if local else "gemma"
    return "mistral" if local else found


def _mixed(model: Model) -> str | None:
    """Experts beside ordinary attention."""
    moe, norm, biases = model.moe, model.attention.qk_norm, _biases(model)
    if moe is None or model.mlp.bias:
        return None
    every = moe.first_dense_layers == 0 and moe.layer_period == 1
    if moe.router_bias:
        fits = norm in ("none", "per-head") and biases in ((), QKV)
        return "glm4_moe" if fits and _deepseek_experts(model) else None
    if moe.shared_experts:
        gated = moe.shared_experts == 1 and moe.shared_expert_gate
        return "qwen2_moe" if gated and norm == "none" and biases in ((), QKV) else None
    if norm == "per-head":
        return "qwen3_moe" if biases in ((), ALL) else None
    return "mixtral" if every and norm == "none" and not biases else None


def _deepseek_experts(model: Model) -> bool:
    """Dense layers first, and shared experts of the width of a routed one without a gate."""
    moe = model.moe
    if moe is None or moe.layer_period != 1 or moe.shared_expert_gate:
        return False
    return moe.shared_experts == 0 or moe.shared_expert_hidden == moe.expert_hidden


def _latent(model: Model) -> str | None:
    plain = not model.attention.bias and not model.mlp.bias and not model.attention.sinks
    if model.moe is None or not plain or not _deepseek_experts(model):
        return None
    return "deepseek_v3" if model.moe.router_bias else "deepseek_v2"


def _with_sinks(model: Model) -> str | None:
    moe = model.moe
    if moe is None or moe.shared_experts or not (moe.router_bias and model.mlp.bias):
        return None
    every = moe.first_dense_layers == 0 and moe.layer_period == 1
    fits = model.attention.qk_norm == "none" and _biases(model) == ALL
    return "gpt_oss" if every and fits else None


def _with_layer_norms(model: Model) -> str | None:
    """Types of one kind of dense layers with LayerNorm."""
    attention = model.attention
    if model.moe is not None or model.window is not None or attention.sinks:
        return None
    if attention.kind == "mla" or attention.qk_norm != "none":
        return None
    if _is_cohere(model):
        return "cohere"
    if model.mlp.gated or model.heads * model.head_dim != model.hidden:
        return None
    if not model.norm.bias:
        return "mpt" if _is_mpt(model) else None
    own = {"learned": _learned, "alibi": _by_alibi, "rope": _rotary}.get(model.positions.kind)
    return own(model) if own else None


def _is_cohere(model: Model) -> bool:
    norm = model.norm
    normed = norm.per_layer == 1 and norm.final and not norm.bias and not norm.embedding
    block = model.parallel_block and model.mlp.gated and not model.mlp.bias
    return normed and block and model.positions.kind == "rope" and _biases(model) in ((), ALL)


def _is_mpt(model: Model) -> bool:
    """No bias anywhere, ALiBi, one width of heads, embedding and head tied."""
    norm = model.norm
    normed = norm.per_layer == 2 and norm.final and not norm.embedding
    plain = not model.attention.bias and not model.mlp.bias and not model.parallel_block
    whole = model.mlp.hidden == 4 * model.hidden and model.kv_heads == model.heads
    return normed and plain and whole and model.positions.kind == "alibi" and model.tied_embeddings


def _even(model: Model) -> bool:
    """Two norms per layer, as many key-value heads as heads, none at the embedding."""
    return (
        model.norm.per_layer == 2
        and model.kv_heads == model.heads
        and not model.norm.embedding
        and (_biases(model), model.mlp.bias) in ((ALL, True), ((), False))
    )


def _learned(model: Model) -> str | None:
    if not _even(model) or model.parallel_block:
        return None
    plain = model.family != "opt" and model.norm.final and model.mlp.bias
    return "gpt2" if plain else "opt"


def _by_alibi(model: Model) -> str | None:
    norm = model.norm
    if not norm.embedding:
        return "falcon" if _is_falcon(model) else None
    biased = _biases(model) == ALL and model.mlp.bias
    whole = model.mlp.hidden == 4 * model.hidden and model.kv_heads == model.heads
    normed = norm.per_layer == 2 and norm.final and not model.parallel_block
    return "bloom" if biased and whole and normed else None


def _rotary(model: Model) -> str | None:
    if _even(model) and model.mlp.bias and model.norm.final:
        return "gpt_neox"
    return "falcon" if _is_falcon(model) else None


def _is_falcon(model: Model) -> bool:
    """Biases everywhere or nowhere; grouped heads and two norms only in the parallel block."""
    biases = (_biases(model), model.mlp.bias) in ((ALL, True), ((), False))
    normed = model.norm.final and not model.norm.embedding
    if model.parallel_block:
        return biases and normed and model.norm.per_layer in (1, 2)
    return biases and normed and model.norm.per_layer == 2 and model.kv_heads in (1, model.heads)
