"""What plans of a framework are launched with, where a question does not say."""

from __future__ import annotations

from planner.frameworks.framework import Target
from planner.frameworks.registry import TARGETS, framework_of, target_of
from planner.frameworks.rules.alike import CUDA_VENDORS

LAUNCHED_VENDORS = (*CUDA_VENDORS, "Google")
"""Makers of the chips on which a framework that was assumed is taken to be launched too.

On others (Intel, AWS, chips of no vendor) the framework stands for memory and speed alone.
"""


def default_target(profile: str) -> Target | None:
    """The target of a profile, by its name; None: nothing launches it.

    The one that its framework says, else the one that is named like it.
    """
    framework = framework_of(profile)
    name = "" if framework is None else framework.launched_as.get(profile, "")
    return TARGETS[name] if name else target_of(profile)
