"""`planner.fleet`: jobs that share clusters, each with the plan, the chips and the time it gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.answers.sweeping import answering
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import NotedProgress
from planner.question.request import ARGUMENTS
from planner.studies.fleet.answer import FleetResult
from planner.studies.fleet.choices import found_choices
from planner.studies.fleet.planning import Effort, plan_fleet
from planner.studies.fleet.question import FleetQuestion, fleet_from, read_fleet


def fleet(
    source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    time_limit: float = 60.0,
    gap: float = 0.0,
    store: str | os.PathLike[str] | None = None,
    on_progress: NotedProgress | None = None,
    **fields: Any,
) -> FleetResult:
    """Which plan each of some jobs takes, on how many chips of which cluster, and when.

    Args:
        source: A fleet file, or its fields as a mapping; None: all are given by name.
        time_limit: Seconds of wall time that one search for a schedule may take.
        gap: The relative gap at which it may end, e.g. 0.01.
        store: Of the plans of each job, e.g. `fleet.db`, a store of `planner.sweep`: what it has is
            not solved again.
        on_progress: Called with (what, done, of, note).
        **fields: Fields of a fleet file that replace those of the source (`planner schema fleet`).

    Raises:
        InputError: The fleet cannot be asked for as it is; one line per mistake.
        UnfinishedError: A file that it is read from changed meanwhile; what was solved is stored.
    """
    if isinstance(source, Mapping) or source is None:
        question = fleet_from({**(source or {}), **fields})
    else:
        question = read_fleet(Path(source), fields)
    kept = None if store is None else Path(store)
    return fleet_of(question, time_limit=time_limit, gap=gap, store=kept, on_progress=on_progress)


def fleet_of(
    question: FleetQuestion,
    *,
    time_limit: float,
    gap: float,
    store: Path | None = None,
    on_progress: NotedProgress | None = None,
    origin: Origin = ARGUMENTS,
) -> FleetResult:
    """`fleet` for a checked fleet; `origin` names its arguments in messages."""
    if not time_limit > 0:
        label = origin.label(["time_limit"])
        raise InputError(f"{label}: {time_limit:g}: must be greater than 0")
    if not 0 <= gap < 1:
        raise InputError(f"{origin.label(['gap'])}: {gap:g}: must be a share from 0 to less than 1")
    with answering(store) as ask:
        found = found_choices(question, ask, on_progress)
    result = plan_fleet(question, found, Effort(seconds=time_limit, gap=gap), on_progress)
    return replace(result, read=ask.read)
