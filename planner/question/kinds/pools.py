"""What a question about pools of different chips may ask, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from pathlib import Path

from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin
from planner.base.vocabulary import LAYOUTS
from planner.objectives import BY_TIME, OBJECTIVES
from planner.question.asked import UPKEEP
from planner.question.kinds.runners import named_targets
from planner.question.request import Request
from planner.schedules import SCHEDULES, known_schedules, schedule_of

_INSTEAD = ("hardware", "chips", "chips_at_most")
_ONE_KIND = ("torus_axes", "degrade_link", "calibration", "set", "images", *UPKEEP)


def check_pools(request: Request, origin: Origin) -> None:
    """Refuses what a search on pools of chips does not do.

    Raises:
        InputError: One line per contradiction, each field named as it was written.
    """
    if request.pools is None:
        return
    tried = Attempts(origin, Request.model_fields)
    tried.add(_of_hardware(request))
    tried.add(_refused(request))
    if tried.problems:
        raise tried.error()


def check_hardware(request: Request, origin: Origin) -> None:
    """Refuses hardware and chips beside pools, and what no model of pools has.

    Raises:
        InputError: One line per contradiction.
    """
    tried = Attempts(origin, Request.model_fields)
    tried.add(_of_hardware(request))
    if tried.problems:
        raise tried.error()


def _of_hardware(request: Request) -> Iterator[str]:
    for name in _INSTEAD:
        if name in request.model_fields_set and getattr(request, name) is not None:
            yield f"{name}: the pools say which chips there are; leave it or the pools out"
    for name in _ONE_KIND:
        if getattr(request, name):
            yield f"{name}: is about one kind of chips; leave it out with pools"
    if request.assumptions.startswith("rack-"):
        yield f"assumptions: {request.assumptions} is about one rack; use calibrated with pools"
    if request.collectives not in (None, "nccl"):
        yield f"collectives: {request.collectives} is not made for pools; use nccl"


def _refused(request: Request) -> Iterator[str]:
    if request.layout == LAYOUTS[0]:
        yield "pools: need stages that differ; use layout uneven with them"
    if request.minimized.uneven != BY_TIME:
        allowed = ", ".join(one.name for one in OBJECTIVES.values() if one.uneven == BY_TIME)
        yield f"objective: {request.objective} is not minimized on pools; allowed: {allowed}"
    if request.front_points is not None:
        yield "front-points: on pools the fastest plan alone is searched; leave it out"
    if named := named_targets(request):
        yield (
            f"runnable-in: no target of planner export runs pools of different chips; leave "
            f"{', '.join(target.name for target in named)} out"
        )
    if request.placement == "torus":
        yield "placement: torus is of one kind of chips; use framework or all with pools"
    wanted = request.fix.get("schedule", ())
    if wanted and not any(schedule_of(name).on_pools for name in wanted if name in SCHEDULES):
        allowed = ", ".join(schedule.name for schedule in known_schedules() if schedule.on_pools)
        yield f"fix: schedule={','.join(wanted)} is not searched on pools; allowed: {allowed}"
    interleaves = request.fix.get("interleave", ())
    if interleaves and "1" not in interleaves:
        yield "fix: interleave above 1 is not searched on pools; leave it out"


def check_no_pictures(files: Mapping[str, Path | None]) -> None:
    """Refuses pictures of plans on pools, by the flag of each.

    Raises:
        InputError: One is asked for.
    """
    wanted = [
        f"{name}: is not drawn on pools of chips; leave it out" for name in files if files[name]
    ]
    if wanted:
        raise InputError("\n".join(wanted))


def too_many_stages(pools: dict[str, int], layers: int, model: str) -> str:
    """Why the chips of pools divide into no pipeline of a model; empty where they may."""
    counts = list(pools.values())
    stages = sum(counts) // gcd(*counts)
    most = layers + 2
    if stages <= most:
        return ""
    last = list(pools)[-1]
    others = gcd(*counts[:-1])
    sums = sum(counts[:-1])
    near = min(
        (
            count
            for count in range(1, 2 * counts[-1] + others)
            if (sums + count) // gcd(others, count) <= most
        ),
        key=lambda count: abs(count - counts[-1]),
        default=None,
    )
    words = "" if near is None else f"; nearest: {near:,} chips of {last}"
    return (
        f"pools: every stage needs as many chips, at most {gcd(*counts):,} here, which makes "
        f"{stages:,} stages; {model} has layers for {most} at most{words}"
    )
