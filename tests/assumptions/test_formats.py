"""What the format of products decides, over every chip."""

import pytest

from hardware_db import list_chips, load_chip
from planner.assumptions.assumptions import calibrated


def test_attention_in_fp32_is_no_faster_than_products_in_fp32_can_be() -> None:
    """FlashAttention has 16-bit operands alone: its rate is none of fp32."""
    chips = [chip for chip in map(load_chip, list_chips()) if "fp32" in chip.peak_flop_per_s]
    assert len(chips) > 10
    for chip in chips:
        wide = calibrated(chip, "torch-fsdp", "fp32")
        peak = chip.peak_flop_per_s["fp32"]
        assert max(wide.attention_flop_per_s, wide.bmm_flop_per_s, wide.matmul_flop_per_s) <= peak
        if "bf16" in chip.peak_flop_per_s:
            half = calibrated(chip, "torch-fsdp", "bf16")
            shares = (
                wide.attention_flop_per_s / peak,
                half.attention_flop_per_s / chip.peak_flop_per_s["bf16"],
            )
            assert shares[0] == pytest.approx(shares[1]), chip.name
