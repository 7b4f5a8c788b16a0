"""What the flags of a published run say of its experts and its dispatcher."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.software import ERAS
from planner.evidence.runs.profiles import Profile
from planner.frameworks.profiles import FRAMEWORKS

_SAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"allgather|all-gather dispatch", {"dispatcher": "all-gather"}),
    (r"alltoall|dispatcher=a2a", {"dispatcher": "all-to-all"}),
    (r"deepep", {"dispatcher": "deepep"}),
    (r"hybridep", {"dispatcher": "hybridep"}),
    (r"fp8 dispatch", {"dispatch_bytes": 1.0}),
    (
        r"overlap-moe-expert-parallel-comm|1f1b[-_ ]overlap|a2a overlap|moe-fb-overlap",
        {"overlaps": True},
    ),
    (r"moe[-_]shared[-_]expert[-_]overlap(?!=False)", {"shared_beside": True}),
    (r"cuda-graph\S*[ =]\S*attn", {"graphs": ("attention", "router")}),
    (r"cuda-graph\S*[ =]moe_router", {"graphs": ("router",)}),
    (r"cuda-graph\S*[ =]full_iteration", {"graphs": ("attention", "router", "experts")}),
    (r"force-load-balancing|fake_balanced_gate", {"balance": "forced"}),
    (r"capacity(-factor)?[ =]1(\.0)?(?![.0-9])", {"balance": "capacity"}),
    (r"cutedsl_fused_grouped_mlp(?!=False)", {"kernels": "fused"}),
    (r"cutedsl_fused_grouped_mlp=False", {"kernels": "grouped"}),
)
"""Patterns of flags (any case, later ones over earlier) and what they say."""
_PADDED = (
    r"(?m)^(?>.*?capacity(?:-factor)?[ =]([0-9]+(?:\.[0-9]*)?))"
    r".*(?:pad-expert-input|padded)-to-capacity"
)
_FUSED_PERMUTATION = r"moe[-_]permute[-_]fusion"
"""Where software leaves it out by default, a flag has tokens permuted in one kernel."""


@cache
def _meant(flags: str) -> Mapping[str, Any]:
    """What flags say of experts."""
    said: dict[str, Any] = {}
    for pattern, meaning in _SAYS:
        if re.search(pattern, flags, re.IGNORECASE):
            said |= meaning
    if padded := re.search(_PADDED, flags, re.IGNORECASE):
        said |= {"balance": "capacity", "capacity": float(padded[1])}
    return said


def experts_of(
    row: Mapping[str, str], profile: Profile, filled: dict[str, str]
) -> ExpertSoftware | None:
    """How the experts of a run ran; None, and what is taken, where its flags say nothing of it."""
    flags = row.get("flags", "")
    said = _meant(flags)
    usual = FRAMEWORKS[profile.framework].experts or ERAS[profile.era].experts
    if usual.kernels == "permuted" and re.search(_FUSED_PERMUTATION, flags, re.IGNORECASE):
        said = {"kernels": "grouped", **said}
    if said:
        return replace(usual, **said)
    if row["moe_experts"]:
        filled["experts"] = f"{usual.kernels} kernels, {usual.dispatcher}, {usual.balance} balance"
    return None
