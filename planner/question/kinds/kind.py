"""What a question decides together: which of the four spaces its answer is looked for in."""

from __future__ import annotations

from enum import Enum

from planner.base.vocabulary import LAYOUTS
from planner.question.request import Request


class Kind(Enum):
    """A space of plans.

    Attributes:
        UNIFORM: Plans whose stages are equal, on one machine.
        UNEVEN: Plans whose stages may differ, on one machine.
        POOLS: Plans whose stages differ, on pools of different chips.
        MACHINES: Machines (PEs per chip, wirings, chip counts) and plans whose stages are equal.
    """

    UNIFORM = "uniform"
    UNEVEN = "uneven"
    POOLS = "pools"
    MACHINES = "machines"


def kind_of(request: Request) -> Kind:
    """The space of a question."""
    if request.pools is not None:
        return Kind.POOLS
    budgets = (request.total_pes, request.max_area, request.max_links, request.max_ports)
    if request.pes or request.topology or any(budget is not None for budget in budgets):
        return Kind.MACHINES
    return Kind.UNIFORM if request.layout == LAYOUTS[0] else Kind.UNEVEN
