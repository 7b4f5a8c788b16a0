"""Modules that recompute: the space, its bounds and proofs, against plain loops."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.cases import each

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import FULL, NO_RECOMPUTE, RECOMPUTATIONS, Plan, PlanTable
from planner.plan.recomputations import contains, inner_first, modules_of
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.oracle.oracle import mesh_problem
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.mesh_memory import (
    NOTHING_FITS,
    as_wide,
    least_recompute,
    searched_recomputes,
)
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans, recomputes
from solvers.factored_cpsat import minimize

MODELS = ("mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite", "llama3-8b", "llama4-scout")
ANY = frozenset(range(len(RECOMPUTATIONS)))


def model_of(name: str, chips: int, sequences: int = 16, **more: Any) -> CostModel:
    fields = {"model": name, "hardware": "dgx-h100-ndr", "chips": chips, "seq_len": 4096}
    fields |= {"batch_tokens": 4096 * sequences, "framework": "megatron", **more}
    return resolve(request_from(fields)).cost


def drawn(source: random.Random, chips: int) -> CostModel:
    """A job whose attention stores scores or not, in 16 or 8 bits."""
    name, precision = source.choice(MODELS), source.choice(["bf16", "bf16", "fp8"])
    model = model_of(name, chips, source.choice([4, 8, 12]), precision=precision)
    fused = source.random() < 0.7
    return replace(model, assumptions=replace(model.assumptions, fused_attention=fused))


def asked(**fixed: int) -> SpaceOptions:
    values = {name: frozenset({value}) for name, value in fixed.items()}
    return SpaceOptions(clocks=False, fixed={"recompute": ANY, **values})


def every_order(model: CostModel, plans: PlanTable) -> PlanTable:
    codes = [PlanTable.from_plans([Plan(order=o)]).order[0] for o in model.framework.orders]
    return PlanTable.joined([replace(plans, order=np.full(len(plans), c)) for c in codes])


def tight(source: random.Random, held: np.ndarray[Any, Any]) -> Limits:
    """A limit under which some plans fit, and most do not."""
    share = source.choice([0.02, 0.1, 0.3, 0.7])
    return Limits(memory_bytes=float(np.quantile(held, share)), host_bytes=1e15)


@each(
    ("name", "fused", "count"),
    [("llama3-8b", True, 1), ("llama3-8b", False, 2), ("mixtral-8x7b", True, 5),
     ("deepseek-v3", True, 39), ("deepseek-v2-lite", True, 39), ("qwen3-30b-a3b", True, 5)],
)  # fmt: skip
def test_sets_that_are_another_plan(name: str, fused: bool, count: int) -> None:
    model = model_of(name, 16)
    model = replace(model, assumptions=replace(model.assumptions, fused_attention=fused))
    plain = recomputes(model, SpaceOptions())
    assert max(plain) == FULL
    sets = recomputes(model, asked())[len(plain) :]
    assert len(sets) == count
    costs = evaluate_totals(model, PlanTable.from_plans([
        Plan(dp=16, recompute=RECOMPUTATIONS[code]) for code in sets
    ]))  # fmt: skip
    pairs = zip(costs.step_time_s, costs.memory_bytes, strict=True)
    assert len({(round(time, 9), memory) for time, memory in pairs}) == count
    for code in sets:
        names = modules_of(RECOMPUTATIONS[code])
        assert not ("moe" in names and {"moe_act", "shared_experts"} & {*names})


def test_more_takes_no_less_time_or_energy() -> None:
    """Lemma 6: of any two recomputations of which one does all of the other, plan by plan."""
    source, pairs = random.Random(11), 0
    while pairs < 20_000:
        model = drawn(source, 16)
        codes = recomputes(model, asked())
        options = asked(pp=source.choice([1, 2, 4]))
        meshes = enumerate_meshes(model, (16,), options)
        space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
        rows = np.random.default_rng(source.randrange(99)).permutation(len(space))[:60]
        plans = space.plans.take(rows)
        found = {}
        for code in codes:
            same = replace(plans, recompute=np.full(len(plans), code))
            found[code] = evaluate_totals(model, same)
        for more in codes:
            for less in (one for one in codes if contains(more, one)):
                time, other = found[more].step_time_s, found[less].step_time_s
                assert np.all(time >= other * (1 - 1e-12)), (more, less)
                joules, before = found[more].energy_j, found[less].energy_j
                assert np.all(joules >= before * (1 - 1e-12)), (more, less)
                pairs += len(time)


def test_codes_come_after_what_they_contain() -> None:
    order = inner_first(range(len(RECOMPUTATIONS)))
    place = {code: at for at, code in enumerate(order)}
    for more in order:
        assert contains(more, NO_RECOMPUTE)
        assert contains(FULL, more)
        assert all(place[less] <= place[more] for less in order if contains(more, less))
    assert all(one < other for one, other in pairwise(order[:-1]))


def test_the_best_plan_is_that_of_costing_every_one() -> None:
    """Spaces of random jobs, with memory for some of the plans, plan by plan."""
    source, plans, named, questions = random.Random(7), 0, 0, 0
    while questions < 200:
        chips = source.choice([2, 4, 8])
        model = drawn(source, chips)
        options = asked(pp=source.choice([1, 2]), cp=1, micro_batch=1)
        meshes = enumerate_meshes(model, (chips,), options)
        space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
        if not len(space):
            continue
        costs = evaluate_totals(model, every_order(model, space.plans))
        limits = tight(source, costs.memory_bytes)
        fits = costs.memory_bytes <= limits.chip_bytes(model)
        every = UniformSpace(model=model, options=options, limits=limits)
        found = Driver().run(every.on(chips))
        plans, questions = plans + len(fits), questions + 1
        if not fits.any():
            assert not len(found.points)
            continue
        at = int(np.argmin(found.points[:, 0]))
        assert found.points[at, 0] == pytest.approx(costs.step_time_s[fits].min(), rel=1e-12)
        joules = found.points[:, 1].min()
        assert joules == pytest.approx(costs.energy_j[fits].min(), rel=1e-12)
        named += bool(modules_of(found.plans.plan(at).recompute))
    print(f"{questions} questions, {plans:,} plans, {named} best ones name modules")
    assert named > 50


def test_no_plan_that_fits_is_below_the_bound_of_its_node() -> None:
    """Under limits on memory, with the least recomputations that these leave."""
    source, several, compared = random.Random(3), 0, 0
    for _ in range(25):
        model, options = drawn(source, 16), asked(cp=1)
        meshes = enumerate_meshes(model, (16,), options)
        nodes = cross_partial_plans(model, meshes, options)
        space = cross_choices(model, nodes, options)
        rows = np.random.default_rng(source.randrange(99)).permutation(len(space))[:8000]
        plans, mesh = space.plans.take(rows), space.mesh_id[rows]
        costs = evaluate_totals(model, plans)
        limits = tight(source, costs.memory_bytes)
        codes = searched_recomputes(model, options)
        least = least_recompute(model, meshes, limits, offload=False, codes=codes)
        several += int((least != least[:, :1]).any(axis=1).sum())
        fits = np.flatnonzero(costs.memory_bytes <= limits.chip_bytes(model))
        for row in fits.tolist():
            code = int(plans.recompute[row])
            assert any(contains(code, int(one)) for one in least[mesh[row]])
        known = np.where(least == NOTHING_FITS, FULL, least)
        bounds = PartialPlanBounds.build(model, nodes, model.framework.orders)
        corners = bounds.corners(known, np.ones(1))[:, 0]
        keys = [nodes.mesh_id, *(nodes.columns[one] for one in sorted(nodes.columns))]
        at = {tuple(key): row for row, key in enumerate(zip(*keys, strict=True))}
        own = [mesh, *(getattr(plans, one) for one in sorted(nodes.columns))]
        node = np.array([at[tuple(key)] for key in zip(*own, strict=True)])[fits]
        assert np.all(corners[node, 0] <= costs.step_time_s[fits])
        assert np.all(corners[node, 1] <= costs.energy_j[fits])
        compared += len(fits)
    print(f"{compared:,} plans, {several:,} meshes with several least recomputations")
    assert several > 50


def test_rows_of_other_lengths_are_alike() -> None:
    one, two = np.array([[1], [2]]), np.array([[3, 4], [5, 5]])
    assert as_wide(one, two).tolist() == [[1, 1], [2, 2]]
    assert as_wide(two, one).tolist() == two.tolist()


def test_the_integer_program_finds_the_same() -> None:
    model = model_of("mixtral-8x7b", 8)
    codes = frozenset(map(RECOMPUTATIONS.index, ("none", "moe_act", "layernorm+moe", "full")))
    axes = frozenset({"tp", "dp", "ep"})
    options = SpaceOptions(clocks=False, axes=axes, fixed={"recompute": codes})
    limits = Limits(memory_bytes=100e9, host_bytes=1e15)
    problem = mesh_problem(model, 8, options, limits)
    proof = minimize(problem.problem, "time")
    found = Driver().run(UniformSpace(model=model, options=options, limits=limits).on(8))
    assert (proof.objective is None) == (not len(found.points))
    if proof.objective is not None:
        seconds = float(found.points[:, 0].min())
        assert proof.objective * problem.time_s == pytest.approx(seconds, rel=1e-4)


@each(
    ("fields", "words"),
    [
        ({"fix": {"recompute": ["none", "mla_up_proj"]}}, "has no mla_up_proj apart"),
        ({"fix": {"recompute": ["mlp"]}, "framework": "torchtitan"}, "cannot be told modules"),
        ({"fix": {"recompute": ["any"]}, "framework": "torchtitan"}, "cannot be told modules"),
        ({"fix": {"recompute": ["full+mlp"]}}, "full goes with nothing else"),
        ({"fix": {"recompute": ["mlp"]}, "framework": "hai-llm"}, "cannot be told modules"),
        (
            {"fix": {"recompute": ["mlp"]}, "framework": "megatron", "job": "lora"},
            "where all weights are trained",
        ),
        ({"fix": {"recompute": ["core_attn"]}}, "core_attn alone is selective"),
        ({"fix": {"recompute": ["mlp+norm"]}}, "'norm' is not one of none, selective, full"),
        ({"fix": {"recompute": ["any"]}, "layout": "uneven"}, "the same on all stages"),
    ],
)
def test_what_cannot_be_asked_is_told(fields: dict[str, Any], words: str) -> None:
    usual = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 8, "seq_len": 2048}
    usual |= {"batch_tokens": 2**16}
    with pytest.raises(planner.InputError, match=words):
        planner.solve(**{**usual, **fields})
