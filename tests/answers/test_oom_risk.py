"""The chance of running out of memory that a plan may have, and what more of it would buy."""

import re
from typing import Any

import pytest
from support.cases import each

import planner
from planner.cost.memory.risk import SAFE_BELOW
from planner.question.asked.usual import OOM_RISK
from planner.question.request import request_from

EIGHT: dict[str, Any] = {"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 8}
TIGHT: dict[str, Any] = {
    "model": "llama2-13b", "hardware": "v100-sxm2-32", "chips": 8, "precision": "fp16",
    "batch_tokens": 2**18,
}  # fmt: skip


def test_the_default_is_what_is_called_safe() -> None:
    assert OOM_RISK == SAFE_BELOW


@each(
    ("fields", "risk"),
    [
        ({}, OOM_RISK),
        ({"max_oom_risk": "10%"}, 0.1),
        ({"max_oom_risk": 1}, None),
        ({"max_memory": "70GB"}, None),
        ({"memory_margin": 0.9}, None),
        ({"max_memory": "70GB", "max_oom_risk": 0.2}, 0.2),
        ({"assumptions": "roofline"}, None),
    ],
)
def test_when_a_risk_is_kept_to(fields: dict[str, Any], risk: float | None) -> None:
    assert request_from({**EIGHT, **fields}).oom_risk == risk


@each("framework", ["megatron", "nanotron", "fsdp", "deepspeed"])
def test_the_best_plan_is_as_safe_as_asked(framework: str) -> None:
    found = [
        planner.solve(**EIGHT, framework=framework, max_oom_risk=risk).require()
        for risk in (0.01, OOM_RISK, 0.3, 1)
    ]
    assert [best.out_of_memory_probability <= risk for best, risk in
            zip(found, (0.01, OOM_RISK, 0.3, 1), strict=True)] == [True] * 4  # fmt: skip
    times = [best.step_time_s for best in found]
    assert times == sorted(times, reverse=True)


def test_what_more_risk_would_buy_is_said() -> None:
    found, all_risks = planner.solve(**EIGHT), planner.solve(**EIGHT, max_oom_risk="100%")
    (wider,) = [one for one in found.candidates.wider if one.lifted == "max-oom-risk"]
    assert wider.proved
    assert wider.plan is not None
    assert wider.plan.result.step_time_s == all_risks.objective
    chance = wider.plan.result.out_of_memory_probability
    assert found.require().out_of_memory_probability <= OOM_RISK < chance
    said = found.notes.caveats[-1]
    risk = f"--max-oom-risk {100 * chance:.4g}"
    assert said.startswith(f"Above 5 % risk of running out of memory is left out; {risk[:-1]}")
    assert said.endswith(f", {100 * chance:.3g} % risk.")
    assert not any("out of memory" in line for line in all_risks.notes.caveats)
    assert ("max-oom-risk", "5 %", "by the spread of published runs") in found.notes.defaults


def test_the_remedy_for_too_much_risk_frees_a_plan_and_no_less_does() -> None:
    found = planner.solve(**TIGHT, chips_exact=True)
    assert found.diagnosis is not None
    assert found.diagnosis.constraint == "memory"
    (text,) = [one for one in found.diagnosis.remedies if one.startswith("--max-oom-risk")]
    percent = float(re.fullmatch(r"--max-oom-risk ([\d.]+)%", text).group(1))  # type: ignore[union-attr]
    assert percent > 5
    assert planner.solve(**TIGHT, max_oom_risk=percent / 100).best is not None
    less = planner.solve(**TIGHT, max_oom_risk=percent / 100 - 1e-3, chips_exact=True)
    assert less.status == "infeasible"


def test_no_plan_is_without_risk() -> None:
    with pytest.raises(planner.InputError, match="max_oom_risk"):
        planner.solve(**EIGHT, max_oom_risk=0)
