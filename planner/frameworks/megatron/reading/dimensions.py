"""What arguments of Megatron-LM state of attention, norms, positions and experts.

A flag that is given must agree with the model. Defaults of Megatron-LM count only where a launch
cannot mean anything else: widths of latent attention, layers with experts, shared experts.
Names and defaults: megatron/training/arguments.py (`_add_mla_args`, `moe_freq_type`, `tuple_type`)
and core/transformer/utils.py (`is_layer_window_attention`), d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

import re
from typing import Any

from models_db import Model
from planner.base.messages import shown
from planner.frameworks.megatron.reading.patterns import numbers_of, period_of
from planner.frameworks.reading.settings import LaunchSettings

_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "--normalization": ("norm.kind", {"LayerNorm": "layernorm", "RMSNorm": "rmsnorm"}),
    "--position-embedding-type": (
        "positions.kind",
        {
            "learned_absolute": "learned",
            "rope": "rope",
            "mrope": "rope",
            "yarn": "rope",
            "relative": "relative",
            "none": None,
        },
    ),
    "--softmax-type": (
        "attention.sinks",
        {"vanilla": False, "off-by-one": False, "learnable": True},
    ),
}
"""Flag to the field of the model, and what its words say there; None: nothing."""
_SWITCHES = {
    "--moe-shared-expert-gate": ("moe.shared_expert_gate", True),
    "--disable-bias-linear": ("mlp.bias", False),
}
_LATENT = {
    "--q-lora-rank": ("q_lora_rank", None),
    "--kv-lora-rank": ("kv_lora_rank", 32),
    "--qk-head-dim": ("qk_nope_head_dim", 128),
    "--qk-pos-emb-head-dim": ("qk_rope_head_dim", 64),
    "--v-head-dim": ("v_head_dim", 128),
}
"""Flag to the field of attention, and the default."""
_ROTARY = "--use-rotary-position-embeddings"
_WINDOW, _SKIPPED = "--window-size", "--window-attn-skip-freq"
_SHARED, _FREQUENCY = "--moe-shared-expert-intermediate-size", "--moe-layer-freq"
_NORMS = {"--qk-layernorm": {"per-head", "full-width"}, "--qk-l2-norm": {"unweighted"}}
_BIASES = {"query", "key", "value"}

STATED_BY = {
    "attention.kind": "--multi-latent-attention",
    **{f"attention.{field}": name for name, (field, _) in _LATENT.items()},
    **{field: name for name, (field, _) in {**_KINDS, **_SWITCHES}.items()},
}
"""Which flag says a field of the model."""


def stated(launch: LaunchSettings) -> dict[str, Any]:
    """Fields by the dotted names of `models_db.Model` that the arguments state."""
    found: dict[str, Any] = {}
    for name, (field, words) in _KINDS.items():
        if name in launch.values:
            kind = launch.choice(name, next(iter(words)), words)
            found |= {} if kind is None else {field: kind}
    if launch.on(_ROTARY):
        found["positions.kind"] = "rope"
    found |= {field: value for name, (field, value) in _SWITCHES.items() if launch.on(name)}
    if launch.on("--multi-latent-attention"):
        found["attention.kind"] = "mla"
        for name, (field, default) in _LATENT.items():
            found[f"attention.{field}"] = launch.whole(name, default or 0) or None
    for name in ("--squared-relu", "--quick-geglu"):
        if launch.on(name) and launch.on("--swiglu"):
            launch.wrong(name, "stands beside --swiglu; keep one")
    return found


def check_model(launch: LaunchSettings, model: Model, seq_len: int) -> None:
    """Notes what the arguments state otherwise than the model has it.

    Args:
        launch: The settings.
        model: The model of the launch.
        seq_len: Tokens per sequence.
    """
    biases, norm = set(model.attention.bias), model.attention.qk_norm
    latent = model.attention.kind == "mla"
    if launch.on("--add-qkv-bias") and not biases >= _BIASES:
        launch.wrong("--add-qkv-bias", f"{model.name} has no biases of queries, keys and values")
    for name, norms in _NORMS.items():
        if launch.on(name) and norm not in norms and not latent:
            launch.wrong(name, f"{model.name} has no such norms of queries and keys")
    positions = launch.look("--position-embedding-type")
    if positions == "none" and model.positions.kind in {"rope", "learned"}:
        what = f"none where {model.name} has {model.positions.kind}"
        launch.warnings.append(f"--position-embedding-type: {what}")
    _check_windows(launch, model, seq_len)
    _check_experts(launch, model)
    launch.check()


def _check_experts(launch: LaunchSettings, model: Model) -> None:
    """Which layers have experts, and how wide the shared ones are."""
    if model.moe is None:
        launch.taken |= {_SHARED, _FREQUENCY}
        return
    text = launch.text(_FREQUENCY, "1")
    layers, every = model.layers, period_of(text)
    dealt = [int(at % every == 0) for at in range(layers)] if every else numbers_of(text, layers)
    if dealt != [int(kind == "moe") for kind in model.layer_kinds]:
        launch.wrong(_FREQUENCY, f"{shown(text)} is not how {model.name} deals experts")
    width = model.moe.shared_experts * model.moe.shared_expert_hidden
    if (shared := launch.whole(_SHARED, 0, least=0)) != width:
        launch.wrong(_SHARED, f"{shared:,} where {model.name} has {width:,}")


def _check_windows(launch: LaunchSettings, model: Model, seq_len: int) -> None:
    """Which tokens a layer attends to, and which layers attend to all of them."""
    window, text, skipped = model.window, launch.text(_WINDOW), launch.text(_SKIPPED)
    own = seq_len if window is None else min(window.tokens, seq_len)
    if not text:
        if window is not None and window.kind == "sliding" and own < seq_len:
            what = f"is not given; the prediction has the windows of {own:,} tokens"
            launch.warnings.append(f"{_WINDOW}: {what} of {model.name}")
        return
    match = re.fullmatch(r"\(?\s*(-?[0-9]{1,9})\s*,\s*-?[0-9]{1,9}\s*\)?", text)
    if match is None:
        launch.wrong(_WINDOW, f"{shown(text)} is not two whole numbers as 127,0")
        return
    before = int(match[1])
    tokens = min(before + 1, seq_len) if before >= 0 else seq_len
    # The token itself counts beside those before it; launches also give the window's own number.
    if tokens not in {own, own + 1}:
        has = f"has windows of {own:,}" if own < seq_len else "attends to all before"
        launch.wrong(_WINDOW, f"{tokens:,} tokens; {model.name} {has}")
    elif own < seq_len:
        _check_skipped(launch, model, skipped)


def _check_skipped(launch: LaunchSettings, model: Model, text: str) -> None:
    """All layers have windows unless a list or a period says which."""
    layers, every = model.layers, period_of(text)
    dealt = numbers_of(text, layers) if text else [1] * layers
    if every:
        dealt = [int(at % every != 0) for at in range(1, layers + 1)]
    if dealt != [int(tokens is not None) for tokens in model.attention_windows]:
        launch.wrong(_SKIPPED, f"{shown(text)} is not how {model.name} deals its windows")
