"""Stands in for the package flash-attn on CPUs, in processes that DeepSpeed's launcher starts.

Transformers takes it for FlashAttention 2, and PyTorch computes what that would. Exported scripts
neither pack nor pad sequences: what does so is refused.
"""

import importlib.machinery
import sys
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any


def flash_attn_func(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    deterministic: bool = False,
) -> Any:
    """Attention of (batch, tokens, heads, width), in 16 bits, as FlashAttention computes it."""
    import torch  # noqa: PLC0415 (loaded by then)

    assert q.dtype in (torch.float16, torch.bfloat16)
    assert causal
    assert not dropout_p
    shared = q.shape[2] // k.shape[2]
    k, v = (one.repeat_interleave(shared, dim=2) for one in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float())
    scores = scores * (q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    back = torch.arange(q.shape[1])[:, None] - torch.arange(k.shape[1])
    hidden = back < 0
    if window_size[0] >= 0:
        hidden |= back > window_size[0]
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v.float()).to(q.dtype)


@wraps(flash_attn_func)
def flash_attn_varlen_func(*_: Any, **__: Any) -> Any:
    """Refuses packed sequences; transformers reads from its parameters what there is."""
    raise AssertionError("sequences are packed")


def available(imports: Any) -> None:
    imports.is_flash_attn_2_available = lambda *_, **__: True


def taken(modeling: Any) -> None:
    modeling.PreTrainedModel._flash_attn_import_error = lambda *_, **__: None


CHANGES: dict[str, Callable[[Any], None]] = {
    "transformers.utils.import_utils": available,
    "transformers.modeling_utils": taken,
}


def package() -> None:
    """Puts flash_attn where imports find it."""
    own, padding = ModuleType("flash_attn"), ModuleType("flash_attn.bert_padding")
    own.__dict__.update(
        flash_attn_func=flash_attn_func,
        flash_attn_varlen_func=flash_attn_varlen_func,
        flash_attn_with_kvcache=None,
    )
    padding.__dict__.update(pad_input=None, unpad_input=None)
    own.__spec__ = importlib.machinery.ModuleSpec("flash_attn", None)
    sys.modules |= {"flash_attn": own, "flash_attn.bert_padding": padding}


package()
