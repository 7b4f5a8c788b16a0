"""What a plan chooses in a few words, where stages may choose for themselves."""

from __future__ import annotations

from planner.plan.clocks import clocks_of
from planner.plan.layout_text import short_layout_text
from planner.plan.plan import Plan


def sharding_words(plan: Plan) -> str:
    """`zero1`, or `zero1 and zero2 by stage`."""
    found = {one.sharding or plan.sharding for one in plan.stages or ()} or {plan.sharding}
    return " and ".join(sorted(found)) + " by stage" * (len(found) > 1)


def recompute_words(plan: Plan) -> str:
    """`full`, or `by stage` where stages or their layers differ."""
    found = {plan.recompute}
    if plan.stages is not None:
        found = {one.recompute or plan.recompute for one in plan.stages}
        if any(map(sum, (pair for one in plan.stages for pair in (one.selective, one.full)))):
            return "by stage"
    return found.pop() if len(found) == 1 else "by stage"


def clock_words(plan: Plan) -> str:
    """`0.9`, or `0.8 to 1` where stages differ."""
    found = clocks_of(plan)
    low, high = min(found), max(found)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def split_words(plan: Plan) -> str:
    """The rule that deals out the layers, or the listed layers: `explicit: 7,8*14,7`."""
    if plan.stages is None:
        return plan.split
    return f"explicit: {short_layout_text([stage.layers for stage in plan.stages])}"
