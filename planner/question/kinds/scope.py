"""What a search keeps to where a question leaves it open: what launches plans, and their risk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.base.units import show_percent

if TYPE_CHECKING:
    from planner.question.request import Request
    from planner.question.resolved import Resolved

RUNNABLE_IN, MAX_OOM_RISK, RECOMPUTE = "runnable-in", "max-oom-risk", "recompute"


def scope_default(resolved: Resolved) -> Iterator[tuple[str, str, str]]:
    """What is taken to run the plans, and their risk, where the question leaves these open."""
    if resolved.runners.assumed:
        yield RUNNABLE_IN, resolved.runners.words, resolved.runners.reason
    yield from risk_default(resolved.request)


def risk_default(request: Request) -> Iterator[tuple[str, str, str]]:
    """Which risk of memory plans may have, where the question leaves it open."""
    if request.max_oom_risk is None and request.oom_risk is not None:
        yield MAX_OOM_RISK, show_percent(request.oom_risk), "by the spread of published runs"
