"""What a question about uneven pipelines may ask, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.fields import LAYOUTS
from planner.messages import Attempts, Origin
from planner.request import Request

UNIFORM, UNEVEN = LAYOUTS
FRONT_POINTS = 20
"""Time limits of a front of uneven pipelines where the question does not say how many."""
_OF_MACHINES = ("pes", "topology", "total_pes", "max_area", "max_links", "max_ports")
_USE = "leave it out, or use layout uniform"


def is_uneven(request: Request) -> bool:
    """Whether the stages of a plan may differ."""
    return request.layout != UNIFORM


def check_uneven(request: Request, origin: Origin) -> None:
    """Refuses what a search of uneven pipelines does not do, and what only it does elsewhere.

    Raises:
        InputError: One line per contradiction, each field named as it was written.
    """
    tried = Attempts(origin, Request.model_fields)
    tried.add(_refused(request) if is_uneven(request) else _only_uneven(request))
    if tried.problems:
        raise tried.error()


def _only_uneven(request: Request) -> Iterator[str]:
    """Fields that say nothing about uniform stages."""
    for name in ("gap", "front_points"):
        if getattr(request, name) is not None:
            yield f"{name}: goes with layout uneven; the search of uniform plans is always exact"


def _refused(request: Request) -> Iterator[str]:
    """Fields that ask for what stages that differ do not have."""
    if request.objective == "memory":
        yield "objective: memory is not minimized with layout uneven; allowed: time, energy, edp"
    if "memory" in request.front:
        yield "front: memory is no objective of uneven pipelines; allowed: 'time, energy'"
    if request.offload:
        yield f"offload: no stage of layout uneven moves its state to the host; {_USE}"
    for name in _OF_MACHINES:
        if getattr(request, name):
            yield f"{name}: machines are not decided together with layout uneven; {_USE}"
    if "split" in request.fix:
        given = ",".join(request.fix["split"])
        yield (
            f"fix: split={given} contradicts layout uneven, which decides the layers of every "
            f"stage; {_USE}"
        )
