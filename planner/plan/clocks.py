"""The clocks of a plan's stages."""

from __future__ import annotations

from planner.plan.plan import Plan


def clocks_of(plan: Plan) -> tuple[float, ...]:
    """Of each listed stage, or chunk, in pipeline order; of `pp` equal stages where none is listed.

    A stage without a clock of its own has the plan's.
    """
    if not plan.stages:
        return (plan.clock,) * plan.pp
    return tuple(plan.clock if one.clock is None else one.clock for one in plan.stages)
