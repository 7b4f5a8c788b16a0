"""What a question needs so that its objectives have an optimum worth having."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.question.request import Request


def check_objective(request: Request, origin: Origin) -> None:
    """Refuses an objective without the limit that it needs.

    Raises:
        InputError: One line, the field named as it was written.
    """
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
