"""The memory profiles of the training frameworks that the planner knows, by name.

Two things differ between frameworks for the same plan: the *memory profile* (bytes kept per
parameter and per token) and the *software era* (how fast its kernels and host code are; those
constants live in `hardware_db/data/calibration`). `FrameworkProfile` holds the first and names the
second. Bytes per parameter were derived from the frameworks' documented data types and checked
against published peak-memory figures; what was fitted or assumed is said beside the field, in the
`profile` module of each framework.
"""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile
from planner.base.errors import InputError
from planner.frameworks.registry import FRAMEWORKS, default_framework

__all__ = ["FRAMEWORKS", "default_framework", "framework_named"]


def framework_named(name: str) -> FrameworkProfile:
    """The framework of that name.

    Raises:
        InputError: The name is unknown; the message lists the known ones.
    """
    if name not in FRAMEWORKS:
        raise InputError(f"framework: {name!r} is not one of {', '.join(sorted(FRAMEWORKS))}")
    return FRAMEWORKS[name]
