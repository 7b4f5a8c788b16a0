"""What optimizers keep, and frozen weights in few bits, against plain arithmetic."""

import math
from dataclasses import replace
from typing import Any

import pytest
from support.cases import each

from cost.cases import Case, case_of
from cost.reference_memory import stage_memory, stages_of
from planner.assumptions.optimizers import FROZEN, OPTIMIZERS
from planner.base.errors import InputError
from planner.cost.job import Job
from planner.plan import Plan

PLANS = (
    Plan(dp=4, tp=2, sharding="zero1"),
    Plan(dp=4, pp=2, sharding="zero2"),
    Plan(fsdp=8, sharding="zero3", sequence_parallel=False),
    Plan(fsdp=8, sharding="zero3", sequence_parallel=False, offload=("optimizer", "weights")),
)


def of(framework: str, **change: Any) -> Case:
    """A case with another optimizer, or frozen weights."""
    case = case_of("llama3-8b", framework=framework)
    return replace(case, job=replace(case.job, **change))


def parts_of(case: Case, plan: Plan) -> list[tuple[float, float]]:
    """Predicted and plain bytes of every part of the fullest stage."""
    memory = case.run([plan]).memory
    stage = int(memory.binding_stage[0])
    fused = True
    plain = [
        stage_memory(case.job, plan, one, fused=fused) for one in stages_of(plan, case.job.model)
    ]
    fullest = max(plain, key=lambda parts: sum(parts.values()) - parts["host"])
    return [(float(memory.parts[name][0, stage]), fullest[name]) for name in memory.parts]


@each("framework", ["megatron", "deepspeed", "fsdp", "torchtitan"])
@each("optimizer", ["adam", "adam-bf16", "muon", "lion", "adafactor"])
def test_optimizers_keep_what_plain_arithmetic_says(framework: str, optimizer: str) -> None:
    case = of(framework, optimizer=optimizer)
    for plan in PLANS:
        for found, plain in parts_of(case, plan):
            assert math.isclose(found, plain, rel_tol=1e-9, abs_tol=1.0)


@each("framework", ["megatron", "deepspeed", "fsdp", "torchtitan"])
@each("frozen", ["16-bit", "nf4"])
def test_frozen_weights_take_their_format(framework: str, frozen: str) -> None:
    case = of(framework, kind="lora", frozen_weights=frozen)
    for plan in PLANS:
        for found, plain in parts_of(case, plan):
            assert math.isclose(found, plain, rel_tol=1e-9, abs_tol=1.0)


def test_adam_is_what_the_frameworks_say() -> None:
    """Its two moments, whatever their width, and the master copy."""
    assert OPTIMIZERS["adam"].bytes_of(12.0, 4.0) == 12.0
    assert OPTIMIZERS["lion"].bytes_of(12.0, 4.0) == 8.0
    assert OPTIMIZERS["muon"].bytes_of(4.0, 0.0) == 2.0
    assert OPTIMIZERS["adafactor"].bytes_of(12.0, 4.0) == 4.0
    assert FROZEN["nf4"] == pytest.approx((4 + 8 / 64 + 32 / (64 * 256)) / 8)


@each(("field", "value"), [("optimizer", "sgdm"), ("frozen_weights", "fp6")])
def test_unknown_words_are_refused(field: str, value: str) -> None:
    job: Job = of("megatron").job
    with pytest.raises(InputError, match="is not one of"):
        replace(job, **{field: value})
