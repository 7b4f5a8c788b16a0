"""What a question about uneven pipelines may ask, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from models_db import Model
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin
from planner.base.units import plural
from planner.base.vocabulary import LAYOUTS, RECOMPUTES
from planner.objectives import BY_PRODUCT, BY_TIME, FRONTS, OBJECTIVES
from planner.plan.layout_text import parse_layout
from planner.question.asked.usual import FRONT_POINTS
from planner.question.fields import ALL_POINTS
from planner.question.kinds.kind import OF_MACHINES, Kind, kind_of
from planner.question.request import Request
from planner.question.run.upkeep import RUN_LIMITS
from planner.schedules import SCHEDULES, known_schedules, schedule_of

UNIFORM, UNEVEN = LAYOUTS
_OF_CHUNKS = ("pp", "interleave")
_USE = "leave it out, or use layout uniform"


def limits_on_front(request: Request) -> int | None:
    """Limits on the step time of which the front is made; None where it is not made of limits."""
    by_product = request.minimized.uneven == BY_PRODUCT
    if kind_of(request) is not Kind.UNEVEN or by_product or request.front_points == ALL_POINTS:
        return None
    return int(request.front_points or FRONT_POINTS)


def is_fastest_alone(request: Request) -> bool:
    """Whether the one limit on the time is that of the fastest plan, so that it is the front."""
    return request.minimized.uneven == BY_TIME and limits_on_front(request) == 1


def check_uneven(request: Request, origin: Origin) -> None:
    """Refuses what a search of uneven pipelines does not do, and what only it does elsewhere.

    Raises:
        InputError: One line per contradiction, each field named as it was written.
    """
    tried = Attempts(origin, Request.model_fields)
    tried.add(_only_uneven(request) if request.layout == UNIFORM else _refused(request))
    if tried.problems:
        raise tried.error()


def _only_uneven(request: Request) -> Iterator[str]:
    """Fields that say nothing about uniform stages."""
    if request.front_points is not None:
        yield "front_points: goes with layout uneven; the search of uniform plans is always exact"


def _refused(request: Request) -> Iterator[str]:
    """Fields that ask for what stages that differ do not have."""
    if not request.minimized.uneven:
        allowed = ", ".join(one.name for one in OBJECTIVES.values() if one.uneven)
        yield (
            f"objective: {request.objective} is not minimized with layout uneven; "
            f"allowed: {allowed}"
        )
    if request.pools is None and request.chip_range is not None and not request.keeps_to_chips:
        field = "chips" if request.chips_at_most is None else "chips-at-most"
        yield (
            f"{field}: layout uneven plans for one number of chips; give one, or use layout uniform"
        )
    for name in request.front:
        if name not in FRONTS[0]:
            yield f"front: {name} is no objective of uneven pipelines; allowed: 'time, energy'"
    yield from _of_runs(request)
    if request.offload:
        yield f"offload: no stage of layout uneven moves its state to the host; {_USE}"
    for name in OF_MACHINES:
        if getattr(request, name):
            yield f"{name}: machines are not decided together with layout uneven; {_USE}"
    yield from _of_schedules(request.fix.get("schedule", ()))
    yield from _of_modules(request.fix.get("recompute", ()))
    if "split" in request.fix:
        given = ",".join(request.fix["split"])
        yield (
            f"fix: split={given} contradicts layout uneven, which decides the layers of every "
            f"stage; {_USE}"
        )
    if request.layout not in LAYOUTS:
        yield from _of_chunks(request, parse_layout(request.layout))


def _of_modules(wanted: tuple[str, ...]) -> Iterator[str]:
    """Modules that recompute are the same on all stages, whose layers are not chosen apart then."""
    named = [text for text in wanted if text not in RECOMPUTES]
    if named:
        yield (
            f"fix: recompute={','.join(named)} names modules, which are the same on all stages; "
            f"with layout uneven allowed: {', '.join(RECOMPUTES)}; or use layout uniform"
        )


def _of_runs(request: Request) -> Iterator[str]:
    """Limits on the whole run, of which the bounds of stages that differ say nothing."""
    for name in RUN_LIMITS:
        if getattr(request, name) is not None:
            flag = name.replace("_", "-")
            yield (
                f"{flag}: is not searched where stages differ, whose bounds are of a step alone; "
                "limit that with max-step-time, or use layout uniform"
            )


def _of_schedules(wanted: tuple[str, ...]) -> Iterator[str]:
    """Schedules that deal their layers out evenly, where no other is wanted."""
    known = [schedule_of(name) for name in wanted if name in SCHEDULES]
    if known and not any(schedule.uneven for schedule in known):
        allowed = ", ".join(schedule.name for schedule in known_schedules() if schedule.uneven)
        yield (
            f"fix: schedule={','.join(wanted)} has stages of equal layers alone; allowed with "
            f"layout uneven: {allowed}"
        )


def _of_chunks(request: Request, layers: tuple[int, ...]) -> Iterator[str]:
    """How the layers of the chunks contradict the mesh, or are no pipeline at all."""
    chunks = len(layers)
    for at, count in enumerate(layers[1:-1], start=1):
        if count == 0:
            yield f"layout: chunk {at} holds no layer; only the first and the last chunk may"
            break
    if chunks > 1 and request.axes is not None and "pp" not in request.axes:
        yield f"axes: without pp, but the layout has {chunks:,} chunks; add pp, or leave axes out"
    stages = _whole(request.fix.get("pp")) or _divisors(chunks)
    interleaves = _whole(request.fix.get("interleave")) or _divisors(chunks)
    if not any(pp * v == chunks for pp in stages for v in interleaves):
        fixed = [name for name in _OF_CHUNKS if name in request.fix]
        given = " and ".join(f"{name}={','.join(request.fix[name])}" for name in fixed)
        yield (
            f"fix: {given} contradicts the layout, which has {plural(chunks, 'chunk')} (pp x "
            f"interleave); use pp={chunks} with interleave=1, or another layout"
        )


def check_layers(request: Request, model: Model, origin: Origin) -> None:
    """Refuses a layout whose chunks do not hold the layers of the model.

    Raises:
        InputError: They hold more, or fewer.
    """
    if request.layout in LAYOUTS:
        return
    held = sum(parse_layout(request.layout))
    if held != model.layers:
        apart = f"{abs(held - model.layers):,} {'too many' if held > model.layers else 'missing'}"
        line = (
            f"layout: its chunks hold {plural(held, 'layer')}, {model.name} has "
            f"{model.layers:,}: {apart}"
        )
        raise InputError(origin.blame(line, {"layout"}))


def _whole(texts: tuple[str, ...] | None) -> list[int]:
    return [int(text) for text in texts or ()]


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]
