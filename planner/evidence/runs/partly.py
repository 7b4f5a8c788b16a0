"""What a source says of the memory of its runs that no plan can have.

A plan says which modules or layers recompute, alike in every layer of a stage, and keeps the
activations of all layers or of none on the host. Frameworks are told more: modules that plans do
not name, of how many layers, which tensors go to the host, how far experts are padded. Such a row
is costed as the nearest plan, and its memory is not what ran.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from planner.base.vocabulary import MODULES

_MODULES = "recomputes single modules"
_LAYERS = "recomputes some of the layers"
_HOST = "keeps some activations on the host"
_OTHER = rf"(?:[a-z_]+ )*(?!(?:{'|'.join(MODULES)})\b)[a-z_]"
"""A list of modules with one that no plan names."""
_SAYS = (
    (rf"recompute-modules ({_OTHER})", _MODULES),
    (r"--recompute-(norm|activation-function)\b", _MODULES),
    (r"remat (minimal_with_context|save_dot_with_context)|remat_policy=minimal", _MODULES),
    (r"recompute-method block|full recompute of [0-9]+ layers", _LAYERS),
    (r"[1-9][0-9]* layers checkpointed", _LAYERS),
    (r"checkpoint every n-th block|selective (every [0-9]\w* )?layer", _LAYERS),
    (r"cpu-offloading-num-layers|remat_policy=custom [^;]*=offload", _HOST),
    (r"remat custom/offload|qkv_proj_offloaded|offload_activations", _HOST),
    (r"moe-paged-stash", "pads experts, and moves what they keep to the host"),
    (r"pre_quantized_model", "has frozen weights in 4 bits first, in 8 later"),
)
"""Patterns (any case) of flags and notes of a row, and what they say of its memory."""


def partly_said(row: Mapping[str, str]) -> tuple[str, ...]:
    """What the flags and notes of a row say of its memory that a plan cannot, each once."""
    return _found(f"{row.get('flags', '')}; {row.get('notes', '')}")


@cache
def _found(text: str) -> tuple[str, ...]:
    says = (what for pattern, what in _SAYS if re.search(pattern, text, re.IGNORECASE))
    return tuple(dict.fromkeys(says))
