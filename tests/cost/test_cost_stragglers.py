"""Stragglers: of many chips, of tensor ranks over several nodes; and the slices of zero1."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from support.jobs import cost_model

from hardware_db import load_chip
from models_db import load_model
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.cost.evaluate import evaluate_table
from planner.cost.step import expected_maximum, step_factor
from planner.plan import Plan, PlanTable

FAR = "far_host_s_per_tp_rank", "far_tp_wait_s", "slice_s"


@pytest.mark.parametrize("n", [8, 64, 512, 4096])
def test_expected_maximum_is_that_of_normal_numbers(n: int) -> None:
    exact, _ = quad(lambda x: x * n * norm.pdf(x) * norm.cdf(x) ** (n - 1), -12, 12, limit=200)
    assert abs(float(expected_maximum(np.array(float(n)))) - exact) < 0.1


def test_more_chips_wait_longer_for_the_slowest() -> None:
    a = replace(calibrated(load_chip("h100-sxm5-80"), "torch-fsdp"), jitter=0.05)
    factors = step_factor(a, np.array([1.0, 8.0, 16.0, 512.0]))
    assert factors[0] == factors[1] == 1.0
    assert 1.0 < factors[2] < factors[3] < 1.12


def seconds(changes: dict[str, float], *plans: Plan) -> list[float]:
    model = cost_model(
        load_model("gpt3-6.7b"), "dgx-h100-ndr", global_batch=64, framework="nanotron"
    )
    off = dict.fromkeys(FAR, 0.0)
    a: Assumptions = replace(model.assumptions, **(off | changes))
    found = evaluate_table(replace(model, assumptions=a), PlanTable.from_plans(list(plans)))
    return [float(value) for value in found.step_time_s]


def plan(**axes: int) -> Plan:
    sizes = {"dp": 1, "tp": 1, "pp": 1} | axes
    return Plan(**sizes, micro_batch=1, sequence_parallel=sizes["tp"] > 1,
                sharding="zero1" if sizes["dp"] > 1 else "ddp", split="by-cost")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "felt", "free"),
    [
        ("far_tp_wait_s", plan(tp=16), plan(dp=2, tp=8)),
        ("far_host_s_per_tp_rank", plan(tp=8, pp=2), plan(tp=4, pp=2)),
        ("slice_s", plan(dp=16), plan(tp=16)),
    ],
)
def test_only_what_crosses_nodes_waits(name: str, felt: Plan, free: Plan) -> None:
    before, after = seconds({}, felt, free), seconds({name: 1e-3}, felt, free)
    assert after[0] > 1.01 * before[0]
    assert after[1] == before[1]
