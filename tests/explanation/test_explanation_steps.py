"""What binds a plan, and what one step in each direction would change."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner
from explanation.cases import JOB, PLAN, answer, resolved
from hardware_db import FrozenMap
from planner.assumptions.assumptions import calibrated
from planner.cost.evaluate import evaluate_table
from planner.explanation.answer import Step
from planner.explanation.causes import CAPACITY, KINDS, binding_of
from planner.explanation.judging import Refusal, binding_stages, over
from planner.explanation.reliefs import Relief, reliefs
from planner.explanation.sensitivity.rebuilding import Rebuilding, rebuilding
from planner.explanation.steps.neighbors import Judged
from planner.frameworks.rules import all_rules
from planner.plan import Plan, PlanTable
from planner.results.plan import PlanResult, plan_results


def steps_of(direction: str) -> list[Step]:
    """The steps of the plan in one direction."""
    return [step for step in answer().explained.steps if step.direction == direction]


def test_a_step_costs_what_evaluate_says_of_its_plan() -> None:
    checked = [step.result for step in steps_of("plan") if step.result is not None]
    for result in checked:
        alone = planner.evaluate(result.plan, **JOB).result
        assert (alone.step_time_s, alone.energy_per_step_j, alone.memory_per_chip_bytes) == (
            result.step_time_s, result.energy_per_step_j, result.memory_per_chip_bytes,
        )  # fmt: skip
        assert alone.step_time_high_s == result.step_time_high_s
    assert len(checked) >= 10


def test_every_direction_is_there() -> None:
    changes = {step.change for step in steps_of("plan")}
    wanted = {
        "tp 4, dp 2", "dp 8, tp 1", "cp 2, dp 2", "pp 4, dp 2", "dp 8, pp 1", "micro-batch 4",
        "micro-batch 1", "recompute full", "ddp", "zero2", "zero3 over 4", "clock 0.9",
        "without sequence parallelism", "offload optimizer", "tp 4, pp 1", "pp 4, tp 1",
    }  # fmt: skip
    assert wanted <= changes, wanted - changes
    assert any(change.startswith("interleave 2") for change in changes)
    assert [step.change for step in steps_of("scale")] == [
        "twice the chips (dp doubled)", "twice the batch",
    ]  # fmt: skip
    machines = {step.change.split(",")[0] for step in steps_of("machine")}
    assert machines == {
        "nvlink twice as fast", "leaf twice as fast", "memory twice as fast",
        "chip that computes twice as fast", "host twice as fast", "twice the memory",
    }  # fmt: skip


def test_relative_changes_are_those_of_the_costs() -> None:
    base = answer().result
    for step in answer().explained.steps:
        if step.result is None:
            assert step.time is None
            continue
        assert step.time == pytest.approx(base.tokens_per_s / step.result.tokens_per_s - 1)
        if step.change != "twice the batch":
            ratio = step.result.energy_per_step_j / base.energy_per_step_j
            assert step.energy == pytest.approx(ratio - 1)


def test_a_faster_chip_is_one_with_twice_the_peaks() -> None:
    """Against a model that is built from a changed record."""
    request, cost = resolved().request, resolved().cost
    rates = {name: 2 * rate for name, rate in cost.chip.peak_flop_per_s.items()}
    chip = replace(cost.chip, peak_flop_per_s=FrozenMap(rates))
    model = replace(
        cost,
        cluster=replace(cost.cluster, chip=chip),
        assumptions=calibrated(chip, cost.job.era, cost.job.precision),
    )
    time = float(evaluate_table(model, PlanTable.from_plans([PLAN])).step_time_s[0])
    (step,) = [s for s in steps_of("machine") if s.change == "chip that computes twice as fast"]
    assert step.result is not None
    assert step.result.step_time_s == time
    assert request.assumptions == "calibrated"


def test_twice_the_batch_is_compared_per_token() -> None:
    (step,) = [s for s in steps_of("scale") if s.change == "twice the batch"]
    alone = planner.evaluate(PLAN, **{**JOB, "batch_tokens": 2 * JOB["batch_tokens"]}).result
    assert step.result is not None
    assert step.result.step_time_s == alone.step_time_s
    assert step.time == pytest.approx(alone.step_time_s / answer().result.step_time_s / 2 - 1)
    assert "per token" in step.verdict


MOE = {"model": "mixtral-8x7b", "seq_len": 4096}
BOUND: dict[str, tuple[Plan, dict[str, Any], str]] = {
    "compute": (Plan(dp=8, micro_batch=4), {}, ""),
    "tensor_parallel": (Plan(tp=8, micro_batch=8), {}, "scale_up_efficiency: 0.02"),
    "bubble": (Plan(pp=8, dp=2, micro_batch=64), {}, ""),
    "memory_bound": (Plan(dp=8, micro_batch=4), {}, "elementwise: 60.0"),
    "host": (Plan(dp=8, micro_batch=1), {}, "host_s_per_layer: 0.5"),
    "data_parallel": (Plan(dp=16, micro_batch=4), {}, "scale_out_efficiency: 0.002"),
    "optimizer": (Plan(dp=8, micro_batch=4), {}, "optimizer_traffic_bytes: 90000.0"),
    "pipeline_transfer": (Plan(pp=8, micro_batch=1), {}, "scale_up_efficiency: 0.0005"),
    "context_parallel": (Plan(cp=16, micro_batch=1), {}, "scale_out_efficiency: 0.002"),
    "expert_parallel": (Plan(dp=8, ep=8), MOE, "scale_up_efficiency: 0.005"),
    "offload": (Plan(dp=8, offload=("weights",)), {}, "host_link_overlap: 0.0"),
}


def bound(
    plan: Plan, changes: dict[str, Any], line: str, folder: Path
) -> tuple[Rebuilding, PlanResult]:
    """How the model of a case is made, and what its plan costs."""
    if line:
        file = folder / "assumed.yaml"
        file.write_text(line + "\n", encoding="utf-8")
        changes = {**changes, "assumptions": str(file)}
    made = rebuilding(resolved(**changes))
    table = PlanTable.from_plans([plan])
    return made, plan_results(made.model, table, evaluate_table(made.model, table))[0]


@each("cause", BOUND)
def test_what_binds_is_what_twice_as_much_relieves_most(cause: str, tmp_path: Path) -> None:
    made, result = bound(*BOUND[cause], tmp_path)
    assert cause == max(result.time_s, key=lambda name: result.time_s[name])
    gains = {one.change: one.gain for one in reliefs(made, result)}
    found = binding_of(float("inf"), result, [], reliefs(made, result))
    assert found.part == cause
    assert found.kind == KINDS[cause]
    assert found.share == result.time_s[cause] / result.step_time_s
    if cause == "bubble":
        assert (found.relief, found.gain) == ("no bubble", found.share)
    else:
        assert (gains[found.relief], max(gains.values())) == (found.gain, found.gain)
        assert 0.2 < found.gain < 0.7
    assert found.sentence.count(". ") == 0
    assert found.sentence.endswith(".")
    if found.kind == "communication":
        assert found.levels == tuple(dict.fromkeys(
            name for axis in found.axes for name in result.levels[axis]))  # fmt: skip
        assert found.levels
        assert all(level in found.sentence for level in found.levels)


def test_a_relief_is_the_step_on_that_machine() -> None:
    made = rebuilding(resolved())
    saved = {one.change: -one.gain for one in reliefs(made, answer().result)}
    told = {s.change: s.time for s in steps_of("machine") if not s.change.startswith("twice")}
    assert saved == pytest.approx(told, abs=1e-12)


def test_the_largest_part_does_not_bind_where_nothing_relieves_it(tmp_path: Path) -> None:
    """tp 16: messages wait for software, faster wires save 1 %; launching twice as fast 23 %."""
    made, result = bound(Plan(tp=16, micro_batch=8), {}, "", tmp_path)
    assert max(result.time_s, key=lambda name: result.time_s[name]) == "tensor_parallel"
    found = binding_of(float("inf"), result, [], reliefs(made, result))
    assert (found.kind, found.part, found.relief) == ("host", "host", "host twice as fast")
    assert found.gain == pytest.approx(0.235, abs=0.01)


def kept_out(plan: Plan, gain: float, held: float) -> tuple[PlanResult, Judged]:
    """A plan that takes 80 GB, and one that would save time with other bytes but does not fit."""
    result = replace(planner.evaluate(plan, **JOB).result, memory_per_chip_bytes=80e9)
    other = replace(result, step_time_s=result.step_time_s * (1 - gain), memory_per_chip_bytes=held)
    refusal = Refusal(reason="memory", words="memory: much of little")
    return result, Judged(change="zero1", result=other, refusal=refusal)


@each(
    ("gain", "held", "kind"),
    [(0.4, 150e9, CAPACITY), (0.2, 150e9, "compute"), (0.4, 180e9, "compute")],
)
def test_memory_binds_where_twice_as_much_of_it_saves_most(
    gain: float, held: float, kind: str
) -> None:
    result, near = kept_out(PLAN, gain, held)
    faster = Relief(change="chip twice as fast", kind="compute", level="", gain=0.3)
    found = binding_of(85e9, result, [near], [faster])
    assert found.kind == kind
    assert (found.kept_out, found.memory_gain) == ("zero1", pytest.approx(gain))
    assert found.gain == pytest.approx(gain if kind == CAPACITY else 0.3)
    assert ("does not fit (memory: much of little)" in found.sentence) == (kind == CAPACITY)


def test_a_gain_that_ties_does_not_decide_what_binds() -> None:
    result, near = kept_out(PLAN, 0.1, 150e9)
    slower = Relief(change="chip twice as fast", kind="compute", level="", gain=0.05)
    kinds = {
        tie: binding_of(85e9, result, [near], [slower], memory_tie=tie).kind
        for tie in (True, False, None)
    }
    assert kinds == {True: "compute", False: CAPACITY, None: CAPACITY}


def test_a_tie_that_memory_keeps_out_is_called_one() -> None:
    """Twice the micro-batch saves less than the noise of two plans."""
    plan = Plan(dp=16, micro_batch=2, sharding="zero1")
    larger = planner.evaluate(replace(plan, micro_batch=4), **JOB).result
    found = planner.explain(plan, **JOB, max_memory=0.99 * larger.memory_per_chip_bytes)
    binding = found.explained.binding
    assert (binding.kept_out, binding.memory_tie) == ("micro-batch 4", True)
    assert binding.memory_gain == 1 - larger.step_time_s / found.result.step_time_s > 0.03
    assert binding.kind != CAPACITY
    assert found.explained.why[1].startswith("Memory keeps out a plan that ties with this one: ")


def test_a_faster_plan_that_memory_keeps_out_has_its_own_sentence() -> None:
    plan = Plan(dp=8, micro_batch=4, recompute="full")
    without = planner.evaluate(replace(plan, recompute="none"), **JOB).result
    held = planner.evaluate(plan, **JOB).result
    between = (held.memory_per_chip_bytes + without.memory_per_chip_bytes) / 2
    found = planner.explain(plan, **JOB, max_memory=between).explained
    assert found.binding.kind == "compute"
    assert found.binding.memory_gain == 1 - without.step_time_s / held.step_time_s > 0.1
    assert found.why[0] == found.binding.sentence
    assert found.why[1].startswith("Memory keeps out a faster plan: recompute none would take ")
    (step,) = [step for step in found.steps if step.change == "recompute none"]
    assert step.refusal is not None
    assert (step.refusal.reason, step.refusal.allowed) == ("memory", between)
    assert step.refusal.needed == without.memory_per_chip_bytes
    assert re.fullmatch(r"memory: [\d.]+ of [\d.]+ GB", step.verdict)
    roomy = planner.explain(plan, **JOB).explained
    assert (roomy.binding.kept_out, roomy.binding.memory_gain) == ("", 0.0)
    assert not any("keeps out" in line for line in roomy.why)


def test_a_plan_that_does_not_fit_is_bound_by_memory() -> None:
    found = planner.explain(PLAN, **JOB, max_memory="1GB").explained
    assert found.binding.kind == CAPACITY
    assert "does not fit" in found.binding.sentence


def test_the_stage_that_overflows_is_named() -> None:
    found = planner.explain(Plan(pp=4, dp=2, micro_batch=8), **JOB, max_memory="8GB").explained
    words = [step.verdict for step in found.steps if step.refusal and step.refusal.needed]
    assert any(re.fullmatch(r"memory: [\d.]+ of 8 GB on stage [0-7]", line) for line in words), (
        words
    )


def test_a_stage_is_the_fullest_of_the_plan() -> None:
    """Behind the words: stage 0 holds the most micro-batches in flight, the last the logits."""
    plan = Plan(pp=4, dp=2, micro_batch=8)
    model, table = resolved().cost, PlanTable.from_plans([plan, replace(plan, pp=1, dp=8)])
    costs = evaluate_table(model, table)
    words = binding_stages(model, table, costs)
    assert words[1] == ""
    (facts,) = [planner.evaluate(plan, **JOB).facts]
    assert facts is not None
    held = [stage.total_bytes for stage in facts.stages]
    assert words[0] == f" on stage {held.index(max(held))}"


def test_a_broken_rule_names_its_source() -> None:
    refused = [s for s in steps_of("plan") if s.result is None]
    sources = {rule.name: rule.source for rule in all_rules()}
    assert refused
    for step in refused:
        assert step.refusal is not None
        assert step.refusal.source == sources[step.refusal.reason]
    counts: dict[str, int] = {}
    for step in steps_of("plan"):
        if step.refusal is not None:
            counts[step.refusal.reason] = counts.get(step.refusal.reason, 0) + 1
    assert dict(answer().explained.refused) == counts


@each(
    ("value", "limit", "words"),
    [
        (92.1e9, 80e9, "92.1 of 80 GB"),
        (80.0004e9, 80e9, "80.0004 of 80 GB"),
        (1.5, 1.2, "1.5 of 1.2 B"),
        (3e12, 800e9, "3,000 of 800 GB"),
    ],
)
def test_a_limit_in_words(value: float, limit: float, words: str) -> None:
    assert over(value, limit, "B") == words


def test_slower_parts_cost_more_the_slower_they_are() -> None:
    """Half as fast, 0.9 times, as it is, twice: every part in that order, and never a gain."""
    found = answer().explained.steps
    times = {step.change: step.time for step in found if step.direction in ("machine", "slower")}
    parts = [name.removesuffix(" half as fast") for name in times if name.endswith("half as fast")]
    assert "memory" in parts
    for part in parts:
        half, nine, twice = (
            times[f"{part} {how}"] for how in ("half as fast", "0.9 times as fast", "twice as fast")
        )
        assert half >= nine >= 0 >= twice, part
