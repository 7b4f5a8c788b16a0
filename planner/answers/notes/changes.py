"""What an answer says of the fields that its question changes."""

from __future__ import annotations

from dataclasses import replace

from planner.base.deferred import Deferred
from planner.base.messages import Origin
from planner.plan import Plan, PlanTable
from planner.question.kinds.kind import Kind, kind_of
from planner.question.options import SpaceOptions
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.results.result import SolveResult
from planner.search.changes.effects import notes_of_changes
from planner.search.machines.machines import on_machine


def with_changes_noted(
    request: Request, result: SolveResult, options: SpaceOptions, origin: Origin
) -> SolveResult:
    """An answer that says which changes do not move its plans.

    Args:
        request: The question.
        result: Its answer.
        options: The space that was searched.
        origin: Names the fields of the question.

    Raises:
        InputError: A change cannot change the answer; of several machines it is only said.
    """
    best, asked = result.best, request.chip_range
    chips = best.chips if best is not None else asked[1] if asked else 1
    machine = None if best is None else best.machine
    resolved = resolve(on_machine(request, machine), origin, chips)
    plans: list[Plan] = []
    if best is not None:
        others = (*result.front.plans, *(one.result for one in result.candidates.top))
        alike = (one for one in others if one.machine == best.machine)
        plans = list(dict.fromkeys(one.plan for one in (best, *alike)))
    notes = notes_of_changes(
        resolved,
        PlanTable.from_plans(plans) if plans else None,
        options,
        chips,
        origin,
        refuses=kind_of(request) is not Kind.MACHINES,
    )
    before = result.notes.caveats
    said = replace(result.notes, caveats=Deferred(lambda: (*before, *notes)))
    return replace(result, notes=said) if notes else result
