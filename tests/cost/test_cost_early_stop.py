"""Recomputation that ends before the last product of a layer, and hooks of modules under zero3."""

from dataclasses import replace

import numpy as np
import pytest

from cost.cases import case_of
from models_db import load_model
from planner.cost.kernels.shapes import left_out, selected, shapes_of
from planner.plan import Plan

LLAMA = "llama3-8b"
PER_LAYER = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336  # q, o; k, v; gate, up, down


@pytest.mark.parametrize(("model", "share"), [
    (LLAMA, 4096 * 14336 / PER_LAYER),
    ("gpt3-1.3b", 4 / 12),  # q, k, v, o, and up and down of four times the width
    ("gemma2-9b", 0.0),  # a norm reads what the last product gives
    ("mixtral-8x7b", 0.0),
])  # fmt: skip
def test_the_last_product_is_left_out(model: str, share: float) -> None:
    shapes = shapes_of(load_model(model), 2048)
    assert left_out(shapes, stops_early=True) == pytest.approx(share, rel=0.01)
    assert left_out(shapes, stops_early=False) == 0


def test_every_second_product_is_keys_output_and_up() -> None:
    """torchtitan's `_get_custom_policy` counts q, k, v, o, gate, up, down and saves the odd."""
    shapes = shapes_of(load_model(LLAMA), 2048)
    again = (4096 * 1024 + 4096**2 + 4096 * 14336) / PER_LAYER
    assert selected(shapes, "second-matmuls", 0.0) == pytest.approx(again, rel=0.01)
    plain = shapes_of(load_model("gpt3-1.3b"), 2048)  # q, k, v, o, up, down
    down = left_out(plain, stops_early=True)
    assert selected(plain, "second-matmuls", down) == pytest.approx(2 / 12, rel=0.01)


def test_a_step_is_shorter_by_the_last_product_and_its_exchange() -> None:
    case = case_of(LLAMA, "dgx-h100-ndr", layers=8, batch=8, seq_len=8192, framework="torchtitan")
    job = case.job
    whole = replace(case, job=replace(job, framework=replace(job.framework, stops_early=False)))
    plan = Plan(fsdp=1, tp=8, micro_batch=1, recompute="full", sharding="ddp")
    early, late = case.run([plan]), whole.run([plan])
    saved = late.time_parts["compute"][0] - early.time_parts["compute"][0]
    product = 2 * 8192 * 4096 * 14336 / 8 / case.assumptions.matmul_flop_per_s
    assert 1 < saved / (8 * 8 * product) < 1.25  # batch, layers; below the rate of large products
    exchanged = [found.communication_s["tensor_parallel"][0] for found in (late, early)]
    assert exchanged[1] / exchanged[0] == pytest.approx(11 / 12)  # four of each of three passes
    assert early.flop[0] < late.flop[0]


def test_hooks_take_the_host_under_zero3_alone() -> None:
    """13 modules of a layer, three passes; a step of few tokens lasts as long as they do."""
    case = case_of(LLAMA, "dgx-h100-ndr", layers=8, batch=8, seq_len=256, framework="deepspeed")
    sharded = Plan(fsdp=8, micro_batch=1, recompute="full", sharding="zero3")
    plans = [sharded, replace(sharded, fsdp=1, dp=8, sharding="zero1")]
    hooked = case.run(plans)
    framework = replace(case.job.framework, module_hook_s=0.0)
    free = replace(case, job=replace(case.job, framework=framework)).run(plans)
    more = hooked.step_time_s - free.step_time_s
    assert more[1] == 0
    least = 8 * 3 * 13 * case.job.framework.module_hook_s
    assert least < hooked.step_time_s[0] < 2 * least
    host = hooked.time_parts["host"] - free.time_parts["host"]
    np.testing.assert_allclose(host, more, rtol=1e-9)
