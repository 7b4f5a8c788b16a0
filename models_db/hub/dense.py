"""Dense decoders with rotary positions: Llama and its kin, Gemma, Command R.

Shapes: modeling_<model_type>.py of transformers 5.23.0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from models_db.hub.fields import Fields, Number
from models_db.hub.order import layer_count, listed_kinds, windows
from models_db.hub.parts import Parts, head_width, key_value_heads, sequence

ALL = ("query", "key", "value", "output")
QKV = ("query", "key", "value")


def base(fields: Fields) -> Parts:
    """What all of them share: RMS norms, gated feed-forward, the usual names of keys."""
    layers = layer_count(fields, "num_hidden_layers")
    hidden = fields.count("hidden_size")
    heads = fields.count("num_attention_heads")
    return Parts(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=key_value_heads(fields, heads),
        head_dim=head_width(fields, hidden, heads),
        vocab_size=fields.count("vocab_size", unit="tokens"),
        seq_len=sequence(fields, "max_position_embeddings"),
        tied=fields.flag("tie_word_embeddings"),
        mlp_hidden=fields.count("intermediate_size"),
    )


def biased(fields: Fields) -> tuple[str, ...]:
    """All four projections where `attention_bias` says so."""
    return ALL if fields.flag("attention_bias") else ()


def mistral(fields: Fields) -> Parts:
    """Mistral: Llama with a window in every layer, unless `sliding_window` is null."""
    parts = base(fields)
    return replace(parts, window=window_everywhere(fields, parts, fields.stated("sliding_window")))


def window_everywhere(fields: Fields, parts: Parts, given: bool) -> dict[str, Any] | None:
    """A window in every layer; none where it is as long as the longest context."""
    if not given:
        return None
    tokens = fields.count("sliding_window", unit="tokens")
    longest = fields.count("max_position_embeddings")["value"]
    local = tokens["value"] < longest
    return windows(fields, [local] * parts.layers["value"], tokens, key="sliding_window")


def qwen2(fields: Fields) -> Parts:
    """Qwen2 and Qwen2.5: biases on queries, keys and values."""
    parts = base(fields)
    return replace(parts, bias=QKV, window=qwen_window(fields, parts.layers))


def qwen3(fields: Fields) -> Parts:
    """Qwen3: norms of queries and keys per head; heads of 128 whatever the hidden width."""
    parts = base(fields)
    return replace(
        parts,
        bias=biased(fields),
        qk_norm="per-head",
        window=qwen_window(fields, parts.layers),
    )


def qwen_window(
    fields: Fields, layers: Number, is_local: Callable[[int, int], bool] = operator.ge
) -> dict[str, Any] | None:
    """Local layers of Qwen, which there are only with `use_sliding_window`.

    Args:
        fields: the keys.
        layers: how many layers there are.
        is_local: of a layer and `max_window_layers`, whether it is local where `layer_types` does
            not say so; by default from that layer on.
    """
    kinds = listed_kinds(fields, layers)
    sliding = fields.flag("use_sliding_window")
    fields.raw("max_window_layers")
    if not (fields.stated("sliding_window") and sliding):
        return None
    border = fields.count("max_window_layers", least=0)["value"]
    tokens = fields.count("sliding_window", unit="tokens")
    by_border = [is_local(i, border) for i in range(layers["value"])]
    return windows(fields, kinds or by_border, tokens, key="max_window_layers")
