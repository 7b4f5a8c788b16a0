"""What lies around the chips and their hosts: how sure the fabric's power is, and the facility.

    P_facility = PUE P_IT        PUE: power usage effectiveness, total power over IT power

Source: The Green Grid, white paper 49 (PUE); the default and its spread are in
`hardware_db/data/reference/power.yaml`.
"""

from __future__ import annotations

from functools import lru_cache

from frozen_records import dataclass
from hardware_db import load_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Facility:
    """The facility that houses the machines.

    Attributes:
        pue: Power of the facility over that of node and fabric.
        pue_sigma: One standard deviation of it; 0 where it was given.
        fabric_sigma_share: One standard deviation of the power of switches and optics, over it.
    """

    pue: float
    pue_sigma: float
    fabric_sigma_share: float

    @staticmethod
    def of(pue: float | None) -> Facility:
        """The facility with a PUE as given, or the assumed one with its uncertainty.

        The assumed value keeps its uncertainty where it is written out.
        """
        usual = default_facility()
        if pue is None or pue == usual.pue:
            return usual
        return Facility(pue=pue, pue_sigma=0.0, fabric_sigma_share=usual.fabric_sigma_share)


@lru_cache(maxsize=1)
def default_facility() -> Facility:
    """The facility that is assumed where nothing is said about it."""
    known = load_reference("power").quantities
    return Facility(
        pue=known["facility.pue"].number,
        pue_sigma=known["facility.pue_sigma"].number,
        fabric_sigma_share=known["fabric.sigma_share"].number,
    )
