"""zero3 under pp in torchtitan: the stage is gathered once, its gradients are reduced once."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from cost.cases import Case, case_of, cases, chip_counts, one_of, plans_for, runnable
from planner.plan import Plan

FILTERED = (HealthCheck.filter_too_much, HealthCheck.too_slow)
PIPELINE = Plan(fsdp=8, pp=4, sharding="zero3", sequence_parallel=False)


def every_time(case: Case) -> Case:
    """The case in a framework that gathers and reduces with every micro-batch."""
    framework = replace(case.job.framework, gathers_once_under_pp=False)
    return replace(case, job=replace(case.job, framework=framework))


def pipelined(data: st.DataObject, case: Case) -> Plan:
    """A runnable plan with several stages."""
    chips = data.draw(one_of(*chip_counts(case, 256)))
    plan = data.draw(plans_for(case, chips, regular=False))
    assume(plan.pp > 1 and runnable(case, plan))
    return plan


def data_parallel_s(framework: str, m: int, plan: Plan) -> float:
    """Seconds of data parallelism in a step of m micro-batches of one sequence."""
    case = case_of("llama3-8b", batch=m * plan.fsdp, seq_len=8192, framework=framework)
    found = case.run([plan])
    assert found.micro_batches[0] == m
    return float(found.time_parts["data_parallel"][0])


def test_data_parallelism_does_not_grow_with_the_micro_batches() -> None:
    """What is sent once is exposed once; Megatron sends it with every micro-batch."""
    few, many = (data_parallel_s("torchtitan", m, PIPELINE) for m in (8, 16))
    assert few > 0
    assert math.isclose(many, few, rel_tol=1e-12)
    few, many = (data_parallel_s("megatron", m, PIPELINE) for m in (8, 16))
    assert math.isclose(many, 2 * few, rel_tol=1e-9)


def test_without_stages_every_micro_batch_gathers() -> None:
    plan = replace(PIPELINE, pp=1)
    few, many = (data_parallel_s("torchtitan", m, plan) for m in (8, 16))
    assert math.isclose(many, 2 * few, rel_tol=1e-9)


@each("framework", ["torchtitan", "megatron"])
def test_kept_weights_cost_what_zero1_costs(framework: str) -> None:
    """One gather and one scatter of the stage within the same group; not in Megatron.

    Whether the backward pass hides the gather or it ends the step (`hides_gather`).
    """
    zero1 = replace(PIPELINE, fsdp=1, dp=8, sharding="zero1")
    for hidden in (True, False):
        case = case_of("llama3-8b", batch=64, framework=framework).assuming(hides_gather=hidden)
        one, other = (case.run([plan]).time_parts["data_parallel"][0] for plan in (PIPELINE, zero1))
        assert one > 0
        assert math.isclose(one, other, rel_tol=1e-12) is (framework == "torchtitan")


def test_a_gather_that_nothing_hides_ends_the_step() -> None:
    """It is exposed communication: all of it, whatever share of other collectives is hidden."""
    case = case_of("llama3-8b", batch=64, framework="torchtitan")
    for sharding, overlap in itertools.product(("zero1", "zero2", "ddp"), (0.0, 0.5, 1.0)):
        plan = replace(PIPELINE, fsdp=1, dp=8, sharding=sharding)
        hidden, late = (
            case.assuming(hides_gather=on, dp_overlap=overlap).run([plan]) for on in (True, False)
        )
        for parts in ("time_parts", "communication_s"):
            ahead, after = (getattr(one, parts)["data_parallel"][0] for one in (hidden, late))
            grows = parts == "time_parts" and sharding != "ddp" and overlap > 0
            assert bool(after > ahead * (1 + 1e-9)) is grows, (parts, sharding, overlap)
            assert grows or math.isclose(ahead, after, rel_tol=1e-9)
        assert late.time_parts["optimizer"][0] == pytest.approx(hidden.time_parts["optimizer"][0])
        assert hidden.step_time_s[0] <= late.step_time_s[0] * (1 + 1e-12)


def test_frozen_weights_are_gathered_too() -> None:
    """LoRA reduces adapters only, but the whole stage is gathered."""
    case = case_of("llama3-8b", framework="torchtitan", kind="lora").assuming(dp_overlap=0.0)
    zero1 = replace(PIPELINE, fsdp=1, dp=8, sharding="zero1")
    kept, adapters = (case.run([plan]).time_parts["data_parallel"][0] for plan in (PIPELINE, zero1))
    assert kept > 20 * adapters


@each("m", [1, 2, 16])
def test_bytes_on_the_wire_by_hand(m: int) -> None:
    """All but one gather and one scatter of every parameter are gone, on 8 chips."""
    case = case_of("llama3-8b", batch=8 * m, framework="torchtitan")
    once, often = (
        sum(column[0] for column in one.run([PIPELINE]).wire_bytes.values())
        for one in (case, every_time(case))
    )
    wire = case.assumptions.gradient_wire_bytes
    saved = (2 * m - 1) * 2 + (m - 1) * wire
    assert math.isclose(often - once, 7 * case.job.model.total_parameters * saved, rel_tol=1e-9)


def test_whole_gradients_are_accumulated() -> None:
    """The share of zero3 is that of adding up shards: not under pp."""
    case = case_of("llama3-8b", framework="torchtitan")
    free = case.assuming(accumulation_zero3_share=0.0)
    for plan, same in ((PIPELINE, True), (replace(PIPELINE, pp=1), False)):
        here, there = (one.run([plan]).time_parts["memory_bound"][0] for one in (case, free))
        assert bool(here == there) is same
    whole = case.run([replace(PIPELINE, fsdp=1, dp=8, sharding="ddp")]).time_parts["memory_bound"]
    assert case.run([PIPELINE]).time_parts["memory_bound"][0] == whole[0]


@settings(max_examples=60, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_gathering_once_never_sends_more(data: st.DataObject) -> None:
    case = data.draw(cases(frameworks=("torchtitan",)))
    plan = pipelined(data, case)
    once, often = case.run([plan]), every_time(case).run([plan])
    for name, column in once.wire_bytes.items():
        assert column[0] <= often.wire_bytes[name][0] * (1 + 1e-12)


@settings(max_examples=80, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_more_micro_batches_are_never_faster(data: st.DataObject) -> None:
    """Not so if what is sent once were spread over them: bubbles would then shrink with m."""
    case = data.draw(cases(frameworks=("torchtitan", "megatron")))
    plan = pipelined(data, case)
    twice = replace(case, job=replace(case.job, global_batch=2 * case.job.global_batch))
    assert case.step_time_s(plan) <= twice.step_time_s(plan) * (1 + 1e-12)
