"""What plans of a framework are launched with, where a question does not say."""

from __future__ import annotations

from planner.frameworks.framework import Target
from planner.frameworks.registry import TARGETS, framework_of, target_of
from planner.frameworks.rules.alike import CUDA_VENDORS

LAUNCHED_VENDORS = (*CUDA_VENDORS, "Google")
"""Makers of the chips on which a framework that was assumed is taken to be launched too.

On others (Intel, AWS, chips of no vendor) the framework stands for memory and speed alone.
"""


def default_target(profile: str, job: str = "pretrain") -> Target | None:
    """The target of a profile, by its name; None: nothing launches such a job of it.

    The one that its framework says, else the one that is named like it; where that does not run
    the job, the first of those with its profile that do.

    Args:
        profile: Its name.
        job: What kind of job (`planner.cost.job.Job.learns`).
    """
    framework = framework_of(profile)
    name = "" if framework is None else framework.launched_as.get(profile, "")
    usual = TARGETS[name] if name else target_of(profile)
    if usual is None or job in usual.jobs:
        return usual
    own = (one for one in TARGETS.values() if one.framework == usual.framework)
    return next((one for one in own if job in one.jobs), None)
