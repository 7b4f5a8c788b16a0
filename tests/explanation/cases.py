"""Small jobs and plans that several tests look at, each explained once."""

from __future__ import annotations

import functools
from typing import Any

import planner
from planner.explanation.answer import ExplainResult
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve

JOB: dict[str, Any] = {
    "model": "gpt3-1.3b", "hardware": "dgx-h100-ndr", "batch_tokens": 2**19, "seq_len": 2048,
    "runnable_in": "any", "max_oom_risk": 1,
}  # fmt: skip
PLAN = Plan(dp=4, tp=2, pp=2, micro_batch=2, sharding="zero1")


def resolved(**changes: Any) -> Resolved:
    """The job, with changes."""
    return resolve(request_from({**JOB, **changes}), chips=PLAN.chips)


@functools.cache
def answer() -> ExplainResult:
    """The plan explained."""
    return planner.explain(PLAN, **JOB)
