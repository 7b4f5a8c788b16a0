"""Changes as a person writes them that leave their field as it is.

Factors of 1 are values of studies and of `--vary` as others are: these ask for the record as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.question.changes.changed import Changed
from planner.question.changes.changes import idle_changes
from planner.question.changes.resolving import scales
from planner.question.changes.texts import changes_in
from planner.question.changes.values import words_of
from planner.question.records import cluster_named
from planner.question.request import Request


def check_moving(
    request: Request, origin: Origin, beneath: Collection[str] = (), *, typed_alone: bool = False
) -> None:
    """Refuses changes that are the record itself; none where the question cannot be read.

    Args:
        request: The question.
        origin: Names its fields.
        beneath: Changes of a file, which those of the question may take back.
        typed_alone: Leave those of the file, as an answer has them that was asked so in Python.

    Raises:
        InputError: There are some, one line each.
    """
    try:
        scaled = scales(request, cluster_named(request.hardware))
        idle = idle_changes(request.set, request.model, request.hardware, scaled)
    except InputError:  # which says why, with all else that is wrong
        return
    of_file = changes_in(tuple(beneath))
    kept = {str(change) for change in of_file}
    back = {change.path for change in of_file if str(change) not in request.set}
    in_file = replace(origin, arguments=origin.arguments - {"set"})
    lines = [
        (in_file if str(one.change) in kept else origin).blame(_line(one), {"set"})
        for one in idle
        if one.change.path not in back and not (typed_alone and str(one.change) in kept)
    ]
    if lines:
        raise InputError("\n".join(lines))


def _line(one: Changed) -> str:
    value = one.leaf.value
    is_known = isinstance(value, bool | int | float | str | list | tuple)
    known = f"it is {words_of(value, one.leaf.unit)} already" if is_known else "it is so already"
    return f"set: {one.change} cannot change this answer: {known}; leave it out"
