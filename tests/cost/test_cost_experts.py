"""Layers with experts: the busiest rank, copies that are sent once, what software does."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost import reference
from cost.cases import case_of
from hardware_db import load_calibration, load_chip
from models_db import load_model
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.assumptions.experts import GRAPHS, ExpertSoftware, expert_constants
from planner.cost.communication.exchanges import copies_sent
from planner.cost.context import mesh_of, networks
from planner.cost.kernels.compute import matmul_s
from planner.cost.kernels.routing import busiest_rank, sent_once
from planner.cost.kernels.shapes import Shapes, shapes_of
from planner.cost.memory.tensors import layer_tensors
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable


def _shapes(name: str, **changes: Any) -> Shapes:
    return replace(shapes_of(load_model(name), 4096), **changes)


def _one(a: Assumptions, shapes: Shapes, tokens: float, ep: int, tp: int = 1) -> float:
    return float(busiest_rank(a, shapes, np.array([tokens]), np.array([tp]), np.array([ep]))[0])


@pytest.mark.parametrize("spread", [0.0, 0.26])
@pytest.mark.parametrize("ep", [1, 2, 8, 64])
def test_the_busiest_rank_is_that_of_drawn_loads(spread: float, ep: int) -> None:
    """Each of 16 tokens chooses 8 different experts, whose shares differ, 200 times."""
    shapes = _shapes("qwen3-30b-a3b")
    a = replace(case_of("qwen3-30b-a3b").assumptions, load_spread=spread)
    rng, tokens, k = np.random.default_rng(7), 16, shapes.experts_per_token
    busiest = []
    for _ in range(200):
        shares = np.maximum(1 + spread * rng.standard_normal(shapes.experts), 1e-3)
        keys = np.log(shares) + rng.gumbel(size=(tokens * ep, shapes.experts))
        chosen = np.argpartition(keys, -k, axis=1)[:, -k:]
        loads = np.bincount(chosen.ravel(), minlength=shapes.experts).reshape(ep, -1).sum(axis=1)
        busiest.append(loads.max() * ep / (tokens * ep * k))
    assert math.isclose(_one(a, shapes, tokens, ep), np.mean(busiest), rel_tol=0.025)


def test_all_experts_for_every_token_are_loaded_evenly() -> None:
    """No token chooses an expert twice: a rank gets at most E / k times the mean."""
    shapes = _shapes("qwen3-30b-a3b", experts=8, experts_per_token=8)
    a = replace(case_of("qwen3-30b-a3b").assumptions, load_spread=0.3)
    assert _one(a, shapes, 64, 8) == 1.0
    some = replace(shapes, experts_per_token=6)
    assert 1.0 < _one(replace(a, load_spread=1.0), some, 64, 8) <= 8 / 6


def test_more_experts_per_token_are_never_faster() -> None:
    """Neither the exchange nor the step, however tokens travel.

    More experts are more work behind which an exchange hides, so what is shown of it may fall.
    """
    case = case_of("qwen3-30b-a3b", batch=16, seq_len=512, layers=2)
    plan, model = Plan(dp=16, ep=16, sharding="zero1"), case.job.model
    assert model.moe is not None
    for copies in (True, False):
        exchanges, steps = [], []
        for k in range(1, 65):
            experts = replace(model.moe, experts=64, experts_per_token=k)
            job = replace(case.job, model=replace(model, moe=experts))
            other = replace(case, job=job).assuming(sends_copies=copies, load_spread=0.3)
            found = other.run([plan])
            exchanges.append(found.communication_s["expert_parallel"][0])
            steps.append(found.step_time_s[0])
        for seconds in (np.array(exchanges), np.array(steps)):
            assert (seconds[1:] >= seconds[:-1] * (1 - 1e-12)).all(), copies


@pytest.mark.parametrize(("places", "chosen"), [(1, 3), (2, 4), (5, 3), (8, 2)])
def test_distinct_places_are_those_of_all_choices(places: int, chosen: int) -> None:
    """Over every set of different experts, up to three of them in each place."""
    for each in (1, 2, 3):
        if places * each < chosen:
            continue
        every = list(itertools.combinations(range(places * each), chosen))
        distinct = sum(len({one // each for one in some}) for some in every) / len(every)
        found = sent_once(np.array(float(places)), chosen, np.array(float(places * each)))
        assert math.isclose(float(found), distinct / chosen)


def test_groups_of_experts_limit_the_nodes() -> None:
    """DeepSeek-V3: 4 of 8 groups. Each fills a node of 8, and two of 16."""
    shapes = _shapes("deepseek-v3")
    a = replace(case_of("deepseek-v3").assumptions, sends_copies=False)
    for nodes, reached in ((2.0, 2.0), (4.0, 4.0), (8.0, 4.0), (16.0, 8.0)):
        _, far = copies_sent(a, shapes, np.array([64]), np.array([nodes]))
        experts = np.array(256 * reached / nodes)
        assert math.isclose(float(far[0]), float(sent_once(np.array(reached), 8, experts)))


def test_each_feature_of_the_software_makes_a_step_faster() -> None:
    """CUDA graphs, overlap and balance; a dispatcher that sends copies once."""
    plan = Plan(fsdp=16, ep=16, sharding="zero3")
    case = case_of("qwen3-30b-a3b", batch=16)
    plain = ExpertSoftware()

    def step_s(software: ExpertSoftware) -> float:
        a = calibrated(case.cluster.chip, "megatron-core", experts=software)
        return replace(case, assumptions=a).step_time_s(plan)

    captured = [step_s(replace(plain, graphs=GRAPHS[:count])) for count in range(4)]
    assert captured == sorted(captured, reverse=True)
    assert captured[3] < captured[0]
    for changes in ({"overlaps": True}, {"balance": "forced"}, {"dispatcher": "deepep"}):
        assert step_s(replace(plain, **changes)) < captured[0], changes
    in_8_bits = replace(plain, dispatcher="deepep", dispatch_bytes=1.0)
    assert step_s(in_8_bits) < step_s(replace(plain, dispatcher="deepep"))


def test_gathered_tokens_travel_to_every_rank() -> None:
    """An all-gather there and a reduce-scatter back, whatever a token chooses."""
    case = case_of("qwen3-30b-a3b", batch=16).assuming(gathers_tokens=True, ep_overlap=0.0)
    plan = Plan(dp=16, ep=16, sharding="zero1")
    found = case.run([plan])
    net = networks(case.model, mesh_of(PlanTable.from_plans([plan])))["ep"]
    sent = 2 * case.job.seq_len * case.job.model.hidden * 16
    seconds = 4 * case.job.model.layers * float(net.gather_s(np.array([sent]))[0])
    assert math.isclose(found.time_parts["expert_parallel"][0], seconds, rel_tol=1e-9)


@pytest.mark.parametrize("kind", ["pretrain", "lora"])
def test_shared_experts_hide_the_exchange_half_by_half(kind: str) -> None:
    """Every part of the step against plain arithmetic, with exchanges long and short beside them.

    Without shared experts nothing changes.
    """
    plans = [
        Plan(dp=2, tp=tp, ep=8, pp=pp, micro_batch=micro, sharding="zero1", recompute=again)
        for tp, pp, micro, again in (
            (4, 1, 1, "none"), (4, 2, 2, "full"), (8, 1, 1, "selective"), (16, 1, 4, "none"),
        )
    ]  # fmt: skip
    hidden = set()
    for dispatch_bytes, slower, overlap in ((2.0, 1.0, 0.97), (1.0, 0.3, 0.2), (2.0, 0.02, 0.0)):
        case = case_of("deepseek-v2-lite", batch=16, kind=kind)
        rate = case.assumptions.exchange_efficiency * slower
        changes = {"dispatch_bytes": dispatch_bytes, "exchange_efficiency": rate}
        plain = case.assuming(**changes, ep_overlap=overlap)
        beside = plain.assuming(shared_beside=True)
        apart, found = plain.run(plans), beside.run(plans)
        for row, plan in enumerate(plans):
            expected = reference.evaluate(beside.job, beside.cluster, beside.assumptions, plan)
            assert math.isclose(found.step_time_s[row], expected.time, rel_tol=1e-9)
            part = found.time_parts["expert_parallel"][row]
            assert math.isclose(part, expected.time_parts["expert_parallel"], rel_tol=1e-9)
            assert found.step_time_s[row] < apart.step_time_s[row]
            assert found.time_parts["compute"][row] == apart.time_parts["compute"][row]
            hidden.add(part > 0)
    assert hidden == {True, False}
    alone = case_of("qwen3-30b-a3b", batch=16)
    one = Plan(dp=16, ep=16, sharding="zero1")
    assert alone.step_time_s(one) == alone.assuming(shared_beside=True).step_time_s(one)


def test_fused_kernels_need_narrow_formats_and_blackwell() -> None:
    """Elsewhere the same software runs grouped kernels; only narrow operands are quantized."""
    fused, grouped = ExpertSoftware(kernels="fused"), ExpertSoftware(kernels="grouped")
    constants = load_calibration()
    for chip, precision, same in (
        ("b200-sxm-180", "mxfp8", False),
        ("b200-sxm-180", "bf16", True),
        ("h100-sxm5-80", "fp8", True),
    ):
        one, other = (
            expert_constants(software, load_chip(chip), precision, constants)
            for software in (fused, grouped)
        )
        assert (one == other) is same, (chip, precision)


def test_products_of_a_single_expert_are_not_grouped() -> None:
    """Plans of one expert to a chip and of two, in one table."""
    case = case_of("mixtral-8x7b", batch=16)
    plans = [Plan(dp=16, ep=ep, sharding="zero1") for ep in (8, 4)]
    plain, slow = (
        case.assuming(expert_efficiency=rate).run(plans).time_parts["compute"] for rate in (1, 0.5)
    )
    assert slow[0] == plain[0]
    assert slow[1] > 1.2 * plain[1]


def test_the_host_takes_as_long_per_expert_in_16_bits_as_in_8_and_none_on_ascend() -> None:
    constants, software = load_calibration(), ExpertSoftware()
    found = [
        expert_constants(software, load_chip(chip), precision, constants)["expert_host_s"]
        for chip, precision in (
            ("h100-sxm5-80", "fp8"), ("h100-sxm5-80", "bf16"), ("ascend-910b", "bf16"),
        )
    ]  # fmt: skip
    assert found == [constants.value("moe.grouped.host_s_per_expert")] * 2 + [0.0]


def test_biases_of_experts_cross_memory_unless_a_compiler_fuses_them() -> None:
    case = case_of("gpt-oss-20b", batch=16)
    model, moe, plan = case.job.model, case.job.model.moe, Plan(dp=16, ep=16, sharding="zero1")
    assert moe is not None
    a = calibrated(case.cluster.chip, "megatron-core")
    assert a.expert_bias_bytes == 28.0
    assert calibrated(case.cluster.chip, "jax").expert_bias_bytes == 0.0
    with_them, without = (
        case.assuming(expert_bias_bytes=size).run([plan]).time_parts["memory_bound"][0]
        for size in (28.0, 0.0)
    )
    elements = case.job.seq_len * moe.experts_per_token * model.hidden * model.layers
    passes = 1 + a.elementwise_backward
    assert with_them - without == pytest.approx(
        28.0 * elements * passes / a.memory_bytes_per_s, rel=1e-6
    )
    plain = replace(
        case, job=replace(case.job, model=replace(model, mlp=replace(model.mlp, bias=False)))
    )
    assert plain.step_time_s(plan) == plain.assuming(expert_bias_bytes=0.0).step_time_s(plan)


def test_shared_experts_exchange_over_tp_like_an_mlp() -> None:
    """Twice what attention exchanges alone, in seconds and in bytes."""
    case = case_of("deepseek-v2-lite", layers=8).assuming(tp_overlap=0.0)
    model, plan = case.job.model, Plan(dp=8, tp=4, ep=8, micro_batch=1, sharding="zero1")
    assert model.moe is not None
    routed = replace(model, moe=replace(model.moe, shared_experts=0))
    found = case.run([plan])
    alone = replace(case, job=replace(case.job, model=routed)).run([plan])
    dense = model.moe.first_dense_layers
    expected = (4 * dense + 4 * (8 - dense)) / (4 * dense + 2 * (8 - dense))
    times = [x.time_parts["tensor_parallel"][0] for x in (found, alone)]
    assert math.isclose(times[0] / times[1], expected, rel_tol=1e-9)
    assert found.wire_bytes["nvlink"][0] > alone.wire_bytes["nvlink"][0]


GROUPED = (
    (4, 1024, 2816, 4096, 589.12), (4, 1024, 4096, 2816, 581.77), (4, 2048, 2816, 4096, 636.49),
    (4, 2048, 4096, 2816, 636.94), (8, 1024, 2816, 4096, 614.87), (8, 1024, 4096, 2816, 609.69),
    (8, 2048, 2816, 4096, 646.70), (8, 2048, 4096, 2816, 657.20),
)  # fmt: skip
"""Groups, m, n, k and TFLOP/s forward on H800 in 16 bits: Transformer Engine 2.1, dots.llm1
technical report, table 1."""


@pytest.mark.parametrize("era", ["megatron-core-2025", "megatron-core-2026.04"])
def test_grouped_products_in_16_bits_are_as_fast_as_measured(era: str) -> None:
    a = calibrated(load_chip("h800-sxm5-80"), era, "bf16")
    for groups, m, n, k, tflop_per_s in GROUPED:
        rate = a.matmul_flop_per_s * a.expert_efficiency
        seconds = matmul_s(a, m, n, k, clock=np.ones(1), flop_per_s=rate, copies=groups)
        assert 2e-12 * groups * m * n * k / seconds[0] == pytest.approx(tflop_per_s, rel=0.14)


@pytest.mark.parametrize(("chip", "precision"), [("h100-sxm5-80", "fp8"), ("tpu-v5p", "bf16")])
def test_other_grouped_products_are_fitted(chip: str, precision: str) -> None:
    constants = load_calibration()
    found = expert_constants(ExpertSoftware(), load_chip(chip), precision, constants)
    assert found["expert_efficiency"] == constants.value("moe.grouped.gemm_efficiency")


def test_tensors_of_a_layer_with_experts_by_hand() -> None:
    """Six bytes for each of a gated MLP, two of what experts read; one less of both in FP8.

    And two of what they give, but where weights of tokens multiply activations inside.
    """
    shapes = _shapes("qwen3-30b-a3b")
    for name, operand, gated, read in (
        ("megatron", 2.0, 6.0, 2.0), ("megatron", 1.0, 5.0, 1.0), ("torchtitan", 2.0, 6.0, 4.0),
    ):  # fmt: skip
        framework = FRAMEWORKS[name]
        one = layer_tensors(shapes, framework, np.ones((1, 1)), moe=True, operand=operand)
        width = 8 * 768 / shapes.expert_groups if shapes.expert_groups > 1 else 8 * 768
        assert one.width == width
        assert one.routed == 8 * 2048
        assert one.mlp == gated * width + read * 8 * 2048


def test_every_second_product_of_a_layer_and_half_of_layers_that_are_others() -> None:
    products = (4096, 1024, 1024, 4096, 14_336, 14_336, 14_336)  # outputs, or inputs, beside 4096
    share = sum(products[1::2]) / sum(products)
    found = shapes_of(load_model("llama3-8b"), 4096).second_share
    assert found == pytest.approx(share, rel=1e-4)  # norms are the rest
    for other in ("mixtral-8x7b", "deepseek-v3", "llama4-maverick"):
        assert shapes_of(load_model(other), 4096).second_share == 0.5
