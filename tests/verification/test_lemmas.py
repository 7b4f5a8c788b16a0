"""The bounds of certificates against brute force: no candidate of a node is below its bound."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from support.cases import each

from planner.cost.context import networks
from planner.cost.evaluate import evaluate_totals
from planner.network.placement import Mesh
from planner.plan import ORDERS
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.verification.asked import Asked
from planner.verification.bounds import NodeBounds, gather_s, plan_bounds, reductions
from planner.verification.rows import Row, does_all_of, mesh_of, table
from planner.verification.space import Space

LIKE_THE_COSTS = 1 + 1e-12
JOBS: list[dict[str, Any]] = [
    {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "framework": "textbook"},
    {"model": "mixtral-8x7b", "hardware": "dgx-a100-80-hdr", "framework": "megatron"},
    {"model": "llama2-7b", "hardware": "tpu-v5p", "framework": "jax"},
    {"model": "gpt3-6.7b", "hardware": "mi300x", "framework": "torchtitan"},
    {"model": "llama3-8b", "hardware": "h100-pcie-ndr200", "framework": "deepspeed"},
    {"model": "llama3-8b", "hardware": "c2c-ndr400-rack", "assumptions": "rack-energy"},
    {
        "model": "gpt3-350m",
        "hardware": "l40s-pcie",
        "framework": "jax",
        "seq_len": 4096,
        "set": ["perfect_overlap=true"],
    },
    {"model": "deepseek-v2-lite", "fix": {"recompute": ["any"]}, "framework": "megatron"},
]


def asked_of(**question: Any) -> Asked:
    """A question as a check has it, whatever runs the plans."""
    given = {"chips": 16, "batch_tokens": 2**17, "runnable_in": ["any"], "placement": "all"}
    request = request_from(given | question)
    model = resolve(request).cost
    clocks = model.clocks(wanted=True)[[0, -1]]
    return Asked(
        request=request, model=model, chips=(16,), more_chips=(), clocks=clocks, targets=(),
        orders=ORDERS,
    )  # fmt: skip


def candidates(asked: Asked, space: Space, rows: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    """(c, k, 2) seconds and joules of every order of some plans, and (c,) which plan each is."""
    orders = space.orders(rows)
    plan = np.repeat(np.arange(len(rows)), [len(some) for some in orders])
    placed = table([rows[at] for at in plan], [order for some in orders for order in some])
    points = []
    for clock in asked.clocks:
        costs = evaluate_totals(asked.model, replace(placed, clock=np.full(len(placed), clock)))
        points.append(np.stack([costs.step_time_s, costs.energy_j], axis=1))
    return np.stack(points, axis=1), plan


def sampled(space: Space, seed: int) -> list[Row]:
    """Plans of some partial plans of the space."""
    nodes, _ = space.nodes(space.meshes()[0])
    few = np.random.default_rng(seed).permutation(len(nodes))[:60]
    return space.plans([nodes[at] for at in few])[0]


@each("job", JOBS)
def test_no_candidate_is_below_the_bound_of_its_plan(job: dict[str, Any]) -> None:
    asked = asked_of(**job)
    space = Space(asked)
    rows = sampled(space, seed=1)
    bounds = plan_bounds(asked, rows, space.orders(rows))
    points, plan = candidates(asked, space, rows)
    assert len(points) > 100
    assert (bounds[plan] <= points * LIKE_THE_COSTS).all()


@each("job", JOBS)
def test_no_candidate_is_below_the_bound_of_its_partial_plan(job: dict[str, Any]) -> None:
    asked = asked_of(**job)
    space = Space(asked)
    rows = sampled(space, seed=2)
    points, plan = candidates(asked, space, rows)
    least = np.minimum.reduceat(points, np.flatnonzero(np.r_[True, plan[1:] != plan[:-1]]))
    of_node: dict[tuple[Any, int], list[int]] = defaultdict(list)
    for at, (node, choice) in enumerate(rows):
        for recompute in space.recomputes():
            if does_all_of(choice[3], recompute):
                of_node[node, recompute].append(at)
    nodes, codes = zip(*((node, (code,)) for node, code in of_node), strict=True)
    meshes = list(dict.fromkeys(mesh_of(node) for node in nodes))
    bounds = NodeBounds(asked, space, meshes).of(nodes, codes)
    for bound, members in zip(bounds, of_node.values(), strict=True):
        assert (bound <= least[members].min(axis=0) * LIKE_THE_COSTS).all()


def test_bounds_are_near_what_they_bound() -> None:
    asked = asked_of(**JOBS[0])
    space = Space(asked)
    rows = sampled(space, seed=3)
    bounds = plan_bounds(asked, rows, space.orders(rows))
    points, plan = candidates(asked, space, rows)
    assert np.median(bounds[plan] / points) > 0.9


@each("members", [2, 4, 8, 16, 32])
def test_no_gather_is_faster_than_the_least_per_byte(members: int) -> None:
    for name in ("dgx-h100-ndr", "tpu-v5p", "gb200-nvl72", "mi300x-8way"):
        model = resolve(request_from({"model": "llama3-8b", "hardware": name, "chips": 64})).cost
        one, size = np.ones(120, dtype=np.int64), 1e9
        mesh = Mesh(
            tp=one, cp=one, ep=one, etp=one, fsdp=one * members, dp=one * (64 // members), pp=one,
            order=np.arange(120),
        )  # fmt: skip
        found = networks(model, mesh)["shard"].gather_s(np.full(120, size))
        assert gather_s(model.fabric(64), members) * size <= found.min() * LIKE_THE_COSTS


def test_a_mesh_without_data_ranks_reduces_nothing() -> None:
    model = asked_of(**JOBS[0]).model
    assert reductions(model, (4, 1, 4, 1, 1, 1, 1)) == [(0.0, 0.0)]
    ((once, often),) = reductions(model, (1, 1, 1, 16, 1, 1, 1))
    assert once > 0.0 == often
    ((once, often),) = reductions(model, (1, 1, 1, 1, 16, 1, 1))
    assert often > 0.0 == once
