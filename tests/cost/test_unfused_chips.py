"""Chips that no fused attention kernel is made for keep the scores, whatever the software."""

from dataclasses import replace

from support.cases import each

from hardware_db import load_calibration, load_chip
from planner.assumptions.assumptions import calibrated
from planner.assumptions.software import ERAS


@each("era", [name for name, era in ERAS.items() if not era.vendor])
def test_volta_has_no_fused_attention(era: str) -> None:
    volta = calibrated(load_chip("v100-sxm2-32"), era, "fp16")
    ampere = calibrated(load_chip("a100-sxm4-80"), era, "fp16")
    assert not volta.fused_attention
    assert ampere.fused_attention == ERAS[era].fused_attention
    if ampere.fused_attention:
        assert volta.row_bytes > ampere.row_bytes


@each(
    ("era", "key"),
    [("torch-fsdp", "cdna3"), ("torch-eager", "cdna3"), ("megatron-core", "a100")],
)
def test_what_was_measured_of_cdna3_is_pytorchs_kernel(era: str, key: str) -> None:
    chip, constants = load_chip("mi300x"), load_calibration()
    share = constants.value(f"attention_efficiency.{key}")
    peak = chip.peak_flop_per_s["bf16"]
    assert calibrated(chip, era).attention_flop_per_s == share * peak


@each(
    ("era", "key"),
    [("torch-fsdp", "fa2_ampere"), ("megatron-core-2025", "fa2_ampere"), ("llm-foundry", "a100")],
)
def test_flash_attention_of_a100_is_that_of_the_software(era: str, key: str) -> None:
    """FlashAttention-2, which takes half as long (arXiv:2307.08691), came in July 2023."""
    chip, constants = load_chip("a100-sxm4-80"), load_calibration()
    share = constants.value(f"attention_efficiency.{key}")
    assert calibrated(chip, era).attention_flop_per_s == share * chip.peak_flop_per_s["bf16"]


def test_neurons_compiler_computes_the_masked_half_without_its_flash_kernel() -> None:
    chip = load_chip("trainium1")
    flash = calibrated(chip, "neuron")
    whole = calibrated(replace(chip, calibration_attention="unmasked"), "neuron")
    assert (flash.causal_share, whole.causal_share) == (0.5, 1.0)
    assert whole.fused_attention  # the scores never cross memory
    assert whole.row_bytes == flash.row_bytes
    assert whole.attention_flop_per_s == whole.bmm_flop_per_s
