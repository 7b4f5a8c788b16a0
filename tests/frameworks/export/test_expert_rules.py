"""Targets that divide experts by tp cannot run plans whose experts are whole."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.plan import Plan, PlanTable

WIDE = Plan(fsdp=32, tp=2, sharding="zero3")
FOLDED = replace(WIDE, ep=8)


def refused(target: str, plan: Plan, model: str = "mixtral-8x7b") -> bool:
    one = TARGETS[target]
    case = replace(CASES["experts"], framework=one.framework, model=model)
    found = broken(case.cost(), PlanTable.from_plans([plan]), target=one)
    return any(rule.name.endswith("-experts") for rule, _ in found)


@each(
    ("target", "expected"),
    [
        ("megatron", False), ("megatron-bridge", False), ("torchtitan", True),
        ("accelerate", True), ("maxtext", True), ("jax", False), ("nanotron", False),
    ],
)  # fmt: skip
def test_tp_without_ep(target: str, expected: bool) -> None:
    assert refused(target, WIDE) == expected
    assert not refused(target, WIDE, "llama3-8b")


@each(("target", "expected"), [("torchtitan", False), ("maxtext", True)])
def test_tp_with_ep(target: str, expected: bool) -> None:
    assert refused(target, FOLDED) == expected


@each("target", ["torchtitan", "accelerate", "maxtext"])
def test_without_tp_experts_are_whole(target: str) -> None:
    assert not refused(target, Plan(fsdp=64, sharding="zero3"))
