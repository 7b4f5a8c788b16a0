"""How sure a predicted peak memory is: the chance that a plan runs out, and the cost of no room.

    measured = predicted exp(s z),  z normal
    P(out of memory) = Phi( ln(predicted / room) / s ),  room = capacity - reserve

The spread s is that of ln(measured / predicted) in the published runs, by what is known of the
software. A plan whose memory exceeds the room is as likely as not to run out; a plan that fills
90 % of it does so with a chance of 15 % (s = 0.10) to 28 % (s = 0.18). The spreads are those of
runs that ended well; of those that failed more were near the limit than these chances say.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from frozen_records import dataclass
from planner.assumptions.software import ERAS, FrameworkProfile
from planner.base.arrays import BoolArray, FloatArray
from planner.base.units import show_percent
from planner.cost.context import CostModel
from planner.plan import PlanTable

SAFE_BELOW, FITS_UP_TO = 0.05, 0.5
SAFE, RISKY, DOES_NOT_FIT = "safe", "risky", "does not fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with where it is from.

    Attributes:
        value: In `unit`.
        unit: "1" for shares and factors.
        kind: "derived" from the published runs, or "assumed".
        source: Where the figure is from.
        note: How it was derived and what it does not cover.
    """

    value: float
    unit: str = "1"
    kind: str
    source: str
    note: str


_RUNS = "published runs with a peak memory (planner.evidence.validation.memory)"
SPREADS = {
    "profile": Figure(
        value=0.10,
        kind="derived",
        source=_RUNS,
        note="0.08 in 160 rows whose flags are known: nanotron with tp = 1, torchtitan without "
        "pp, DeepSpeed, KempnerForge; 0.09 with 63 of Qwen's adapters and fine-tuning, 12 of "
        "MS-AMP and 30 of SimuMax; rounded up. Those of SimuMax scatter by 0.014, but three "
        "constants were chosen on them, and 3 of Megatron-Bridge are 0.25 off",
    ),
    "flag": Figure(
        value=0.18,
        kind="derived",
        source=_RUNS,
        note="0.18 in 1,133 nanotron rows with tp > 1, which do not say whether gathered inputs "
        "are kept; plans of today are told to gather them again",
    ),
    "wide flag": Figure(
        value=0.26,
        kind="derived",
        source=_RUNS,
        note="0.26 in those of them with tp = 16 or more",
    ),
    "unmeasured": Figure(
        value=0.20,
        kind="assumed",
        source="estimate",
        note="no published peak memory bears the profile out; as wide as an unknown flag",
    ),
    "era": Figure(
        value=0.26,
        kind="derived",
        source=_RUNS,
        note="in 49 rows of BLOOM's tuning and 12 on V100, less the reserve, which have the "
        "Megatron profile and software of 2021-22; without what is fitted to either source",
    ),
}
"""Standard deviation of ln(measured / predicted), by what is known of the software."""

_FLAGS = ("flag", "wide flag")

HEADROOM_SHARE = Figure(
    value=0.88,
    kind="derived",
    source="nanotron, The Ultra-Scale Playbook (1,265 runs on H100)",
    note="all 15 runs that filled more than 88 % of the chip were 2.7 to 13.7 times slower than "
    "predicted, those at 80 to 88 % typically not; of other software 19 runs above 88 % "
    "(torchtitan 3, BLOOM 6, V100 3, others 7) were no slower than those below",
)
SLOWDOWN = Figure(
    value=7.0,
    kind="derived",
    source=HEADROOM_SHARE.source,
    note="median of those 15 runs, measured over predicted step time",
)


def _known(framework: FrameworkProfile, era: str) -> float:
    """The spread of a profile, or of a profile in software of another generation."""
    other = ERAS[era].keeps_as != ERAS[framework.era].keeps_as
    return SPREADS["era" if other else framework.memory_knowledge].value


def memory_spread(framework: FrameworkProfile, era: str, plans: PlanTable) -> FloatArray:
    """(n,) standard deviation of ln(measured / predicted) memory.

    Args:
        framework: Its `memory_knowledge` and whether `keeps_gathered` is known.
        era: Software era of the job; one of another generation than the framework's is less sure.
        plans: n plans.
    """
    known = _known(framework, era)
    spread = np.full(len(plans), known)
    if framework.keeps_gathered == "unknown":
        unsure = plans.sequence_parallel & (plans.tp > 1)
        flag = np.where(plans.tp >= 16, SPREADS["wide flag"].value, SPREADS["flag"].value)
        spread = np.where(unsure, np.maximum(spread, flag), spread)
    return spread


def spreads_of(framework: FrameworkProfile, era: str) -> tuple[float, ...]:
    """Each spread that `memory_spread` has for some plan, ascending."""
    known = _known(framework, era)
    if framework.keeps_gathered != "unknown":
        return (known,)
    return tuple(sorted({known, *(max(known, SPREADS[name].value) for name in _FLAGS)}))


def bytes_at_risk(risk: float, spread: FloatArray, allocatable_bytes: float) -> FloatArray:
    """(n,) the most bytes that run out of memory with at most this chance; see the module.

    Args:
        risk: Above 0 and below 1.
        spread: (n,) `memory_spread`.
        allocatable_bytes: Capacity less the reserve; 0 or less: nothing fits.
    """
    return np.asarray(max(allocatable_bytes, 0.0) * np.exp(NormalDist().inv_cdf(risk) * spread))


def out_of_memory_probability(
    held_bytes: FloatArray, spread: FloatArray, allocatable_bytes: float
) -> FloatArray:
    """(n,) chance that a plan needs more than its chip has.

    Args:
        held_bytes: (n,) predicted bytes per chip, without the reserve.
        spread: (n,) or a single one: `memory_spread`.
        allocatable_bytes: Capacity less the reserve; 0 or less: nothing fits.
    """
    if allocatable_bytes <= 0:
        return np.ones(np.shape(held_bytes))
    depth = np.log(held_bytes / allocatable_bytes) / spread
    erfc = np.frompyfunc(math.erfc, 1, 1)  # numpy has none; scipy is slow to import
    return np.asarray(erfc(-depth / math.sqrt(2.0)) / 2.0, dtype=np.float64)


def memory_risks(
    model: CostModel, plans: PlanTable, held_bytes: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """(n,) chances of running out of memory, and whether the fullest chip lacks headroom."""
    spread = memory_spread(model.framework, model.job.era, plans)
    chance = out_of_memory_probability(held_bytes, spread, model.allocatable_bytes)
    return chance, lacks_headroom(model.framework, held_bytes, model.chip.memory_bytes)


def risk_word(probability: float) -> str:
    """Safe below 5 %, risky up to 50 %, else does not fit."""
    if probability < SAFE_BELOW:
        return SAFE
    return RISKY if probability <= FITS_UP_TO else DOES_NOT_FIT


def lacks_headroom(
    framework: FrameworkProfile, held_bytes: FloatArray, capacity_bytes: float
) -> BoolArray:
    """(n,) whether a plan fills more of the whole capacity than the framework's headroom leaves."""
    above: BoolArray = np.asarray(held_bytes) > framework.headroom_share * capacity_bytes
    return above


def headroom_note(held_bytes: float, capacity_bytes: float) -> str:
    """What a user should know of a plan that `lacks_headroom`."""
    return (
        f"little headroom: {show_percent(held_bytes / capacity_bytes)} of the chip is filled; "
        f"above {show_percent(HEADROOM_SHARE.value)} published nanotron runs took "
        f"{SLOWDOWN.value:g} times as long as predicted; those of other software did not"
    )


def headroom_factor(
    framework: FrameworkProfile, held_bytes: FloatArray, capacity_bytes: float
) -> FloatArray:
    """(n,) by how much the upper end of the step time's interval grows for want of headroom.

    1 with room. Without it `SLOWDOWN` where the framework's own runs showed it (nanotron); 1
    elsewhere, where runs above the share were not slower.
    """
    if not framework.slows_without_headroom:
        return np.ones(np.shape(held_bytes))
    full = lacks_headroom(framework, held_bytes, capacity_bytes)
    return np.where(full, SLOWDOWN.value, 1.0)
