"""The models that MaxText knows by name.

Names are those of the files in MaxText's configs/models at commit e591f30 (2026-08-22).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from models_db import Model, load_model

NAMED = {
    "llama2-7b": "llama2-7b",
    "llama2-13b": "llama2-13b",
    "llama2-70b": "llama2-70b",
    "llama3-8b": "llama3-8b",
    "llama3-70b": "llama3-70b",
    "llama3.1-8b": "llama3.1-8b",
    "llama3.1-70b": "llama3.1-70b",
    "llama3.1-405b": "llama3.1-405b",
    "mistral-7b": "mistral-7b",
    "mixtral-8x7b": "mixtral-8x7b",
    "mixtral-8x22b": "mixtral-8x22b",
    "gemma2-9b": "gemma2-9b",
    "gemma2-27b": "gemma2-27b",
    "gemma3-4b": "gemma3-4b",
    "gemma3-12b": "gemma3-12b",
    "gemma3-27b": "gemma3-27b",
    "gpt-oss-20b": "gpt-oss-20b",
    "gpt-oss-120b": "gpt-oss-120b",
    "qwen2.5-7b": "qwen2.5-7b",
    "qwen2.5-14b": "qwen2.5-14b",
    "qwen3-8b": "qwen3-8b",
    "qwen3-14b": "qwen3-14b",
    "qwen3-32b": "qwen3-32b",
    "qwen3-30b-a3b": "qwen3-30b-a3b",
    "qwen3-235b-a22b": "qwen3-235b-a22b",
    "deepseek-v2-lite": "deepseek2-16b",
    "deepseek-v2": "deepseek2-236b",
    "deepseek-v3": "deepseek3-671b",
    "kimi-k2": "kimi-k2-1t",
    "llama4-scout": "llama4-17b-16e",
    "llama4-maverick": "llama4-17b-128e",
}
"""Name of a model here to its `model_name` in MaxText."""

TOKEN_ROWS = {
    "gemma2-9b": 256128, "gemma2-27b": 256128, "mixtral-8x22b": 32768,
    "gemma3-4b": 262144, "gemma3-12b": 262144, "gemma3-27b": 262144,
}  # fmt: skip
"""Rows of the table of tokens in MaxText's configs/models where some record has others, by name."""
_PADDED_ROWS = {"gemma3": (262208,)}
"""Rows of that table in the config.json of a family that pads those of our record."""


def name_of(model: Model) -> str | None:
    """MaxText's name of a model by what it computes; None where MaxText names none like it.

    Of several that compute the same (Llama 3 and 3.1) the one that the model is called, else the
    first.
    """
    alike = _computing().get(_computed(model), ())
    if not alike:
        return None
    return NAMED[model.name if model.name in alike else alike[0]]


@cache
def _computing() -> dict[tuple[Any, ...], tuple[str, ...]]:
    """What the named models compute, with the names here that compute it."""
    found: dict[tuple[Any, ...], tuple[str, ...]] = {}
    for name in NAMED:
        model = load_model(name)
        for rows in (model.vocab_size, *_PADDED_ROWS.get(model.family, ())):
            key = _computed(model, rows)
            found[key] = (*found.get(key, ()), name)
    return found


def _computed(model: Model, rows: int = 0) -> tuple[Any, ...]:
    """Every field of a model that its products follow from; `rows`: of another vocabulary."""
    sizes = (model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim)
    inside = (model.attention, model.window, model.mlp, model.norm, model.positions, model.moe)
    blocks = (*inside, model.order, model.recurrence)
    ends = (rows or model.vocab_size, model.tied_embeddings, model.mtp_modules)
    return (*sizes, *blocks, *ends, model.parallel_block)


def attends_globally(model: Model) -> bool:
    """Whether no layer has a window in MaxText, which leaves out that of Mistral."""
    return model.window is None or (name_of(model) or "").startswith("mistral")


def caps_scores(model: Model) -> bool:
    """Whether MaxText's configuration of the model has `attn_logits_soft_cap`."""
    return (name_of(model) or "").startswith("gemma2")
