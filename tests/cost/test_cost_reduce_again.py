"""Replicas of torchtitan without a pipeline all-reduce their gradients with every micro-batch."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from cost.cases import Case, case_of, cases, chip_counts, plans_for, runnable
from planner.plan import Plan

FILTERED = (HealthCheck.filter_too_much, HealthCheck.too_slow)
REPLICAS = Plan(dp=8, fsdp=1, sharding="ddp", sequence_parallel=False)
HYBRID = Plan(dp=2, fsdp=4, sharding="zero3", sequence_parallel=False)


def held_back(case: Case) -> Case:
    """The case in a framework that reduces with the last micro-batch only."""
    framework = replace(case.job.framework, reduces_replicas_every_micro_batch=False)
    return replace(case, job=replace(case.job, framework=framework))


def of_micro_batches(m: int, plan: Plan, framework: str = "torchtitan") -> Case:
    ranks = plan.dp * plan.fsdp
    return case_of("llama3-8b", batch=m * ranks, seq_len=8192, framework=framework)


def sent(case: Case, plan: Plan) -> float:
    return float(sum(column[0] for column in case.run([plan]).wire_bytes.values()))


@each("plan", [REPLICAS, HYBRID])
def test_one_micro_batch_costs_the_same(plan: Plan) -> None:
    case = of_micro_batches(1, plan)
    one, other = case.run([plan]), held_back(case).run([plan])
    assert one.step_time_s[0] == other.step_time_s[0]
    assert one.energy.total[0] == other.energy.total[0]


@each("m", [2, 16])
def test_bytes_on_the_wire_by_hand(m: int) -> None:
    """m - 1 more all-reduces among 8 chips, of whole gradients or of a fourth of them."""
    parameters = of_micro_batches(m, REPLICAS).job.model.total_parameters
    for plan, moved in ((REPLICAS, 2 * 7), (HYBRID, 2 * 8 * (1 / 2) / 4)):
        case = of_micro_batches(m, plan)
        more = sent(case, plan) - sent(held_back(case), plan)
        wire = case.assumptions.gradient_wire_bytes
        assert math.isclose(more, (m - 1) * moved * wire * parameters, rel_tol=1e-9)


@each("plan", [REPLICAS, HYBRID])
def test_time_and_energy_grow(plan: Plan) -> None:
    case = of_micro_batches(8, plan)
    one, other = case.run([plan]), held_back(case).run([plan])
    for parts in ("time_parts", "communication_s"):
        here, there = (getattr(x, parts)["data_parallel"][0] for x in (one, other))
        assert here > there
    assert one.step_time_s[0] > other.step_time_s[0]
    assert one.energy.total[0] > other.energy.total[0]


def test_exposed_reductions_by_hand() -> None:
    """Where nothing hides, 7 earlier all-reduces of ddp and the last are 8 times one of all layers.

    Without the embedding and the head, which are reduced once, and without the time per node.
    """
    case = of_micro_batches(8, REPLICAS).assuming(
        zero3_overlap=0.0, dp_overlap=0.0, bucket_hop_s=0.0
    )
    shapes = case.job.model
    layers = shapes.total_parameters - 2 * shapes.vocab_size * shapes.hidden - shapes.hidden
    one, other = (float(x.run([REPLICAS]).step_time_s[0]) for x in (case, held_back(case)))
    once = float(held_back(case).run([REPLICAS]).time_parts["data_parallel"][0])
    assert one - other == pytest.approx(7 * once * layers / shapes.total_parameters, rel=0.02)


def test_stages_reduce_with_the_last_backward_pass() -> None:
    plan = replace(HYBRID, pp=4)
    case = of_micro_batches(8, plan)
    assert case.run([plan]).step_time_s[0] == held_back(case).run([plan]).step_time_s[0]


@settings(max_examples=60, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_holding_back_is_never_slower(data: st.DataObject) -> None:
    case = data.draw(cases(frameworks=("torchtitan",)))
    chips = data.draw(st.sampled_from(chip_counts(case, 256)))
    plan = data.draw(plans_for(case, chips, regular=False))
    assume(plan.dp > 1 and runnable(case, plan))
    again, last = case.run([plan]), held_back(case).run([plan])
    assert last.step_time_s[0] <= again.step_time_s[0] * (1 + 1e-12)
    for name, column in last.wire_bytes.items():
        assert column[0] <= again.wire_bytes[name][0] * (1 + 1e-12)
