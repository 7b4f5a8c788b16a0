"""Nodes that take over what those of a narrower search are made of equal nodes made afresh."""

import random
from dataclasses import replace

import numpy as np
from support.jobs import random_chips, random_cost_model

from planner.frameworks.targets import TARGETS
from planner.objectives import ENERGY, TIME
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace, searched


def test_wider_nodes_are_those_made_afresh() -> None:
    more = opened = 0
    for seed in range(30):
        rng, model = random.Random(f"beside {seed}"), random_cost_model(seed)
        narrow = UniformSpace(
            model=model,
            options=SpaceOptions(
                runnable_in=tuple(TARGETS[n] for n in {model.framework.name} & {*TARGETS}),
                all_orders=seed % 4 == 1,
                offload=seed % 5 == 2,
            ),
            limits=Limits(oom_risk=0.02, memory_bytes=10 ** rng.uniform(9.0, 9.9)),
            chips=(random_chips(model, seed, most=16),),
            columns=(TIME, ENERGY),
        )
        options = replace(narrow.options, runnable_in=())
        wider = replace(narrow, options=options, limits=Limits(), columns=(TIME,))
        afresh = wider.nodes()
        beside = replace(wider, beside=narrow.nodes()).nodes()
        assert np.array_equal(beside.corners, afresh.corners)
        assert beside.counts == afresh.counts
        columns = [nodes.partial_plans.columns for nodes in (beside, afresh)]
        assert all(np.array_equal(columns[0][name], columns[1][name]) for name in columns[1])
        more += len(afresh.partial_plans) > len(narrow.nodes().partial_plans) > 0
        if seed % 5 == 0:  # searched, which makes the corners of opened nodes better, not these
            made = searched(narrow)
            kept = narrow.last.ground if narrow.last else None
            assert kept is not None
            assert np.array_equal(kept.low, narrow.nodes().corners)
            opened += len(made.points) > 0
    assert opened >= 2
    assert more >= 3  # of narrower ones that have some of them
