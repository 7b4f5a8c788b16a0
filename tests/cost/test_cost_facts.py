"""What is said of a plan beside its cost: levels of the network, and schedules of collectives."""

import math
from typing import Any

import numpy as np

from planner.cost.communication.algorithms import AssumedCollective, assumed_collectives
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.facts import LevelFacts, levels_of
from planner.plan import Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve


def model_of(**job: Any) -> CostModel:
    """The cost model of a question of 16 sequences of 2,048 tokens."""
    return resolve(request_from({"batch_tokens": 32768, "seq_len": 2048, **job})).cost


def levels(model: CostModel, plan: Plan) -> list[LevelFacts]:
    """The levels under a plan, where so many bytes cross the first, the second, ..."""
    plans = PlanTable.from_plans([plan])
    found = evaluate_table(model, plans)
    names = [level.name for level in model.cluster.levels]
    crossing = {name: np.array([1e9 * (at + 1)]) for at, name in enumerate(names)}
    assert set(found.wire_bytes) == set(names)

    class Evaluated:
        columns = type("Columns", (), {"plans": plans})

    return levels_of(model, Evaluated(), crossing)  # type: ignore[arg-type]


def test_levels_of_two_slices() -> None:
    """The torus is said of the innermost level alone; each level has its own rate and reach."""
    model = model_of(
        model="llama2-7b", hardware="tpu-v5e", chips=512, batch_tokens=2**21, framework="jax"
    )
    plan = Plan(tp=16, fsdp=32, sharding="zero3", sequence_parallel=True, order=("tp", "fsdp"))
    inner, outer = levels(model, plan)
    assert [(axis.name, axis.length) for axis in inner.torus] == [("x", 16), ("y", 16)]
    assert [axis.parts for axis in inner.torus] == [(("tp", 16),), (("fsdp", 16),)]
    assert outer.torus == ()
    assert (inner.domain_chips, inner.domains) == (256, 2)
    assert (outer.domain_chips, outer.domains) == (512, 1)
    assert (inner.members["fsdp"], outer.members["fsdp"]) == ((1, 16, 32), (16, 32, 32))


def test_levels_of_nodes_and_racks() -> None:
    model = model_of(model="llama2-7b", hardware="dgx-h100-ndr", chips=64)
    found = levels(model, Plan(tp=8, dp=8, sequence_parallel=True))
    fabric = model.fabric(64)
    assert [level.name for level in found] == [level.name for level in fabric.levels][:2]
    for level, of_fabric in zip(found, fabric.levels, strict=False):
        assert level.torus == ()
        assert level.domain_chips == min(of_fabric.domain, 64)
        assert level.domains == math.ceil(64 / level.domain_chips)
        assert level.busy_s == level.wire_bytes / 64 / of_fabric.bytes_per_s
    assert found[0].members["tp"] == (1, 8, 8)
    assert found[1].members["dp"] == (1, 8, 8)


def by_kind(model: CostModel, plan: Plan) -> dict[tuple[str, str], AssumedCollective]:
    return {(one.axis, one.collective): one for one in assumed_collectives(model, plan)}


def test_a_synthesized_schedule_is_that_of_its_group() -> None:
    """Chunks, steps and rounds are read from the table of the wiring, the group's own."""
    model = model_of(
        model="gpt3-1.3b", hardware="dgx1-v100", chips=16, collectives="synthesized",
        precision="fp16",
    )  # fmt: skip
    level = model.fabric(16).levels[0]
    assert level.table is not None
    for tp in (2, 4, 8):
        plan = Plan(tp=tp, dp=16 // tp, sequence_parallel=True)
        found = by_kind(model, plan)["tp", "all-gather"]
        assert (found.algorithm, found.members) == ("synthesized", tp)
        (group,) = [one for one in level.table.groups if one.members == tuple(range(tp))]
        assert found.schedule in {point.words for point in group.gather}
        assert found.levels == (level.name,)
