"""The chips of a plan held against the number of them that is asked for."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.plan import Plan
from planner.question.request import Request

_LARGEST = 10**15  # longer numbers are cut short


def check_request_chips(request: Request, plan: Plan, origin: Origin) -> None:
    """Refuses numbers of chips, if any are given, of which the plan's is none.

    Raises:
        InputError: There are others; `origin` names them as the user does.
    """
    fewest, most = request.chip_range or (plan.chips, plan.chips)
    if not fewest <= plan.chips <= most:
        field = "chips_at_most" if request.chips is None else "chips"
        check_chips(getattr(request, field), plan, origin, field)


def check_chips(chips: object, plan: Plan, origin: Origin, field: str = "chips") -> None:
    """Refuses a number of chips, if one is given, that is not the plan's.

    Raises:
        InputError: It is another one; `origin` names its field as the user does.
    """
    if chips not in (None, plan.chips):
        number = f"{chips:,}" if isinstance(chips, int) and chips < _LARGEST else shown(chips)
        raise InputError(
            f"{origin.label([field])}: {number} contradicts the mesh of the plan, "
            f"which uses {plan.chips:,}"
        )
