"""What a question may not ask together, whichever kind it is of."""

from __future__ import annotations

from planner.base.messages import Origin
from planner.question.kinds.objectives import check_objective
from planner.question.kinds.operation_clocks import check_clocks
from planner.question.kinds.pools import check_pools
from planner.question.kinds.uneven import check_uneven
from planner.question.request import Request


def check_question(request: Request, origin: Origin) -> None:
    """Refuses a question that no search takes.

    Args:
        request: The question.
        origin: Names its fields.

    Raises:
        InputError: One line per contradiction of the first sort that there is.
    """
    for check in (check_objective, check_uneven, check_pools, check_clocks):
        check(request, origin)
