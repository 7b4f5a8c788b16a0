"""What plans of a framework are launched with, where a question does not say.

The table from the name of a framework to its default target stands here alone. A framework of an
installed package has the target that is named like its profile, if it has one.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.frameworks.framework import Target
from planner.frameworks.registry import TARGETS, target_of
from planner.frameworks.rules.alike import CUDA_VENDORS

DEFAULT_TARGETS: Mapping[str, str] = {
    "megatron": "megatron",
    "megatron-fp32-grads": "megatron",
    "torchtitan": "torchtitan",
    "deepspeed": "deepspeed",
    "deepspeed-liger": "deepspeed",
    "fsdp": "accelerate",
    "jax": "maxtext",
    "nanotron": "nanotron",
}
"""Name of a target by that of a framework. The others, such as hai-llm, are launched by none."""

LAUNCHED_VENDORS = (*CUDA_VENDORS, "Google")
"""Makers of the chips on which a framework that was assumed is taken to be launched too.

On others (Intel, AWS, chips of no vendor) the framework stands for memory and speed alone.
"""


def default_target(framework: str) -> Target | None:
    """The target of a framework, by the name of its profile; None: nothing launches it."""
    name = DEFAULT_TARGETS.get(framework)
    return target_of(framework) if name is None else TARGETS[name]
