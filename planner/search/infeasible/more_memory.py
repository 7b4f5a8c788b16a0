"""Limits on memory that let a plan fit, by as little as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.cost.memory.risk import memory_risks
from planner.search.infeasible.numbers import rounded_up
from planner.search.limits import Limits, usable_bytes
from planner.search.uniform.engine import UniformSpace, least_memory
from solvers.solution import Status


def more_memory(space: UniformSpace, chips: int) -> Iterator[str]:
    """The least limits on memory that let a plan fit in what the framework may fill."""
    limits, usable = space.limits, usable_bytes(space.model)
    if limits.oom_risk is None and limits.chip_bytes(space.model) >= usable:
        return
    roomy = replace(limits, memory_bytes=None, memory_margin=None, oom_risk=None)
    found = least_memory(replace(space.on(chips), limits=roomy))
    if found.status is not Status.OPTIMAL:
        return
    least = float(found.points[0, 0])
    wishes = []
    if limits.memory_bytes is not None and limits.memory_bytes < least:
        text = rounded_up(least / 1e9)
        wishes += [f"--max-memory {text}GB"] if float(text) * 1e9 <= usable else [""]
    margin = limits.memory_margin
    if margin is not None and margin * space.model.allocatable_bytes < least:
        text = rounded_up(least / space.model.allocatable_bytes)
        wishes += [f"--memory-margin {text}"]
    held = np.array([least])
    chance = float(memory_risks(space.model, found.plans, held)[0][0])
    if limits.oom_risk is not None and chance > limits.oom_risk:
        wishes += [risk_flag(chance)]
    if wishes and all(wishes):
        yield " ".join(wishes)


def risk_flag(chance: float) -> str:
    """The limit on the chance of running out of memory that a chance keeps."""
    return f"--max-oom-risk {min(float(rounded_up(100 * chance)), 100):g}%"


def enough_memory(limits: Limits, needed: float, usable: float, chance: float) -> Iterator[str]:
    """The limit on memory under which a plan that is known fits, where chips have so much.

    Args:
        limits: What was asked for.
        needed: Bytes that the plan needs on a chip.
        usable: Bytes that a plan may fill.
        chance: Of the plan to run out of memory.
    """
    text = rounded_up(needed / 1e9)
    given = (limits.memory_bytes, limits.memory_margin, limits.oom_risk)
    if sum(limit is not None for limit in given) != 1:
        return
    if limits.memory_bytes is not None and float(text) * 1e9 <= usable:
        yield f"--max-memory {text}GB"
    elif limits.oom_risk is not None and needed <= usable:
        yield risk_flag(chance)
