"""A model by MaxText's YAML: src/maxtext/configs/models/NAME.yml.

Names and defaults: configs/base.yml and the layers of each decoder block, commit e591f30.
"""

from __future__ import annotations

from typing import Any

from models_db.definitions.stated import Stated, derived, number

BLOCKS = (
    *("deepseek", "gpt3", "llama2", "mistral", "mixtral", "olmo3", "qwen2", "qwen3", "qwen3_moe"),
    "qwen3_next",
)
"""Decoder blocks that are read."""

_CYCLE = "inhomogeneous_layer_cycle_interval"


def blocks_of(x: Stated) -> dict[str, Any]:
    """The blocks of a model file; mistakes are noted in `x`."""
    block = x.word("decoder_block", default="llama2")
    if block not in BLOCKS:
        x.refuse("decoder_block", f"{block!r} is not read; read are {', '.join(BLOCKS)}")
    hidden, heads = x.count("base_emb_dim"), x.count("base_num_query_heads")
    layers = x.count("base_num_decoder_layers")
    record = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        **_heads(x, block),
        "vocab_size": x.count("vocab_size", unit="tokens"),
        "seq_len": x.count("max_target_length", default=4096, unit="tokens", note="not stated"),
        "tied_embeddings": x.flag("logits_via_embedding"),
        "parallel_block": False,
        "attention": _attention(x, block),
        "mlp": _mlp(x, block),
        "norm": _norm(block),
        "positions": {"kind": "rope"},
    }
    if block == "gpt3":
        positions = x.count("trainable_position_size", default=2048, unit="tokens")
        record["positions"] = {"kind": "learned", "max_positions": positions}
    if x.has("num_experts"):
        record["moe"] = _experts(x, block, layers["value"])
    if block == "qwen3_next":
        record |= _gated_delta(x)
    if block == "olmo3":
        cycle = x.count(_CYCLE, default=4)["value"]
        record["window"] = {
            "kind": "sliding",
            "tokens": x.count("sliding_window_size", unit="tokens"),
            "local_layers": derived(max(cycle - 1, 1), _CYCLE),
            "global_layers": derived(1, _CYCLE),
            "first": "local",
        }
    return record


def _heads(x: Stated, block: str) -> dict[str, Any]:
    heads = x.count("base_num_query_heads")["value"]
    if _latent(x):
        wide = x.count("qk_nope_head_dim")["value"] + x.count("qk_rope_head_dim")["value"]
        return {
            "kv_heads": derived(heads, "as many as heads"),
            "head_dim": derived(wide, "qk_nope_head_dim + qk_rope_head_dim"),
        }
    return {"kv_heads": x.count("base_num_kv_heads"), "head_dim": x.count("head_dim", default=128)}


def _latent(x: Stated) -> bool:
    return x.word("attention_type") == "mla"


def _attention(x: Stated, block: str) -> dict[str, Any]:
    plain = {"sinks": False}
    if _latent(x):
        if x.flag("use_indexer"):
            x.refuse("use_indexer", "sparse attention with an indexer has no field in a model file")
        names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        ranks = {name: x.count(name) for name in names}
        if x.has("q_lora_rank") and str(x.raw("q_lora_rank")) != "0":
            ranks = {"q_lora_rank": x.count("q_lora_rank"), **ranks}
        return {"kind": "mla", "bias": [], "qk_norm": "none", **plain, **ranks}
    heads, groups = (x.count(f"base_num_{n}_heads")["value"] for n in ("query", "kv"))
    kind = "mha" if groups == heads else "mqa" if groups == 1 else "gqa"
    inputs = ["query", "key", "value"]
    bias = {"gpt3": [*inputs, "output"]}.get(block, inputs if x.flag("attention_bias") else [])
    normed = x.flag("use_qk_norm") or block == "qwen3_next"
    norm = "none" if not normed else "full-width" if block == "olmo3" else "per-head"
    gate = {"output_gate": True} if block == "qwen3_next" else {}
    return {"kind": kind, "bias": bias, "qk_norm": norm, **plain, **gate}


def _mlp(x: Stated, block: str) -> dict[str, Any]:
    gated = block != "gpt3"
    dense = not x.has("num_experts") or x.has("first_num_dense_layers")
    width = {"hidden": x.count("base_mlp_dim")} if dense else {}
    return {**width, "gated": gated, "bias": block == "gpt3"}


def _norm(block: str) -> dict[str, Any]:
    layer = block == "gpt3"
    return {
        "kind": "layernorm" if layer else "rmsnorm",
        "bias": layer,
        "per_layer": derived(2, "before or after attention and MLP"),
        "final": True,
        "embedding": False,
    }


def _experts(x: Stated, block: str, layers: int) -> dict[str, Any]:
    expert = x.count("base_moe_mlp_dim", default=x.count("base_mlp_dim")["value"])
    shared = int(x.word("shared_experts", default="0") or 0)
    first = int(x.word("first_num_dense_layers", default="0") or 0)
    if not 0 <= first < layers:
        x.refuse("first_num_dense_layers", f"{first} of {layers} layers")
    moe: dict[str, Any] = {
        "experts": x.count("num_experts"),
        "experts_per_token": x.count("num_experts_per_tok", default=1),
        "expert_hidden": expert,
        "shared_experts": number(shared) if shared else derived(0, "shared_experts is not stated"),
    }
    if shared:
        moe["shared_expert_hidden"] = derived(expert["value"], "as wide as a routed one")
    if block == "qwen3_next":
        moe["shared_expert_gate"] = True
    moe |= {"first_dense_layers": derived(first, "first_num_dense_layers")}
    moe |= {"layer_period": derived(1, "experts in every layer after these")}
    return {**moe, "router_bias": x.flag("routed_bias")}


def _gated_delta(x: Stated) -> dict[str, Any]:
    cycle = x.count(_CYCLE, default=4)["value"]
    return {
        "order": {"mixers": "M" * min(max(cycle - 1, 1), 10_000) + "*"},
        "recurrence": {
            "kind": "gated-delta",
            "heads": x.count("gdn_num_value_heads"),
            "head_dim": x.count("gdn_value_head_dim"),
            "key_heads": x.count("gdn_num_key_heads"),
            "key_dim": x.count("gdn_key_head_dim"),
            "kernel": x.count("gdn_conv_kernel_dim"),
            "bias": [],
            "norm": "per-head",
            "chunk": x.count("gdn_chunk_size", default=64, unit="tokens"),
        },
    }
