"""The search under energy by component: fronts equal brute force, whatever the placements."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from search.test_engine import everything, run
from support.jobs import random_cost_model

from hardware_db import Chip, load_cluster
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.rack_presets import rack_energy, rack_zero
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.machine.wiring import rewired
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.oracle.oracle import mesh_problem
from planner.search.rounding import SAME
from solvers.frontier import apart, nondominated
from solvers.solution import Status


@pytest.mark.parametrize("preset", [rack_energy, rack_zero])
@pytest.mark.parametrize(
    ("hardware", "words", "seed"),
    [("c2c-ndr400-rack", (), seed) for seed in range(4)]
    + [("tpu-v5p", (), 0), ("tpu-v5p", (), 4)]
    + [("c2c-ndr400-rack", ("linear",), 0), ("c2c-ndr400-rack", ("torus",), 3)]
    + [("dgx-h100-ndr", ("mesh", "scale-out=torus"), 2), ("dgx-h100-ndr", ("hypercube",), 4)],
)
def test_front_equals_brute_force(
    preset: Callable[[Chip], Assumptions], seed: int, words: tuple[str, ...], hardware: str
) -> None:
    cluster = rewired(load_cluster(hardware), words)
    drawn = random_cost_model(seed)
    job = replace(drawn.job, precision="bf16")
    model = CostModel.build(job, cluster, preset(cluster.chip))
    counts = (8 if seed % 2 else 16,)
    options = SpaceOptions(all_orders=seed % 3 == 0)
    brute = everything(model, counts, options, Limits())
    found = run(model, counts, options)
    front = brute[nondominated(brute[:, :2])][:, :2]
    expected = front[apart(front, SAME)]
    np.testing.assert_array_equal(found.points, expected)
    assert found.status is (Status.OPTIMAL if len(brute) else Status.INFEASIBLE)
    if len(brute):
        cost = evaluate_table(model, found.plans)
        np.testing.assert_array_equal(cost.energy.total, found.points[:, 1])


def test_the_oracle_refuses_energy_by_component() -> None:
    drawn = random_cost_model(0)
    chip = drawn.cluster.chip
    model = replace(drawn, assumptions=rack_energy(chip))
    with pytest.raises(ValueError, match="energy by component is not a formula of times"):
        mesh_problem(model, 4, SpaceOptions())
