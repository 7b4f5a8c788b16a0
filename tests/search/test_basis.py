"""Nodes cut from those that batches share are those made afresh; no plan is below their bounds."""

import random
from dataclasses import replace

import numpy as np
from support.jobs import random_chips, random_cost_model

from planner.cost.context import CostModel
from planner.frameworks.targets import TARGETS
from planner.objectives import ENERGY, TIME
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.sharing.basis import Basis
from planner.search.uniform.batch import partial_plan_of
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.nodes import Nodes

TIGHT = 58
"""A job whose meshes need recomputation with many micro-batches, and none with few."""


def space_of(seed: int) -> UniformSpace:
    """A small random job within a random limit on memory."""
    rng, model = random.Random(f"basis {seed}"), random_cost_model(seed)
    targets = (TARGETS[n] for n in {model.framework.name} & {*TARGETS} if seed % 2)
    options = SpaceOptions(
        runnable_in=tuple(targets), all_orders=seed % 4 == 1, offload=seed % 5 == 2
    )
    return UniformSpace(
        model=model,
        options=options,
        limits=Limits(memory_bytes=1e9 if seed == TIGHT else 10 ** rng.uniform(8.9, 9.9)),
        chips=(random_chips(model, seed, most=16),),
        columns=(TIME, ENERGY),
    )


def with_batch(model: CostModel, batch: int) -> CostModel:
    return replace(model, job=replace(model.job, global_batch=batch))


def check_below(space: UniformSpace, nodes: Nodes) -> int:
    """How many plans there are; none takes less than the bounds of its node, whatever it is."""
    batch = space.batch(nodes.partial_plans)
    if batch is None or batch.candidates is None:
        return 0
    rows = batch.candidates.expand(np.arange(len(batch.space)))
    cost = batch.candidates.costs(rows)
    corners = nodes.corners[partial_plan_of(nodes.partial_plans, batch.logical)[rows.plan]]
    assert (corners[:, :, 0] <= cost.time).all()
    assert (corners[:, :, 1] <= cost.energy).all()
    return len(rows)


def test_nodes_that_batches_share_are_those_made_afresh() -> None:
    plans = tight = other = 0
    for seed in (*range(20), TIGHT):
        space = space_of(seed)
        model, clocks = space.model, space.clocks
        batches = [model.job.global_batch * more for more in (1, 2, 3, 8)]
        basis = Basis.build(model, batches, space.chips, space.options, space.limits, clocks)
        for batch in batches:
            own = replace(space, model=with_batch(model, batch))
            afresh, ground = own.nodes(), basis and basis.ground(own.model, own.limits)
            assert (ground is None) == (len(afresh.partial_plans) == 0)
            if basis is None or ground is None or afresh.ground is None:
                continue
            shared = replace(own, beside=replace(afresh, ground=ground)).nodes()
            assert shared.ground is not None
            assert shared.ground.low is ground.low  # nothing was made again
            assert np.array_equal(ground.fitting, afresh.ground.fitting)
            for mine, theirs in (
                (shared.partial_plans.columns, afresh.partial_plans.columns),
                (shared.partial_plans.meshes.columns, afresh.partial_plans.meshes.columns),
            ):
                assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)
            assert np.array_equal(shared.partial_plans.mesh_id, afresh.partial_plans.mesh_id)
            for name in ("factorizations", "meshes"):
                assert 2 * shared.counts[name]["considered"] == sum(shared.counts[name].values())
            plans += check_below(own, shared)
            tight += bool((shared.corners > afresh.corners * (1 + 1e-9)).any())
            data = basis.meshes.columns["dp"] * basis.meshes.columns["fsdp"]
            other += bool((ground.fitting != basis.fitting[batch % data == 0]).any())
    assert plans > 10_000
    assert tight
    assert other
