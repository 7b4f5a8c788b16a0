"""What recomputation runs again, and what it need not keep, worked out by hand."""

from dataclasses import replace

import pytest
from support.cases import each

from cost.cases import Case, case_of
from models_db import load_model
from planner.cost.breakdown import Breakdown
from planner.cost.kernels.shapes import shapes_of
from planner.plan import Plan

LAYERS, SEQ, HIDDEN, HEADS = 8, 8192, 4096, 32
PLAN = Plan(dp=8, micro_batch=1)


def llama(framework: str = "megatron", hardware: str = "dgx-h100-ndr") -> Case:
    """Eight layers of Llama 3 8B."""
    return case_of("llama3-8b", hardware, layers=LAYERS, batch=8, seq_len=SEQ, framework=framework)


def runs(case: Case, plan: Plan = PLAN) -> dict[str, Breakdown]:
    """Steps with each kind of recomputation."""
    kinds = ("none", "selective", "full")
    return {kind: case.run([replace(plan, recompute=kind)]) for kind in kinds}


def test_hardware_flop_are_those_of_the_model_and_of_another_forward_pass() -> None:
    """Of the layers alone, with whole scores (Korthikanti et al., arXiv:2205.05198, appendix A)."""
    found = runs(llama())
    model = load_model("llama3-8b")
    layer = 2 * model.layer_parameters("dense") + 4 * SEQ * HIDDEN
    whole = 3 * (LAYERS * layer + 2 * model.head_parameters)
    assert found["full"].hfu[0] / found["full"].mfu[0] == pytest.approx(
        1 + LAYERS * layer / whole, rel=1e-4
    )
    assert found["none"].hfu[0] == found["none"].mfu[0]


@each(("framework", "again"), [("jax", True), ("torchtitan", True), ("deepspeed", False)])
def test_element_wise_work_runs_again_once(framework: str, *, again: bool) -> None:
    """Where selective recomputation keeps some products alone; not where it drops no scores."""
    hardware = "tpu-v5p" if framework == "jax" else "dgx-h100-ndr"
    plan = Plan(fsdp=8, micro_batch=1, sharding="zero3")
    steps = runs(llama(framework, hardware), plan)
    seconds = {kind: step.time_parts["memory_bound"][0] for kind, step in steps.items()}
    assert seconds["none"] < seconds["full"]
    assert seconds["selective"] == pytest.approx(seconds["full" if again else "none"], rel=1e-9)
    moved = {kind: step.memory_traffic_bytes[0] for kind, step in steps.items()}
    assert (moved["none"] < moved["selective"]) == again
    assert moved["none"] <= moved["selective"] < moved["full"]


def test_scores_are_kept_where_attention_is_not_fused() -> None:
    """Softmax and dropout leave two bytes each, its mask one (the same paper, equation 1)."""
    case = llama()
    stored = replace(case, assumptions=replace(case.assumptions, fused_attention=False))
    fused, unfused = (
        {kind: step.memory_parts["activations"][0].max() for kind, step in runs(each).items()}
        for each in (case, stored)
    )
    scores = SEQ * LAYERS * 5 * HEADS * SEQ
    assert unfused["none"] - fused["none"] == pytest.approx(scores, rel=1e-9)
    assert unfused["selective"] == fused["selective"]


def test_a_model_without_experts_has_none() -> None:
    dense, mixed = (shapes_of(load_model(name), SEQ) for name in ("llama3-8b", "mixtral-8x7b"))
    assert (dense.experts, dense.experts_per_token, dense.moe_parameters) == (0, 0, 0)
    assert (mixed.experts, mixed.experts_per_token) == (8, 2)


def test_a_module_that_runs_again_is_kept_of_one_layer_alone() -> None:
    """The output of the norm before the experts of Mixtral, two bytes of each element."""
    case = case_of("mixtral-8x7b", layers=LAYERS, batch=8, seq_len=SEQ)
    none, norms = (
        case.run([replace(PLAN, recompute=word)]).memory_parts["activations"][0].max()
        for word in ("none", "layernorm")
    )
    assert none - norms == pytest.approx((LAYERS - 1) * SEQ * 2 * 4096, rel=1e-9)
