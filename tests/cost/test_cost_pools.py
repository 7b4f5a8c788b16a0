"""Plans on pools of chips, against the same plans on one cluster."""

from dataclasses import replace
from itertools import product

import numpy as np
from support.cases import each
from support.jobs import cost_model, dense_model, moe_model

from planner.cost.evaluate import evaluate_table
from planner.cost.pools.evaluate import evaluate_pooled
from planner.cost.pools.pools import Pool
from planner.plan import Plan, PlanTable, Stage

SCHEDULES = ("1f1b", "gpipe", "zero-bubble")


@each("schedule, recompute, experts", product(SCHEDULES, ("none", "full"), (False, True)))
def test_two_pools_of_one_chip_are_one_cluster(
    schedule: str, recompute: str, *, experts: bool
) -> None:
    job = moe_model(5, 4) if experts else dense_model(5, 2048, 16, 16, 8192)
    model = cost_model(job, "dgx-h100-ndr", global_batch=8, framework="megatron-zb")
    pools = tuple(Pool(name=name, chips=16, model=model) for name in ("one", "two"))
    names = ("one", "one", "two", "two")
    stages = tuple(Stage(layers=n, pool=p) for n, p in zip((1, 2, 1, 1), names, strict=True))
    plan = Plan(
        tp=4, dp=2, pp=4, micro_batch=2, schedule=schedule, recompute=recompute, stages=stages
    )
    bare = replace(plan, stages=tuple(replace(stage, pool=None) for stage in stages))
    whole = evaluate_table(model, PlanTable.from_plans([bare]))
    costs = evaluate_pooled(pools, plan).costs
    for name in (
        "step_time_s", "mfu", "hfu", "flop", "memory_traffic_bytes", "memory_per_chip_bytes"
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(costs, name), getattr(whole, name), rtol=1e-12)
    np.testing.assert_allclose(costs.energy.total, whole.energy.total, rtol=1e-12)
    for level, moved in whole.wire_bytes.items():
        np.testing.assert_allclose(costs.wire_bytes[level], moved, rtol=1e-9)
    parts = sum(costs.time_parts.values())
    np.testing.assert_allclose(parts, costs.step_time_s, rtol=1e-9)
    np.testing.assert_allclose(sum(costs.energy.parts.values()), costs.energy.total, rtol=1e-9)
