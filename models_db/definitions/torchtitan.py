"""A model by the arguments of torchtitan: of Llama 3, and of Qwen3.

Names and defaults: torchtitan/models/llama3/model/args.py and models/qwen3/model/args.py of v0.2.2;
models/llama3/__init__.py and models/qwen3/__init__.py of 0.3.0, models/common/feed_forward.py
(`compute_ffn_hidden_dim`).
"""

from __future__ import annotations

from typing import Any

from models_db.definitions.stated import Stated, derived


def blocks_of(x: Stated) -> dict[str, Any]:
    """The blocks of a model file; mistakes are noted in `x`."""
    for name in ("moe_args", "moe_enabled", "moe_inter_dim", "kv_lora_rank"):
        if x.has(name):
            x.refuse(name, "only dense models of Llama 3 and Qwen3 are read")
    qwen = x.has("hidden_dim")
    hidden, heads = x.count("dim"), x.count("n_heads")
    kv_heads, width = _heads(x, hidden["value"] // heads["value"], heads["value"], qwen=qwen)
    grouped = kv_heads["value"] != heads["value"]
    return {
        "layers": x.count("n_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": width,
        "vocab_size": x.count("vocab_size", unit="tokens"),
        "seq_len": x.count("max_seq_len", default=4096, unit="tokens", note="not stated"),
        "tied_embeddings": x.flag("enable_weight_tying"),
        "parallel_block": False,
        "attention": {
            "kind": "mqa" if grouped and kv_heads["value"] == 1 else "gqa" if grouped else "mha",
            "bias": [],
            "qk_norm": "per-head" if x.flag("qk_norm", default=qwen) else "none",
            "sinks": False,
        },
        "mlp": {
            "hidden": x.count("hidden_dim") if qwen else _inner(x, hidden["value"]),
            "gated": True,
            "bias": False,
        },
        "norm": {
            "kind": "rmsnorm",
            "bias": False,
            "per_layer": derived(2, "before attention and MLP"),
            "final": True,
            "embedding": False,
        },
        "positions": {"kind": "rope"},
    }


def _heads(
    x: Stated, width: int, heads: int, *, qwen: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Heads of keys and the width of each, which only Qwen3ModelArgs gives numbers of its own."""
    if qwen:
        return x.count("n_kv_heads", default=8), x.count("head_dim", default=128)
    whole = derived(max(width, 1), "dim / n_heads")
    return (
        x.count("n_kv_heads", default=heads, note="as many as heads"),
        x.count("head_dim") if x.has("head_dim") else whole,
    )


def _inner(x: Stated, hidden: int) -> dict[str, Any]:
    """Two thirds of 4 dim, times `ffn_dim_multiplier`, up to a multiple of `multiple_of`."""
    unit = x.count("multiple_of", default=256)["value"]
    factor = x.raw("ffn_dim_multiplier")
    inner = int(2 * 4 * hidden / 3)
    if isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < 1e3:
        inner = int(factor * inner)
    elif factor is not None:
        x.refuse("ffn_dim_multiplier", f"{factor!r} where a number belongs")
    return derived(unit * -(-inner // unit), "2/3 x 4 dim x ffn_dim_multiplier, rounded up")
