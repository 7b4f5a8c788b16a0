"""Bytes of the operands of matrix products in memory, by the precision of the products."""

from __future__ import annotations

_OPERAND_BYTES = {"fp32": 4.0}  # 8- and 4-bit formats keep 16-bit activations and weights in memory
_KEPT_BYTES = {"fp8": 1.0, "mxfp8": 1.0 + 1 / 32, "fp4": 0.5 + 1 / 16}


def operand_bytes(precision: str) -> float:
    """Bytes of an operand in memory; narrow formats keep 16-bit activations and weights there."""
    return _OPERAND_BYTES.get(precision, 2.0)


def kept_operand_bytes(precision: str) -> float:
    """Bytes of an operand that is kept as it was multiplied: narrow formats with their scales.

    Scales: one of 8 bits for 32 numbers of MXFP8, and for 16 of NVFP4 (TransformerEngine
    d0067d0da6, pytorch/tensor/mxfp8_tensor.py and nvfp4_tensor.py).
    """
    return _KEPT_BYTES.get(precision, 2.0)
