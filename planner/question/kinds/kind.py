"""What a question decides together: which of the four spaces its answer is looked for in."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from planner.base.vocabulary import LAYOUTS
from planner.question.request import Request

OF_MACHINES = ("pes", "topology", "total_pes", "max_area", "max_links", "max_ports")
"""Fields that make a question one over machines, whose number of chips may then be open."""
ENDING_CHIPS = ("chips", "chips_at_most", "total_pes", "max_area", "max_power")
"""Fields of which such a question needs one: each ends the number of chips."""


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
    if any(getattr(request, name) not in (None, ()) for name in OF_MACHINES):
        return Kind.MACHINES
    return Kind.UNIFORM if request.layout == LAYOUTS[0] else Kind.UNEVEN


def needed_in(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Chips, but of a question that says them otherwise or, over machines, may leave them open."""
    without = any(
        fields.get(name) is not None for name in (*OF_MACHINES, "pools", "chips_at_most", "down")
    )
    return () if without else ("chips",)
