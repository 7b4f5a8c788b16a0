"""Which chip of the database a device's own name means."""

from __future__ import annotations

import re

from hardware_db import list_chips
from planner.base.messages import nearest

# Patterns of names that drivers and logs print, from the most to the least specific.
_NAMES = (
    (r"GB300", "gb300-nvl72-gpu"),
    (r"GB200", "gb200-nvl72-gpu"),
    (r"\bB300\b", "b300-sxm-288"),
    (r"\bB200\b", "b200-sxm-180"),
    (r"GH200.*(141|144)", "gh200-141"),
    (r"GH200", "gh200-96"),
    (r"\bH200\b", "h200-sxm5-141"),
    (r"\bH800\b", "h800-sxm5-80"),
    (r"\bH20\b", "h20-sxm5-96"),
    (r"\bH100 PCIe\b", "h100-pcie-80"),
    (r"\bH100\b", "h100-sxm5-80"),
    (r"\bA100.*80 ?GB\b", "a100-sxm4-80"),
    (r"\bA100.*40 ?GB\b", "a100-sxm4-40"),
    (r"\bV100.*32 ?GB\b", "v100-sxm2-32"),
    (r"\bV100.*16 ?GB\b", "v100-sxm2-16"),
    (r"\bL40S\b", "l40s"),
    (r"\bMI355X\b", "mi355x"),
    (r"\bMI350X\b", "mi350x"),
    (r"\bMI325X\b", "mi325x"),
    (r"\bMI300X\b", "mi300x"),
    (r"\bMI250X\b", "mi250x"),
)


def chip_called(device: str) -> str | None:
    """The chip that a device's name means, e.g. `NVIDIA H100 80GB HBM3`; None where unknown."""
    for pattern, chip in _NAMES:
        if re.search(pattern, device, re.IGNORECASE):
            return chip
    return None


def nearest_chips(device: str) -> str:
    """The chips of the database whose names are most like a device's."""
    return ", ".join(nearest(device.lower().replace("nvidia ", ""), list_chips()) or list_chips())
