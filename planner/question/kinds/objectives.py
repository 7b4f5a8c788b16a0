"""What a question needs so that its objectives have an optimum worth having."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.objectives import Objective
from planner.question.request import Request
from planner.question.run.upkeep import RUN_LIMITS, of_one_plan


def check_objective(request: Request, origin: Origin) -> None:
    """Refuses an objective without the limit that it needs, and a price at which all is free.

    Raises:
        InputError: One line, the field named as it was written.
    """
    objectives = (request.minimized, *request.compared)
    check_price(request.price_per_chip_hour, objectives, origin)
    check_run(request, objectives, origin)
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


def check_run(request: Request, objectives: Sequence[Objective], origin: Origin) -> None:
    """Refuses objectives of the whole run without what says how long and how dear that is.

    Raises:
        InputError: One line, the field named as it was written.
    """
    of_run = [one for one in objectives if one.of_run]
    limits = [name for name in RUN_LIMITS if getattr(request, name) is not None]
    name = of_run[0].name if of_run else ""
    if of_run and request.train_tokens is None:
        raise InputError(
            f"{origin.label(['train_tokens'])}: is missing; {name} is about the whole training "
            "run: give its tokens, e.g. 15e12"
        )
    if any(one.needs_price for one in of_run) and request.price_per_chip_hour is None:
        name = next(one.name for one in of_run if one.needs_price)
        raise InputError(
            f"{origin.label(['price_per_chip_hour'])}: is missing; {name} needs the money per chip "
            "and hour: give it, e.g. 2.5"
        )
    if (of_run or limits) and (alone := of_one_plan(request)) is not None:
        raise InputError(
            f"{origin.label([alone[0]])}: {alone[1]} is worked out for one plan, and no bound on "
            f"all plans is known of it; leave it out with {name or limits[0].replace('_', '-')}"
        )
    if (of_run or limits) and request.mtbf is not None and not request.keeps_to_chips:
        raise InputError(
            f"{origin.label(['mtbf'])}: is that of a job of one size; where the number of chips "
            f"is a choice give {origin.label(['chip_hours_per_failure'])}"
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
