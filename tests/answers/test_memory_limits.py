"""The memory that a plan may fill: as solve says it, so says evaluate, of every kind of plan."""

from dataclasses import replace
from typing import Any

from support.cases import each

import planner
from planner.plan import Plan, Stage
from planner.report.tables.terminal import fits_words
from planner.results.result import EvaluateResult

POOLS = {"dgx-h100-ndr": 8, "dgx-a100-80-hdr": 8}
ONE: dict[str, Any] = {"hardware": "h100-sxm5-80", "chips": 8}
UNEVEN: dict[str, Any] = {"layout": "uneven", "gap": 0.3}


@each(
    "asked",
    [ONE, {**ONE, **UNEVEN, "fix": {"pp": 2, "micro_batch": 2}}, {"pools": POOLS, **UNEVEN}],
)
def test_solve_and_evaluate_tell_the_same_limit(asked: dict[str, Any]) -> None:
    job = {"model": "gpt3-125m", "batch_tokens": 2**18}
    found = planner.solve(**job, **asked)
    limits = {name: asked[name] for name in asked if name in ("hardware", "pools", "chips")}
    again = planner.evaluate(found.require().plan, **job, **limits)
    assert found.facts is not None
    assert again.facts == found.facts
    assert again.memory_limit_bytes == found.facts.memory_limit_bytes
    alone = [replace(use, alone=None, alone_s=None) for use in found.stages.pools]
    assert list(again.pools) == alone


def test_a_plan_on_pools_may_have_more_risk_than_those_of_searches() -> None:
    def evaluated(**asked: Any) -> EvaluateResult:
        alike: dict[str, Any] = {"sharding": "zero3", "clock": 1.0}
        stages = (
            Stage(layers=12, pool="dgx-a100-80-hdr", **alike),
            Stage(layers=20, pool="dgx-h100-ndr", **alike),
        )
        plan = Plan(fsdp=8, pp=2, micro_batch=2, sharding="zero3", stages=stages)
        return planner.evaluate(plan, model="llama3-8b", batch_tokens=2**18, pools=POOLS, **asked)

    free, held = evaluated(), evaluated(max_oom_risk="5%")
    assert free.result.memory_per_chip_bytes > free.memory_limit_bytes == held.memory_limit_bytes
    assert free.fits
    assert not any(line.startswith("dgx-h100-ndr: memory:") for line in free.warnings)
    assert fits_words(free) == (
        "The plan fits: every pool has room for its stages, on dgx-h100-ndr more than searches "
        "fill."
    )
    assert not held.fits
    assert any(line.startswith("dgx-h100-ndr: memory:") for line in held.warnings)
