"""The constants that a user's measurements may move, and how far they are believed to vary.

A prior is the shipped value with a standard deviation of its logarithm: what the constant was
seen to vary by between chips, installations and software of the same kind. All of these standard
deviations are assumed, from the spread of the fitted constants between published sources
(docs/accuracy.md); they only say how much a measurement counts against the shipped value.
"""

from __future__ import annotations

from frozen_records import dataclass
from hardware_db import Calibration, Chip
from planner.assumptions.local_file import SITE_FACTOR
from planner.assumptions.software import ERAS, FAMILIES
from planner.evidence.calibration.posterior import Prior

SITE_SIGMA = 0.10
"""Prior standard deviation of the logarithm of a site factor; docs/calibration.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustable:
    """A constant that may move.

    Attributes:
        path: Dotted path in the calibration; `{gemm}`, `{attention}` and `{era}` stand for the
            keys of a chip and an era.
        sigma: Standard deviation of the logarithm before any measurement, assumed.
        highest: Largest value.
        words: What it is.
    """

    path: str
    sigma: float
    highest: float = float("inf")
    words: str


_SHARE = 1.0
ADJUSTABLE = (
    Adjustable(path=SITE_FACTOR, sigma=SITE_SIGMA, words="multiplier of the whole step"),
    Adjustable(
        path="gemm_efficiency.{gemm}",
        sigma=0.10,
        highest=_SHARE,
        words="share of the peak that large matrix multiplications reach",
    ),
    Adjustable(
        path="precision.fp8_hopper", sigma=0.08, words="rate at fp8 over the ratio of the peaks"
    ),
    Adjustable(
        path="precision.fp8_cdna", sigma=0.08, words="rate at fp8 over the ratio of the peaks"
    ),
    Adjustable(
        path="precision.fp8_blackwell", sigma=0.08, words="rate at fp8 over the ratio of the peaks"
    ),
    Adjustable(path="precision.nvfp4", sigma=0.15, words="rate at fp4 over the ratio of the peaks"),
    Adjustable(
        path="attention_efficiency.{attention}",
        sigma=0.20,
        highest=_SHARE,
        words="share of the peak that fused attention reaches",
    ),
    Adjustable(
        path="memory_efficiency",
        sigma=0.08,
        highest=_SHARE,
        words="share of the memory bandwidth that large kernels reach",
    ),
    Adjustable(path="gemm.half_k", sigma=0.50, words="inner size that halves the rate"),
    Adjustable(path="gemm.half_mn", sigma=0.50, words="outer size that halves the rate"),
    Adjustable(path="gemm.overhead_s", sigma=0.40, words="seconds per matrix multiplication"),
    Adjustable(
        path="era.{era}.elementwise", sigma=0.15, words="multiplier of the element-wise bytes"
    ),
    Adjustable(
        path="era.{era}.host_s_per_layer", sigma=0.50, words="seconds of the host per layer"
    ),
    Adjustable(path="era.{era}.fixed_s_per_layer", sigma=0.60, words="fixed seconds per layer"),
    Adjustable(
        path="network.scale_up_efficiency",
        sigma=0.12,
        highest=_SHARE,
        words="share of the bandwidth that scale-up links reach",
    ),
    Adjustable(
        path="network.scale_out_efficiency",
        sigma=0.20,
        highest=_SHARE,
        words="share of the bandwidth that scale-out links reach",
    ),
    Adjustable(
        path="network.scale_up_latency_s",
        sigma=0.50,
        words="seconds before the first byte, scale-up",
    ),
    Adjustable(
        path="network.scale_out_latency_s",
        sigma=0.50,
        words="seconds before the first byte, scale-out",
    ),
    Adjustable(path="power.busy_share_of_tdp", sigma=0.10, words="power of kernels over the limit"),
    Adjustable(path="power.wait_share_of_tdp", sigma=0.40, words="power of waiting over the limit"),
    Adjustable(path="power.idle_share_of_tdp", sigma=0.30, words="power of idling over the limit"),
)
IN_RUNS = (
    SITE_FACTOR,
    "gemm_efficiency.{gemm}",
    "era.{era}.elementwise",
    "era.{era}.host_s_per_layer",
    "era.{era}.fixed_s_per_layer",
    "network.scale_up_efficiency",
    "network.scale_out_efficiency",
)
"""Those that training runs identify; the others need measurements of their own."""
_BY_PATH = {item.path: item for item in ADJUSTABLE}


def path_of(template: str, chip: Chip, era: str = "") -> str:
    """The path of a constant for a chip and an era."""
    attention = chip.calibration_attention
    if attention in FAMILIES:
        attention = ERAS[era].attention_on(attention) if era else FAMILIES[attention]
    key = ERAS[era].key if era else ""
    return template.format(gemm=chip.calibration_gemm, attention=attention, era=key)


def prior_of(template: str, base: Calibration, chip: Chip, era: str = "") -> Prior:
    """The prior of a constant: the shipped value and how far it is believed to vary."""
    item, path = _BY_PATH[template], path_of(template, chip, era)
    value = 1.0 if template == SITE_FACTOR else base.value(path)
    return Prior(path=path, value=value, sigma=item.sigma, highest=max(item.highest, value))


def words_of(path: str) -> str:
    """What a constant is."""
    for item in ADJUSTABLE:
        start, _, rest = item.path.partition("{")
        end = rest.partition("}")[2]
        if path.startswith(start) and path.endswith(end):
            return item.words
    return ""


def unit_of(path: str, base: Calibration) -> str:
    """Its unit, as in the shipped calibration."""
    return "1" if path == SITE_FACTOR else base.quantities[path].unit
