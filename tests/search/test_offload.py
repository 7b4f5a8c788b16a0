"""Offloads are left out of a search only where they cannot pay."""

from dataclasses import replace

import numpy as np
import pytest

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.memory.offload import offloads_only_cost
from planner.plan import OFFLOAD_OPTIMIZER
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans


def model_of(**fields: object) -> CostModel:
    return resolve(request_from(fields)).cost


def test_a_socket_whose_host_is_itself_updates_there() -> None:
    """Energy: running the optimizer on the host costs nothing extra where both are one machine."""
    job = {
        "model": "opt-125m", "hardware": "xeon-clx-socket", "chips": 1, "batch_tokens": 16384,
        "framework": "deepspeed",
    }  # fmt: skip
    found = planner.solve(**job, offload=True, objective="energy", runnable_in="any")
    assert found.best is not None
    assert found.best.plan.offload == ("optimizer",)
    here = replace(found.best.plan, offload=())
    on_chip = planner.evaluate(here, **job).result
    assert found.best.energy_per_step_j < on_chip.energy_per_step_j
    assert found.best.step_time_s > on_chip.step_time_s
    assert not offloads_only_cost(model_of(**job))


@pytest.mark.parametrize("hardware", ["dgx-h100-ndr", "dgx1-v100", "gaudi2", "gh200-ndr"])
def test_where_they_only_cost_no_plan_gains(hardware: str) -> None:
    model = model_of(model="gpt3-1.3b", hardware=hardware, chips=16, batch_tokens=65536)
    assert offloads_only_cost(model)
    options = SpaceOptions()
    meshes = enumerate_meshes(model, (16,), options)
    plans = cross_choices(model, cross_partial_plans(model, meshes, options), options).plans
    rows = np.random.default_rng(0).permutation(len(plans))[:2000]
    plans = plans.take(rows)
    here = evaluate_totals(model, plans)
    there = evaluate_totals(model, replace(plans, offload=np.full(len(plans), OFFLOAD_OPTIMIZER)))
    assert np.all(there.step_time_s >= here.step_time_s * (1 - 1e-12))
    assert np.all(there.energy_j >= here.energy_j * (1 - 1e-12))
