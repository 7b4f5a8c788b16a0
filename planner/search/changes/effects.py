"""What each change of a question does to its answer; what can do nothing is refused.

A degraded link of a level that no plan reaches does nothing either.

A change is looked at alone: the question with all of its changes beside that with all others. Where
a plan of the answer takes another time, energy or memory, it counts. Else plans of every kind are
tried (`planner.search.changes.sample`): where one of them differs, the change counts and the answer
says that its own plans do not; where none does, the change cannot change the answer and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.cost.evaluate import evaluate_table
from planner.machine.degraded import level_of
from planner.plan import PlanTable
from planner.question.changes.changed import Changed
from planner.question.options import SpaceOptions
from planner.question.request import ARGUMENTS
from planner.question.resolved import Resolved, resolve
from planner.search.changes.reasons import not_reached, reason_of
from planner.search.changes.sample import sample_of

_SAME = 1e-12
_SUMS = ("step_time_s", "power_per_chip_w", "memory_per_chip_bytes")


def notes_of_changes(
    resolved: Resolved,
    plans: PlanTable | None,
    options: SpaceOptions,
    chips: int,
    origin: Origin = ARGUMENTS,
    *,
    refuses: bool = True,
) -> list[str]:
    """What the answer says of changes that do not move its own plans, a line each.

    Args:
        resolved: The question with its changes.
        plans: Those of the answer; None: it has none.
        options: The space that they are from.
        chips: Chips of plans that are tried.
        origin: Names the fields of the question.
        refuses: Whether a change that does nothing is refused; else the answer says so as well.

    Raises:
        InputError: A change cannot change the answer; one line for each, with the reason.
    """
    notes: list[str] = []
    problems: list[str] = []
    (problems if refuses else notes).extend(_links_beyond(resolved, chips))
    tried: PlanTable | None = None
    for one in resolved.changes.fields:
        if one.stays:
            continue
        before = _without(resolved, one, chips)
        moved = None if plans is None else _moved(before, resolved, plans)
        if moved is None:
            tried = tried or sample_of(resolved.cost, options, chips)
            if tried is None:
                continue
            moved = _moved(before, resolved, tried)
            if moved is not None and plans is not None:
                notes.append(f"set: {one.change} does not move the plans of this answer")
                continue
        why = reason_of(one.leaf, before, resolved, chips)
        if moved is None and _moves_alone(resolved, one, tried, chips):
            why = "the other changes say the same; leave it or them out"
        if moved is None:
            line = f"set: {one.change} cannot change this answer: {why}"
            (problems if refuses else notes).append(f"{line}; tried on {len(tried or ())} plans")
        elif moved == "parts":
            part = "interval" if one.leaf.path.endswith("_sigma") else "split"
            notes.append(
                f"set: {one.change} moves only the {part} of energy, not time, energy or memory of "
                f"the plans: {why}"
            )
    if problems:
        blamed = {"set", "degrade_link"}
        raise InputError("\n".join(origin.blame(line, blamed) for line in problems))
    return notes


def _links_beyond(resolved: Resolved, chips: int) -> Iterator[str]:
    """Degraded links of levels that the chips of the question do not reach, a line each."""
    most = max((chips, *(resolved.request.chip_range or ())))
    for word in resolved.request.degrade_link:
        if why := not_reached(level_of(word), resolved, most):
            yield f"degrade-link: {word} cannot change this answer: {why}"


def _without(resolved: Resolved, change: Changed, chips: int) -> Resolved | None:
    """The question without one of its changes; None: it cannot be asked without it."""
    request = resolved.request
    others = tuple(text for text in request.set if text != str(change.change))
    try:
        return resolve(request.model_copy(update={"set": others}), chips=chips)
    except InputError:
        return None


def _moves_alone(resolved: Resolved, change: Changed, tried: PlanTable | None, chips: int) -> bool:
    """Whether a change that does nothing beside others would do something without them."""
    if tried is None or len(resolved.changes.fields) == 1:
        return False
    request = resolved.request
    plain, alone = (request.model_copy(update={"set": s}) for s in ((), (str(change.change),)))
    try:
        return _moved(resolve(plain, chips=chips), resolve(alone, chips=chips), tried) is not None
    except InputError:  # it cannot be asked alone
        return False


def _moved(before: Resolved | None, after: Resolved, plans: PlanTable) -> str | None:
    """`all` or `parts`: what of some plans differs; None: nothing does."""
    if before is None:
        return "all"
    try:
        old = evaluate_table(before.cost, plans)
    except InputError:  # without the change there are no such plans
        return "all"
    new = evaluate_table(after.cost, plans)
    same = _limits(before) == _limits(after)
    if not same or any(_differ(getattr(old, name), getattr(new, name)) for name in _SUMS):
        return "all"
    return "parts" if _differ(old, new) else None


def _limits(resolved: Resolved) -> tuple[Any, ...]:
    """What plans must keep to, and how many chips there may be."""
    chip, request = resolved.cost.chip, resolved.request
    return (
        resolved.cost.allocatable_bytes,
        chip.host_memory_bytes if request.offload else None,
        chip.die_area_m2 if request.max_area is not None else None,
        resolved.cost.clocks(wanted=bool(request.clocks)).tolist(),
        resolved.cost.clock_limit,
        _counts(resolved),
        resolved.seq_len,
    )


def _counts(resolved: Resolved) -> tuple[int, ...]:
    """Chips that a range of them leaves to choose from."""
    asked = resolved.request.chip_range
    if asked is None or asked[0] == asked[1]:
        return ()
    return tuple(n for n in resolved.cost.cluster.chip_counts(asked[1]) if n >= asked[0])


def _differ(old: Any, new: Any) -> bool:
    """Whether any figure in two records differs by more than rounding."""
    before, after = list(_arrays(old)), list(_arrays(new))
    return len(before) != len(after) or any(
        one.shape != other.shape or not np.allclose(one, other, rtol=_SAME, atol=0, equal_nan=True)
        for one, other in zip(before, after, strict=True)
    )


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """All arrays of numbers in a record."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fiub":
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _arrays(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _arrays(part)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _arrays(getattr(value, one.name))
