"""The search opened node by node, so that each bound is put to use as early as it can be.

With the usual batches most of a small space is opened before any bound excludes anything. What it
is compared with has no bounds: it opens everything, in the usual batches.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import dense_model, moe_model, random_chips, random_cost_model

import hardware_db
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import IntArray
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import NO_RECOMPUTE, ORDERS
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform import engine
from planner.search.uniform.bounds import partial_plan_corners
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import PartialPlans, Space, cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements

DUALPIPE = code_of_schedule("dualpipe")
ZERO_BUBBLE = code_of_schedule("zero-bubble")

SPLIT = ("zero-bubble", "dualpipe")
CLUSTERS = ("dgx-h100-ndr", "dgx-a100-80-hdr", "mi300x-8way", "gb200-nvl72", "dgx1-v100", "gaudi2")


def assert_bounds_change_nothing(model: CostModel, chips: int, options: SpaceOptions) -> None:
    """The search box by box has the front of all candidates."""
    space = UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,))
    every = Driver().run(replace(space, bounded=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_PARTIAL_PLANS_AT_A_TIME", 1)
        patch.setattr(engine, "_PLANS_AT_A_TIME", 1)
        patch.setattr(engine, "_SEEDS", 2)
        bounded = Driver().run(replace(space))
    np.testing.assert_array_equal(bounded.points, every.points)


def pipelined_job(seed: int, *, experts: bool = False) -> tuple[CostModel, int]:
    """A small uneven pipeline under a framework that has every schedule."""
    rng = random.Random(seed)
    heads = rng.choice([4, 8, 16])
    hidden = heads * rng.choice([64, 128])
    model = dense_model(rng.choice([4, 5, 6, 7, 8, 10, 14]), hidden, heads, heads, hidden * 4)
    if experts:
        model = moe_model(model.layers, 8)
    model = replace(model, vocab_size=rng.randrange(1000, 60000))
    cluster = hardware_db.load_cluster(rng.choice(CLUSTERS))
    titan = FRAMEWORKS["torchtitan"]
    framework = replace(titan, schedules=(*titan.schedules, *SPLIT), most_chunks=0)
    precision = "bf16" if "bf16" in cluster.chip.peak_flop_per_s else "fp16"
    job = Job(
        model=model,
        seq_len=rng.choice([1024, 2048, 4096]),
        global_batch=rng.choice([4, 8, 16]),
        framework=framework,
        era=framework.era,
        precision=precision,
    )
    assumptions = calibrated(cluster.chip, framework.era, precision)
    return CostModel.build(job, cluster, assumptions), rng.choice([8, 16])


@pytest.mark.parametrize("schedule", [ZERO_BUBBLE, DUALPIPE])
@pytest.mark.parametrize("seed", [2276, 3498, 3888, 7316, 7899, *range(8)])
def test_pipelines(seed: int, schedule: int) -> None:
    """The first five seeds once gave a wrong front."""
    model, chips = pipelined_job(seed, experts=schedule == DUALPIPE and seed % 2 == 0)
    options = SpaceOptions(all_orders=True, fixed={"schedule": frozenset({schedule})})
    assert_bounds_change_nothing(model, chips, options)


@pytest.mark.parametrize("seed", range(12))
def test_any_job(seed: int) -> None:
    model = random_cost_model(9000 + seed)
    chips = random_chips(model, seed, most=8)
    options = SpaceOptions(offload=seed % 3 == 0)
    assert_bounds_change_nothing(model, chips, options)


def keys_of(rows: PartialPlans | Space) -> list[tuple[int, ...]]:
    """Mesh, micro-batch and split: they tell partial plans of one schedule without chunks apart."""
    columns = rows.columns if isinstance(rows, PartialPlans) else vars_of(rows)
    both = (rows.mesh_id, columns["micro_batch"], columns["split"])
    return [tuple(row) for row in np.stack(both, axis=1).tolist()]


def vars_of(space: Space) -> dict[str, IntArray]:
    return {name: getattr(space.plans, name) for name in ("micro_batch", "split")}


@pytest.mark.parametrize("schedule", [ZERO_BUBBLE, DUALPIPE])
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_no_plan_is_below_its_bound(first: int, schedule: int) -> None:
    """Neither below that of its node, nor that of its partial plan."""
    checked = 0
    for seed in range(first, first + 25):
        model, chips = pipelined_job(seed, experts=schedule == DUALPIPE and seed % 2 == 0)
        options = SpaceOptions(all_orders=True, fixed={"schedule": frozenset({schedule})})
        meshes = enumerate_meshes(model, (chips,), options)
        partial_plans = cross_partial_plans(model, meshes, options)
        space = cross_choices(model, partial_plans, options)
        if len(space) == 0:
            continue
        placements = build_placements(model, meshes.columns, ORDERS)
        candidates = Candidates.build(model, space, placements, np.array([1.0]))
        nodes = np.arange(len(space))
        rows = candidates.expand(nodes)
        cost = candidates.costs(rows)
        time, energy = candidates.bounds(nodes)
        assert np.all(time[rows.plan] <= cost.time), seed
        assert np.all(energy[rows.plan] <= cost.energy), seed
        nothing = np.full(len(meshes), NO_RECOMPUTE)
        corners = partial_plan_corners(model, partial_plans, nothing, np.array([1.0]))[:, 0]
        known = {key: corner for key, corner in zip(keys_of(partial_plans), corners, strict=True)}
        least = np.array([known[key] for key in keys_of(space)])[rows.plan]
        assert np.all(least[:, 0] <= cost.time[:, 0]), seed
        assert np.all(least[:, 1] <= cost.energy[:, 0]), seed
        checked += len(rows)
    assert checked > 1000
