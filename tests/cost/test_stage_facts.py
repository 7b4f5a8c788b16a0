"""Facts per stage and per level: the fullest and the slowest of them are what the plan reports."""

from dataclasses import replace
from typing import Any

import pytest

import planner
from planner.cost.facts import PlanFacts
from planner.plan import Plan, Stage
from planner.results.result import EvaluateResult

A100: dict[str, Any] = {"hardware": "a100-sxm4-80", "batch_tokens": 2**18, "seq_len": 2048}
PIPED = Plan(dp=2, pp=4, micro_batch=1, schedule="1f1b", sharding="zero1", order=("dp", "pp"))
EVERY: dict[str, tuple[str, Plan]] = {
    "1f1b": ("llama2-7b", PIPED),
    "interleaved": ("llama2-7b", replace(PIPED, schedule="interleaved", interleave=2)),
    "gpipe": ("llama2-7b", replace(PIPED, schedule="gpipe")),
    "no pipeline": ("llama2-7b", replace(PIPED, pp=1, dp=8, recompute="full")),
    "explicit": (
        "llama2-7b",
        replace(
            PIPED,
            stages=(
                Stage(layers=9, recompute="full"), Stage(layers=8, clock=0.9),
                Stage(layers=8), Stage(layers=7),
            ),
        ),
    ),
    "experts": ("mixtral-8x7b", replace(PIPED, dp=2, tp=4, sequence_parallel=True, ep=2,
                                        order=("tp", "dp", "pp"))),
    "offloaded": ("llama2-7b", replace(PIPED, offload=("optimizer",))),
}  # fmt: skip


@pytest.fixture(scope="module", params=EVERY)
def answer(request: pytest.FixtureRequest) -> EvaluateResult:
    """One evaluated plan of each kind."""
    model, plan = EVERY[request.param]
    return planner.evaluate(plan, model=model, **A100)


def facts_of(answer: EvaluateResult) -> PlanFacts:
    """The facts, which every evaluated plan has."""
    assert answer.facts is not None
    return answer.facts


def test_there_is_one_entry_per_stage_with_all_layers(answer: EvaluateResult) -> None:
    stages = facts_of(answer).stages
    plan = answer.result.plan
    assert [stage.index for stage in stages] == list(range(plan.pp))
    assert sum(stage.layers for stage in stages) == 32
    assert [stage.embedding for stage in stages] == [True] + [False] * (plan.pp - 1)
    assert [stage.head for stage in stages] == [False] * (plan.pp - 1) + [True]
    moe = answer.question.job["model"] == "mixtral-8x7b"
    assert [stage.moe_layers for stage in stages] == [moe * stage.layers for stage in stages]


def test_the_fullest_stage_holds_what_the_plan_reports(answer: EvaluateResult) -> None:
    stages = facts_of(answer).stages
    for stage in stages:
        assert sum(stage.memory_bytes.values()) == pytest.approx(stage.total_bytes, rel=1e-12)
    fullest = max(stages, key=lambda stage: stage.total_bytes)
    result = answer.result
    assert fullest.total_bytes == pytest.approx(result.memory_per_chip_bytes, rel=1e-12)
    for name, value in fullest.memory_bytes.items():
        assert value == pytest.approx(result.memory_bytes[name], rel=1e-12), name
    assert max(s.host_bytes for s in stages) == pytest.approx(result.host_memory_bytes, rel=1e-12)


def test_the_slowest_stage_makes_the_step_with_what_waits_for_it(answer: EvaluateResult) -> None:
    """m micro-batches of the slowest stage are all of the step but what comes once, and sends."""
    result = answer.result
    slowest = max(stage.forward_s + stage.backward_s for stage in facts_of(answer).stages)
    named = ("compute", "memory_bound", "tensor_parallel", "context_parallel", "expert_parallel")
    steady = sum(result.time_s[name] for name in named)
    at_least = result.micro_batches * slowest
    beside = sum(result.time_s[n] for n in ("host", "data_parallel", "pipeline_transfer"))
    assert steady * (1 - 1e-9) <= at_least <= (steady + beside) * (1 + 1e-9)
    assert all(stage.forward_s < stage.backward_s for stage in facts_of(answer).stages)


def test_later_stages_of_1f1b_hold_fewer_micro_batches() -> None:
    """Stage i of p holds p - i (Narayanan et al., arXiv:2104.04473, section 2.2)."""
    model, plan = EVERY["1f1b"]
    stages = facts_of(planner.evaluate(plan, model=model, **A100)).stages
    held = [stage.memory_bytes["activations"] for stage in stages]
    assert held == pytest.approx([held[3] * (4 - i) for i in range(4)])


def test_explicit_stages_keep_their_choices() -> None:
    model, plan = EVERY["explicit"]
    stages = facts_of(planner.evaluate(plan, model=model, **A100)).stages
    assert [stage.layers for stage in stages] == [9, 8, 8, 7]
    assert [stage.recompute for stage in stages] == ["full", "none", "none", "none"]
    assert [stage.clock for stage in stages] == [1.0, 0.9, 1.0, 1.0]


def test_levels_hold_the_groups_and_carry_all_network_bytes(answer: EvaluateResult) -> None:
    facts, result = facts_of(answer), answer.result
    assert facts.levels[-1].domain_chips == result.chips
    for level in facts.levels:
        assert level.domains * level.domain_chips == result.chips
        assert level.wire_bytes == pytest.approx(
            level.busy_s * level.bytes_per_s * result.chips, rel=1e-12
        )
    crossed = {axis: names for axis, names in result.levels.items() if names}
    found: dict[str, list[str]] = {}
    for level in facts.levels:
        for axis in level.members:
            found.setdefault(axis, []).append(level.name)
    assert {axis: tuple(names) for axis, names in found.items()} == crossed


def test_json_has_them_for_the_plan(answer: EvaluateResult) -> None:
    document = answer.to_dict()
    facts = facts_of(answer)
    assert [row["total_bytes"] for row in document["per_stage"]] == [
        stage.total_bytes for stage in facts.stages
    ]
    assert [row["name"] for row in document["per_level"]] == [one.name for one in facts.levels]
    assert document["memory_limit_bytes"] == answer.memory_limit_bytes
    assert document["chip_memory_bytes"] >= answer.memory_limit_bytes
