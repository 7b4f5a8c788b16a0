"""Choices of single stages are checked and named like those of the plan."""

from dataclasses import replace

from support.cases import each

from cost.cases import case_of, runnable
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import broken, violations
from planner.frameworks.targets import TARGETS
from planner.plan import Plan, PlanTable, Stage


@each("sharding", ["zero1", "zero3"])
def test_stage_choices_are_checked_like_those_of_the_plan(sharding: str) -> None:
    """A TPU has one clock, and sharding needs ranks, whether a plan or its stages say so."""
    case = case_of(cluster="tpu-v5p", framework="jax")
    plan = Plan(pp=4, sharding="ddp", sequence_parallel=False, schedule="gpipe")
    halves = (Stage(layers=2),) * 3
    assert not runnable(case, replace(plan, clock=0.6))
    assert not runnable(case, replace(plan, stages=(*halves, Stage(layers=2, clock=0.6))))
    assert not runnable(case, replace(plan, sharding=sharding))
    assert not runnable(case, replace(plan, stages=(*halves, Stage(layers=2, sharding=sharding))))


def test_a_broken_rule_names_its_stage_once() -> None:
    """A stage that chooses for itself is named; stages that inherit a choice share one line."""
    case = case_of(cluster="tpu-v5p", framework="jax")
    plan = Plan(pp=4, sharding="ddp", sequence_parallel=False, schedule="gpipe")
    halves = (Stage(layers=2),) * 3

    def lines(plan: Plan) -> list[str]:
        return violations(case.model, PlanTable.from_plans([plan, replace(plan, stages=None)]))

    own = lines(replace(plan, stages=(*halves, Stage(layers=2, clock=0.6))))
    assert len(own) == 1
    assert own[0].startswith("stage 3: clock 0.6")
    inherited = lines(replace(plan, clock=0.6, stages=(*halves, Stage(layers=2))))
    assert len(inherited) == 2  # once for the plan with stages, once for the one without
    assert inherited[0] == inherited[1]


@each(
    ("plan", "words"),
    [
        (
            Plan(pp=4, interleave=3, schedule="interleaved"),
            "the 80 layers of llama2-70b do not divide into pp 4 x interleave 3 chunks by the rule "
            "'even'; nearest interleave with pp 4: 2 or 4",
        ),
        (
            Plan(pp=3),
            "the 80 layers of llama2-70b do not divide into pp 3 x interleave 1 chunks by the rule "
            "'even'; nearest pp: 2 or 4",
        ),
    ],
)
def test_layers_that_do_not_divide_say_what_to_change(plan: Plan, words: str) -> None:
    case = case_of("llama2-70b", layers=80, batch=96)
    plan = replace(plan, sharding="ddp", sequence_parallel=False)
    assert words in violations(case.model, PlanTable.from_plans([plan]))


def test_a_batch_that_does_not_divide_is_one_mistake() -> None:
    case = case_of("llama2-70b", layers=80, batch=64)
    plan = Plan(dp=15, pp=4, interleave=5, schedule="interleaved", sharding="zero1")
    lines = violations(case.model, PlanTable.from_plans([plan]))
    assert len(lines) == 1
    assert lines[0].startswith("dp 15 x fsdp 1 x micro-batch 1 does not divide the global batch")


@each(
    ("framework", "model", "plan", "words"),
    [
        ("torchtitan", "mixtral-8x7b", Plan(dp=8, fsdp=2, ep=4, sharding="zero3"),
         "torchtitan takes the ranks of ep 4 from tp x cp x fsdp = 2, not from the replicas of dp; "
         "nearest ep: 2"),
        ("torchtitan", "llama3-8b", Plan(dp=4, cp=2, sharding="ddp"),
         "torchtitan shards weights over cp 2, so that ddp needs cp 1; use zero3"),
        ("torchtitan", "llama3-8b", Plan(pp=4, fsdp=16, sharding="zero3"),
         "torchtitan runs 1f1b with at least pp 4 micro-batches, not with 2"),
        ("fsdp", "llama3-8b", Plan(dp=8, tp=2, sharding="ddp"),
         "accelerate has the dp 8 replicas beside tp 2 and cp 1 only with fsdp > 1; move ranks "
         "from dp to fsdp"),
        ("jax", "llama3-8b", Plan(pp=2, dp=32, schedule="gpipe", sharding="ddp"),
         "jax runs pipelines with micro-batches that are a multiple of pp 2, not 1"),
    ],
)  # fmt: skip
def test_what_frameworks_refuse(framework: str, model: str, plan: Plan, words: str) -> None:
    cluster = "tpu-v5p" if framework == "jax" else "dgx-h100-ndr"
    case = case_of(model, cluster=cluster, framework=framework, batch=32)
    split = FRAMEWORKS[framework].splits[0]
    plan = replace(plan, sequence_parallel=plan.tp > 1, split=split)
    assert violations(case.model, PlanTable.from_plans([plan])) == [words]


def test_torchtitan_0_2_divides_sequences_by_two_whatever_is_parallel() -> None:
    plan = Plan(fsdp=8, sharding="zero3", sequence_parallel=False, split="front-counted")
    case = case_of(framework="torchtitan", seq_len=4097)
    table, target = PlanTable.from_plans([plan]), TARGETS["torchtitan"]
    early = {rule.name for rule, _ in broken(case.model, table, target=target, version="0.2")}
    assert "torchtitan-even-sequence-0.2" in early
    assert violations(case.model, table) == []
    assert violations(case.model, PlanTable.from_plans([replace(plan, fsdp=4, cp=2)])) != []


def test_rules_of_a_framework_hold_for_those_derived_from_it() -> None:
    plan = Plan(pp=4, dp=2, offload=("weights",))
    line = "megatron moves weights to the host without a pipeline only, not with pp 4"
    for framework in ("megatron", "megatron-zb"):
        case = case_of(framework=framework)
        assert violations(case.model, PlanTable.from_plans([plan])) == [line]
