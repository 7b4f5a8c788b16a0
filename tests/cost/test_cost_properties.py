"""What must hold for any plan: monotone in the machine, parts that add up, ZeRO, offload, LoRA.

Slack of 1e-12 relative everywhere covers rounding only.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cost.cases import Case, case_of, cases, chip_counts, one_of, plans_for, runnable
from hardware_db import Cluster, Level
from planner.cost.breakdown import TIME_PARTS
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.cost.memory.memory import MEMORY_PARTS, Memory
from planner.plan import Plan, PlanTable

FILTERED = (HealthCheck.filter_too_much, HealthCheck.too_slow)
PAIR = settings(max_examples=70, deadline=None, suppress_health_check=FILTERED)
COMMUNICATION = (
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline_transfer",
    "bubble",
    "data_parallel",
)


def one_plan(
    data: st.DataObject,
    case: Case,
    most: int = 256,
    *,
    offloads: bool = True,
    explicit: bool = True,
) -> Plan:
    """A runnable plan of any count up to `most`; irregular groups included."""
    chips = data.draw(one_of(*chip_counts(case, most)))
    plan = data.draw(plans_for(case, chips, regular=False, offloads=offloads, explicit=explicit))
    assume(runnable(case, plan))
    return plan


def memory_of(case: Case, plans: list[Plan]) -> Memory:
    """Bytes of plans, without their times (`test_cost_tables.py` has that they are the same)."""
    return memory_table(case.model, PlanTable.from_plans(plans))


def not_above(smaller: float, larger: float) -> bool:
    """smaller <= larger up to rounding."""
    return bool(smaller <= larger * (1 + 1e-12))


def test_sinks_slow_fused_attention_only() -> None:
    """Unfused, a sink is a column of the softmax; a model without sinks never feels the rate."""
    plan = Plan(sequence_parallel=False)
    for name, fused, feels in (
        ("gpt-oss-20b", True, True),
        ("gpt-oss-20b", False, False),
        ("llama3-8b", True, False),
    ):
        case = case_of(name, layers=4, batch=8).assuming(fused_attention=fused)
        slow, fast = (case.assuming(sink_attention=r).step_time_s(plan) for r in (0.3, 1))
        assert bool(slow > fast) is feels, (name, fused)


@PAIR
@given(st.data())
def test_parts_add_up_and_none_is_negative(data: st.DataObject) -> None:
    case = data.draw(cases())
    plan = one_plan(data, case)
    found = case.run([plan])
    time = sum(float(found.time_parts[name][0]) for name in TIME_PARTS)
    assert math.isclose(time, found.step_time_s[0], rel_tol=1e-12)
    assert set(found.time_parts) == set(TIME_PARTS)
    energy = sum(float(part[0]) for part in found.energy.parts.values())
    assert math.isclose(energy, found.energy.total[0], rel_tol=1e-12)
    assert len(found.energy.parts) == len(case.cluster.levels) + 4
    memory = sum(float(found.memory_parts[name][0]) for name in MEMORY_PARTS)
    assert math.isclose(memory, found.memory_per_chip_bytes[0], rel_tol=1e-12)
    stages = sum(found.memory.parts[name] for name in MEMORY_PARTS)
    np.testing.assert_allclose(stages, found.memory.total, rtol=1e-12)
    assert found.energy.low[0] < found.energy.total[0] < found.energy.high[0]
    for name in TIME_PARTS:
        assert found.time_parts[name][0] >= 0, name
    for parts in (found.energy.parts, found.memory_parts, found.wire_bytes):
        assert all(part[0] >= 0 for part in parts.values())
    assert 0 < found.mfu[0] <= found.hfu[0] * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_one_chip_does_not_communicate(data: st.DataObject) -> None:
    case = data.draw(cases(clusters=("dgx-h100-ndr", "mi300x-8way", "gb200-nvl72", "tpu-v5e")))
    plan = data.draw(plans_for(case, 1))
    assume(runnable(case, plan))
    found = case.run([plan])
    noise = 1e-15 * found.step_time_s[0]  # data_parallel is the difference of two sums
    assert all(abs(found.time_parts[name][0]) <= noise for name in COMMUNICATION)
    assert all(column[0] == 0 for column in found.wire_bytes.values())
    network = [part[0] for name, part in found.energy.parts.items() if name.startswith("network")]
    assert network == [0.0] * len(case.cluster.levels)


def with_level(cluster: Cluster, index: int, change: Callable[[Level], Level]) -> Cluster:
    """A cluster with one level changed."""
    levels = list(cluster.levels)
    levels[index] = change(levels[index])
    return replace(cluster, levels=tuple(levels))


def faster_level(factor: float) -> Callable[[Level], Level]:
    """All of a level's rates times `factor`."""

    def change(level: Level) -> Level:
        return replace(
            level,
            bandwidth_bytes_per_s=level.bandwidth_bytes_per_s * factor,
            link_bandwidth_bytes_per_s=level.link_bandwidth_bytes_per_s * factor,
            peer_bandwidth_bytes_per_s=level.peer_bandwidth_bytes_per_s * factor,
            bandwidth_by_group=tuple((n, r * factor) for n, r in level.bandwidth_by_group),
        )

    return change


def set_by_kernels(case: Case, plan: Plan) -> Case:
    """The case without a host floor, where a zero-bubble schedule runs.

    Where something else sets the pace of a pass, longer weight gradients do not lengthen it; they
    only leave more of it to fill the bubble with. (Zero-bubble plans with collectives in every
    layer are such a case too; they are left out.)
    """
    if plan.schedule != "zero-bubble":
        return case
    assume(plan.sharding in ("ddp", "zero1"))
    return case.assuming(
        host_s_per_layer=0.0, host_s_per_tp_rank=0.0, moe_host_s=0.0, expert_host_s=0.0
    )


MACHINES = ("dgx-h100-ndr", "gb200-nvl72", "tpu-v5e", "mi300x-8way")


@settings(max_examples=100, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_faster_networks_are_never_slower(data: st.DataObject) -> None:
    """Any level's bandwidth up."""
    case = data.draw(cases(clusters=MACHINES))
    plan = one_plan(data, case, most=576, explicit=False)
    index = data.draw(st.integers(0, len(case.cluster.levels) - 1))
    factor = data.draw(one_of(1.001, 1.3, 2.0, 10.0))
    faster = with_level(case.cluster, index, faster_level(factor))
    slow = case.step_time_s(plan)
    assert not_above(replace(case, cluster=faster).step_time_s(plan), slow)


def hybrid_case() -> tuple[Case, Plan]:
    """Hybrid sharding whose gathers take longer than the layers."""
    case = case_of("mixtral-8x7b", layers=4, batch=16, seq_len=1024)
    return case, Plan(dp=2, fsdp=2, tp=8, cp=4, ep=2, sharding="zero3")


def test_hybrid_sharding_is_not_slowed_by_a_faster_network() -> None:
    """Twice the NVLink rate shortens the kernels' backward pass, and with it the overlap credit."""
    case, plan = hybrid_case()
    faster = with_level(case.cluster, 0, faster_level(2.0))
    slow = case.step_time_s(plan)
    assert not_above(replace(case, cluster=faster).step_time_s(plan), slow)
    assert not_above(case.assuming(scale_up_latency_s=0.0).step_time_s(plan), slow)


def test_recomputation_does_not_speed_up_hybrid_sharding() -> None:
    """Doing the forward pass twice cannot shorten a step."""
    case = case_of("mixtral-8x7b", "tpu-v5p", layers=4, batch=16, seq_len=1024)
    plan = Plan(dp=2, fsdp=2, sharding="zero3", sequence_parallel=False)
    none, full = case.run([plan, replace(plan, recompute="full")]).step_time_s
    assert not_above(none, full)


@settings(max_examples=80, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_zero_bubble_gains_from_bandwidth(data: st.DataObject) -> None:
    """Uneven stages too, where a faster network may change which stage is the slowest."""
    clusters = (*MACHINES, "l40s-pcie", "mi250x-slingshot")
    case = data.draw(cases(clusters=clusters, frameworks=("torchtitan",), kinds=("pretrain",)))
    plan = one_plan(data, case, explicit=False)
    assume(plan.pp > 1)
    plan = replace(plan, schedule="zero-bubble", interleave=1, recompute="none")
    index = data.draw(st.integers(0, len(case.cluster.levels) - 1))
    faster = with_level(case.cluster, index, faster_level(data.draw(one_of(1.02, 4.0))))
    slow = case.step_time_s(plan)
    assert not_above(replace(case, cluster=faster).step_time_s(plan), slow)


@PAIR
@given(st.data())
def test_lower_latency_is_never_slower(data: st.DataObject) -> None:
    case = data.draw(cases(clusters=MACHINES))
    plan = one_plan(data, case, most=576, explicit=False)
    names = ("scale_up_latency_s", "scale_out_latency_s", "ring_hop_s", "bucket_hop_s")
    name = data.draw(one_of(*names, "in_switch_latency_s", "micro_batch_s", "step_s"))
    lower = case.assuming(**{name: 0.5 * getattr(case.assumptions, name)})
    assert not_above(lower.step_time_s(plan), case.step_time_s(plan))


@settings(max_examples=50, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_faster_memory_and_arithmetic_are_never_slower(data: st.DataObject) -> None:
    case = data.draw(cases())
    plan = one_plan(data, case, explicit=False)
    case = set_by_kernels(case, plan)
    rates = ("memory_bytes_per_s", "matmul_flop_per_s", "attention_flop_per_s", "bf16_flop_per_s")
    name = data.draw(one_of(*rates))
    faster = case.assuming(**{name: 1.5 * getattr(case.assumptions, name)})
    assert not_above(faster.step_time_s(plan), case.step_time_s(plan))


@PAIR
@given(st.data())
def test_states_fall_with_the_zero_stage(data: st.DataObject) -> None:
    """Weights, gradients and optimizer bytes; strictly where more than one rank shares them."""
    case = data.draw(cases())
    plan = one_plan(data, case, offloads=False, explicit=False)
    data_ranks, ranks = plan.dp * plan.fsdp, plan.dp * plan.fsdp * plan.cp
    plans = [replace(plan, dp=data_ranks, fsdp=1, sharding=s) for s in ("ddp", "zero1", "zero2")]
    plans.append(replace(plan, dp=1, fsdp=data_ranks, sharding="zero3"))
    memory = memory_of(case, plans)
    states = [
        sum(memory.parts[name][row] for name in ("weights", "gradients", "optimizer"))
        for row in range(4)
    ]
    for more, less in itertools.pairwise(states):
        assert np.all(less <= more)
    exists = states[0] > 0
    assert ranks == 1 or np.all(states[1][exists] < states[0][exists])
    if case.job.framework.weight_bytes and ranks > 1:
        assert np.all(states[3][exists] < states[2][exists])


@PAIR
@given(st.data())
def test_hybrid_sharding_lies_between(data: st.DataObject) -> None:
    case = data.draw(cases())
    plan = one_plan(data, case, offloads=False, explicit=False)
    assume(plan.dp > 1 and plan.fsdp > 1)
    whole = replace(plan, dp=1, fsdp=plan.dp * plan.fsdp)
    none = replace(plan, dp=plan.dp * plan.fsdp, fsdp=1, sharding="ddp")
    parts = memory_of(case, [whole, plan, none]).parts
    states = parts["weights"] + parts["gradients"] + parts["optimizer"]
    assert np.all(states[0] <= states[1])
    assert np.all(states[1] <= states[2])


@PAIR
@given(st.data())
def test_recomputation_costs_time_and_saves_activations(data: st.DataObject) -> None:
    case = data.draw(cases())
    plan = one_plan(data, case, offloads=False, explicit=False)
    found = case.run([replace(plan, recompute=kind) for kind in ("none", "selective", "full")])
    none, selective, full = found.step_time_s
    assert not_above(none, selective)
    assert not_above(selective, full)
    assert none < full
    saved = found.memory.parts["activations"]
    assert np.all(saved[1] <= saved[0])
    # Full recomputation also holds one whole layer with its gradients, so it pays from two
    # layers in flight on.
    deep = case.job.model.layers >= 2 * plan.pp and found.micro_batches[0] >= 2 * plan.pp
    assert not deep or saved[2].max() < saved[0].max()
    assert found.hfu[2] >= found.mfu[2]
    assert found.flop[2] > found.flop[0]


@PAIR
@given(st.data(), st.sampled_from(["optimizer", "weights", "activations"]))
def test_offloading_frees_the_chip_and_costs_time(data: st.DataObject, part: str) -> None:
    case = data.draw(cases())
    plan = replace(one_plan(data, case, offloads=False, explicit=False), recompute="none")
    found = case.run([plan, replace(plan, offload=(part,))])
    assert not_above(*found.step_time_s)
    gone = found.memory.total[0] - found.memory.total[1]
    slack = 1e-12 * found.memory.total[0]  # sums of the same bytes in another order
    assert np.all(gone >= -slack)
    if part == "optimizer":  # copies that its step makes beside it are not kept on the host
        buffers = found.memory.parts["buffers"]
        gone = gone - (buffers[0] - buffers[1])
        np.testing.assert_allclose(gone, found.memory.host[1], rtol=1e-9)
    assert np.all(gone <= found.memory.host[1] + slack)
    assert found.host_memory_bytes[0] == 0 < found.host_memory_bytes[1] or (
        part == "weights" and case.job.framework.weight_bytes == 0
    )


@PAIR
@given(st.data())
def test_lora_is_cheaper_than_full_training(data: st.DataObject) -> None:
    full = data.draw(cases(kinds=("finetune",)))
    whole = replace(full.job.framework, stops_early=False)  # of adapters the last product is read
    full = replace(full, job=replace(full.job, framework=whole))
    plan = one_plan(data, full, explicit=False)
    assume(plan.schedule != "zero-bubble")  # has nothing to fill with where weights are frozen
    assume(plan.sharding in full.job.framework.shardings)
    # Adapters read inputs whole on every rank, gradients of weights are made in parts.
    assume(full.job.model.hidden >= 1024 * plan.tp)
    lora = replace(full, job=replace(full.job, kind="lora"))
    one, other = lora.run([plan]), full.run([plan])
    assert one.step_time_s[0] < other.step_time_s[0]
    held = [each.memory_per_chip_bytes[0] + each.host_memory_bytes[0] for each in (one, other)]
    assert held[0] < held[1], "of chip and host: gradients of all weights may move there"
    assert one.energy.total[0] < other.energy.total[0]
    assert one.flop[0] < other.flop[0]


@PAIR
@given(st.data())
def test_sequence_parallelism_saves_activations(data: st.DataObject) -> None:
    case = data.draw(cases(models=("llama3-8b", "gpt3-1.3b", "gemma2-9b", "falcon-40b")))
    plan = one_plan(data, case, offloads=False)
    assume(plan.tp > 1 and case.job.seq_len % (2 * plan.cp * plan.tp) == 0)
    held = memory_of(case, [replace(plan, sequence_parallel=flag) for flag in (False, True)])
    saved = held.parts["activations"]
    assert saved[1].max() < saved[0].max()
    assert np.all(saved[1] <= saved[0])


def ideal(case: Case) -> Case:
    """No latency, no overhead, perfect efficiency of every shape, nothing hidden."""
    zero = dict.fromkeys(
        (
            "half_k",
            "half_mn",
            "matmul_overhead_s",
            "wave_exponent",
            "host_s_per_layer",
            "host_s_per_tp_rank",
            "far_host_s_per_tp_rank",
            "fixed_s_per_layer",
            "moe_host_s",
            "expert_host_s",
            "micro_batch_s",
            "step_s",
            "scale_up_latency_s",
            "scale_out_latency_s",
            "ring_hop_s",
            "bucket_hop_s",
            "in_switch_latency_s",
            "accumulation_bytes",
            "optimizer_traffic_bytes",
        ),
        0.0,
    )
    return case.assuming(**zero, operand_bytes=0.0, even_loads=True)


@settings(max_examples=50, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_twice_the_batch_is_twice_the_work_on_an_ideal_machine(data: st.DataObject) -> None:
    """More micro-batches, or larger ones: compute and element-wise seconds and FLOP double.

    Collectives of weights do not grow with the batch, so that with several stages and zero2 or
    zero3 another stage may become the slowest, whose parts are shown.
    """
    case = ideal(data.draw(cases()))
    plan = one_plan(data, case, offloads=False, explicit=False)
    assume(plan.pp == 1 or plan.sharding in ("ddp", "zero1"))
    twice = replace(case, job=replace(case.job, global_batch=2 * case.job.global_batch))
    larger = replace(plan, micro_batch=2 * plan.micro_batch)
    one, more, wide = case.run([plan]), twice.run([plan]), twice.run([larger])
    for found in (more, wide):
        for name in ("compute", "memory_bound"):
            expected = 2 * one.time_parts[name][0]
            assert math.isclose(found.time_parts[name][0], expected, rel_tol=1e-12)
        assert math.isclose(found.flop[0], 2 * one.flop[0], rel_tol=1e-12)


@PAIR
@given(st.data())
def test_lower_clock_is_never_faster(data: st.DataObject) -> None:
    case = data.draw(cases(clusters=("dgx-h100-ndr", "gb200-nvl72", "mi300x-8way")))
    plan = one_plan(data, case, explicit=False)
    case = set_by_kernels(case, plan)
    clocks = (1.0, 0.9, 0.8, 0.7, 0.6)
    slowed = PlanTable.from_plans([replace(plan, clock=clock) for clock in clocks])
    times = evaluate_totals(case.model, slowed).step_time_s
    for faster, slower in itertools.pairwise(times):
        assert not_above(faster, slower)
