"""Plans beside one of a front: those that the same file holds for the same question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.plan import Plan
from planner.question.files.front_file import read_content
from planner.question.files.plan_file import plan_in
from planner.question.files.result_layout import front_of, top_of, version_of_plans
from planner.question.request import Request

MOST = 16
"""So many plans are read: the best of a search, then the front from its start."""


def rivals_in(
    path: Path,
    request: Request,
    chips: int,
    changes: Mapping[str, Any],
    *,
    flags: bool = False,
    content: bytes | None = None,
) -> tuple[Plan, ...]:
    """The best plans and the front in a file; none where it holds a single plan.

    Only plans of the same job on the same machine and as many chips. What cannot be read as a plan
    is left out: the question is about another one.

    Args:
        path: A plan file, a front, or an answer as `solve --json` writes it.
        request: The job of the plan that is explained.
        chips: Its chips.
        changes, flags, content: As for `planner.question.files.plan_file.read_plan_file`.
    """
    data, _ = read_content(path, content)
    front, job = front_of(data)
    lists = [top_of(data), front]
    points = [one for found in lists if isinstance(found, list) for one in found]
    plans: list[Plan] = []
    for row, point in enumerate(points, start=1):
        if not isinstance(point, dict) or point.get("chips") != chips or len(plans) == MOST:
            continue
        whole = {
            **point,
            "schema_version": point.get("schema_version", version_of_plans(data)),
            "job": point.get("job", job),
        }
        try:
            read = plan_in(whole, path, str(path), changes, flags=flags, row=row)
        except InputError:
            continue
        if read.request == request:
            plans.append(read.plan)
    return tuple(plans)
