"""Clocks per operation of an answer that was written down, read back.

What the search of their plans alone knows, joules and bounds, has to agree with itself and with the
front; the clocks of one plan are chosen again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from planner.answers.files.reevaluation import Rereading
from planner.answers.spaces.operations import clocks_of_plan, without_clocks
from planner.base.units import plural
from planner.base.vocabulary import PER_OPERATION
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.operation_clocks import OperationFront, OperationPoint
from planner.results.result import EvaluateResult, SolveResult

CLOCKS = "operation_clocks"
_SAME = 1e-9
_Amount = Annotated[float, Field(gt=0)]
_Whole = Annotated[int, Field(ge=0)]


class _Read(BaseModel):
    """What follows from these is compared with what is worked out again."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class _Point(_Read):
    """Clocks within the step time of a point of the front."""

    step_time_s: _Amount
    one_clock_j: _Amount
    mixed_j: _Amount
    energy_j: _Amount
    bound_j: _Amount
    operations: _Whole
    all_sought: bool
    plan: dict[str, Any]


class FrontClocks(_Read):
    """What `planner solve --clocks per-operation --json` says of clocks."""

    switching_s: Annotated[float, Field(ge=0)]
    gap: Annotated[float, Field(ge=0)]
    points: list[_Point] = Field(min_length=1)
    considered: _Whole
    bounded: _Whole
    solved: _Whole
    in_time: bool = True


class PlanClocks(_Read):
    """What `planner evaluate --clocks per-operation --json` says of clocks, as far as it counts."""

    switching_s: Annotated[float, Field(ge=0, le=1)]


def with_front_clocks(
    answer: SolveResult,
    said: FrontClocks | None,
    request: Request,
    job: Mapping[str, Any],
    reading: Rereading,
) -> SolveResult:
    """An answer with the clocks of its front.

    Args:
        answer: Without them.
        said: What the file says of them.
        request: The question.
        job: That of the plans.
        reading: Names the file in messages.

    Raises:
        InputError: They contradict the question, the front or one another.
    """
    if request.clocks != PER_OPERATION or answer.best is None:
        reading.refuse([] if said is None else [f"{CLOCKS}: is not of this answer"])
        return answer
    if said is None:
        return without_clocks(answer)
    reading.refuse([*_mistakes(said, answer)])
    points = tuple(
        OperationPoint(
            **{name: getattr(one, name) for name in _Point.model_fields if name != "plan"},
            plan=reading.plan_of(one.plan, job, f"{CLOCKS}.points.{number}"),
        )
        for number, one in enumerate(said.points, start=1)
    )
    counts = {name: getattr(said, name) for name in FrontClocks.model_fields if name != "points"}
    return replace(answer, clocks=OperationFront(points=points, **counts))


def _mistakes(said: FrontClocks, answer: SolveResult) -> Iterator[str]:
    """How points contradict the front or themselves."""
    front = {one.step_time_s: one.energy_per_step_j for one in answer.front}
    times = [one.step_time_s for one in said.points]
    if missing := len(front.keys() - set(times)):
        every = plural(len(front), "point")
        yield f"{CLOCKS}.points: the front has {every}, {missing} not among these"
    if times != sorted(set(times)):
        yield f"{CLOCKS}.points: do not ascend in step time"
    for number, one in enumerate(said.points, start=1):
        where = f"{CLOCKS}.points.{number}"
        if front.get(one.step_time_s) != one.one_clock_j:
            yield f"{where}: is no point of the front"
        least, most = one.bound_j, one.one_clock_j * (1 + _SAME)
        for name in ("mixed_j", "energy_j"):
            if not least * (1 - _SAME) <= getattr(one, name) <= most:
                yield f"{where}.{name}: is not between bound_j and one_clock_j"


def with_plan_clocks(
    answer: EvaluateResult, said: PlanClocks | None, resolved: Resolved
) -> EvaluateResult:
    """An answer about one plan with its clocks, chosen again where the file has some.

    Raises:
        InputError: The plan has none.
    """
    if said is None:
        return answer
    return replace(answer, clocks=clocks_of_plan(resolved, answer.result.plan, said.switching_s))
