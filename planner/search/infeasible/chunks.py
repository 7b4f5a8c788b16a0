"""Where no plan is searched because more than one chunk per stage goes with equal chunks alone."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import BY_COST, SPLITS
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule, schedule_of
from planner.search.uniform.meshes import dealt_layers, enumerate_meshes, equal_chunks
from planner.search.uniform.space import dealt


def unequal_chunks_alone(model: CostModel, chips: int, options: SpaceOptions) -> bool:
    """Whether for some number of stages all pipelines that are asked for have unequal chunks.

    Args:
        model, options: What is searched.
        chips: That plans use.
    """
    stages = np.unique(enumerate_meshes(model, (chips,), options).columns["pp"]).tolist()
    return any(_unequal(model, pp, options) for pp in stages if pp > 1)


def layers_in_chunks(model: CostModel) -> list[int]:
    """How many layers equal chunks share, by each rule that the framework offers; ascending."""
    splits = {SPLITS.index(name) for name in model.framework.splits} - {BY_COST}
    return sorted({dealt_layers(model, split) for split in splits})


def _unequal(model: CostModel, pp: int, options: SpaceOptions) -> bool:
    """The same for one number of stages."""
    every = [schedule_of(name) for name in model.framework.schedules]
    schedules = [
        one
        for one in every
        if options.allows("schedule", np.array([code_of_schedule(one.name)]))[0]
    ]
    pairs = [
        (v, split)
        for v, split in dealt(model, pp)
        if options.allows("interleave", np.array([v]))[0]
        and options.allows("split", np.array([split]))[0]
        and any(schedule.fits_interleave(np.array(v)) for schedule in schedules)
    ]
    equal = [v == 1 or equal_chunks(model, pp * v, split) for v, split in pairs]
    return bool(pairs) and not any(equal)
