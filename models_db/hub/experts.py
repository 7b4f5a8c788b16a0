"""Decoders with experts and ordinary attention: Mixtral, Qwen, gpt-oss, Llama 4, GLM-4.5.

Shapes: modeling_<model_type>.py of transformers 5.23.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models_db.hub.dense import QKV, base, biased, qwen_window
from models_db.hub.fields import Fields, Number, derived, shown
from models_db.hub.order import expert_order, listed_kinds, windows
from models_db.hub.parts import Parts

EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_EVERY = "every layer has experts"
_NONE = "the architecture has no shared experts"


def moe_block(
    fields: Fields,
    *,
    hidden: Number,
    order: tuple[Number, Number],
    shared: Number,
    shared_hidden: Number | None = None,
    router_bias: bool = False,
    gate: bool = False,
) -> dict[str, Any]:
    """The block `moe` of a model file.

    Args:
        fields: the keys; experts and experts per token are read here.
        hidden: inner width of a routed expert.
        order: leading dense layers and period.
        shared: shared experts.
        shared_hidden: inner width of a shared one; None without any.
        router_bias: whether the router has one learned value per expert.
        gate: whether a learned gate scales the shared experts.
    """
    experts = fields.count(*EXPERTS)
    chosen = fields.count("num_experts_per_tok", "experts_per_token")
    fields.require(
        chosen["value"] <= experts["value"],
        "num_experts_per_tok",
        f"{chosen['value']} is more than the {experts['value']} experts",
    )
    return {
        "experts": experts,
        "experts_per_token": chosen,
        "expert_hidden": hidden,
        "shared_experts": shared,
        **({} if shared_hidden is None else {"shared_expert_hidden": shared_hidden}),
        **({"shared_expert_gate": True} if gate else {}),
        "first_dense_layers": order[0],
        "layer_period": order[1],
        "router_bias": router_bias,
    }


def everywhere() -> tuple[Number, Number]:
    """The order in which every layer has experts."""
    return derived(0, _EVERY), derived(1, _EVERY)


def dense_hidden(
    fields: Fields, order: tuple[Number, Number], key: str = "intermediate_size"
) -> Number | None:
    """Inner width of the dense layers; None where there are none."""
    fields.raw(key)
    return fields.count(key) if order[0]["value"] > 0 or order[1]["value"] > 1 else None


def qwen2_moe(fields: Fields) -> Parts:
    """Qwen2 MoE: biases on queries, keys and values; a shared expert with a gate."""
    parts = base(fields)
    order = _qwen_order(fields, parts.layers)
    moe = moe_block(
        fields,
        hidden=fields.count("moe_intermediate_size"),
        order=order,
        shared=derived(1, "one network of shared_expert_intermediate_size"),
        shared_hidden=fields.count("shared_expert_intermediate_size"),
        gate=True,
    )
    return replace(
        parts,
        bias=QKV if fields.flag("qkv_bias") else (),
        mlp_hidden=dense_hidden(fields, order),
        window=qwen_window(fields, parts.layers, lambda i, border: i % 2 == 0 and i < border),
        moe=moe,
    )


def qwen3_moe(fields: Fields) -> Parts:
    """Qwen3 MoE: norms of queries and keys per head; no shared expert."""
    parts = base(fields)
    order = _qwen_order(fields, parts.layers)
    moe = moe_block(
        fields,
        hidden=fields.count("moe_intermediate_size"),
        order=order,
        shared=derived(0, _NONE),
    )
    return replace(
        parts,
        bias=biased(fields),
        qk_norm="per-head",
        mlp_hidden=dense_hidden(fields, order),
        window=qwen_window(fields, parts.layers, lambda _i, _border: True),
        moe=moe,
    )


def _qwen_order(fields: Fields, layers: Number) -> tuple[Number, Number]:
    """Every `decoder_sparse_step`-th layer has experts, unless `mlp_only_layers` names it."""
    step = fields.count("decoder_sparse_step")["value"]
    dense = set(layer_numbers(fields, "mlp_only_layers", layers) or ())
    kinds = [i not in dense and (i + 1) % step == 0 for i in range(layers["value"])]
    return expert_order(fields, kinds, "mlp_only_layers" if dense else "decoder_sparse_step")


def layer_numbers(fields: Fields, key: str, layers: Number) -> list[int] | None:
    """A list of layers, counted from 0; None where it is absent."""
    listed = fields.names(key)
    if listed is None:
        return None
    total = layers["value"]
    whole = [i for i in listed if isinstance(i, int) and not isinstance(i, bool)]
    fields.require(
        len(whole) == len(listed) and all(0 <= i < total for i in whole),
        key,
        f"must list layers by number, from 0 to {total - 1}",
    )
    return whole


def gpt_oss(fields: Fields) -> Parts:
    """gpt-oss: sinks, biases everywhere, every second layer with a window, the first one too."""
    parts = base(fields)
    kinds = listed_kinds(fields, parts.layers)
    if kinds is None:
        kinds = [i % 2 == 0 for i in range(parts.layers["value"])]
    moe = moe_block(
        fields,
        hidden=fields.count("intermediate_size"),
        order=everywhere(),
        shared=derived(0, _NONE),
        router_bias=True,
    )
    return replace(
        parts,
        bias=biased(fields),
        sinks=True,
        mlp_hidden=None,
        mlp_bias=True,
        window=windows(fields, kinds, fields.count("sliding_window", unit="tokens")),
        moe=moe,
    )


def llama4(fields: Fields) -> Parts:
    """Llama 4: one shared expert of the width of a routed one; every fourth layer sees all."""
    parts = base(fields)
    order = _llama4_order(fields, parts.layers)
    expert = fields.count("intermediate_size")
    moe = moe_block(
        fields,
        hidden=expert,
        order=order,
        shared=derived(1, "one beside the routed experts, of their width"),
        shared_hidden=derived(expert["value"], "intermediate_size"),
    )
    return replace(
        parts,
        bias=biased(fields),
        qk_norm="unweighted" if fields.flag("use_qk_norm") else "none",
        mlp_hidden=dense_hidden(fields, order, "intermediate_size_mlp"),
        window=_llama4_window(fields, parts.layers),
        moe=moe,
    )


def _llama4_order(fields: Fields, layers: Number) -> tuple[Number, Number]:
    """`moe_layers`, or every `interleave_moe_layer_step`-th layer."""
    listed = layer_numbers(fields, "moe_layers", layers)
    step = fields.count("interleave_moe_layer_step")["value"]
    if listed is not None:
        chosen = set(listed)
        kinds = [i in chosen for i in range(layers["value"])]
        return expert_order(fields, kinds, "moe_layers")
    kinds = [(i + 1) % step == 0 for i in range(layers["value"])]
    return expert_order(fields, kinds, "interleave_moe_layer_step")


_WHOLE_EVERY = 4


def _llama4_window(fields: Fields, layers: Number) -> dict[str, Any] | None:
    """Chunks where positions rotate: `layer_types`, `no_rope_layers`, or all but every fourth."""
    total = layers["value"]
    kinds = listed_kinds(fields, layers)
    rotated = fields.names("no_rope_layers")
    every = _WHOLE_EVERY
    if fields.has("no_rope_layer_interval"):
        every = fields.count("no_rope_layer_interval")["value"]
    if kinds is None and rotated:
        fields.require(
            len(rotated) == total and all(flag in (0, 1) for flag in rotated),
            "no_rope_layers",
            f"must have 0 or 1 for each of the {total} layers",
        )
        kinds = [flag == 1 for flag in rotated]
    if kinds is None:
        kinds = [(i + 1) % every != 0 for i in range(total)]
    tokens = fields.count("attention_chunk_size", unit="tokens")
    return windows(fields, kinds, tokens, kind="chunked")


def glm4_moe(fields: Fields) -> Parts:
    """GLM-4.5: the names of DeepSeek's keys for the experts, grouped-query attention."""
    parts = base(fields)
    order = after_dense(fields, parts.layers)
    expert = fields.count("moe_intermediate_size")
    moe = moe_block(
        fields,
        hidden=expert,
        order=order,
        shared=fields.count("n_shared_experts"),
        shared_hidden=derived(expert["value"], "moe_intermediate_size"),
        router_bias=True,
    )
    return replace(
        parts,
        bias=QKV if fields.flag("attention_bias") else (),
        qk_norm="per-head" if fields.flag("use_qk_norm") else "none",
        mlp_hidden=dense_hidden(fields, order),
        moe=moe,
        mtp=predictors(fields),
    )


def after_dense(fields: Fields, layers: Number) -> tuple[Number, Number]:
    """Dense layers first, then experts in every layer.

    Published files have 1 as `moe_layer_freq`: the code beside the weights makes other layers
    dense by it, and transformers passes over it.
    """
    first = fields.count("first_k_dense_replace", least=0)["value"]
    every = fields.raw("moe_layer_freq")
    fields.require(
        every in (None, 1),
        "moe_layer_freq",
        f"{shown(every)}: transformers 5.23 passes over it, and DeepSeek's own code makes only "
        "each such layer one of experts; allowed: 1",
    )
    kinds = [i >= first for i in range(layers["value"])]
    return expert_order(fields, kinds, "first_k_dense_replace")


def predictors(fields: Fields) -> Number | None:
    """Modules that predict further tokens, which are no part of the total; None without any."""
    keys = ("num_nextn_predict_layers", "num_mtp_layers")
    if not fields.stated(*keys):
        return None
    found = fields.count(*keys, least=0)
    return found if found["value"] else None
