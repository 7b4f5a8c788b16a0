"""Adapters and preference pairs cost what the scalar reference says, to 1e-9."""

from dataclasses import replace
from typing import Any

from support.cases import each

from cost.cases import Case, case_of
from cost.test_cost_reference import check, check_moved
from planner.plan import Plan

DENSE = (
    Plan(dp=16, sharding="ddp", micro_batch=2),
    Plan(dp=8, tp=2, sharding="zero1", micro_batch=2, recompute="full"),
    Plan(dp=4, tp=2, pp=2, sharding="zero2", micro_batch=2, recompute="selective"),
    Plan(fsdp=16, sharding="zero3", micro_batch=2),
    Plan(fsdp=4, tp=2, pp=2, sharding="zero3", micro_batch=2, recompute="full"),
    Plan(dp=2, cp=2, tp=2, pp=2, sharding="zero1", micro_batch=4),
    Plan(dp=2, cp=2, tp=4, sharding="ddp", cp_mode="all-to-all", micro_batch=2),
    Plan(dp=4, pp=4, sharding="zero1", micro_batch=2, schedule="interleaved", interleave=2),
)
EXPERTS = (Plan(dp=16, ep=8, sharding="zero1", micro_batch=2),
           Plan(fsdp=8, pp=2, ep=4, sharding="zero3", micro_batch=2, recompute="full"))  # fmt: skip
TUNED: tuple[dict[str, Any], ...] = (
    {"kind": "lora"},
    {"kind": "lora", "adapter": "dora"},
    {"kind": "lora", "adapter": "dora", "frozen_weights": "nf4", "lora_dropout": 0.1},
)
PAIRS: tuple[dict[str, Any], ...] = (
    {"kind": "finetune", "reference": "model"},
    {"kind": "finetune", "reference": "precomputed"},
    {"kind": "lora", "reference": "adapters", "adapter": "dora", "lora_dropout": 0.1},
    {"kind": "lora", "reference": "model", "frozen_weights": "nf4"},
    {"kind": "lora", "reference": "adapters", "frozen_weights": "nf4"},
)


def case(model: str, framework: str, changes: dict[str, Any], **assumed: Any) -> Case:
    one = case_of(model, batch=64, seq_len=2048, framework=framework)
    one = replace(one, job=replace(one.job, **changes))
    return one.assuming(**assumed) if assumed else one


@each(("framework", "assumed"), [
    ("megatron", {}),
    ("torchtitan", {"adapts_mlp": True, "hides_gather": False}),
    ("torchtitan", {"adapts_mlp": False, "hides_gather": True}),
    ("fsdp", {"adapts_mlp": True}),
])  # fmt: skip
def test_tuning_costs_what_the_reference_says(framework: str, assumed: dict[str, Any]) -> None:
    for model, plans in (("llama3-8b", DENSE), ("mixtral-8x7b", EXPERTS)):
        for changes in (*TUNED, *PAIRS):
            one = case(model, framework, changes, **assumed)
            found = one.run(plans)
            for row, plan in enumerate(plans):
                check(one, plan, found, row)
                check_moved(one, plan, found, row)
