"""What a question needs so that its objectives have an optimum worth having."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.objectives import Objective
from planner.question.request import Request


def check_objective(request: Request, origin: Origin) -> None:
    """Refuses an objective without the limit that it needs, and a price at which all is free.

    Raises:
        InputError: One line, the field named as it was written.
    """
    check_price(request.price_per_chip_hour, (request.minimized, *request.compared), origin)
    if request.max_step_time is not None or request.min_mfu is not None:
        return
    for field, objectives in (("objective", (request.minimized,)), ("front", request.compared)):
        for one in objectives:
            if one.needs_limit:
                limits = [origin.label([name]) for name in ("max_step_time", "min_mfu")]
                raise InputError(
                    f"{origin.label([field])}: of {one.name} the slowest plan has the least where "
                    f"a step may take any time; give {' or '.join(limits)}"
                )


def check_price(price: float | None, objectives: Sequence[Objective], origin: Origin) -> None:
    """Refuses a price at which no plan costs anything, where some objective counts it.

    Raises:
        InputError: One line, the field named as it was written.
    """
    if price == 0 and any(one.has_price for one in objectives):
        raise InputError(
            f"{origin.label(['price_per_chip_hour'])}: at 0 no plan costs less than another; "
            "give a price above 0, or none to count chip-hours"
        )
