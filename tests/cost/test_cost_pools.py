"""Plans on pools of chips, against the same plans on one cluster."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model, moe_model

from planner.base.vocabulary import BOUNDARIES
from planner.cost.energy.boundaries import PRINTED
from planner.cost.energy.facility import Facility
from planner.cost.energy.meter import pooled_meter
from planner.cost.evaluate import evaluate_table
from planner.cost.pools.evaluate import evaluate_pooled
from planner.cost.pools.pools import Pool, network_w
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


def test_the_meter_of_pools_is_that_of_their_chips() -> None:
    """Hosts and network outside of it, those of each pool's own chips; the facility as one."""
    models = [
        replace(
            cost_model(dense_model(5, 2048, 16, 16, 8192), name, global_batch=8),
            facility=Facility.of(1.2),
        )
        for name in ("dgx-h100-ndr", "dgx-a100-80-hdr")
    ]
    pools = tuple(
        Pool(name=f"pool {chips}", chips=chips, model=model)
        for chips, model in zip((16, 32), models, strict=True)
    )
    chip, node, printed, facility = (
        pooled_meter(pools, one) for one in (*BOUNDARIES[:2], PRINTED, BOUNDARIES[-1])
    )
    hosts = sum(pool.chips * pool.model.chip.host_w for pool in pools)
    network = sum(pool.chips * network_w(pool, 48) for pool in pools)
    assert chip.outside_w == pytest.approx(hosts + network)
    assert node.outside_w == pytest.approx(network)
    assert network > 0
    assert (printed.scale, printed.outside_w) == (1.0, 0.0)
    assert (facility.scale, facility.outside_w) == (1.2, 0.0)
