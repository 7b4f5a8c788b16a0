"""Names of activations in a config.json: which are known, and which one a type usually has.

Names: activations.py of transformers 5.23.0, `ACT2CLS`; key and usual one of a type:
configuration_<model_type>.py there. Whether a feed-forward is gated follows from the type alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from models_db.errors import nearest
from models_db.hub.fields import Fields

NAMES = (
    *("gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python"),
    *("gelu_python_tanh", "gelu_pytorch_tanh", "hardswish", "laplace", "leaky_relu", "linear"),
    *("mish", "quick_gelu", "relu", "relu2", "relu6", "sigmoid", "silu", "sqrtsoftplus"),
    *("swish", "tanh"),
)
LEARNED = ("prelu", "xielu")
"""Activations with parameters of their own."""

_SILU = ("hidden_act", "silu")
_BY_TYPE: dict[str, tuple[str, str]] = {
    "cohere": _SILU,
    "deepseek_v2": _SILU,
    "deepseek_v3": _SILU,
    "falcon": ("activation", "gelu"),
    "gemma": ("hidden_act", "gelu_pytorch_tanh"),
    "gemma2": ("hidden_activation", "gelu_pytorch_tanh"),
    "gemma3_text": ("hidden_activation", "gelu_pytorch_tanh"),
    "glm4_moe": _SILU,
    "gpt2": ("activation_function", "gelu_new"),
    "gpt_neox": ("hidden_act", "gelu"),
    "gpt_oss": _SILU,
    "kimi_k2": _SILU,
    "llama": _SILU,
    "llama4_text": _SILU,
    "mistral": _SILU,
    "mixtral": _SILU,
    "olmo2": _SILU,
    "opt": ("activation_function", "relu"),
    "phi3": _SILU,
    "qwen2": _SILU,
    "qwen2_moe": _SILU,
    "qwen3": _SILU,
    "qwen3_moe": _SILU,
}
ACTIVATIONS: Mapping[str, tuple[str, str]] = MappingProxyType(_BY_TYPE)
"""model_type -> its key and its usual activation; BLOOM has no key."""


def activation_note(fields: Fields, *, gated: bool) -> str:
    """What to say of an activation that is not the usual one of the type.

    Args:
        fields: the keys; an unknown name is a mistake.
        gated: whether the feed-forward of the type is gated.

    Returns:
        One line; "" for the usual one, or another approximation of it.
    """
    if fields.model_type not in ACTIVATIONS:
        return ""
    key, usual = ACTIVATIONS[fields.model_type]
    name = fields.text(key, "the name of an activation")
    if name is None:
        return ""
    if name in LEARNED:
        fields.wrong(key, f"{name} has parameters of its own, which a record has no field for")
    elif name not in NAMES:
        near = nearest(name.lower(), NAMES)
        hint = f"did you mean {near[0]}? " if near else ""
        shown = repr(name[:40] + ("..." if name[40:] else ""))
        said = f"{shown} is no activation that is known; {hint}known: {', '.join(NAMES)}"
        fields.wrong(key, said)
    elif _curve(name) != _curve(usual):
        kind = "gated" if gated else "not gated"
        return (
            f"{key} is {name}, not the usual {usual} of {fields.model_type}: the feed-forward is "
            f"{kind} all the same, and a model file holds no activation"
        )
    return ""


def _curve(name: str) -> str:
    """The function that a name approximates."""
    return "gelu" if "gelu" in name else {"swish": "silu"}.get(name, name)
