"""Defaults of the configuration classes of transformers that published files leave out.

Values of transformers 5.23.0 (`configuration_<model_type>.py`). Layers and widths that every
published file states have no default here: a file without them is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Defaults = Mapping[str, int | bool]

_QWEN: Defaults = {
    "num_key_value_heads": 32,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
    "max_position_embeddings": 32768,
}
_QWEN_MOE: Defaults = {**_QWEN, "decoder_sparse_step": 1}
_DEEPSEEK: Defaults = {
    "tie_word_embeddings": False,
    "attention_bias": False,
    "first_k_dense_replace": 0,
    "n_shared_experts": 2,
    "max_position_embeddings": 2048,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
_DEEPSEEK_V3: Defaults = {
    **_DEEPSEEK,
    "first_k_dense_replace": 3,
    "n_shared_experts": 1,
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 4096,
}
_BY_TYPE: dict[str, Defaults] = {
    "mistral": {
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
        "sliding_window": 4096,
        "max_position_embeddings": 131072,
    },
    "qwen2": _QWEN,
    "qwen3": {**_QWEN, "attention_bias": False, "head_dim": 128},
    "qwen2_moe": {**_QWEN_MOE, "num_key_value_heads": 16, "qkv_bias": True},
    "qwen3_moe": {**_QWEN_MOE, "num_key_value_heads": 4, "attention_bias": False},
    "opt": {
        "tie_word_embeddings": True,
        "enable_bias": True,
        "do_layer_norm_before": True,
        "layer_norm_elementwise_affine": True,
        "_remove_final_layer_norm": False,
        "max_position_embeddings": 2048,
    },
    "bloom": {"tie_word_embeddings": True},
    "falcon": {
        "tie_word_embeddings": True,
        "new_decoder_architecture": False,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "max_position_embeddings": 2048,
    },
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK_V3,
    "kimi_k2": _DEEPSEEK_V3,
    "gpt_oss": {
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
        "attention_bias": True,
        "head_dim": 64,
        "sliding_window": 128,
        "max_position_embeddings": 131072,
    },
    "llama4_text": {
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "use_qk_norm": True,
        "interleave_moe_layer_step": 1,
        "attention_chunk_size": 8192,
        "head_dim": 128,
        "max_position_embeddings": 131072,
    },
    "glm4_moe": {
        "num_key_value_heads": 8,
        "n_shared_experts": 1,
        "num_nextn_predict_layers": 1,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "use_qk_norm": False,
        "first_k_dense_replace": 1,
        "max_position_embeddings": 131072,
    },
}
CLASS_DEFAULTS: Mapping[str, Defaults] = MappingProxyType(_BY_TYPE)


def _sizes(layers: int, hidden: int, heads: int, inner: int, vocabulary: int) -> Defaults:
    return {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
    }


INNER_SIZES: Mapping[str, Defaults] = MappingProxyType(
    {
        "llama": _sizes(32, 4096, 32, 11008, 32000),
        "mistral": _sizes(32, 4096, 32, 14336, 32000),
        "mixtral": _sizes(32, 4096, 32, 14336, 32000),
        "qwen2": _sizes(32, 4096, 32, 22016, 151936),
        "gemma": _sizes(28, 3072, 16, 24576, 256000),
        "gemma2": _sizes(26, 2304, 8, 9216, 256000),
        "gemma3_text": _sizes(26, 2304, 8, 9216, 262208),
    }
)
"""Sizes of a language model inside another configuration, as LLaVA's files leave them out."""
