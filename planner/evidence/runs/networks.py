"""What publications print of a network, as bytes per second and chip."""

from __future__ import annotations

import re


def network_bytes_per_s(text: str, node: int) -> float | None:
    """Bytes per second and chip that a printed network gives, or None for the default."""
    if "Omni-Path" in text:
        return 4 * 12.5e9 / node
    if match := re.search(r"(\d+) ?Gb/s per GPU", text):
        return float(match.group(1)) * 1e9 / 8
    if match := re.search(r"\((\d+) Gb/s per node\)", text):
        return float(match.group(1)) * 1e9 / 8 / node
    if match := re.match(r"(\d+)x HDR", text):
        return int(match.group(1)) * 25e9 / node
    if match := re.search(r"(\d+) ?Gbps", text):
        return float(match.group(1)) * 1e9 / 8 / node
    return None
