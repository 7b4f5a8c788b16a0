"""What a plan chooses for all layers, where its stages may have a word in it."""

from __future__ import annotations

from collections import Counter

from planner.frameworks.writing.launch import Launch
from planner.plan import RECOMPUTES
from planner.plan.recomputations import modules_of


def recompute_layers(launch: Launch) -> dict[str, int]:
    """Layers of each of `planner.plan.RECOMPUTES`; those that name modules are selective."""
    plan = launch.plan
    if plan.stages is None:
        own = "selective" if modules_of(plan.recompute) else plan.recompute
        return {way: launch.model.layers * (way == own) for way in RECOMPUTES}
    found = Counter[str]()
    for stage in plan.stages:
        selective, full = sum(stage.selective), sum(stage.full)
        found["selective"] += selective
        found["full"] += full
        rest = stage.recompute or plan.recompute
        found["selective" if modules_of(rest) else rest] += stage.layers - selective - full
    return {way: found[way] for way in RECOMPUTES}


def common_recompute(launch: Launch) -> str:
    """The recomputation of most layers; of as many, the one that keeps less."""
    layers = recompute_layers(launch)
    return max(reversed(RECOMPUTES), key=lambda way: layers[way])


def common_sharding(launch: Launch) -> str:
    """The sharding of most stages; the plan's where there are none."""
    plan = launch.plan
    own = [stage.sharding or plan.sharding for stage in plan.stages or ()]
    return Counter(own).most_common(1)[0][0] if own else plan.sharding
