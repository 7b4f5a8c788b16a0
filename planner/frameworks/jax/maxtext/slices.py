"""MaxText's names of TPU slices, which it compiles for without TPUs.

Names and numbers are the keys of UserFacingNameToSystemCharacteristics in MaxText e591f30
(2026-08-22), utils/accelerator_to_spec_map.py; other slices have no name there.
"""

from __future__ import annotations

_SQUARES = frozenset({1, 4, 8, 16, 32, 64, 128, 256})
_SMALL = (8, 16, 32, 64)
_STEP = 128
_V4 = frozenset({*_SMALL, 128, 256, 384, 512, 1024, 1536, 2048, 4096})
_V5P = frozenset({
    *_SMALL, *range(_STEP, 8448 + 1, _STEP), 8704, 8832, 8960, 9216, 9472, 9600, 9728, 9856, 9984,
    10240, 10368, 10496, 10752, 10880, 11008, 11136, 11264, 11520, 11648, 11776, 11904, 12032,
    12160, 12288, 13824, 17920,
})  # fmt: skip
_V7 = _V5P | {2, 16384, 18432}

SLICES = {
    "tpu-v4": ("v4", 2, _V4),
    "tpu-v5e": ("v5e", 1, _SQUARES),
    "tpu-v5p": ("v5p", 2, _V5P),
    "tpu-v6e": ("v6e", 1, _SQUARES),
    "tpu-v7": ("tpu7x", 2, _V7),
}
"""Chip to the name of its slices, the cores per chip that the number behind it counts, and the
numbers that there are."""


def slice_name(chip: str, chips: int) -> str:
    """MaxText's name of a slice of `chips`, as `compile_topology` takes it; empty without one."""
    if chip not in SLICES:
        return ""
    name, cores, listed = SLICES[chip]
    return f"{name}-{cores * chips}" if cores * chips in listed else ""
