"""The number of chips that is asked for: which of two it is, and whether a plan has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.plan import Plan
from planner.question.changes.texts import with_changes
from planner.question.request import Request

_LARGEST = 10**15  # longer numbers are cut short
_NUMBERS = frozenset({"chips", "chips_at_most"})
"""Fields of which a question has one."""


def changed(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a file with those that replace them; one number of chips replaces the other.

    What `set` changes is changed beside what the file changes.

    Raises:
        InputError: One of those changes cannot be read.
    """
    replaced = _NUMBERS if _NUMBERS & changes.keys() else frozenset()
    kept = {name: fields[name] for name in fields if name not in replaced}
    both = (
        {"set": with_changes(kept["set"], changes["set"])} if "set" in kept.keys() & changes else {}
    )
    return {**kept, **changes, **both}


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
