"""Chips that no fused attention kernel is made for keep the scores, whatever the software."""

from support.cases import each

from hardware_db import load_chip
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
