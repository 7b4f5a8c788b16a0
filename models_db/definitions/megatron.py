"""A model by the settings of Megatron-LM, which NeMo and Megatron-Bridge share.

Names and defaults: megatron/training/arguments.py, core/transformer/transformer_config.py and
core/ssm/mamba_mixer.py of core 0.16.1. Flags are spelt with underscores here.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from models_db.definitions.python_source import without_advice
from models_db.definitions.stated import Number, Stated, derived, number, whole

_POSITIONS = {"learned_absolute": "learned", "rope": "rope", "yarn": "rope", "none": "none"}
_PATTERN = re.compile(r"[M*E-]+")


def blocks_of(x: Stated, *, provider: bool) -> dict[str, Any]:
    """The blocks of a model file.

    Args:
        x: The settings; mistakes are noted there.
        provider: They are fields of a provider or configuration class, not flags: embeddings are
            tied and linears biased by their own names.
    """
    pattern = x.word("hybrid_layer_pattern", "hybrid_override_pattern")
    hidden, heads = x.count("hidden_size"), x.count("num_attention_heads")
    layers = x.count("num_layers", default=len(_letters(pattern)) or None)
    if pattern and layers["value"] != len(_letters(pattern)):
        x.refuse(
            "hybrid_layer_pattern",
            f"has {len(_letters(pattern))} letters, one for each layer, beside num_layers "
            f"{layers['value']}; write all layers, or leave num_layers out",
        )
    gated = x.flag("swiglu", "gated_linear_unit")
    biased = (
        x.flag("add_bias_linear", default=True) if provider else not x.flag("disable_bias_linear")
    )
    inner = x.count("ffn_hidden_size", default=_usual_inner(hidden["value"], gated=gated))
    record = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        **_head_counts(x, hidden, heads, grouped=_grouped(x, provider=provider)),
        "vocab_size": x.count("vocab_size", "padded_vocab_size", unit="tokens"),
        "seq_len": _seq_len(x),
        "tied_embeddings": _tied(x, provider=provider),
        "parallel_block": x.flag("parallel_attn_mlp"),
        "attention": _attention(x, biased=biased, grouped=_grouped(x, provider=provider)),
        "mlp": {"hidden": inner, "gated": gated, "bias": biased},
        "norm": _norm(x, pattern),
        "positions": _positions(x, pattern),
    }
    if x.has("num_experts", "num_moe_experts"):
        record["moe"] = _experts(x, inner, layers["value"], pattern)
    if pattern:
        record |= _hybrid(x, pattern, hidden["value"])
    if x.has("mtp_num_layers"):
        record["mtp"] = {"modules": x.count("mtp_num_layers")}
    if x.has("window_size") and str(x.raw("window_size")) != "None":
        x.refuse("window_size", "windows of a definition are not read; write them into the file")
    return _without_unused_width(record)


def _usual_inner(hidden: int, *, gated: bool) -> int:
    """Inner width where none is stated: 4 hidden, two thirds of it in multiples of 64 if gated."""
    return int((4 * hidden * 2 / 3) / 64) * 64 if gated else 4 * hidden


def _grouped(x: Stated, *, provider: bool) -> bool:
    """Whether queries share keys; flags need --group-query-attention for that."""
    return x.flag("group_query_attention", default=provider) and x.has("num_query_groups")


def _head_counts(x: Stated, hidden: Number, heads: Number, *, grouped: bool) -> dict[str, Any]:
    kv_heads = (
        x.count("num_query_groups") if grouped else derived(heads["value"], "as many as heads")
    )
    if x.flag("multi_latent_attention"):
        wide = x.count("qk_head_dim", default=128)["value"]
        wide += x.count("qk_pos_emb_head_dim", default=64)["value"]
        note = "qk_head_dim + qk_pos_emb_head_dim"
        return {
            "kv_heads": derived(heads["value"], "as many as heads"),
            "head_dim": derived(wide, note),
        }
    if x.has("kv_channels"):
        return {"kv_heads": kv_heads, "head_dim": x.count("kv_channels")}
    share = derived(max(hidden["value"] // heads["value"], 1), "hidden / heads")
    return {"kv_heads": kv_heads, "head_dim": share}


def _seq_len(x: Stated) -> Number:
    return x.count("seq_length", default=4096, unit="tokens", note="not stated; a usual length")


def _tied(x: Stated, *, provider: bool) -> bool:
    if provider:
        return x.flag("share_embeddings_and_output_weights", default=True)
    return not x.flag("untie_embeddings_and_output_weights")


def _attention(x: Stated, *, biased: bool, grouped: bool) -> dict[str, Any]:
    norm = "per-head" if x.flag("qk_layernorm") else "none"
    if x.flag("multi_latent_attention"):
        ranks = {
            "kv_lora_rank": x.count("kv_lora_rank", default=32),
            "qk_nope_head_dim": x.count("qk_head_dim", default=128),
            "qk_rope_head_dim": x.count("qk_pos_emb_head_dim", default=64),
            "v_head_dim": x.count("v_head_dim", default=128),
        }
        if x.has("q_lora_rank"):
            ranks = {"q_lora_rank": x.count("q_lora_rank"), **ranks}
        return {"kind": "mla", "bias": [], "qk_norm": "none", "sinks": False, **ranks}
    inputs = ["query", "key", "value"] if biased or x.flag("add_qkv_bias") else []
    heads, groups = whole(x.raw("num_attention_heads")), whole(x.raw("num_query_groups"))
    kind = "mha" if not grouped or groups == heads else "mqa" if groups == 1 else "gqa"
    return {
        "kind": kind,
        "bias": [*inputs, *(["output"] if biased else [])],
        "qk_norm": norm,
        "sinks": x.word("softmax_type") == "learnable",
        **({"output_gate": True} if x.flag("attention_output_gate") else {}),
    }


def _norm(x: Stated, pattern: str) -> dict[str, Any]:
    kind = x.word("normalization", default="LayerNorm").lower()
    if kind not in ("layernorm", "rmsnorm"):
        x.refuse("normalization", f"{kind!r} is not LayerNorm or RMSNorm")
    note = "one before each part" if pattern else "before attention and MLP"
    return {
        "kind": kind,
        "bias": kind == "layernorm",
        "per_layer": derived(1 if pattern else 2, note),
        "final": True,
        "embedding": False,
    }


def _positions(x: Stated, pattern: str) -> dict[str, Any]:
    usual = "none" if pattern else "learned_absolute"
    kind = x.word("position_embedding_type", default=usual)
    if x.flag("use_rotary_position_embeddings"):
        kind = "rope"
    if kind not in _POSITIONS:
        x.refuse("position_embedding_type", f"{kind!r} is not one of {', '.join(_POSITIONS)}")
    found = _POSITIONS.get(kind, "none")
    if found != "learned":
        return {"kind": found}
    return {"kind": found, "max_positions": x.count("max_position_embeddings", unit="tokens")}


def _experts(x: Stated, inner: Number, layers: int, pattern: str) -> dict[str, Any]:
    expert = x.count("moe_ffn_hidden_size", default=inner["value"], note="as ffn_hidden_size")
    moe: dict[str, Any] = {
        "experts": x.count("num_experts", "num_moe_experts"),
        "experts_per_token": x.count("moe_router_topk", default=2),
        "expert_hidden": expert,
        "shared_experts": derived(0, "no moe_shared_expert_intermediate_size"),
    }
    if x.has("moe_shared_expert_intermediate_size"):
        moe["shared_experts"] = derived(1, "one network of moe_shared_expert_intermediate_size")
        moe["shared_expert_hidden"] = x.count("moe_shared_expert_intermediate_size")
        if x.flag("moe_shared_expert_gate"):
            moe["shared_expert_gate"] = True
    if not pattern:
        first, period = _order(x, layers)
        moe |= {"first_dense_layers": derived(first, "moe_layer_freq")}
        moe |= {"layer_period": derived(period, "moe_layer_freq")}
    moe["router_bias"] = x.flag("moe_router_enable_expert_bias")
    for key, name in (
        ("groups", "moe_router_num_groups"),
        ("groups_per_token", "moe_router_group_topk"),
    ):
        if x.has(name):
            moe[key] = x.count(name)
    if x.has("moe_latent_size"):
        moe["latent"] = x.count("moe_latent_size")
    return moe


def _order(x: Stated, layers: int) -> tuple[int, int]:
    """Leading dense layers and distance between layers with experts, the first of them there."""
    value = x.raw("moe_layer_freq")
    if value is None:
        return 0, 1
    if (every := whole(value)) is not None:
        if every != 1:
            x.refuse(
                "moe_layer_freq", f"{every}: experts first in a period have no field in a file"
            )
        return 0, 1
    kinds = value if isinstance(value, list) else list_in(str(value))
    first = kinds.index(1) if kinds and 1 in kinds else 0
    if not kinds or len(kinds) != layers or kinds != [0] * first + [1] * (layers - first):
        x.refuse("moe_layer_freq", "only dense layers first and experts after them are read")
    return first, 1


def list_in(text: str) -> list[int] | None:
    """The list that an expression such as "([0]*3+[1]*58)" writes; None where it is none."""
    try:
        with without_advice():
            tree = ast.parse(text.strip(), mode="eval")
        return _list_of(tree.body)
    except (SyntaxError, ValueError, RecursionError):
        return None


_LONGEST = 10_000


def _list_of(node: ast.expr) -> list[int] | None:
    """Lists of 0 and 1, their sums, and products with small numbers."""
    if isinstance(node, ast.List):
        values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        return [v for v in values if isinstance(v, int)] if len(values) == len(node.elts) else None
    if not isinstance(node, ast.BinOp):
        return None
    left = _list_of(node.left)
    if left is not None and isinstance(node.op, ast.Add):
        right = _list_of(node.right)
        return None if right is None else (left + right)[:_LONGEST]
    times = node.right.value if isinstance(node.right, ast.Constant) else None
    if left is None or not isinstance(node.op, ast.Mult) or not isinstance(times, int):
        return None
    return (left * min(max(times, 0), _LONGEST))[:_LONGEST]


def _letters(pattern: str) -> str:
    """A hybrid pattern without the borders of stages and the modules after it."""
    return pattern.split("/", maxsplit=1)[0].replace("|", "")


def _hybrid(x: Stated, pattern: str, hidden: int) -> dict[str, Any]:
    letters = _letters(pattern)
    if not _PATTERN.fullmatch(letters):
        x.refuse("hybrid_layer_pattern", f"{letters[:60]!r} has letters other than M, *, - and E")
    if "/" in pattern:
        x.refuse(
            "hybrid_layer_pattern", "modules after / predict further tokens; no field has them"
        )
    order = {
        "mixers": "".join(c if c in "M*" else "." for c in letters),
        "feed_forwards": "".join(c if c in "-E" else "." for c in letters),
    }
    if "M" not in letters:
        return {"order": order}
    width = x.count("mamba_head_dim", default=64)
    usual = max(2 * hidden // width["value"], 1)
    return {
        "order": order,
        "recurrence": {
            "kind": "mamba2",
            "heads": x.count("mamba_num_heads", default=usual, note="2 x hidden / head_dim"),
            "head_dim": width,
            "key_heads": x.count("mamba_num_groups", default=8),
            "key_dim": x.count("mamba_state_dim", default=128),
            "kernel": number(4, "1", "assumed", "default of MambaMixer"),
            "bias": ["convolution"],
            "norm": "full-width",
            "chunk": number(128, "tokens", "assumed", "default of MambaMixer"),
        },
    }


def _without_unused_width(record: dict[str, Any]) -> dict[str, Any]:
    """The record without an inner width that no layer has."""
    moe, order = record.get("moe"), record.get("order")
    dense = "-" in order["feed_forwards"] if order else moe is None
    if moe and not order:
        dense = moe["first_dense_layers"]["value"] > 0 or moe["layer_period"]["value"] > 1
    if not dense:
        record["mlp"] = {key: value for key, value in record["mlp"].items() if key != "hidden"}
    return record
