"""What the feed-forward part of a model computes between its matrices.

A record holds the matrices only. The families below are told by name; others are taken for SwiGLU
where gated, else for GELU.
"""

from __future__ import annotations

from models_db import Model

SILU = "silu"
GELU = "gelu"
RELU = "relu"
CLAMPED = "clamped"
"""x times the sigmoid of 1.702 x, times the other half plus 1, both clamped at 7."""
NAMES = {
    SILU: ("SiLU", "SwiGLU"),
    GELU: ("GELU", "GeGLU"),
    RELU: ("ReLU", "ReGLU"),
    CLAMPED: ("clamped SiLU", "clamped SwiGLU"),
}
"""What people call them: of two matrices, of three."""

# transformers 5.23.0: hidden_act, hidden_activation and activation_function of the classes'
# defaults (Gemma, Gemma 2, Gemma 3, OPT); modeling_gpt_oss.py, GptOssExperts (gpt-oss).
_FAMILIES = {
    "gemma": GELU,
    "gemma2": GELU,
    "gemma3": GELU,
    "gpt-oss": CLAMPED,
    "opt": RELU,
}


def activation_of(model: Model) -> str:
    """`SILU`, `GELU`, `RELU` or `CLAMPED`.

    >>> from models_db import load_model
    >>> [activation_of(load_model(name)) for name in ("llama3-8b", "gpt3-13b", "opt-13b")]
    ['silu', 'gelu', 'relu']
    """
    return _FAMILIES.get(model.family, SILU if model.mlp.gated else GELU)
