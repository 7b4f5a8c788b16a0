"""Frozen weights have no gradients: what LoRA gathers under zero3 is the weights."""

from dataclasses import replace

import pytest
from support.cases import each

import planner
from cost.cases import Case, case_of
from planner.cost.memory.parameters import trained_share
from planner.plan import Plan


def buffers(case: Case, plan: Plan) -> float:
    """Bytes of the fullest stage's buffers."""
    return float(case.run([plan]).memory.parts["buffers"].max())


def both(framework: str) -> tuple[Case, Case, float]:
    """A job that trains all, one that trains adapters, and their share of the parameters."""
    case = case_of("llama3-8b", layers=30, framework=framework)
    lora = replace(case, job=replace(case.job, kind="lora"))
    share = trained_share(lora.job)
    assert 0 < share < 0.01
    return case, lora, share


def test_a_stage_that_stays_gathered_holds_gradients_of_the_adapters() -> None:
    plan = Plan(fsdp=8, pp=2, sharding="zero3", sequence_parallel=False, split="front-counted")
    case, lora, share = both("torchtitan")
    expected = buffers(case, plan) * (2 + 4 * share) / (2 + 4)
    assert buffers(lora, plan) == pytest.approx(expected, rel=1e-12)


def test_a_stage_that_stays_gathered_does_so_of_a_reference_model_too() -> None:
    """One more gather of 2 bytes a weight of the stage, and that much more of memory."""
    plan = Plan(fsdp=8, pp=2, sharding="zero3", micro_batch=2, split="front-counted")
    plain, _, _ = both("torchtitan")
    pairs = replace(plain, job=replace(plain.job, kind="finetune", reference="model"))
    copies = float(pairs.run([plan]).memory.parts["weights"].max())  # its own are the masters
    stage = copies * 8 / 2
    assert buffers(pairs, plan) - buffers(plain, plan) == pytest.approx(2 * stage, rel=1e-9)


@each("framework", ["torchtitan", "fsdp", "megatron", "deepspeed"])
def test_two_gathered_layers_hold_gradients_of_the_adapters(framework: str) -> None:
    plan = Plan(fsdp=8, sharding="zero3", sequence_parallel=False)
    case, lora, share = both(framework)
    profile = case.job.framework
    layer = case.job.model.layer_parameters("dense")
    wide = 2 * profile.gradient_bytes + profile.weight_gradient_buffer
    saved = buffers(case, plan) - buffers(lora, plan)
    assert saved == pytest.approx(wide * (1 - share) * layer, rel=1e-9)


def test_a_large_adapter_job_fits() -> None:
    """405B on 64 H100s: 2 bytes per gathered weight fit, 6 would not."""
    answer = planner.solve(
        model="llama3.1-405b", hardware="dgx-h100-ndr", chips=64, batch_tokens=8192 * 64,
        job="lora", framework="torchtitan", fix={"sharding": ("zero3",), "pp": ("2",)},
    )  # fmt: skip
    assert answer.status == "optimal"
