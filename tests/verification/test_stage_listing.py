"""What the check of stages that differ lists is what the search lists, by code of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cases import each

from planner.answers.api import solve_request
from planner.answers.evaluation import options_of
from planner.answers.files.stage_proof import stage_proof
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, request_from
from planner.question.resolved import resolve
from planner.search.pools.rows import pooled_rows
from planner.search.space import Trail
from planner.search.uneven.aligned import fullest_devices
from planner.search.uneven.bounds.time import partial_plan_lower
from planner.search.uneven.counts import logical_meshes
from planner.search.uneven.rows import uneven_partial_plans
from planner.verification.asked import asked_of_one
from planner.verification.faults import Fault
from planner.verification.stages.checking import verify_stages
from planner.verification.stages.document import archive, opened
from planner.verification.stages.funnel import Listed, check_funnel
from planner.verification.stages.listing import MachineSpace, PoolSpace

SMALL = {"model": "gpt3-350m", "hardware": "dgx-h100-ndr", "chips": 8, "batch_tokens": 2**16}
LARGE = {"model": "llama3-8b", "hardware": "a100-sxm4-80", "chips": 8, "batch_tokens": 2**17}
ON_POOLS = {"model": "gpt3-350m", "batch_tokens": 2**17, "precision": "bf16"}
BOTH = {"dgx-h100-ndr": 8, "dgx-a100-80-hdr": 4}
FEW = {"dgx-h100-ndr": 2, "dgx-a100-80-hdr": 2}
MACHINES: tuple[dict[str, Any], ...] = (
    SMALL,
    {**SMALL, "placement": "all", "axes": ["pp", "tp", "dp"]},
    {**SMALL, "fix": {"schedule": ["interleaved"]}},
    {**SMALL, "fix": {"interleave": ["5", "1"]}},
    {**SMALL, "layout": "11,13"},
    {**SMALL, "framework": "textbook"},
    {**SMALL, "runnable_in": ["any"], "fix": {"sharding": ["zero3"]}},
    {**LARGE, "framework": "torchtitan"},
    {**LARGE, "model": "mixtral-8x7b", "hardware": "dgx-h100-ndr", "chips": 24},
)
POOLS: tuple[dict[str, Any], ...] = (
    {**ON_POOLS, "pools": BOTH},
    {**ON_POOLS, "pools": BOTH, "placement": "all"},
    {**ON_POOLS, "pools": BOTH, "layout": "3,9,12"},
    {**ON_POOLS, "pools": BOTH, "fix": {"sequence_parallel": ["true"], "sharding": ["zero1"]}},
    {**ON_POOLS, "pools": BOTH, "model": "llama3-8b", "framework": "megatron"},
)


@each("question", MACHINES)
def test_partial_plans_are_those_of_the_search(question: dict[str, Any]) -> None:
    resolved = resolve(request_from({"layout": "uneven", **question}))
    targets = resolved.runners.targets
    searched = uneven_partial_plans(
        resolved.cost, (resolved.chips,), options_of(resolved.request, targets)
    )
    listed = MachineSpace(asked_of_one(resolved, targets)).first_step()
    assert (listed.rows, listed.meshes) == (len(searched), len(logical_meshes(searched)))
    assert listed.rows > 0
    lower = partial_plan_lower(resolved.cost, searched, options_of(resolved.request, targets))
    assert listed.least_s is not None
    np.testing.assert_allclose(np.sort(listed.least_s), np.sort(lower), rtol=1e-11)


@each("question", POOLS)
def test_rows_on_pools_are_those_of_the_search(question: dict[str, Any]) -> None:
    resolved = resolve_pools(request_from({"layout": "uneven", **question}), ARGUMENTS)
    searched = pooled_rows(resolved.pools, options_of(resolved.request))
    first = asked_of_one(resolved.each[0])
    asked = replace(first, request=resolved.request, chips=(resolved.chips,))
    listed = PoolSpace(asked, resolved.pools).first_step()
    assert (listed.rows, listed.meshes) == (len(searched), len(searched.logical_meshes))
    assert listed.rows > 0


def test_every_interleaved_row_becomes_one_to_three() -> None:
    """`planner.verification.stages.funnel` holds the steps to it."""
    shapes = [(n, pp, v) for n in (1, 7, 24, 61) for pp in range(2, n + 3) for v in (2, 3, 5, 8)]
    found = {len(fullest_devices(n, pp, v)) for n, pp, v in shapes if pp * v <= n + 2}
    assert found <= {1, 2, 3}


HONEST: tuple[dict[str, Any], ...] = (
    {**SMALL, "front_points": 1},
    {**SMALL, "front_points": 1, "max_power": 7000},
    {**SMALL, "front_points": 1, "fix": {"pp": ["4"], "interleave": ["2"]}},
    {**SMALL, "front_points": 1, "fix": {"pp": ["2"]}, "layout": "11,13", "runnable_in": ["any"]},
    {**LARGE, "front_points": 1, "placement": "all", "fix": {"pp": ["2"]}},
    {**LARGE, "front_points": 1, "gap": 0.05},
    {**LARGE, "front_points": 1, "framework": "torchtitan", "fix": {"pp": ["2"]}},
    {**ON_POOLS, "pools": BOTH, "gap": 0.03},
    {**ON_POOLS, "pools": FEW, "batch_tokens": 2**15, "max_power": 4500, "min_mfu": 0.01},
)


@each("question", HONEST)
def test_proofs_of_other_questions_are_verified(question: dict[str, Any]) -> None:
    request, trail = request_from({"layout": "uneven", **question}), Trail()
    found = verify_stages(stage_proof(request, trail, solve_request(request, trail=trail)))
    assert found.verified, found.fault


UNIFORM_BEST = {**SMALL, "front_points": 1, "layout": "uneven"}


@pytest.fixture(scope="module")
def of_uniform() -> bytes:
    """The proof of a job whose best plan has stages that are alike."""
    request, trail = request_from(UNIFORM_BEST), Trail()
    return stage_proof(request, trail, solve_request(request, trail=trail))


@each(("changes", "said"), [
    ({"fix": {"sharding": ["zero3"]}}, "is not what the question fixes"),
    ({"fix": {"recompute": ["full"]}}, "is not what the question fixes"),
    ({"fix": {"micro_batch": ["64"]}}, "is not what the question fixes"),
    ({"axes": ["tp"]}, "is not what the question fixes"),
    ({"layout": "12,12"}, "layers of the stages are not those that are given"),
    ({"max_step_time": 0.001}, "breaks a limit"),
    ({"min_mfu": 0.99}, "breaks a limit"),
    ({"max_memory": 1e8}, "does not fit in memory"),
])  # fmt: skip
def test_a_uniform_best_plan_is_held_to_the_question(
    changes: dict[str, Any], said: str, of_uniform: bytes
) -> None:
    document, _, texts = opened(of_uniform, "proof")
    assert document["best"]["plan"].get("stages") is None
    changed = {**document, "question": {**document["question"], **changes}}
    found = verify_stages(archive(changed, texts))
    assert said in found.fault, found.fault


def test_a_funnel_that_time_ended_is_whole_only_where_time_was_limited(of_uniform: bytes) -> None:
    _, own, _ = opened(of_uniform, "proof")
    short = own.model_copy(update={"funnel": own.funnel[:1]})
    first = own.funnel[0]
    listed = Listed(first="LB0", rows=first.rows, meshes=first.meshes, timed=True)
    check_funnel(short, listed)
    with pytest.raises(Fault, match="does not end with stages"):
        check_funnel(short, replace(listed, timed=False))


def test_what_the_first_step_left_has_no_more_than_its_least_bound(of_uniform: bytes) -> None:
    _, own, _ = opened(of_uniform, "proof")
    first = own.funnel[0].model_copy(update={"dropped": 0, "lowest": None})
    bounds = np.linspace(2.0, 3.0, first.rows)
    listed = Listed(first="LB0", rows=first.rows, meshes=first.meshes, timed=True, least_s=bounds)
    for stated, honest in ((1.5, True), (2.0, True), (2.001, False), (2.9, False)):
        claim = own.claim.model_copy(update={"left": first.rows, "lowest_left": stated})
        short = own.model_copy(update={"funnel": [first], "claim": claim})
        if honest:
            check_funnel(short, listed)
            continue
        with pytest.raises(Fault, match="the bound of the rows left is 2, not 2"):
            check_funnel(short, listed)
        check_funnel(short, replace(listed, least_s=None))
