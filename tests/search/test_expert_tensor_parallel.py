"""Experts that ranks of their own share: the space, its bounds and proofs, against plain loops."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cases import each

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.oracle.oracle import mesh_problem
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from solvers.factored_cpsat import minimize

MODELS = ("mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite", "llama4-scout")
ENDLESS = Limits(memory_bytes=1e15, host_bytes=1e15)


def model_of(name: str, chips: int, sequences: int = 16, **more: Any) -> CostModel:
    fields = {"model": name, "hardware": "dgx-h100-ndr", "chips": chips, "seq_len": 2048}
    fields |= {"batch_tokens": 2048 * sequences, "framework": "megatron", **more}
    return resolve(request_from(fields)).cost


def asked(*sizes: int, **fixed: int) -> SpaceOptions:
    values = {name: frozenset({value}) for name, value in fixed.items()}
    return SpaceOptions(clocks=False, fixed={"etp": frozenset(sizes), **values})


def fastest(model: CostModel, chips: int, options: SpaceOptions) -> tuple[float, Plan | None]:
    space = UniformSpace(model=model, options=options, limits=ENDLESS)
    found = Driver().run(space.on(chips))
    if not len(found.points):
        return float("inf"), None
    at = int(np.argmin(found.points[:, 0]))
    return float(found.points[at, 0]), found.plans.plan(at)


def every_order(model: CostModel, plans: PlanTable) -> PlanTable:
    codes = [PlanTable.from_plans([Plan(order=o)]).order[0] for o in model.framework.orders]
    return PlanTable.joined([replace(plans, order=np.full(len(plans), c)) for c in codes])


def test_experts_are_whole_unless_it_is_asked_for_more() -> None:
    model = model_of("mixtral-8x7b", 16)
    plain = enumerate_meshes(model, (16,), SpaceOptions())
    assert set(plain.columns["etp"]) == {1}
    some = enumerate_meshes(model, (16,), asked(1, 2, 3, 4))
    assert set(some.columns["etp"]) == {1, 2, 4}  # 3 does not divide the width
    held = some.columns["ep"] * some.columns["etp"]
    assert np.all(some.columns["chips"] // some.columns["pp"] % held == 0)
    rows = np.stack([some.columns[name] for name in sorted(some.columns)], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)  # each once


def test_the_best_plan_is_that_of_costing_every_one() -> None:
    """Spaces of random jobs, with memory without end, plan by plan."""
    source, plans, shared = random.Random(7), 0, 0
    while plans < 20_000:
        chips = source.choice([2, 4, 8])
        model = model_of(source.choice(MODELS), chips, source.choice([4, 8, 12]))
        options = asked(*source.sample([1, 2, 4, 8], source.choice([2, 3])), pp=1, cp=1)
        seconds, best = fastest(model, chips, options)
        meshes = enumerate_meshes(model, (chips,), options)
        space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
        costs = evaluate_totals(model, every_order(model, space.plans))
        assert seconds == pytest.approx(float(costs.step_time_s.min()), rel=1e-12)
        plans += len(costs.step_time_s)
        shared += best is not None and best.etp > 1
    assert shared > 0  # that some of the best divide experts


def test_no_plan_is_below_the_bound_of_its_node() -> None:
    for name in MODELS:
        model, options = model_of(name, 16), asked(1, 2, 4)
        meshes = enumerate_meshes(model, (16,), options)
        nodes = cross_partial_plans(model, meshes, options)
        space = cross_choices(model, nodes, options)
        bounds = PartialPlanBounds.build(model, nodes, model.framework.orders)
        none = np.zeros(len(meshes), dtype=np.int64)
        corners = bounds.corners(none, np.ones(1))[:, 0]
        rows = np.random.default_rng(3).permutation(len(space))[:4000]
        plans, mesh = space.plans.take(rows), space.mesh_id[rows]
        costs = evaluate_totals(model, plans)
        keys = [nodes.mesh_id, *(nodes.columns[one] for one in sorted(nodes.columns))]
        at = {tuple(key): row for row, key in enumerate(zip(*keys, strict=True))}
        own = [mesh, *(getattr(plans, one) for one in sorted(nodes.columns))]
        node = np.array([at[tuple(key)] for key in zip(*own, strict=True)])
        assert np.all(corners[node, 0] <= costs.step_time_s)
        assert np.all(corners[node, 1] <= costs.energy_j)


def test_the_integer_program_finds_the_same() -> None:
    model = model_of("mixtral-8x7b", 8)
    options = replace(asked(1, 2, 4, recompute=2), axes=frozenset({"tp", "dp", "ep", "etp"}))
    problem = mesh_problem(model, 8, options, ENDLESS)
    proof = minimize(problem.problem, "time")
    assert proof.objective is not None
    seconds, best = fastest(model, 8, options)
    assert proof.objective * problem.time_s == pytest.approx(seconds, rel=1e-4)
    decoded = evaluate_totals(model, problem.decode([proof.decision])).step_time_s[0]
    assert decoded == pytest.approx(seconds, rel=1e-4)
    assert best is not None


def test_what_sharing_an_expert_costs() -> None:
    """As much to compute, less state, and tokens of all that share it on each of them."""
    model = model_of("mixtral-8x7b", 16)
    assumed = replace(model.assumptions, load_spread=0.0)
    model = replace(model, assumptions=assumed)
    plans = [Plan(dp=16, ep=2, etp=etp, sharding="ddp") for etp in (1, 2, 4, 8)]
    assert "etp" not in plans[0].mesh  # an axis that is off is not written
    assert plans[1].mesh["etp"] == 2
    table = PlanTable.from_plans(plans)
    found = evaluate_totals(model, table)
    held = model.local_parameters(table.tp, table.expert_ranks).experts
    np.testing.assert_allclose(held[0] / held, [1, 2, 4, 8])
    assert np.all(np.diff(found.memory_bytes) < 0)


@each(
    ("fields", "words"),
    [
        ({"model": "llama3-8b"}, "has no experts; allowed: 1"),
        ({"framework": "torchtitan"}, "does not divide experts over etp 2 apart from the rest"),
        ({"fix": {"etp": ["3"]}}, "does not divide the width of 14336 of the experts"),
        ({"fix": {}, "axes": ["dp", "etp"]}, "axes: etp says nothing without its sizes"),
    ],
)
def test_what_cannot_be_asked_is_told(fields: dict[str, Any], words: str) -> None:
    usual = {"model": "mixtral-8x7b", "hardware": "dgx-h100-ndr", "chips": 8, "seq_len": 2048}
    usual |= {"batch_tokens": 2**16, "fix": {"etp": ["2"]}}
    with pytest.raises(planner.InputError, match=words):
        planner.solve(**{**usual, **fields})
