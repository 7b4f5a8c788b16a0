"""What a plan can be written for, by name: the targets of `planner export` and `--runnable-in`."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.frameworks.framework import Target
from planner.frameworks.registry import TARGETS

__all__ = ["TARGETS", "Target", "launch_sources", "target_named"]


def target_named(name: str) -> Target:
    """The target of that name.

    Raises:
        InputError: The name is unknown; the message lists the known ones.
    """
    if name not in TARGETS:
        raise InputError(f"to: {not_one_of(name, TARGETS)}")
    return TARGETS[name]


def launch_sources() -> tuple[str, ...]:
    """Names of the targets whose launches are read."""
    return tuple(name for name, target in TARGETS.items() if target.launches)
