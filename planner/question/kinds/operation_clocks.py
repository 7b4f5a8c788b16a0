"""What a question that asks for a clock of every operation needs, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin
from planner.base.vocabulary import PER_OPERATION
from planner.objectives import FRONTS, OBJECTIVES
from planner.question.kinds.kind import Kind, kind_of
from planner.question.request import Request
from planner.question.run.upkeep import RUN_LIMITS

_ALONE = {
    Kind.UNEVEN: "layout uneven, whose stages have clocks of their own",
    Kind.MACHINES: "machines",
}
_ON_POOLS = "is not chosen on pools of chips, whose plans have the highest clock; leave it out"


def clocks_on_pools() -> InputError:
    """What refuses a clock for every operation of a plan on pools."""
    return InputError(f"clocks: {PER_OPERATION} {_ON_POOLS}")


def check_clocks(request: Request, origin: Origin) -> None:
    """Refuses a clock for every operation where no search knows them.

    Raises:
        InputError: One line per contradiction, each field named as it was written.
    """
    if request.clocks != PER_OPERATION:
        return
    tried = Attempts(origin, Request.model_fields)
    tried.add(f"clocks: {PER_OPERATION} {problem}" for problem in _refused(request))
    if tried.problems:
        raise tried.error()


def _refused(request: Request) -> Iterator[str]:
    """What it does not go with."""
    kind = kind_of(request)
    if kind in _ALONE:
        yield (
            f"is not searched with {_ALONE[kind]}; use planner evaluate --clocks {PER_OPERATION} "
            "on the plan that is found"
        )
    if kind is Kind.POOLS:
        yield _ON_POOLS
    if request.front != FRONTS[0]:
        yield f"is about the front of time and energy; {_other_front(request)}"
    for name in ("max_power", *RUN_LIMITS):
        if getattr(request, name) is not None:
            flag = name.replace("_", "-")
            yield f"does not know the limit {flag}, which slower clocks change; leave one out"


def _other_front(request: Request) -> str:
    """Why a question has another front than that of time and energy, and what would have it."""
    name = request.objective
    if OBJECTIVES[name].front != request.front:
        return "leave front out"
    usual = [one for one, objective in OBJECTIVES.items() if objective.front == FRONTS[0]]
    allowed = f"{', '.join(usual[:-1])} or {usual[-1]}"
    return f"objective {name} has that of {' and '.join(request.front)}: take {allowed}"
