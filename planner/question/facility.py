"""How the machines are run: cooling, power cap, facility; what a question leaves open is noted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hardware_db import Chip, Cluster
from planner.base.errors import InputError
from planner.cost.energy.clock import check_cap, clock_under_cap
from planner.cost.energy.facility import Facility
from planner.plan import Plan, Stage
from planner.question.asked.usual import COOLING
from planner.question.defaults import Defaults


def cooled_as(cluster: Cluster, cooling: str | None, defaults: Defaults) -> Cluster:
    """The cluster with the host power of air- or liquid-cooled nodes.

    The record of a chip gives air-cooled nodes, and liquid-cooled ones where they were told apart.

    Args:
        cluster: The machines.
        cooling: "air", "liquid", or None for the usual one.
        defaults: Grows by what was not asked for, where there is a choice.

    Raises:
        InputError: The record of the chip does not tell the two apart.
    """
    chip = cluster.chip
    if chip.host_liquid_w is None:
        if cooling is not None:
            raise InputError(
                f"cooling: {cooling!r} has no effect: the record of {chip.name} has one host "
                f"share, {chip.host_w:g} W per chip; leave it out"
            )
        return cluster
    if cooling is None:
        reason = (
            f"hosts draw {chip.host_w:g} W per chip; liquid-cooled ones {chip.host_liquid_w:g} W"
        )
        defaults.append(("cooling", COOLING, reason))
    if cooling != "liquid":
        return cluster
    return replace(cluster, chip=replace(chip, host_w=chip.host_liquid_w))


def clock_limit_of(cap_w: float | None, chip: Chip, defaults: Defaults) -> float:
    """The highest relative clock under a power cap; 1 without one.

    Args:
        cap_w: Watts per chip, or None.
        chip: The chip.
        defaults: Grows by what the cap does.

    Raises:
        InputError: The chip cannot be capped so; see `planner.cost.energy.clock.check_cap`.
    """
    if cap_w is None:
        return 1.0
    check_cap(chip, cap_w)
    limit = float(clock_under_cap(chip, np.array(cap_w)))
    if limit < 1:
        words = f"a busy chip draws {cap_w:g} W at {limit:.3g} of its clock"
        defaults.append(("power-cap", f"clock at most {limit:.3g}", words))
    else:
        words = f"no effect: a busy chip draws {chip.busy_w:g} W at its full clock"
        defaults.append(("power-cap", "clock at most 1", words))
    return limit


def under_limit(plan: Plan, limit: float) -> Plan:
    """A plan whose clocks, those of its stages too, are at most `limit`."""
    return under_limits(plan, {None: limit})


def under_limits(plan: Plan, limits: Mapping[str | None, float]) -> Plan:
    """A plan whose clocks are at most those of the pools of its stages; None: of no pool."""
    most = max(limits.values())
    if min(limits.values()) >= 1:
        return plan
    clock = min(plan.clock, most)

    def lowered(stage: Stage) -> Stage:
        limit = limits.get(stage.pool, most)
        if stage.clock is None and clock <= limit:
            return stage
        return replace(stage, clock=min(clock if stage.clock is None else stage.clock, limit))

    stages = plan.stages and tuple(map(lowered, plan.stages))
    return replace(plan, clock=clock, stages=stages)


def without_limit(plan: Plan, levels: Collection[float]) -> Plan:
    """A plan whose clocks are full where a power cap set them: they are none of a chip's levels."""
    stages = plan.stages and tuple(
        stage if stage.clock is None or stage.clock in levels else replace(stage, clock=1.0)
        for stage in plan.stages
    )
    return replace(plan, clock=plan.clock if plan.clock in levels else 1.0, stages=stages)


def facility_of(pue: float | None, defaults: Defaults) -> Facility:
    """The facility with its PUE as given, or the assumed one, which is noted."""
    facility = Facility.of(pue)
    if pue is None:
        reason = (
            f"assumed, +- {facility.pue_sigma:g}: AI data centers publish 1.09 to 1.2; "
            "only the facility's figures depend on it"
        )
        defaults.append(("pue", f"{facility.pue:g}", reason))
    return facility
