"""Calls that type checkers accept or refuse; nothing here runs.

`.ci/run` checks this file with mypy, and `.ci/oracles` with pyright. A mistake that is not refused
is an error too: each `type: ignore` must be needed.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import planner
from planner.explanation.answer import ExplainResult
from planner.question.asked.typed import CommonFields, SolveFields
from planner.results.result import EvaluateResult, SolveResult
from planner.studies.feasibility.answer import FeasibleResult


def right(plan: planner.Plan, own: dict[str, Any], limits: CommonFields) -> None:
    """What may be asked."""
    answer = planner.solve(model="llama2-13b", chips=4096)
    assert_type(answer, SolveResult)
    planner.solve(
        model=Path("my-model.yaml"),
        hardware="h100-sxm5-80",
        chips="16x16x16",
        batch_tokens="4Mi",
        precision="fp8",
        job="lora",
        objective="energy",
        front=["time", "energy", "memory"],
        fix={"pp": [4, 8], "sharding": "zero1"},
        axes="fsdp,tp",
        pools=None,
        torus_axes={"fsdp": 2},
        max_memory=72e9,
        chips_exact=True,
        on_progress=lambda what, done, of: None,
    )
    planner.solve(**own)
    planner.solve(model="llama2-13b", **limits)
    assert_type(planner.evaluate("plan.yaml", hardware="h100-sxm5-80"), EvaluateResult)
    planner.evaluate(plan, model="llama2-13b", objective="time")
    assert_type(planner.explain(plan, objective="energy", model="llama2-13b"), ExplainResult)
    found = planner.feasible(model=["llama2-7b", "llama2-13b"], chips="64,512", precision="bf16")
    assert_type(found, FeasibleResult)
    question: SolveFields = {"model": "llama2-13b", "chips": 4096}
    planner.solve(**question)


def wrong() -> None:
    """What may not be asked."""
    planner.solve(chips=4096)  # type: ignore[call-arg]
    planner.solve(model="llama2-13b", chip=4096)  # type: ignore[call-arg]
    planner.solve(model="llama2-13b", chips=[4096])  # type: ignore[arg-type]
    planner.solve(model="llama2-13b", precision="bf17")  # type: ignore[arg-type]
    planner.solve(model="llama2-13b", offload="yes")  # type: ignore[arg-type]
    planner.evaluate("plan.yaml", cooling="water")  # type: ignore[arg-type]
    planner.explain("plan.yaml", min_mfu=[0.4])  # type: ignore[arg-type]
    planner.feasible(model="llama2-13b", min_mfu=0.4)  # type: ignore[call-arg]
