"""Which chips multiply numbers that share a scale in blocks."""

from __future__ import annotations

from hardware_db import Chip
from planner.assumptions.experts import is_blackwell

BLOCK_SCALED = ("mxfp8", "fp4")
"""Precisions whose blocks of numbers share a scale."""


def scales_blocks(chip: Chip, precision: str) -> bool:
    """Whether a chip runs a precision, as far as scales of blocks go.

    Of NVIDIA's chips those of compute capability 10.0 do: TransformerEngine d0067d0da6
    (2026-08-22), pytorch/quantization.py check_mxfp8_support and check_nvfp4_support, and
    jax/quantize/helper.py.
    """
    return precision not in BLOCK_SCALED or chip.vendor != "NVIDIA" or is_blackwell(chip)
