"""Peak rates of chips, held against units, clock and width, or against a rate that was.

A rate is checked where its record says how many units there are, their clock, and what a unit does
in a cycle in this format; else where it is a power of two times a rate of the same chip that was
checked, as formats of half or twice as many bits are. What is left is counted with what it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hardware_db import Chip, list_chips, load_chip

_NEAR = 0.01
_MOST_DOUBLINGS = 3


@dataclass(slots=True)
class Count:
    """Rates of one format.

    Attributes:
        figures: All.
        by_width: Equal to units times clock times width, to 1 %.
        by_another: A power of two times one of these, to 1 %.
        without_width, without_clock, without_units: Not checked, as the record has no such figure.
        faults: More than 1 % from units times clock times width.
    """

    figures: int = 0
    by_width: int = 0
    by_another: int = 0
    without_width: int = 0
    without_clock: int = 0
    without_units: int = 0
    faults: int = 0


@dataclass(slots=True)
class Found:
    """Counts by format, and chips of which no rate was checked, with what their records lack."""

    counts: dict[str, Count] = field(default_factory=dict)
    unchecked: dict[str, str] = field(default_factory=dict)


def campaign(told: Callable[[str], None], chips: Iterable[Chip] = ()) -> Found:
    """Every rate of the chips; by default of those that are shipped."""
    found = Found()
    for chip in chips or map(load_chip, list_chips()):
        rates = {name: rate for name, rate in chip.peak_flop_per_s.items() if rate is not None}
        widths = {name: chip.flop_per_pe_per_clock.get(name) for name in rates}
        lacks = _lacks(chip, any(widths.values()))
        if lacks:
            found.unchecked[chip.name] = lacks
        known = [rates[name] for name, width in widths.items() if width] if not lacks else []
        for name, rate in rates.items():
            count = found.counts.setdefault(name, Count())
            count.figures += 1
            width = widths[name]
            if not lacks and width:
                product = (chip.pe_count or 0.0) * (chip.clock_hz or 0.0) * width
                right = math.isclose(product, rate, rel_tol=_NEAR)
                count.by_width += right
                count.faults += not right
                if not right:
                    told(f"{chip.name}: peak.{name}: {rate:.4g}, not {product:.4g} FLOP/s")
            elif any(_doubled(rate, other) for other in known):
                count.by_another += 1
            else:
                _left(count, lacks or "width")
    return found


def _lacks(chip: Chip, has_width: bool) -> str:
    """The figure without which no rate of a chip can be checked; empty: it has all."""
    if not chip.pe_count:
        return "units"
    if not chip.clock_hz:
        return "clock"
    return "" if has_width else "width"


def _left(count: Count, lacks: str) -> None:
    count.without_units += lacks == "units"
    count.without_clock += lacks == "clock"
    count.without_width += lacks == "width"


def _doubled(rate: float, other: float) -> bool:
    """Whether a rate is a power of two times another."""
    doublings = round(math.log2(rate / other))
    return abs(doublings) <= _MOST_DOUBLINGS and math.isclose(
        rate, other * 2.0**doublings, rel_tol=_NEAR
    )
